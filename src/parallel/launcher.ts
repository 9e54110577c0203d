/**
 * How ranks come about. mpirun of Open MPI and srun tell each process its rank in variables of the environment; `startRanks` calls
 * mpirun itself. A launcher whose library has another binary interface is refused by its name.
 */
import { spawn, spawnSync } from 'node:child_process';
import { exitCodes, UserError } from '../base/index.ts';
import { type Communicator, RankFailure } from './communicator.ts';
import { MpiCommunicator } from './mpi.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Launched {
  readonly launcher: 'mpirun' | 'srun';
  readonly rank: number;
  readonly size: number;
  /** The rank among those of its machine, and how many there are. */
  readonly localRank: number;
  readonly localSize: number;
}

/** The variable that says how many seconds a rank may give no sign of life. */
const patienceVariable = 'GQ_PATIENCE';
const usualPatience = 25;
/** Is set for ranks that `startRanks` has started. */
const parentVariable = 'GQ_RANKS_PARENT';
const installOpenMpi = 'Install Open MPI (Debian and Ubuntu: apt-get install openmpi-bin), or train without --ranks.';

/** What the launcher of this process says; null for a process that was started alone. */
export function launchedRanks(environment: Environment = process.env): Launched | null {
  const read = (name: string, otherwise: number): number => Number(environment[name] ?? otherwise);
  if (environment['OMPI_COMM_WORLD_SIZE'] !== undefined) {
    return {
      launcher: 'mpirun',
      rank: read('OMPI_COMM_WORLD_RANK', 0),
      size: read('OMPI_COMM_WORLD_SIZE', 1),
      localRank: read('OMPI_COMM_WORLD_LOCAL_RANK', 0),
      localSize: read('OMPI_COMM_WORLD_LOCAL_SIZE', 1),
    };
  }
  // A batch script has some of Slurm's variables too; only srun counts the tasks of a step.
  if (read('SLURM_STEP_NUM_TASKS', 1) > 1) {
    const [perNode] = (environment['SLURM_STEP_TASKS_PER_NODE'] ?? '1').split(/[(,]/);
    return {
      launcher: 'srun',
      rank: read('SLURM_PROCID', 0),
      size: read('SLURM_STEP_NUM_TASKS', 1),
      localRank: read('SLURM_LOCALID', 0),
      localSize: Number(perNode),
    };
  }
  if (environment['PMI_SIZE'] === undefined) return null;
  throw toldOnce(read('PMI_RANK', 0), {
    call: 'ranks',
    expected: 'the mpirun of Open MPI, or srun',
    found: 'the launcher of MPICH or of a library built from it (PMI_SIZE is set)',
    fix: `MPICH has another binary interface. ${installOpenMpi}`,
  });
}

/** A fault that every rank finds by itself: rank 0 tells people of it. */
function toldOnce(rank: number, problem: ConstructorParameters<typeof UserError>[0]): Error {
  const error = new UserError(problem);
  return rank === 0 ? error : new RankFailure(0, error.message, exitCodes.refused);
}

/** Open MPI would end the process in its first call, with a page of text. */
export function expectPmix({ launcher, rank }: Launched, environment: Environment = process.env): void {
  if (launcher !== 'srun' || environment['PMIX_RANK'] !== undefined) return;
  throw toldOnce(rank, {
    call: 'ranks under srun',
    expected: 'PMIx, by which the processes of Open MPI find each other (PMIX_RANK is set)',
    found: 'none',
    fix: 'Start them with srun --mpi=pmix; srun --mpi=list shows whether this Slurm has it. mpirun inside of a job needs none.',
  });
}

/** Joins the other ranks of this process's launcher. */
export async function joinRanks(launched: Launched): Promise<Communicator> {
  expectPmix(launched);
  const { launcher, size } = launched;
  const communicator = await MpiCommunicator.open(readPatience(launched));
  if (communicator.size === size) return communicator;
  throw new UserError({
    call: `ranks under ${launcher}`,
    expected: `${size} ranks, as ${launcher} says`,
    found: `${communicator.size} in Open MPI`,
    fix: 'Start them with the mpirun of this Open MPI, or with a Slurm whose PMIx it knows.',
  });
}

export function readPatience({ rank }: Pick<Launched, 'rank'>, environment: Environment = process.env): number {
  const text = environment[patienceVariable];
  if (text === undefined || text === '') return usualPatience;
  const seconds = Number(text);
  if (seconds >= 1 && seconds <= 86_400) return seconds;
  throw toldOnce(rank, { call: patienceVariable, expected: 'seconds from 1 to 86400', found: text });
}

export interface RanksToStart {
  readonly ranks: number;
  readonly program: string;
  readonly argv: readonly string[];
  /** When aborted, the ranks are asked to save and end. */
  readonly signal: AbortSignal;
}

/** The arguments of mpirun. Ranks are bound to no core, since each has threads of its own. */
export function mpirunArguments(ranks: number, command: readonly string[], isRoot: boolean): string[] {
  const root = isRoot ? ['--allow-run-as-root'] : [];
  return [...root, '--oversubscribe', '--bind-to', 'none', '-np', `${ranks}`, ...command];
}

/** mpirun gives its ranks a terminal even where its own output is a file, so they are told that nothing obeys its sequences. */
export function ranksEnvironment(environment: Environment, isTerminal: boolean): Environment {
  return { ...environment, [parentVariable]: `${process.pid}`, ...(isTerminal ? {} : { TERM: 'dumb' }) };
}

/** Refuses an mpirun that is not Open MPI's: that of MPICH would answer with a page about options that it does not know. */
export function expectOwnMpirun(environment: Environment = process.env): void {
  const { error, stdout, stderr } = spawnSync('mpirun', ['--version'], {
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...environment },
  });
  if (error !== undefined) throw withoutMpirun(error);
  const text = `${stdout}${stderr}`.trim();
  if (/Open MPI|OpenRTE|PRRTE/.test(text)) return;
  const name = /HYDRA/i.test(text) ? 'that of MPICH or of a library built from it' : 'another one';
  throw new UserError({
    call: '--ranks',
    expected: 'the mpirun of Open MPI as the first one on the path',
    found: `${name} (${text.split('\n', 1)[0] || 'it does not say its version'})`,
    fix: `MPICH has another binary interface. ${installOpenMpi}`,
  });
}

