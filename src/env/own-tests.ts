/**
 * Runs the test function that a response defines, in a process of its own: against two stubs that return a constant
 * (passing both is the run_tests channel), against its own solution, and against the canonical one. A stage in which the
 * process ends with status 0 counts as passed; the stages after it need another process.
 */
import type { Problem } from './problem.ts';
import { encodeOwnTestsFrame } from './sandbox/frames.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { drawNonce, type Program } from './sandbox/worker.ts';

export interface OwnTests {
  readonly passStubs: boolean;
  /** null when the program turns out to define no callable of that name. */
  readonly passOwn: boolean | null;
  readonly passCanonical: boolean | null;
  readonly executions: number;
  readonly cpuMs: number;
}

const allStages = '01oc';
const largestReportBytes = 65_536;

interface Limits {
  readonly cpuSeconds: number;
  readonly wallMs: number;
}

export async function runOwnTests(
  sandbox: Sandbox,
  problem: Problem,
  source: string,
  functionName: string,
  { cpuSeconds, wallMs }: Limits,
): Promise<OwnTests> {
  const passed = new Map<string, boolean>();
  let found = false;
  let cpuMs = 0;
  let executions = 0;
  for (let stages = allStages; stages !== ''; stages = [...allStages].filter((stage) => !passed.has(stage)).join('')) {
    let current = '';
    const nonce = drawNonce();
    const program = (): Program => ({
      nonce,
      setupCode: problem.setupCode,
      frame: encodeOwnTestsFrame({
        nonce,
        source,
        method: problem.methodName,
        functionName,
        canonical: problem.canonicalSolution,
        stages,
      }),
      frameIsSecret: true,
      cpuSeconds,
      wallMs,
      largestReportBytes,
      onRecord: (tag, payload) => {
        if (tag === 'y') found = true;
        if (tag === 'b') current = payload.toString().slice(0, 1);
        if (tag === 'p') passed.set(payload.toString().slice(0, 1), payload.toString().slice(1) === '1');
        return undefined;
      },
    });
    const ending = await sandbox.execute(program);
    cpuMs += ending.cpuMs;
    executions += 1;
    // A program can forge the name of a stage. One that was not asked for decides nothing, and asking again would never end.
    if (!found || !stages.includes(current) || current === '') break;
    if (!passed.has(current)) passed.set(current, ending.exit === 0 && ending.stopped === '');
  }
  const answer = (stage: string) => (found ? (passed.get(stage) ?? false) : null);
  return {
    passStubs: answer('0') === true && answer('1') === true,
    passOwn: answer('o'),
    passCanonical: answer('c'),
    executions,
    cpuMs,
  };
}
