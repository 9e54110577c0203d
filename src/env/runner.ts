/** What the judge asks of whoever runs programs: the sandbox on the command line, an interpreter in a worker where there are no processes. */
import type { Ending, Program } from './sandbox/worker.ts';

export interface ProgramRunner {
  /** Programs that are run at the same time. */
  readonly workerCount: number;
  /** Runs a program; it is made again where its worker failed. */
  execute(program: () => Program): Promise<Ending>;
  /** Runs a test function, which may learn answers. */
  executeTests(program: () => Program): Promise<Ending>;
  /** Runs a canonical solution, for a test function that waits. */
  executeAnswer(program: () => Program, signal: AbortSignal): Promise<Ending>;
}