/** mpirun ends with codes of its own, such as 137 where a rank was killed; whoever started this program knows only those of gq. */
export function codeOfRanks(code: number | null): number {
  return Object.values(exitCodes).find((known) => known === code) ?? exitCodes.failed;
}

/** Runs a program on so many ranks of this machine, and resolves to the exit code. */
export async function startRanks({ ranks, program, argv, signal }: RanksToStart): Promise<number> {
  expectOwnMpirun();
  const command = mpirunArguments(ranks, [program, ...argv], process.getuid?.() === 0);
  // A group of its own: Ctrl-C in the terminal would make mpirun end the ranks at once, before they could save.
  const child = spawn('mpirun', command, {
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
    env: ranksEnvironment(process.env, process.stdout.isTTY),
  });
  // A signal to mpirun would reach the sandboxes of the ranks too, and end them; the end of its input reaches rank 0 alone.
  const ask = (): void => void child.stdin.end();
  child.stdin.on('error', () => undefined);
  const end = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', ask);
  process.once('exit', end);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.on('error', (cause) => reject(withoutMpirun(cause)));
      child.on('close', (code) => resolve(codeOfRanks(code)));
    });
  } finally {
    signal.removeEventListener('abort', ask);
    process.off('exit', end);
  }
}

/** Calls `stop` on rank 0 when the process that started the ranks asks for it, or is gone; does nothing for ranks of another launcher. */
export function onAskedToStop({ rank }: Launched, stop: () => void): void {
  if (rank !== 0 || process.env[parentVariable] === undefined) return;
  process.stdin.on('end', stop);
  process.stdin.resume();
  if ('unref' in process.stdin) process.stdin.unref();
}

function withoutMpirun(cause: Error): UserError {
  const found = cause.message;
  return new UserError({ call: '--ranks', expected: 'the program mpirun', found, fix: installOpenMpi }, { cause });
}
