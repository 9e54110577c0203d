/**
 * Starts the process of a job, which leads its own process group and outlives the daemon. A small shell keeps its exit code in a
 * file, so that a daemon that begins later learns it too.
 */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { startOf } from '../run/index.ts';
import type { QueueEntry, QueueFolder } from './folder.ts';

/** The shell survives signals to the group, to write down how the command ended. */
const keeper = 'trap : TERM INT USR1; "$@"; code=$?; echo "$code" > "$0.part" && mv "$0.part" "$0"';

export interface LaunchedJob {
  readonly pid: number;
  readonly processStart: string | null;
}

export function launch(
  queue: QueueFolder,
  { id, job }: QueueEntry,
  gq: readonly string[],
  environment: Readonly<Record<string, string>>,
): LaunchedJob {
  const codePath = queue.file(id, 'code');
  rmSync(codePath, { force: true });
  const log = openSync(queue.file(id, 'log.txt'), 'a');
  try {
    const child = spawn('sh', ['-c', keeper, codePath, ...gq, ...job.words], {
      cwd: job.folder,
      env: { ...process.env, ...environment },
      stdio: ['ignore', log, log],
      detached: true,
    });
    child.on('error', () => undefined);
    child.unref();
    if (child.pid === undefined) throw new Error(`no process could be started in ${job.folder}`);
    return { pid: child.pid, processStart: startOf(child.pid) };
  } finally {
    closeSync(log);
  }
}

/** The exit code that the shell wrote; null if it wrote none. */
export function readCode(queue: QueueFolder, id: number): number | null {
  const path = queue.file(id, 'code');
  if (!existsSync(path)) return null;
  const text = readFileSync(path, 'utf8').trim();
  return /^\d{1,3}$/.test(text) ? Number(text) : null;
}

export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}

/** Numbers of the GPUs of this machine; an empty list without any. */
export function findGpus(): string[] {
  const words = ['--query-gpu=index', '--format=csv,noheader'];
  const { status, stdout } = spawnSync('nvidia-smi', words, { encoding: 'utf8', timeout: 20_000 });
  return status === 0 ? stdout.split('\n').map((line) => line.trim()).filter((line) => /^\d+$/.test(line)) : []; // biome-ignore format: one line
}

/** Starts a process that goes on when its terminal is closed. */
export function startDetached(command: readonly string[], logPath: string): void {
  const log = openSync(logPath, 'a');
  const [program, ...words] = command;
  const child = spawn(program, words, { stdio: ['ignore', log, log], detached: true });
  child.on('error', () => undefined);
  child.unref();
  closeSync(log);
}

/** Runs a line of the user's shell with these variables, and gives it a minute. Returns what went wrong, or null. */
export function runShell(line: string, variables: Readonly<Record<string, string>>): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', line], {
      env: { ...process.env, ...variables },
      stdio: 'ignore',
      timeout: 60_000,
    });
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code) => resolve(code === 0 ? null : `it ended with ${code}`));
  });
}

/** Runs `gq` with other words in the folder of a job, and waits for it. */
export function runBeside(gq: readonly string[], words: readonly string[], folder: string): string {
  const [program, ...before] = gq;
  const { stdout, stderr } = spawnSync(program, [...before, ...words], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
  });
  return `${stdout ?? ''}${stderr ?? ''}`;
}
