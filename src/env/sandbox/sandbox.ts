/**
 * The pool of workers: programs go to whichever is free, each worker is replaced after a number of programs or at the
 * first sign of trouble, and a program whose worker failed is run again on a fresh one, three times in all. If that fails
 * too, the sandbox itself is broken: it throws GraderError and gives no verdict.
 */
import { availableParallelism, tmpdir } from 'node:os';
import { GraderError, UserError } from '../../base/index.ts';
import { type IsolationLevel, type LayerName, type LayerReport, layerNames, levelOf } from './isolation.ts';
import { findPython, type Python } from './python.ts';
import { findEscapes } from './self-check.ts';
import { type Ending, type Program, SandboxWorker } from './worker.ts';

export interface SandboxOptions {
  /** Name or path of Python; python3 by default. */
  readonly python?: string;
  /** Number of worker processes; by default twice the number of cores, because programs sometimes wait for inputs. */
  readonly workers?: number;
  /** Lowest isolation level at which the sandbox agrees to run. */
  readonly strictLevel?: IsolationLevel;
  /** Isolation layers to try; all by default. */
  readonly layers?: readonly LayerName[];
  readonly memoryBytes?: number;
  readonly programsPerWorker?: number;
}

export interface SandboxReport {
  readonly python: Python;
  readonly level: IsolationLevel;
  readonly layers: LayerReport;
  /** Attacks of the self-check that took effect; empty on a sandbox that holds. */
  readonly escapes: readonly string[];
}

const defaultMemoryBytes = 1 << 30;
const defaultProgramsPerWorker = 5_000;
const attempts = 3;

export class Sandbox implements AsyncDisposable {
  readonly report: SandboxReport;
  readonly workerCount: number;
  /** Number of workers that were replaced because something was wrong with them. */
  replaced = 0;
  readonly #start: () => SandboxWorker;
  readonly #programsPerWorker: number;
  readonly #idle: (SandboxWorker | undefined)[];
  readonly #waiting: ((worker: SandboxWorker | undefined) => void)[] = [];
  readonly #open = new Set<SandboxWorker>();
  #closed = false;

  private constructor(report: SandboxReport, options: SandboxOptions, start: () => SandboxWorker) {
    this.report = report;
    this.#start = start;
    this.workerCount = options.workers ?? 2 * availableParallelism();
    this.#programsPerWorker = options.programsPerWorker ?? defaultProgramsPerWorker;
    this.#idle = Array.from({ length: this.workerCount }, () => undefined);
  }

  static async start(options: SandboxOptions = {}): Promise<Sandbox> {
    const python = await findPython(options.python);
    const { layers = layerNames, memoryBytes = defaultMemoryBytes } = options;
    const start = () => new SandboxWorker({ python, layers, workParent: tmpdir(), memoryBytes });
    const first = start();
    try {
      const { layers: report } = await first.ready;
      const escapes = await findEscapes(first);
      const level = escapes.length > 0 ? 0 : levelOf(report);
      const sandbox = new Sandbox({ python, level, layers: report, escapes }, options, start);
      sandbox.#requireLevel(options.strictLevel ?? 0);
      sandbox.#open.add(first);
      sandbox.#idle[0] = first;
      return sandbox;
    } catch (error) {
      await first.close();
      throw error;
    }
  }

  #requireLevel(wanted: IsolationLevel): void {
    const { level, layers, escapes } = this.report;
    if (level >= wanted) return;
    const missing = Object.entries(layers).flatMap(([name, why]) => (why === '' ? [] : [`${name}: ${why}`]));
    throw new UserError({
      call: 'start the sandbox',
      expected: `isolation level ${wanted} (strict)`,
      found: `level ${level}. ${[...missing, ...escapes.map((name) => `escape: ${name}`)].join('; ')}`,
      fix: 'Run where these layers work, or lower the level the config asks for.',
    });
  }

  #take(): Promise<SandboxWorker | undefined> {
    if (this.#idle.length > 0) return Promise.resolve(this.#idle.pop());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #give(worker: SandboxWorker | undefined): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(worker);
    else next(worker);
  }

  #renew(worker: SandboxWorker | undefined): SandboxWorker {
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
    if (this.#closed) throw new GraderError({ call: 'sandbox execute', expected: 'an open sandbox', found: 'closed' });
    let worker = await this.#take();
    try {
      for (let attempt = 1; ; attempt += 1) {
        const current = this.#renew(worker);
        worker = current;
        try {
          return await current.run(program());
        } catch (error) {
          if (!(error instanceof GraderError) || current.failure === '' || attempt === attempts) throw error;
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

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
