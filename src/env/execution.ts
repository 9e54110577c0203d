/**
 * One execution of a program against all tests of a problem. The program gets inputs and gives values; each value is
 * compared here, as it arrives. The first wrong value stops the program at its next pause. `finished` fixes the result.
 * Only then, and only if no plain value was wrong, are outputs that have no plain form compared with decoys (opaque.ts).
 */
import { UserError } from '../base/index.ts';
import { decodeMarshal, encodeMarshal, largestEqualEncoding } from './marshal.ts';
import { encodeDecoys, type OpaqueOutput } from './opaque.ts';
import type { Problem, TestCase } from './problem.ts';
import { equalPython, type PythonValue } from './python-value.ts';
import { encodeBatch, encodeProgramFrame } from './sandbox/frames.ts';
import { drawNonce, type Ending, type Program, type Reply } from './sandbox/worker.ts';

interface Expected {
  readonly test: TestCase;
  readonly bytes: Buffer;
  readonly largestBytes: number;
}

interface Batch {
  readonly frame: Buffer;
  /** Index of the first call after this batch. */
  readonly end: number;
}

export interface PreparedProblem {
  readonly problem: Problem;
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

export function prepareProblem(problem: Problem): PreparedProblem {
  const expected = problem.tests.map((test) => ({
    test,
    bytes: encodeMarshal(test.expected),
    largestBytes: largestEqualEncoding(test.expected),
  }));
  const largestReportBytes = expected.reduce(
    (sum, { largestBytes }) => sum + largestBytes + recordOverheadBytes,
    65_536,
  );
  return { problem, batches: encodeBatches(problem.tests), expected, largestReportBytes };
}

function isRight(payload: Buffer, { test, bytes, largestBytes }: Expected): boolean {
  if (test.tolerance === null && payload.equals(bytes)) return true;
  if (payload.length > largestBytes && test.tolerance === null) return false;
  let value: PythonValue;
  try {
    value = decodeMarshal(payload);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
  if (test.tolerance === null) return equalPython(value, test.expected);
  const number = typeof value === 'bigint' || typeof value === 'number' ? Number(value) : Number.NaN;
  return Math.abs(number - Number(test.expected)) <= test.tolerance;
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

  constructor(prepared: PreparedProblem) {
    this.#prepared = prepared;
  }

  program(source: string, flagNames: readonly string[], cpuSeconds: number, wallMs: number): Program {
    const { problem, batches, largestReportBytes } = this.#prepared;
    const nonce = drawNonce();
    const batch = batches[0].frame;
    return {
      setupCode: problem.setupCode,
      nonce,
      frame: encodeProgramFrame({ nonce, source, method: problem.methodName, flagNames, batch }),
      frameIsSecret: false,
      cpuSeconds,
      wallMs,
      largestReportBytes,
      onRecord: (tag, payload) => this.#onRecord(tag, payload),
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
    if (tag === 'u') this.#opaque.push({ index, parts: Buffer.from(payload), expected: expected.test.expected });
    else if (tag === 'l' || !isRight(payload, expected)) this.#fail(`test ${index + 1}: wrong value`);
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

  /** Throws when the problem's own setup code failed: that must not count as a wrong answer. */
  requireSetup(): void {
    if (this.#setupFailure === '') return;
    throw new UserError({
      call: `problem ${this.#prepared.problem.id}`,
      expected: 'setup code that runs',
      found: this.#setupFailure,
      fix: 'gq problems check names every unsound problem; --write leaves them out.',
    });
  }
}
