/**
 * Evaluations of a run, beside it: `evaluations/00100-test-novel-deployed.json`. One file per checkpoint, set and state, written
 * whole; one that exists is not made again, so an interrupted evaluation goes on where it stopped.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomic } from '../base/index.ts';
import type { EvaluationRow } from './evaluate.ts';
import type { MonitorChoice } from './monitor.ts';
import type { EvaluationSet } from './sets.ts';

/** `base`: without the adapter. `trained`: both blocks. `deployed`: the quarantine deleted. A number: its scale. */
export type EvaluationState = 'base' | 'trained' | 'deployed' | `scale-${number}`;

export interface EvaluationName {
  /** Updates completed; the base is evaluated at 0. */
  readonly update: number;
  readonly set: EvaluationSet;
  readonly state: EvaluationState;
  /** Only the first prompts of the set; null for all. */
  readonly limit: number | null;
}

export interface Evaluation extends EvaluationName {
  readonly seed: number;
  /** Hash of everything but the adapter that decides the rows: model, prompts, sampling. */
  readonly key: string;
  readonly rows: readonly EvaluationRow[];
}

export class EvaluationStore {
  readonly #folder: string;

  constructor(runPath: string) {
    this.#folder = join(runPath, 'evaluations');
  }

  #path({ update, set, state, limit }: EvaluationName): string {
    const first = limit === null ? '' : `-first${limit}`;
    return join(this.#folder, `${String(update).padStart(5, '0')}-${set}${first}-${state}.json`);
  }

  has(name: EvaluationName): boolean {
    return existsSync(this.#path(name));
  }

  find(name: EvaluationName): Evaluation | null {
    const path = this.#path(name);
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Evaluation) : null;
  }

  async save(evaluation: Evaluation): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    await writeFileAtomic(this.#path(evaluation), `${JSON.stringify(evaluation)}\n`);
  }

  /** Every evaluation there is, by update, set and state. */
  all(): Evaluation[] {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder)
      .filter((name) => /^\d{5,}-.*\.json$/.test(name))
      .sort()
      .map((name) => JSON.parse(readFileSync(join(this.#folder, name), 'utf8')) as Evaluation);
  }

  get monitor(): MonitorChoice | null {
    const path = join(this.#folder, 'monitor.json');
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as MonitorChoice) : null;
  }

  async saveMonitor(choice: MonitorChoice): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    await writeFileAtomic(join(this.#folder, 'monitor.json'), `${JSON.stringify(choice, null, 2)}\n`);
  }
}
