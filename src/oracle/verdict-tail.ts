/** Reads the verdicts a run has written since the last look, and counts them update by update: a reader outside the trainer. */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import type { Verdict } from '../env/index.ts';
import { type Tally, tally } from './tally.ts';

export class VerdictTail {
  readonly #path: string;
  readonly #byStep = new Map<number, Verdict[]>();
  #offset = 0;
  #rest = '';

  constructor(path: string) {
    this.#path = path;
  }

  /** Counts of every update so far, in order. */
  read(): Tally[] {
    for (const line of this.#newLines()) {
      const verdict: Verdict = JSON.parse(line);
      const step = Number(verdict.id.split('-')[0]);
      const known = this.#byStep.get(step);
      if (known === undefined) this.#byStep.set(step, [verdict]);
      else known.push(verdict);
    }
    return [...this.#byStep].sort(([a], [b]) => a - b).map(([, verdicts]) => tally(verdicts));
  }

  #newLines(): string[] {
    if (!existsSync(this.#path)) return [];
    const { size } = statSync(this.#path);
    if (size <= this.#offset) return [];
    const bytes = Buffer.alloc(size - this.#offset);
    const file = openSync(this.#path, 'r');
    try {
      readSync(file, bytes, 0, bytes.length, this.#offset);
    } finally {
      closeSync(file);
    }
    this.#offset = size;
    const lines = `${this.#rest}${bytes.toString('latin1')}`.split('\n');
    this.#rest = lines.pop() ?? '';
    // Lines are cut as bytes and decoded whole, so that a character is never cut in two.
    return lines.map((line) => Buffer.from(line, 'latin1').toString('utf8'));
  }
}
