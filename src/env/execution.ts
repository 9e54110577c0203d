/**
 * One execution of a program against all tests of a problem. The program gets inputs and gives values; each value is
 * compared here, as it arrives. The first wrong value stops the program at its next pause. `finished` fixes the result.
 * Only then, and only if no plain value was wrong, are outputs that have no plain form compared with decoys (opaque.ts).
 */
import { messageOf, UserError } from '../base/index.ts';
import { Comparer, type Expected, prepareExpected } from './compare.ts';
import { encodeDecoys, type OpaqueOutput } from './opaque.ts';
import type { ProgramProblem, TestCase } from './problem.ts';
import { encodeBatch, encodeProgramFrame } from './sandbox/frames.ts';
import { drawNonce } from './sandbox/nonce.ts';
import { isStraightLine } from './sandbox/straight-line.ts';
import type { Ending, Program, Reply } from './sandbox/worker.ts';

interface Batch {
  readonly frame: Buffer;
  /** Index of the first call after this batch. */
  readonly end: number;
}

export interface PreparedProblem {
  readonly problem: ProgramProblem;
  readonly batches: readonly Batch[];
  readonly expected: readonly Expected[];
  readonly largestReportBytes: number;
}

const recordOverheadBytes = 64;
/** Ends of the batches: few pauses, the first one soon, because most wrong programs are wrong early. */
const batchEnds = [1, 8, 64];

function encodeBatches(tests: readonly TestCase[]): readonly Batch[] {
  const ends = [...batchEnds.filter((end) => end < tests.length), tests.length];
  return ends.map((end, index) => {
    const start = index === 0 ? 0 : ends[index - 1];
    return { frame: encodeBatch(tests.slice(start, end), end === tests.length), end };
  });
}

function prepareTests(problem: ProgramProblem): Pick<PreparedProblem, 'batches' | 'expected'> {
  try {
    return { batches: encodeBatches(problem.tests), expected: problem.tests.map(prepareExpected) };
  } catch (cause) {
    const found = messageOf(cause);
    throw new UserError({ call: `problem ${problem.id}`, expected: 'tests that can be encoded', found }, { cause });
  }
}

export function prepareProblem(problem: ProgramProblem): PreparedProblem {
  const { batches, expected } = prepareTests(problem);
  const largestReportBytes = expected.reduce(
    (sum, { largestBytes }) => sum + largestBytes + recordOverheadBytes,
    65_536,
  );
  return { problem, batches, expected, largestReportBytes };
}

/** How setup code ended that neither came to its end nor raised. */
function describeEnd({ exit, stopped, flooded, cpuMs, wallMs }: Ending): string {
  if (flooded || stopped === 'kill') return 'it writes where only the harness may write, or too much';
  if (stopped === 'wall' || stopped === 'idle' || exit === -9 || exit === -24) {
    return `not done after ${Math.round(cpuMs)} ms CPU, ${Math.round(wallMs)} ms wall`;
  }
  return exit < 0 ? `it ended by signal ${-exit}` : `it ended the process with status ${exit}`;
}

export class Execution {
  begun = false;
  compiled = false;
  finished = false;
  /** Why the program is wrong; the first reason stays. */
  wrong = '';
  raised = '';
  tooLarge = false;
  passFlag: string | undefined;
  equalByOwnType = false;
  readonly #prepared: PreparedProblem;
  #outputs = 0;
  #batch = 0;
  #setupFailure = '';
  readonly #opaque: OpaqueOutput[] = [];
  readonly #comparer = new Comparer();

  constructor(prepared: PreparedProblem) {
    this.#prepared = prepared;
  }

  program(source: string, flagNames: readonly string[], cpuSeconds: number, wallMs: number): Program {
    const { problem, batches, largestReportBytes } = this.#prepared;
    const nonce = drawNonce();
    const batch = batches[0].frame;
    return {
      setupCode: problem.setupCode,
      isStraightLine: problem.setupCode.trim() === '' && isStraightLine(source),
      nonce,
      frame: encodeProgramFrame({ nonce, source, method: problem.methodName, flagNames, batch }),
      frameIsSecret: false,
      cpuSeconds,
      wallMs,
      largestReportBytes,
      onRecord: (tag, payload) => {
        try {
          return this.#onRecord(tag, payload);
        } catch (error) {
          // Programs choose what arrives: nothing that they send may end more than their own execution.
          this.#fail(`a record that cannot be read: ${messageOf(error)}`);
          return 'stop';
        }
      },
    };
  }

