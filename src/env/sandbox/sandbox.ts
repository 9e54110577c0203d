/**
 * The sandbox: three pools of workers. One runs programs, one their test functions, and one the canonical solutions that test
 * functions ask, so that none can take another's last worker, and no program runs where answers were known before.
 * Below isolation level 1 it starts only where that is asked for.
 */
import { availableParallelism } from 'node:os';
import { GraderError, UserError } from '../../base/index.ts';
import { expectWritable, temporaryParent } from '../../base/node/index.ts';
import { type IsolationLevel, type LayerName, type LayerReport, layerNames, levelOf } from './isolation.ts';
import { WorkerPool } from './pool.ts';
import { findPython, type Python } from './python.ts';
import { findEscapes } from './self-check.ts';
import { requireLimits } from './server-process.ts';
import { type Ending, type Program, SandboxWorker } from './worker.ts';

export interface SandboxOptions {
  /** Name or path of Python; python3 by default. */
  readonly python?: string;
  /** Number of worker processes; by default twice the number of cores, because programs sometimes wait for inputs. */
  readonly workers?: number;
  /** Lowest isolation level at which the sandbox agrees to run; 1 by default, 0 to run without isolation. */
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

interface CheckedWorker {
  readonly worker: SandboxWorker;
  readonly layers: LayerReport;
  readonly escapes: readonly string[];
}

/** Starts a worker and lets it attack itself; a second one where something ended the first. */
async function startChecked(
  start: () => SandboxWorker,
  signal?: AbortSignal,
  isSecond = false,
): Promise<CheckedWorker> {
  const worker = start();
  const end = (): void => void worker.close();
  signal?.addEventListener('abort', end);
  try {
    const { layers } = await worker.ready;
    return { worker, layers, escapes: await findEscapes(worker) };
  } catch (error) {
    await worker.close();
    if (!(error instanceof GraderError) || signal?.aborted) throw error;
    if (!isSecond) return await startChecked(start, signal, true);
    const { found } = error.complaint;
    throw new GraderError(
      {
        call: 'start the sandbox',
        expected: 'a first program that comes to its end',
        found: `that something ended it, twice: ${found.replace(/\.$/, '')}`,
        fix: 'See whether memory ran out (dmesg) and what this shell limits (ulimit -a).',
      },
      { cause: error },
    );
  } finally {
    signal?.removeEventListener('abort', end);
  }
}

function workersOf({ workers = 2 * availableParallelism() }: SandboxOptions): number {
  return workers;
}

/** Workers of each pool: canonical solutions have half as many as programs. */
function poolSizes(workers: number) {
  return { programs: workers, tests: workers, answers: Math.ceil(workers / 2) };
}

export class Sandbox implements AsyncDisposable {
  readonly report: SandboxReport;
  readonly workerCount: number;
  readonly #programs: WorkerPool;
  readonly #tests: WorkerPool;
  readonly #answers: WorkerPool;

  private constructor(
    report: SandboxReport,
    options: SandboxOptions,
    start: () => SandboxWorker,
    first: SandboxWorker,
  ) {
    const { programsPerWorker = defaultProgramsPerWorker } = options;
    const workers = workersOf(options);
    this.report = report;
    this.workerCount = workers;
    const { programs, tests, answers } = poolSizes(workers);
    this.#programs = new WorkerPool({ workers: programs, programsPerWorker, start, first });
    this.#tests = new WorkerPool({ workers: tests, programsPerWorker, start });
    this.#answers = new WorkerPool({ workers: answers, programsPerWorker, start });
  }

  /** The signal ends a start that is not done. */
  static async start(options: SandboxOptions = {}, signal?: AbortSignal): Promise<Sandbox> {
    const { programs, tests, answers } = poolSizes(workersOf(options));
    requireLimits(programs + tests + answers);
    const workParent = temporaryParent();
    const python = await findPython(options.python, signal);
    const { layers = layerNames, memoryBytes = defaultMemoryBytes } = options;
    const start = () => new SandboxWorker({ python, layers, workParent, memoryBytes });
    const {
      worker,
      layers: report,
      escapes,
    } = await startChecked(start, signal).catch((error: unknown) => {
      // Below level 3 programs work in a folder there.
      if (!signal?.aborted) expectWritable(`TMPDIR=${workParent}`, workParent);
      throw error;
    });
    const level = escapes.length > 0 ? 0 : levelOf(report);
    const sandbox = new Sandbox({ python, level, layers: report, escapes }, options, start, worker);
    try {
      sandbox.#requireLevel(options.strictLevel ?? 1);
      return sandbox;
    } catch (error) {
      await sandbox.close();
      throw error;
    }
  }

  get #pools(): readonly WorkerPool[] {
    return [this.#programs, this.#tests, this.#answers];
  }

  /** Number of workers that were replaced because something was wrong with them. */
  get replaced(): number {
    return this.#pools.reduce((sum, { replaced }) => sum + replaced, 0);
  }

  /** Whether no program runs or waits. */
  get isIdle(): boolean {
    return this.#pools.every(({ isIdle }) => isIdle);
  }

  #requireLevel(wanted: IsolationLevel): void {
    const { level, layers, escapes } = this.report;
    if (level >= wanted) return;
    const missing = Object.entries(layers).flatMap(([name, why]) => (why === '' ? [] : [`${name}: ${why}`]));
    throw new UserError({
      call: 'start the sandbox',
      expected: `isolation level ${wanted} or higher`,
      found: `level ${level}. ${[...missing, ...escapes.map((name) => `escape: ${name}`)].join('; ')}`,
      fix:
        'Run where these layers work (gq doctor lists them). To run programs that can read and write what you can: ' +
        'environment.sandbox = "none" in the config, --sandbox none on the command line.',
    });
  }

  execute(program: () => Program): Promise<Ending> {
    return this.#executeIn(this.#programs, program);
  }

  /** Runs a test function, which may learn answers: by how many processes it takes, a program on its worker could be told them. */
  executeTests(program: () => Program): Promise<Ending> {
    return this.#executeIn(this.#tests, program);
  }

  /** A straight-line program whose process did not end well runs once more, in a process of its own: only that one counts. */
  async #executeIn(pool: WorkerPool, program: () => Program): Promise<Ending> {
    let wasStraightLine = false;
    const ending = await pool.execute(() => {
      const made = program();
      wasStraightLine = made.isStraightLine === true;
      return made;
    });
    if (!wasStraightLine || (ending.exit === 0 && ending.stopped === '' && !ending.flooded)) return ending;
    return pool.execute(() => ({ ...program(), isStraightLine: false }));
  }

  /** Runs what a test function waits for. It never waits for a worker that runs those. */
  executeAnswer(program: () => Program, signal: AbortSignal): Promise<Ending> {
    return this.#answers.execute(program, signal);
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
