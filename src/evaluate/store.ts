/**
 * Evaluations of a run, beside it: `evaluations/00100-test-novel-deployed.json`. One file per checkpoint, set and state, written
 * whole; one that exists is not made again, so an interrupted evaluation goes on where it stopped.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomic } from '../base/atomic-file.ts';
import type { EvaluationRow } from './evaluate.ts';
import type { EvaluationSet } from './sets.ts';

/** `base`: without the adapter. `trained`: both blocks. `deployed`: the quarantine deleted. A number: its scale. */
export type EvaluationState = 'base' | 'trained' | 'deployed' | `scale-${number}`;

export interface Evaluation {
  readonly update: number;
  readonly set: EvaluationSet;
  readonly state: EvaluationState;
  readonly seed: number;
  readonly rows: readonly EvaluationRow[];
}

export class EvaluationStore {
  readonly #folder: string;

  constructor(runPath: string) {
    this.#folder = join(runPath, 'evaluations');
  }

  #path(update: number, set: EvaluationSet, state: EvaluationState): string {
    return join(this.#folder, `${String(update).padStart(5, '0')}-${set}-${state}.json`);
  }

  find(update: number, set: EvaluationSet, state: EvaluationState): Evaluation | null {
    const path = this.#path(update, set, state);
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Evaluation) : null;
  }

  async save(evaluation: Evaluation): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    const { update, set, state } = evaluation;
    await writeFileAtomic(this.#path(update, set, state), `${JSON.stringify(evaluation)}\n`);
  }

  /** Every evaluation there is, by update, set and state. */
  all(): Evaluation[] {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder)
      .filter((name) => name.endsWith('.json'))
      .sort()
      .map((name) => JSON.parse(readFileSync(join(this.#folder, name), 'utf8')) as Evaluation);
  }
}