  get correct(): boolean {
    const { expected } = this.#prepared;
    const complete = this.finished && this.#outputs === expected.length && expected.length > 0;
    return complete && this.wrong === '' && this.#opaque.length === 0;
  }

  endedEarlyWithZero({ exit, stopped, flooded }: Ending): boolean {
    return this.compiled && !this.finished && this.wrong === '' && exit === 0 && stopped === '' && !flooded;
  }

  #fail(why: string): undefined {
    if (this.wrong === '') this.wrong = why;
    return undefined;
  }

  #onRecord(tag: string, payload: Buffer): Reply {
    if (tag === 'X' && !this.begun) this.#setupFailure = payload.toString().slice(0, 80);
    if (this.finished) return this.#onLateRecord(tag, payload);
    switch (tag) {
      case 'B':
        this.begun = true;
        return undefined;
      case 'c':
        this.compiled = true;
        return undefined;
      case 'e':
      case 'M':
      case 'r':
        this.raised = payload.toString().slice(0, 80);
        return this.#fail(tag === 'e' ? `does not compile: ${this.raised}` : `raised ${this.raised}`);
      case 'o':
      case 'u':
      case 'l':
        return this.#onOutput(tag, payload);
      case 'v':
        this.passFlag = payload.toString();
        return undefined;
      case 's':
        return this.#onWantsMore();
      case 'd':
        return this.#onFinished();
      case 'E':
      case 'S':
      case 'X':
        return undefined;
      default:
        this.#fail('a forged record');
        return 'stop';
    }
  }

  /** The result is fixed: the only record that may still come is the answer about opaque values. */
  #onLateRecord(tag: string, payload: Buffer): Reply {
    if (tag === 'q' && !this.equalByOwnType && this.#opaque.length > 0) {
      this.equalByOwnType = payload.toString() === '1' && this.wrong === '';
      return undefined;
    }
    this.equalByOwnType = false;
    this.#fail('records after the end');
    return 'stop';
  }

  #onWantsMore(): Reply {
    const { batches } = this.#prepared;
    if (this.wrong !== '') return 'stop';
    if (this.#outputs !== batches[this.#batch].end || this.#batch + 1 >= batches.length) {
      this.#fail('asks for more inputs than there are');
      return 'stop';
    }
    this.#batch += 1;
    return { frame: batches[this.#batch].frame, secret: false };
  }

  #onOutput(tag: 'o' | 'u' | 'l', payload: Buffer): Reply {
    const index = this.#outputs;
    this.#outputs += 1;
    const expected = this.#prepared.expected[index];
    if (expected === undefined || index >= this.#prepared.batches[this.#batch].end) {
      this.#fail('an output without an input');
      return 'stop';
    }
    if (tag === 'u') {
      this.#opaque.push({ index, parts: Buffer.from(payload), expected: this.#prepared.problem.tests[index].expected });
    } else if (this.wrong === '') {
      const why = tag === 'l' ? 'wrong value' : this.#comparer.wrongness(payload, expected);
      if (why !== '') this.#fail(`test ${index + 1}: ${why}`);
    }
    this.tooLarge ||= tag === 'l';
    return undefined;
  }

  #onFinished(): Reply {
    this.finished = true;
    if (this.#opaque.length === 0) return undefined;
    if (this.wrong !== '') return 'stop';
    const frame = encodeDecoys(this.#prepared.problem.id, this.#opaque);
    return frame === null ? 'stop' : { frame, secret: false };
  }

  get opaqueOutputs(): number {
    return this.#opaque.length;
  }

  /** Whether the setup code was still running when the wall clock stopped it. */
  isSetupLate({ stopped }: Ending): boolean {
    return !this.begun && stopped === 'wall';
  }

  /** Throws when the problem's own setup code failed: that must not count as a wrong answer. */
  requireSetup(ending: Ending): void {
    if ((this.#setupFailure === '' && this.begun) || ending.stopped === 'worker') return;
    throw new UserError({
      call: `problem ${this.#prepared.problem.id}`,
      expected: 'setup code that runs',
      found: this.#setupFailure === '' ? describeEnd(ending) : this.#setupFailure,
      fix: 'gq verify problems names every unsound problem; --write leaves them out.',
    });
  }
}

/**
 * A program cannot send signals: a SIGKILL that the server did not send came from the kernel, because CPU time or memory
 * ran out. Half of the CPU budget tells the two apart; the kernel's two CPU clocks differ by a few percent.
 */
export function ranOutOfCpu({ exit, stopped, cpuMs }: Ending, cpuSeconds: number): boolean {
  return stopped === '' && (exit === -24 || (exit === -9 && cpuMs >= cpuSeconds * 500));
}
