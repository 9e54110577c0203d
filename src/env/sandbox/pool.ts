/**
 * A pool of workers: programs go to whichever is free, each worker is replaced after a number of programs or at the first
 * sign of trouble, and a program whose worker failed is run again on a fresh one, three times in all. If that fails too,
 * the sandbox itself is broken: it throws GraderError and gives no verdict. Workers start when they are first needed.
 */
import { GraderError } from '../../base/index.ts';
import type { Ending, Program, SandboxWorker } from './worker.ts';

const attempts = 3;

export interface WorkerPoolOptions {
  readonly workers: number;
  readonly programsPerWorker: number;
  readonly start: () => SandboxWorker;
  /** A worker that runs already. */
  readonly first?: SandboxWorker;
}

export class WorkerPool {
  /** Number of workers that were replaced because something was wrong with them. */
  replaced = 0;
  readonly #start: () => SandboxWorker;
  readonly #programsPerWorker: number;
  readonly #workers: number;
  readonly #idle: (SandboxWorker | undefined)[];
  readonly #waiting: ((worker: SandboxWorker | undefined) => void)[] = [];
  readonly #open = new Set<SandboxWorker>();
  #closed = false;

  constructor({ workers, programsPerWorker, start, first }: WorkerPoolOptions) {
    this.#start = start;
    this.#programsPerWorker = programsPerWorker;
    this.#workers = workers;
    this.#idle = Array.from({ length: workers }, () => undefined);
    if (first !== undefined) {
      this.#open.add(first);
      // The last one is taken first.
      this.#idle[workers - 1] = first;
    }
  }

  get isIdle(): boolean {
    return this.#idle.length === this.#workers;
  }

  #turn(): Promise<SandboxWorker | undefined> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #give(worker: SandboxWorker | undefined): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(worker);
    else next(worker);
  }

  /** Nothing starts after the pool is closed: a program that waited for its turn would keep the process alive. */
  #expectOpen(): void {
    if (this.#closed) throw new GraderError({ call: 'sandbox execute', expected: 'an open sandbox', found: 'closed' });
  }

  #renew(worker: SandboxWorker | undefined): SandboxWorker {
    this.#expectOpen();
    if (worker !== undefined) return worker;
    const fresh = this.#start();
    this.#open.add(fresh);
    return fresh;
  }

  async #retire(worker: SandboxWorker): Promise<void> {
    this.#open.delete(worker);
    await worker.close();
  }

  async execute(program: () => Program): Promise<Ending> {
    this.#expectOpen();
    let worker = this.#idle.length > 0 ? this.#idle.pop() : await this.#turn();
    try {
      for (let attempt = 1; ; attempt += 1) {
        const current = this.#renew(worker);
        worker = current;
        try {
          return await current.run(program());
        } catch (error) {
          const isOver = this.#closed || attempt === attempts;
          if (!(error instanceof GraderError) || current.failure === '' || isOver) throw error;
        } finally {
          if (current.failure !== '' || current.programs >= this.#programsPerWorker) {
            if (current.failure !== '') this.replaced += 1;
            worker = undefined;
            await this.#retire(current);
          }
        }
      }
    } finally {
      this.#give(worker);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#open].map((worker) => this.#retire(worker)));
  }
}
