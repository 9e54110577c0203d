/**
 * Answers a test function's calls of the canonical solution. The solution runs in a process of its own, in another worker than
 * the program that asks: that program sees the answers to its own questions and nothing else. Answers are remembered.
 */
import { sha256 } from '../base/node/index.ts';
import { decodeMarshal, encodeMarshal } from './marshal.ts';
import type { Problem } from './problem.ts';
import { PythonDict, PythonTuple, type PythonValue } from './python-value.ts';
import { type Builder, type Call, encodeAnswerFrame } from './sandbox/frames.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { drawNonce, type Program } from './sandbox/worker.ts';

const largestAnswerBytes = 1 << 20;
const rememberedPerProblem = 1_000;

interface Limits {
  readonly cpuSeconds: number;
  readonly wallMs: number;
}

function readBuilder(value: PythonValue): Builder {
  const [shape, path] = value instanceof PythonTuple ? value.items : [];
  if ((shape !== 'list' && shape !== 'tree') || !Array.isArray(path) || path.length === 0) {
    throw new RangeError('a builder in another form');
  }
  const steps = path.map((step: PythonValue) => {
    if (typeof step === 'string') return step;
    if (typeof step === 'bigint' && step >= 0n && step < 1_000_000n) return Number(step);
    throw new RangeError('a path in another form');
  });
  return { shape, path: steps };
}

/** The question of a program, read as hostile bytes; RangeError when it is none. */
function readQuestion(payload: Buffer): Call {
  const message = decodeMarshal(payload);
  const [positional, keywords, builders] = message instanceof PythonTuple ? message.items : [];
  if (!Array.isArray(positional) || !(keywords instanceof PythonDict) || !Array.isArray(builders)) {
    throw new RangeError('a question in another form');
  }
  const named = keywords.entries.map(([name, value]): [string, PythonValue] => {
    if (typeof name !== 'string') throw new RangeError('a keyword that is no text');
    return [name, value];
  });
  return { positional, keywords: named, builders: builders.map(readBuilder), shape: 'plain' };
}

function failure(kind: string): Buffer {
  return encodeMarshal(new PythonTuple(['raised', kind]));
}

export class CanonicalAnswers {
  readonly #sandbox: Sandbox;
  readonly #known = new WeakMap<Problem, Map<string, Promise<Buffer>>>();

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** The frame that answers a question; null when the bytes are no question. */
  answer(problem: Problem, payload: Buffer, limits: Limits): Promise<Buffer> | null {
    let call: Call;
    try {
      call = readQuestion(payload);
    } catch (error) {
      if (error instanceof RangeError) return null;
      throw error;
    }
    const known = this.#knownOf(problem);
    const key = sha256(payload);
    const earlier = known.get(key);
    if (earlier !== undefined) return earlier;
    const answer = this.#run(problem, call, limits);
    known.set(key, answer);
    answer.catch(() => known.delete(key));
    const oldest = known.size > rememberedPerProblem ? known.keys().next().value : undefined;
    if (oldest !== undefined) known.delete(oldest);
    return answer;
  }

  #knownOf(problem: Problem): Map<string, Promise<Buffer>> {
    const known = this.#known.get(problem) ?? new Map<string, Promise<Buffer>>();
    this.#known.set(problem, known);
    return known;
  }

  async #run(problem: Problem, call: Call, { cpuSeconds, wallMs }: Limits): Promise<Buffer> {
    let frame = failure('TimeoutError');
    const { setupCode, canonicalSolution: source, methodName: method } = problem;
    await this.#sandbox.executeAnswer((): Program => {
      const nonce = drawNonce();
      return {
        nonce,
        setupCode,
        frame: encodeAnswerFrame({ nonce, source, method, call }),
        // The worker runs nothing but canonical solutions: nobody there may not see it.
        frameIsSecret: false,
        cpuSeconds,
        wallMs,
        largestReportBytes: largestAnswerBytes,
        onRecord: (tag, payload) => {
          if (tag === 'a') frame = Buffer.from(payload);
          if (tag === 'r') frame = failure(payload.toString().slice(0, 80));
          return undefined;
        },
      };
    });
    return frame;
  }
}
