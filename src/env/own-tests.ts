/**
 * Runs the test function that a response defines, in a process of its own: against two stubs that return a constant
 * (passing both is the run_tests channel), against its own solution, and against the canonical one, whose answers come from
 * another process. A stage in which the process ends with status 0 counts as passed; the stages after it need another process.
 */
import type { CanonicalAnswers } from './canonical-answers.ts';
import type { Problem } from './problem.ts';
import { encodeOwnTestsFrame } from './sandbox/frames.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { isStraightLine } from './sandbox/straight-line.ts';
import { drawNonce, type Program, type Reply } from './sandbox/worker.ts';

export interface OwnTests {
  readonly passStubs: boolean;
  /** null when the program turns out to define no callable of that name. */
  readonly passOwn: boolean | null;
  readonly passCanonical: boolean | null;
  readonly executions: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly idleMs: number;
}

const allStages = '01oc';
const largestReportBytes = 1 << 20;
const mostQuestions = 1_000;

interface Limits {
  readonly cpuSeconds: number;
  /** Wall time of one process, and of all of them. */
  readonly wallMs: number;
  readonly leftMs: number;
  /** How long all of them together may sleep. */
  readonly idleLeftMs: number;
}

export interface OwnTestsRequest {
  readonly problem: Problem;
  readonly source: string;
  readonly functionName: string;
  readonly limits: Limits;
}

/** What the processes of one test function have reported. */
class Progress {
  readonly passed = new Map<string, boolean>();
  found = false;
  current = '';
  #questions = 0;

  get stagesLeft(): string {
    return [...allStages].filter((stage) => !this.passed.has(stage)).join('');
  }

  onRecord(tag: string, payload: Buffer, ask: (payload: Buffer) => Promise<Buffer> | null): Reply | Promise<Reply> {
    const text = payload.toString('latin1', 0, 2);
    if (tag === 'y') this.found = true;
    if (tag === 'b') this.current = text.slice(0, 1);
    if (tag === 'p') this.passed.set(text.slice(0, 1), text.slice(1) === '1');
    if (tag !== 'k') return undefined;
    this.#questions += 1;
    const answer = this.current === 'c' && this.#questions <= mostQuestions ? ask(payload) : null;
    return answer === null ? 'stop' : answer.then((frame) => ({ frame, secret: true }));
  }
}

export async function runOwnTests(
  sandbox: Sandbox,
  answers: CanonicalAnswers,
  { problem, source, functionName, limits }: OwnTestsRequest,
): Promise<OwnTests> {
  const { cpuSeconds } = limits;
  const progress = new Progress();
  let [cpuMs, wallMs, idleMs, executions] = [0, 0, 0, 0];
  while (progress.stagesLeft !== '' && wallMs < limits.leftMs && idleMs < limits.idleLeftMs) {
    const stages = progress.stagesLeft;
    const allowedMs = Math.max(1, Math.floor(Math.min(limits.wallMs, limits.leftMs - wallMs)));
    const ask = (payload: Buffer) => answers.answer(problem, payload, { cpuSeconds, wallMs: limits.wallMs });
    const allowedIdleMs = limits.idleLeftMs - idleMs;
    const ending = await sandbox.execute((): Program => {
      const nonce = drawNonce();
      progress.current = '';
      return {
        nonce,
        setupCode: problem.setupCode,
        isStraightLine: problem.setupCode.trim() === '' && isStraightLine(source),
        frame: encodeOwnTestsFrame({ nonce, source, method: problem.methodName, functionName, stages }),
        frameIsSecret: false,
        cpuSeconds,
        wallMs: allowedMs,
        idleMs: allowedIdleMs,
        largestReportBytes,
        onRecord: (tag, payload) => progress.onRecord(tag, payload, ask),
      };
    });
    cpuMs += ending.cpuMs;
    wallMs += ending.wallMs;
    idleMs += ending.idleMs;
    executions += 1;
    const { current, passed } = progress;
    // A program can forge the name of a stage. One that was not asked for decides nothing, and asking again would never end.
    if (!progress.found || current === '' || !stages.includes(current)) break;
    if (!passed.has(current)) passed.set(current, ending.exit === 0 && ending.stopped === '');
  }
  const answer = (stage: string) => (progress.found ? (progress.passed.get(stage) ?? false) : null);
  return {
    passStubs: answer('0') === true && answer('1') === true,
    passOwn: answer('o'),
    passCanonical: answer('c'),
    executions,
    cpuMs,
    wallMs,
    idleMs,
  };
}
