/**
 * Only one process at a time may train a run. The lock names the process and when it started, so that the lock of a killed process
 * does not block, even when another process has the same number now. The file appears whole or not at all.
 */
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/index.ts';
import { readStored } from './stored.ts';

const holderSchema = z.object({
  pid: z.number().int(),
  host: z.string(),
  /** Start time of the process in the system's own unit; null where the system does not tell. */
  started: z.string().nullable(),
});
type Holder = Readonly<z.infer<typeof holderSchema>>;

export function lockRun(directory: string): Disposable {
  const path = join(directory, 'lock.json');
  const own: Holder = { pid: process.pid, host: hostname(), started: startOf(process.pid) };
  const aside = join(directory, `.lock-${process.pid}.json`);
  writeFileSync(aside, JSON.stringify(own));
  try {
    if (existsSync(path) && !isHeld(readHolder(path))) rmSync(path, { force: true });
    linkSync(aside, path);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause;
    const { pid, host } = readHolder(path);
    throw new UserError({
      call: `train ${directory}`,
      expected: 'a run that no other process trains',
      found: `process ${pid} on ${host}`,
      fix: `If that process is gone, delete ${path}.`,
    });
  } finally {
    rmSync(aside, { force: true });
  }
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}

function readHolder(path: string): Holder {
  return readStored(path, 'the lock of a run', holderSchema, 'If no process trains the run, delete this file.');
}

/** Whether the process of a lock is alive. A process of another host counts as alive, since we cannot tell. */
function isHeld({ pid, host, started }: Holder): boolean {
  if (host !== hostname()) return true;
  return isAlive(pid) && startOf(pid) === started;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Start time of a process: field 22 of /proc/PID/stat. Counting starts after the name in parentheses, which may hold spaces. */
function startOf(pid: number): string | null {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return null;
  const text = readFileSync(path, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}
