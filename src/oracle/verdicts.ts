/**
 * The only reader of verdicts. The grader is given the writing half (`append`); the reading half stays on this side of the
 * wall, for the oracle gate, for the figures shown while training, and for analysis.
 */

import { ShapeError } from '../base/errors.ts';
import { JsonlWriter, readJsonl } from '../base/jsonl.ts';
import type { Verdict, VerdictSink } from '../env/verdict.ts';

export class VerdictLedger implements Disposable {
  readonly #writer: JsonlWriter;
  readonly #known = new Map<string, Verdict>();

  constructor(path: string) {
    this.#writer = new JsonlWriter(path);
  }

  /** For the grader. Has no way to read. */
  get sink(): VerdictSink {
    return {
      append: (verdict) => {
        this.#writer.append(verdict);
        this.#known.set(verdict.id, verdict);
      },
    };
  }

  /** The verdict of a rollout graded by this process. */
  of(id: string): Verdict {
    const verdict = this.#known.get(id);
    if (verdict === undefined)
      throw new ShapeError({ call: 'verdict', expected: `a verdict of rollout ${id}`, found: 'none' });
    return verdict;
  }

  /** Forgets what an update no longer needs. */
  forget(): void {
    this.#known.clear();
  }

  [Symbol.dispose](): void {
    this.#writer.close();
  }
}

export async function readVerdicts(path: string): Promise<Map<string, Verdict>> {
  const verdicts = new Map<string, Verdict>();
  for await (const row of readJsonl(path)) {
    const verdict = row as Verdict;
    verdicts.set(verdict.id, verdict);
  }
  return verdicts;
}
