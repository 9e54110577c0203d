/** The process of a fork server, and the limits of this process that all of them live under. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import type { Duplex, Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { GraderError, UserError } from '../../base/index.ts';
import { readRegularText } from '../../base/node/index.ts';

const serverFile = fileURLToPath(new URL('./server.py', import.meta.url));
/** Descriptors of this process for each server, and those that a run needs besides for its own files. */
const pipes = 7;
const otherFiles = 32;
/** Seconds of CPU time that a process may take at least: a program's budget is set below it. */
const leastCpuSeconds = 60;

/** As server.py numbers its descriptors from 0. */
export type ServerStreams = [
  control: Writable,
  output: Readable,
  errors: Readable,
  report: Readable,
  payload: Duplex,
  records: Readable,
  straight: Duplex,
];

export interface ServerProcess {
  readonly child: ChildProcess;
  readonly streams: ServerStreams;
}

export function spawnServer(executable: string, config: Buffer): ServerProcess {
  // -I is absent because it would ignore PYTHONHASHSEED, and the environment holds only what is set here. -S gives the
  // standard library only, and keeps installed packages from running code at start. LD_BIND_NOW has the loader find functions
  // once, here, and not in every fork that calls one first.
  const child = spawn(executable, ['-S', '-B', serverFile, config.toString('base64')], {
    stdio: Array.from({ length: pipes }, () => 'pipe' as const),
    env: { PYTHONHASHSEED: '0', LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', LD_BIND_NOW: '1' },
    cwd: '/',
    // Ctrl-C reaches the whole group of a terminal's command, and would end what only the command should end.
    detached: true,
  });
  // Where descriptors have run out there are no pipes, and the error comes a second time, as an event.
  if (child.stdio === undefined) {
    child.on('error', () => undefined);
    throw new GraderError({
      call: 'sandbox worker',
      expected: `${pipes} pipes to a new process`,
      found: 'too many open files in this process',
      fix: 'Raise the limit in the shell that starts it: ulimit -n 4096',
    });
  }
  return { child, streams: child.stdio as unknown as ServerStreams };
}

/** Ends the process and whatever it has started: it leads a group of its own. */
export function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}

/** The limit that is in force for this process; infinite where there is none, or where the system does not tell. */
function limitOf(name: string): number {
  const file = '/proc/self/limits';
  const text = existsSync(file) ? readRegularText(file) : '';
  const [, limit = 'unlimited'] = new RegExp(`^${name} +(\\w+)`, 'm').exec(text) ?? [];
  return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit);
}

/** Throws where the shell's limits leave no room for so many servers: they would fail one by one, later. */
export function requireLimits(servers: number): void {
  const call = 'start the sandbox';
  const seconds = limitOf('Max cpu time');
  if (seconds < leastCpuSeconds) {
    throw new UserError({
      call,
      expected: `no limit of CPU time, or at least ${leastCpuSeconds} s for each process`,
      found: `${seconds} s`,
      fix: 'Lift it in the shell that starts this: ulimit -t unlimited',
    });
  }
  const files = limitOf('Max open files');
  if (files === Number.POSITIVE_INFINITY) return;
  // A server that starts holds both ends of its pipes for a moment.
  const wanted = readdirSync('/proc/self/fd').length + pipes * (servers + 1) + otherFiles;
  if (files >= wanted) return;
  throw new UserError({
    call,
    expected: `room for ${wanted} open files, with ${servers} worker processes`,
    found: `${files}`,
    fix: `Raise the limit in the shell that starts this: ulimit -n ${Math.max(1024, 2 * wanted)}`,
  });
}
