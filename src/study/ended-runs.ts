/**
 * The runs of an experiment that are over, whose results are kept in the cache while the next ones are trained: the first tables of the
 * experiment then read small files. What cannot be kept yet, because its files are fresh, is tried again before the next run.
 */
import { join } from 'node:path';
import { keepResults } from '../report/index.ts';

export class EndedRuns {
  readonly #directory: string;
  readonly #left = new Set<string>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  add(folder: string): void {
    this.#left.add(join(this.#directory, folder));
  }

  async keep(): Promise<void> {
    for (const path of [...this.#left]) {
      // Several slots may come here at once: each run is taken by one of them.
      if (this.#left.delete(path) && !(await keepResults(path))) this.#left.add(path);
    }
  }
}
