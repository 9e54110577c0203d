/** Starts programs on ranks of this machine, and watches how they end. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { mpirunArguments } from '../../src/parallel/launcher.ts';

/** What is missing for ranks on this machine; null if nothing is. */
export function missingMpi(): string | null {
  const { error, stdout } = spawnSync('mpirun', ['--version'], { encoding: 'utf8' });
  if (error !== undefined) return 'mpirun is missing: apt-get install openmpi-bin';
  return stdout.includes('Open MPI') ? null : `mpirun is not that of Open MPI but ${stdout.split('\n')[0]}`;
}

/** The Node that runs TypeScript: that of the repository where this one is too old. */
const runsTypes = Number(process.versions.node.split('.')[0]) >= 24;
const node = runsTypes ? process.execPath : fileURLToPath(new URL('../../node_modules/node/bin/node', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly seconds: number;
}

export interface Ranks {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** The processes of the ranks that live, by rank. */
  pids(): Map<number, number>;
}

export interface Started {
  readonly ranks: number;
  /** A file of this folder, or an absolute path. */
  readonly program: string;
  readonly argv?: readonly string[];
  /** Words of the last rank, in place of those of the others: a rank that is not like them. */
  readonly last?: { readonly before?: readonly string[]; readonly program?: string; readonly argv?: readonly string[] };
  readonly environment?: Readonly<Record<string, string>>;
}

export function startMpirun({ ranks, program, argv = [], last, environment = {} }: Started): Ranks {
  const path = program.startsWith('/') ? program : fileURLToPath(new URL(program, import.meta.url));
  const isRoot = process.getuid?.() === 0;
  const other = last && [...(last.before ?? []), node, last.program ?? path, ...(last.argv ?? argv)];
  const command =
    other === undefined
      ? mpirunArguments(ranks, [node, path, ...argv], isRoot)
      : [...mpirunArguments(ranks - 1, [node, path, ...argv], isRoot), ':', '-np', '1', ...other];
  const started = performance.now();
  const child = spawn('mpirun', command, { env: { ...process.env, ...environment } });
  const written = { out: '', err: '' };
  child.stdout.on('data', (text) => {
    written.out += String(text);
  });
  child.stderr.on('data', (text) => {
    written.err += String(text);
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...written, seconds: (performance.now() - started) / 1000 }));
  });
  return { child, ended, pids: () => ranksUnder(child.pid ?? -1) };
}

export function runMpirun(started: Started): Promise<Ended> {
  return startMpirun(started).ended;
}

/** Children of mpirun that have a rank, by what /proc says of them. */
function ranksUnder(parent: number): Map<number, number> {
  const found = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (Number(ppid) !== parent || state === 'Z') continue;
      const rank = /(?:^|\0)OMPI_COMM_WORLD_RANK=(\d+)/.exec(readFileSync(`/proc/${name}/environ`, 'utf8'));
      if (rank !== null) found.set(Number(rank[1]), Number(name));
    } catch {
      // A process that has ended since the list was made.
    }
  }
  return found;
}
