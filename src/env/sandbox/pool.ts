/**
 * A pool of workers: programs go to whichever is free, each worker is replaced after a number of programs or at the first
 * sign of trouble, and a program whose worker failed is run again on a fresh one, three times in all. A program that fails all
 * three, while one that does no harm runs on a fresh worker, has itself to blame and ends alone. If that one fails too,
 * the sandbox itself is broken: it throws GraderError and gives no verdict. Workers start when they are first needed.
 */
import { GraderError } from '../../base/index.ts';
import { runsHarmless } from './self-check.ts';
import type { Ending, Program, SandboxWorker } from './worker.ts';

const attempts = 3;

export interface WorkerPoolOptions {
  readonly workers: number;
  readonly programsPerWorker: number;
  readonly start: () => SandboxWorker;
  /** A worker that runs already. */
  readonly first?: SandboxWorker;
}

type Turn = (worker: SandboxWorker | undefined) => void;

export class WorkerPool {
  /** Number of workers that were replaced because something was wrong with them. */
  replaced = 0;
  readonly #start: () => SandboxWorker;
  readonly #programsPerWorker: number;
  readonly #workers: number;
  readonly #idle: (SandboxWorker | undefined)[];
  readonly #waiting = new Set<Turn>();
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

  /** Waits for a worker; rejects with the signal's reason when it is aborted before. */
  #turn(signal?: AbortSignal): Promise<SandboxWorker | undefined> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(turn);
        reject(signal?.reason);
      };
      const turn: Turn = (worker) => {
        signal?.removeEventListener('abort', leave);
        resolve(worker);
      };
      this.#waiting.add(turn);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  #give(worker: SandboxWorker | undefined): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#idle.push(worker);
      return;
    }
    this.#waiting.delete(next);
    next(worker);
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
    await worker.close();
    this.#open.delete(worker);
  }

  /** Rejects with the signal's reason when it is aborted: a program that waits does not run, one that runs is stopped. */
  async execute(program: () => Program, signal?: AbortSignal): Promise<Ending> {
    this.#expectOpen();
    signal?.throwIfAborted();
    const start = performance.now();
    let worker = this.#idle.length > 0 ? this.#idle.pop() : await this.#turn(signal);
    try {
      for (let attempt = 1; ; attempt += 1) {
        const current = this.#renew(worker);
        worker = current;
        try {
          return await current.run(program(), signal);
        } catch (error) {
          if (!(error instanceof GraderError) || current.failure === '' || this.#closed) throw error;
          if (attempt === attempts) await this.#expectBlame(error, current);
        } finally {
          if (current.failure !== '' || current.isWorn || current.programs >= this.#programsPerWorker) {
            if (current.failure !== '') this.replaced += 1;
            worker = undefined;
            await this.#retire(current);
          }
        }
        if (attempt === attempts) return endedByItsWorkers(performance.now() - start, current.failure);
      }
    } finally {
      this.#give(worker);
    }
  }

  /** Throws the error unless the program is to blame: its worker had started, and another runs a program that does no harm. */
  async #expectBlame(error: GraderError, { programs }: SandboxWorker): Promise<void> {
    if (programs === 0) throw error;
    const fresh = this.#renew(undefined);
    const works = await runsHarmless(fresh);
    await this.#retire(fresh);
    if (!works) throw error;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#open].map((worker) => this.#retire(worker)));
  }
}

function endedByItsWorkers(wallMs: number, failure: string): Ending {
  const nothing = { cpuMs: 0, idleMs: 0, files: [], stdout: '', flooded: false };
  return { exit: -9, stopped: 'worker', wallMs, failure, ...nothing };
}
