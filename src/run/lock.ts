/**
 * Only one process at a time may train a run. The lock names the process and when it started, so that the lock of a killed process
 * does not block, even when another process has the same number now or its parent never asked how it ended. The file appears whole
 * or not at all. A lock left behind by a dead process is taken over by whoever holds the claim on it, a lock of its own that is named
 * after it: of many processes that find it at once, one replaces it.
 */
import { randomUUID } from 'node:crypto';
import { linkSync, renameSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { UserError } from '../base/index.ts';
import { readRegularText, writeNew } from '../base/node/index.ts';
import { readStored } from './stored.ts';

const holderSchema = z.object({
  pid: z.number().int(),
  host: z.string(),
  /** Start time of the process in the system's own unit; null where the system does not tell. */
  started: z.string().nullable(),
  /** A random word that no other lock has; earlier versions wrote none. */
  token: z
    .string()
    .regex(/^[\w-]+$/)
    .default('none'),
  /** The attempt of a cluster's job that took the lock; null outside of one. */
  attempt: z.object({ job: z.string(), restarts: z.number().int() }).nullable().default(null),
});
type Holder = Readonly<z.infer<typeof holderSchema>>;

/** The attempt of a Slurm job that this process belongs to. */
function ownAttempt(): Holder['attempt'] {
  const { SLURM_JOB_ID, SLURM_CLUSTER_NAME, SLURM_RESTART_COUNT } = process.env;
  if (SLURM_JOB_ID === undefined) return null;
  return { job: `${SLURM_CLUSTER_NAME ?? ''} ${SLURM_JOB_ID}`, restarts: Number(SLURM_RESTART_COUNT ?? 0) };
}

/** Whether a lock belongs to an earlier attempt of the job of this process: a cluster ends an attempt before it begins the next. */
function isOfEarlierAttempt({ attempt }: Holder): boolean {
  const own = ownAttempt();
  return own !== null && attempt !== null && attempt.job === own.job && attempt.restarts < own.restarts;
}

/** The words of the message for a process that finds the lock held. */
interface LockUse {
  readonly call: string;
  readonly expected: string;
}

const training = (directory: string): LockUse => ({
  call: `train ${directory}`,
  expected: 'a run that no other process trains',
});

export function lockRun(directory: string, use: LockUse = training(directory)): Disposable {
  const lock = tryLock(directory, lockName);
  if ('holder' in lock) throw heldLock(join(directory, lockName), use, lock.holder);
  return lock;
}

const lockName = 'lock.json';

function heldLock(path: string, { call, expected }: LockUse, { pid, host }: Holder): UserError {
  const found = `process ${pid} on ${host}`;
  return new UserError({ call, expected, found, fix: `If that process is gone, delete ${path}.` });
}

/** Takes the lock of this name in a folder; if a living process has it, that one. */
function tryLock(directory: string, name: string): Disposable | { readonly holder: Holder } {
  const path = join(directory, name);
  const own: Holder = {
    pid: process.pid,
    host: hostname(),
    started: startOf(process.pid),
    token: randomUUID(),
    attempt: ownAttempt(),
  };
  const other = take(path, own, directory);
  if (other !== null) return { holder: other };
  const leave = (): void => release(path, own);
  // The second Ctrl-C ends the process at once, and an error that nobody caught does.
  process.once('exit', leave);
  return {
    [Symbol.dispose]() {
      process.off('exit', leave);
      leave();
    },
  };
}

/** How long a command waits for another one that holds the lock of a folder for a moment. */
const patienceSeconds = 60;

/** Takes the lock of this name in a folder as soon as nobody else has it. */
export async function waitForLock(directory: string, use: LockUse, name = lockName, restMs = 100): Promise<Disposable> {
  for (let tries = 0; ; tries++) {
    const lock = tryLock(directory, name);
    if (!('holder' in lock)) return lock;
    if (tries * restMs >= patienceSeconds * 1000) throw heldLock(join(directory, name), use, lock.holder);
    await wait(restMs);
  }
}

/** Whether a living process trains the run now. */
export function isTraining(directory: string): boolean {
  const holder = readHolder(join(directory, lockName));
  return holder !== null && isHeld(holder);
}

/** Makes `path` the own lock. Returns null, or the living process that has it. */
function take(path: string, own: Holder, directory: string): Holder | null {
  for (;;) {
    if (appear(path, own, directory)) return null;
    const holder = readHolder(path);
    if (holder === null) continue;
    if (isHeld(holder)) return holder;
    const claim = claimOf(holder, directory);
    const claimant = take(claim, own, directory);
    if (claimant !== null) return claimant;
    try {
      // Someone may have taken the lock over, and given up the claim, since it was read.
      if (readHolder(path)?.token !== holder.token) continue;
      const aside = writeAside(own, directory);
      renameSync(aside, path);
      return null;
    } finally {
      release(claim, own);
    }
  }
}

function claimOf({ token }: Holder, directory: string): string {
  return join(directory, `.lock-claim-${token}.json`);
}

/** Creates the file unless it exists. */
function appear(path: string, own: Holder, directory: string): boolean {
  const aside = writeAside(own, directory);
  try {
    linkSync(aside, path);
    return true;
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') return false;
    throw cause;
  } finally {
    rmSync(aside, { force: true });
  }
}

function writeAside(own: Holder, directory: string): string {
  const aside = join(directory, `.lock-${own.token}.json`);
  writeNew(aside, JSON.stringify(own));
  return aside;
}

/** Removes a lock if it is still the own one. */
function release(path: string, { token }: Holder): void {
  if (readHolder(path)?.token === token) rmSync(path, { force: true });
}

/** Returns null for a file that is gone. */
function readHolder(path: string): Holder | null {
  try {
    return readStored(path, 'the lock of a run', holderSchema, 'If no process trains the run, delete this file.');
  } catch (error) {
    if (error instanceof Error && codeOf(error.cause) === 'ENOENT') return null;
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Whether the process of a lock is alive. A process of another host counts as alive, since we cannot tell, unless the cluster ended it. */
function isHeld(holder: Holder): boolean {
  const { pid, host, started } = holder;
  if (host !== hostname()) return !isOfEarlierAttempt(holder);
  return isSameProcess(pid, started);
}

/** Whether the process that had this number when it started at this time is still there. */
export function isSameProcess(pid: number, started: string | null): boolean {
  if (!isAlive(pid)) return false;
  const found = readProcess(pid);
  return found === null ? started === null : found.started === started && !found.ended;
}

/** When a process started, in the system's own unit; null where the system does not tell. */
export function startOf(pid: number): string | null {
  return readProcess(pid)?.started ?? null;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

interface ProcessState {
  readonly started: string | null;
  /** Whether the process has ended, and only its entry in the table of processes is left. */
  readonly ended: boolean;
}

/** Fields of /proc/PID/stat from the third on. Counting starts after the name in parentheses, which may hold spaces. */
const fieldsOfStat = (text: string): string[] => text.slice(text.lastIndexOf(')') + 2).split(' ');

/** When a process started, in the system's own unit, from a copy of its /proc/PID/stat; null if the text is none. */
export function startOfStat(text: string): string | null {
  return fieldsOfStat(text)[19] ?? null;
}

function readProcess(pid: number): ProcessState | null {
  try {
    const text = readRegularText(`/proc/${pid}/stat`);
    return { started: startOfStat(text), ended: ['Z', 'X', 'x'].includes(fieldsOfStat(text)[0]) };
  } catch {
    return null;
  }
}
