/**
 * Runs the test function that a response defines, in a process of its own: against two stubs that return a constant
 * (passing both is the run_tests channel), against its own solution, and against the canonical one, whose answers come from
 * another process. A stage in which the process ends with status 0 counts as passed; the stages after it need another process.
 * A stage that ran out of CPU time which others had used begins again in a process of its own. One that ran out of the clock's time, or
 * of sleep after others, or was never reached, is unknown, and so is that of the canonical solution where a question was left without an
 * answer or the process said more than is read.
 */
import type { CanonicalAnswer, CanonicalAnswers } from './canonical-answers.ts';
import { ranOutOfCpu } from './execution.ts';
import type { ProgramProblem } from './problem.ts';
import type { ProgramRunner } from './runner.ts';
import { encodeOwnTestsFrame } from './sandbox/frames.ts';
import { drawNonce } from './sandbox/nonce.ts';
import { isStraightLine } from './sandbox/straight-line.ts';
import type { Ending, Program, Reply } from './sandbox/worker.ts';

export interface OwnTests {
  readonly passStubs: boolean;
  /** null when the program turns out to define no callable of that name, or when the stage is unknown. */
  readonly passOwn: boolean | null;
  readonly passCanonical: boolean | null;
  /** Processes and CPU time, those of the answers included. */
  readonly executions: number;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly idleMs: number;
}

const allStages = '01oc';
const canonicalStage = 'c';
const largestReportBytes = 1 << 20;
/** What is answered to one test function. Its answers may take as much CPU time as one of its processes. */
const mostQuestions = 1_000;
const mostAnswerBytes = 8 << 20;

interface Limits {
  readonly cpuSeconds: number;
  /** Wall time of one process, and of all of them. */
  readonly wallMs: number;
  readonly leftMs: number;
  /** How long all of them together may sleep. */
  readonly idleLeftMs: number;
}

export interface OwnTestsRequest {
  readonly problem: ProgramProblem;
  readonly source: string;
  readonly functionName: string;
  readonly limits: Limits;
}

type Ask = (payload: Buffer) => Promise<CanonicalAnswer>;

/** The questions of one test function, one at a time, and what their answers have cost. */
class Questions {
  cpuMs = 0;
  executions = 0;
  /** Whether the process waits for an answer, and whether a question was left without one. */
  waiting = false;
  unanswered = false;
  readonly #mostCpuMs: number;
  #count = 0;
  #bytes = 0;

  constructor(cpuSeconds: number) {
    this.#mostCpuMs = cpuSeconds * 1000;
  }

  async answer(payload: Buffer, ask: Ask): Promise<Reply> {
    this.#count += 1;
    if (this.#count > mostQuestions || this.cpuMs >= this.#mostCpuMs || this.#bytes >= mostAnswerBytes) {
      return this.#refuse();
    }
    this.waiting = true;
    const { frame, cpuMs, executions } = await ask(payload);
    this.cpuMs += cpuMs;
    this.executions += executions;
    if (frame === null) return this.#refuse();
    this.waiting = false;
    this.#bytes += frame.length;
    return { frame, secret: true };
  }

  #refuse(): Reply {
    this.unanswered = true;
    return 'stop';
  }
}

/** What the processes of one test function have reported. */
class Progress {
  readonly #passed = new Map<string, boolean | null>();
  #found = false;
  #current = '';
  /** Stages that were decided before this process. */
  #decidedBefore = 0;
  readonly #questions: Questions;

  constructor(questions: Questions) {
    this.#questions = questions;
  }

  get stagesLeft(): string {
    return [...allStages].filter((stage) => !this.#passed.has(stage)).join('');
  }

  result(stage: string): boolean | null {
    return (this.#found ? this.#passed.get(stage) : null) ?? null;
  }

  /** Another process begins. */
  begin(): void {
    this.#current = '';
    this.#decidedBefore = this.#passed.size;
    this.#questions.waiting = false;
  }

  onRecord(tag: string, payload: Buffer, ask: Ask): Reply | Promise<Reply> {
    const text = payload.toString('latin1', 0, 2);
    if (tag === 'y') this.#found = true;
    if (tag === 'b') this.#current = text.slice(0, 1);
    if (tag === 'p') this.#passed.set(text.slice(0, 1), text.slice(1) === '1');
    if (tag !== 'k') return undefined;
    // The harness asks in one stage, and again only when it has its answer: anything else is forged.
    if (this.#current !== canonicalStage || this.#questions.waiting) return 'stop';
    return this.#questions.answer(Buffer.from(payload), ask);
  }

  /** The process has ended inside a stage, which decides that stage. Returns whether the others are worth another process. */
  end(stages: string, ending: Ending, cpuSeconds: number): boolean {
    const { exit, stopped, flooded } = ending;
    const stage = this.#current;
    // A program can forge the name of a stage. One that was not asked for decides nothing, and asking again would never end.
    if (!this.#found || stage === '' || !stages.includes(stage)) return false;
    // CPU time and sleep are bounded for themselves: who runs out of the clock's time has waited for a core or for an answer.
    // Who is ended for more questions or more output than is read has not rejected what it was told so far.
    const isCut = stage === canonicalStage && (flooded || this.#questions.unanswered);
    const isUnknown = stopped === 'wall' || isCut || (stopped === 'idle' && stage !== allStages[0]);
    // Each process that begins again decides a stage at least, so that this ends.
    if (ranOutOfCpu(ending, cpuSeconds) && this.#passed.size > this.#decidedBefore) return true;
    if (!this.#passed.has(stage)) this.#passed.set(stage, isUnknown ? null : exit === 0 && stopped === '');
    return true;
  }
}

export async function runOwnTests(
  sandbox: ProgramRunner,
  answers: CanonicalAnswers,
  { problem, source, functionName, limits }: OwnTestsRequest,
): Promise<OwnTests> {
  const { cpuSeconds } = limits;
  const questions = new Questions(cpuSeconds);
  const progress = new Progress(questions);
  let [cpuMs, wallMs, idleMs, executions] = [0, 0, 0, 0];
  let asker = new AbortController();
  while (progress.stagesLeft !== '' && wallMs < limits.leftMs && idleMs < limits.idleLeftMs) {
    const stages = progress.stagesLeft;
    const allowedMs = Math.max(1, Math.floor(Math.min(limits.wallMs, limits.leftMs - wallMs)));
    const allowedIdleMs = limits.idleLeftMs - idleMs;
    const makeProgram = (): Program => {
      // A worker that failed runs the program again: what the process before it asked is asked by nobody any more.
      asker.abort();
      asker = new AbortController();
      const { signal } = asker;
      const nonce = drawNonce();
      progress.begin();
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
        onRecord: (tag, payload) =>
          progress.onRecord(tag, payload, (question) =>
            answers.answer(problem, question, { cpuSeconds, wallMs: limits.wallMs, signal }),
          ),
      };
    };
    const ending = await sandbox.executeTests(makeProgram).finally(() => asker.abort());
    cpuMs += ending.cpuMs;
    wallMs += ending.wallMs;
    idleMs += ending.idleMs;
    executions += 1;
    if (!progress.end(stages, ending, cpuSeconds)) break;
  }
  return {
    passStubs: progress.result('0') === true && progress.result('1') === true,
    passOwn: progress.result('o'),
    passCanonical: progress.result(canonicalStage),
    executions: executions + questions.executions,
    cpuMs: cpuMs + questions.cpuMs,
    wallMs,
    idleMs,
  };
}
