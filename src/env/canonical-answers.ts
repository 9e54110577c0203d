/**
 * Answers a test function's calls of the canonical solution. The solution runs in a process of its own, in another worker than
 * the program that asks: that program sees the answers to its own questions and nothing else. Answers are remembered.
 */
import { sha256 } from '../base/node/index.ts';
import { decodeMarshal, encodeMarshal } from './marshal.ts';
import type { ProgramProblem } from './problem.ts';
import { PythonDict, PythonTuple, type PythonValue } from './python-value.ts';
import type { ProgramRunner } from './runner.ts';
import { type Builder, encodeAnswerFrame, encodeCall } from './sandbox/frames.ts';
import { drawNonce } from './sandbox/nonce.ts';
import type { Program } from './sandbox/worker.ts';

const largestAnswerBytes = 1 << 20;
const rememberedBytes = 16 << 20;
/** Items of sets and keys of dicts in one question: reading them takes quadratic time where all have one hash. */
const mostHashed = 2_000;

export interface Asking {
  readonly cpuSeconds: number;
  readonly wallMs: number;
  /** Aborted when the asker has ended: an answer that is waited for by nobody is not computed. */
  readonly signal: AbortSignal;
}

export interface CanonicalAnswer {
  /** The frame for the program that asked; null when its bytes are no question, or when there is no answer to it. */
  readonly frame: Buffer | null;
  /** CPU time and processes that it took: none where it was remembered. */
  readonly cpuMs: number;
  readonly executions: number;
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

/** The call that a program asks for, read as hostile bytes and encoded again; throws when it is none. */
function readQuestion(payload: Buffer): Buffer {
  const message = decodeMarshal(payload, { mostHashed, hasComplex: false });
  const [positional, keywords, builders] = message instanceof PythonTuple ? message.items : [];
  if (!Array.isArray(positional) || !(keywords instanceof PythonDict) || !Array.isArray(builders)) {
    throw new RangeError('a question in another form');
  }
  const named = keywords.entries.map(([name, value]): [string, PythonValue] => {
    if (typeof name !== 'string') throw new RangeError('a keyword that is no text');
    return [name, value];
  });
  return encodeCall({ positional, keywords: named, builders: builders.map(readBuilder), shape: 'plain' });
}

function failure(kind: string): Buffer {
  return encodeMarshal(new PythonTuple(['raised', kind]));
}

export class CanonicalAnswers {
  readonly #sandbox: ProgramRunner;
  readonly #numbers = new WeakMap<ProgramProblem, number>();
  readonly #remembered = new Map<string, Buffer>();
  #problems = 0;
  #bytes = 0;

  constructor(sandbox: ProgramRunner) {
    this.#sandbox = sandbox;
  }

  /** Rejects when the asker has ended. */
  async answer(problem: ProgramProblem, payload: Buffer, asking: Asking): Promise<CanonicalAnswer> {
    const key = `${this.#numberOf(problem)} ${sha256(payload)}`;
    const known = this.#remembered.get(key);
    if (known !== undefined) return { frame: known, cpuMs: 0, executions: 0 };
    let call: Buffer;
    try {
      call = readQuestion(payload);
    } catch {
      // Programs choose what arrives: no error that it leads to may end more than their own execution.
      return { frame: null, cpuMs: 0, executions: 0 };
    }
    return await this.#run(problem, call, asking, key);
  }

  #numberOf(problem: ProgramProblem): number {
    const known = this.#numbers.get(problem);
    if (known !== undefined) return known;
    this.#problems += 1;
    this.#numbers.set(problem, this.#problems);
    return this.#problems;
  }

  #remember(key: string, frame: Buffer): void {
    this.#remembered.set(key, frame);
    this.#bytes += frame.length;
    for (const [oldest, { length }] of this.#remembered) {
      if (this.#bytes <= rememberedBytes) return;
      this.#remembered.delete(oldest);
      this.#bytes -= length;
    }
  }

  async #run(problem: ProgramProblem, call: Buffer, asking: Asking, key: string): Promise<CanonicalAnswer> {
    const { setupCode, canonicalSolution: source, methodName: method } = problem;
    const said: { frame?: Buffer } = {};
    const ending = await this.#sandbox.executeAnswer((): Program => {
      const nonce = drawNonce();
      delete said.frame;
      return {
        nonce,
        setupCode,
        frame: encodeAnswerFrame({ nonce, source, method, call }),
        // The worker runs nothing but canonical solutions: nobody there may not see it.
        frameIsSecret: false,
        cpuSeconds: asking.cpuSeconds,
        wallMs: asking.wallMs,
        largestReportBytes: largestAnswerBytes,
        onRecord: (tag, payload) => {
          if (tag === 'a') said.frame = Buffer.from(payload);
          if (tag === 'r') said.frame = failure(payload.toString().slice(0, 80));
          return undefined;
        },
      };
    }, asking.signal);
    // A solution that ends without an answer is not remembered, since another time it may come to its end.
    if (said.frame !== undefined) this.#remember(key, said.frame);
    return { frame: said.frame ?? null, cpuMs: ending.cpuMs, executions: 1 };
  }
}
