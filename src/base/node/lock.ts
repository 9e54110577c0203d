/**
 * The one lock between processes: of a run, an experiment, the queue, a file that viewers append to, a folder of a cache. It is a file that
 * appears whole or not at all and names its process and when that started, so that the lock of a killed process does not block, even when another process
 * has the same number now or its parent never asked how it ended. A lock that a dead process left is taken over by whoever holds the
 * claim on it: of many processes that find it at once, one replaces it. The claim is a lock like any other, named after the one it is
 * about, because the process that holds it can be killed too, and nobody else would ever remove it.
 */
import { randomUUID } from 'node:crypto';
import { linkSync, renameSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { UserError } from '../errors.ts';
import { readRegularText, writeNew } from './regular-file.ts';

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
export type LockHolder = Readonly<z.infer<typeof holderSchema>>;

/** The words of the message for a process that finds the lock held. */
export interface LockUse {
  readonly call: string;
  readonly expected: string;
}

/** Takes a lock, or says which living process has it. */
export function tryLock(path: string): Disposable | { readonly holder: LockHolder } {
  const holder: LockHolder = {
    pid: process.pid,
    host: hostname(),
    started: startOf(process.pid),
    token: randomUUID(),
    attempt: ownAttempt(),
  };
  const other = take(path, holder);
  if (other !== null) return { holder: other };
  const leave = (): void => release(path, holder);
  if (held.size === 0) process.on('exit', leaveAll);
  held.add(leave);
  return {
    [Symbol.dispose]() {
      held.delete(leave);
      if (held.size === 0) process.off('exit', leaveAll);
      leave();
    },
  };
}

/** The locks of this process: a second Ctrl-C ends it at once, and so does an error that nobody caught. */
const held = new Set<() => void>();

function leaveAll(): void {
  for (const leave of held) leave();
}

/** What a living process has is refused: it can be had once that process is done. */
export class HeldError extends UserError {
  readonly holder: LockHolder;
  constructor(path: string, use: LockUse, holder: LockHolder) {
    super({
      ...use,
      found: `process ${holder.pid} on ${holder.host}`,
      fix: `If that process is gone, delete ${path}.`,
    });
    this.holder = holder;
  }
}

/** Takes a lock that nobody else may have now. */
export function takeLock(path: string, use: LockUse): Disposable {
  const lock = tryLock(path);
  if ('holder' in lock) throw new HeldError(path, use, lock.holder);
  return lock;
}

/** How long a command waits for another one that holds a lock for a moment. */
const patienceSeconds = 60;

/** Takes a lock as soon as nobody else has it. */
export async function waitForLock(path: string, use: LockUse, restMs = 100): Promise<Disposable> {
  for (let tries = 0; ; tries++) {
    const lock = tryLock(path);
    if (!('holder' in lock)) return lock;
    if (tries * restMs >= patienceSeconds * 1000) throw new HeldError(path, use, lock.holder);
    await wait(restMs);
  }
}

/** Whether a living process has the lock. */
export function isLocked(path: string): boolean {
  const holder = readHolder(path);
  return holder !== null && isHeld(holder);
}

/** Makes `path` the lock of this holder. Returns null, or the living process that has it. */
function take(path: string, own: LockHolder): LockHolder | null {
  for (;;) {
    if (appear(path, own)) return null;
    const holder = readHolder(path);
    if (holder === null) continue;
    if (isHeld(holder)) return holder;
    const claim = join(dirname(path), `.lock-claim-${holder.token}.json`);
    const claimant = take(claim, own);
    if (claimant !== null) return claimant;
    try {
      // Someone may have taken the lock over, and given up the claim, since it was read.
      if (readHolder(path)?.token !== holder.token) continue;
      renameSync(writeAside(path, own), path);
      return null;
    } finally {
      release(claim, own);
    }
  }
}

/** Creates the file unless it exists. */
function appear(path: string, own: LockHolder): boolean {
  const aside = writeAside(path, own);
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

function writeAside(path: string, own: LockHolder): string {
  const aside = join(dirname(path), `.lock-${own.token}.json`);
  writeNew(aside, JSON.stringify(own));
  return aside;
}

/** Removes a lock if it is still the own one. */
function release(path: string, { token }: LockHolder): void {
  if (readHolder(path)?.token === token) rmSync(path, { force: true });
}

/** Returns null for a file that is gone. */
function readHolder(path: string): LockHolder | null {
  try {
    return holderSchema.parse(JSON.parse(readRegularText(path)));
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return null;
    const issues = cause instanceof z.ZodError ? cause.issues : [];
    const found =
      issues.map(({ path: key, message }) => `key ${key.join('.')}: ${message}`).join('; ') || String(cause);
    const fix = 'If no process uses what it locks, delete this file.';
    throw new UserError({ call: `read ${path}`, expected: 'a lock, as JSON', found, fix }, { cause });
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** A process of another host counts as alive, since nobody here can tell, unless the cluster ended it. */
function isHeld(holder: LockHolder): boolean {
  if (holder.host !== hostname()) return !isOfEarlierAttempt(holder);
  return isSameProcess(holder.pid, holder.started);
}

/** The attempt of a Slurm job that this process belongs to. */
function ownAttempt(): LockHolder['attempt'] {
  const { SLURM_JOB_ID, SLURM_CLUSTER_NAME, SLURM_RESTART_COUNT } = process.env;
  if (SLURM_JOB_ID === undefined) return null;
  return { job: `${SLURM_CLUSTER_NAME ?? ''} ${SLURM_JOB_ID}`, restarts: Number(SLURM_RESTART_COUNT ?? 0) };
}

/** A cluster ends an attempt of a job before it begins the next. */
function isOfEarlierAttempt({ attempt }: LockHolder): boolean {
  const own = ownAttempt();
  return own !== null && attempt !== null && attempt.job === own.job && attempt.restarts < own.restarts;
}

/** Whether the process that had this number when it started at this time is still there. */
export function isSameProcess(pid: number, started: string | null): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) !== 'EPERM') return false;
  }
  const fields = statFields(pid);
  if (fields === null) return started === null;
  const [state] = fields;
  return fields[startField] === started && !['Z', 'X', 'x'].includes(state);
}

/** When a process started, in the system's own unit; null where the system does not tell. */
export function startOf(pid: number): string | null {
  return statFields(pid)?.[startField] ?? null;
}

/** When a process started, from a copy of its /proc/PID/stat; null if the text is none. */
export function startOfStat(text: string): string | null {
  return fieldsOf(text)[startField] ?? null;
}

const startField = 19;

/** Fields of /proc/PID/stat from the third on. Counting starts after the name in parentheses, which may hold spaces. */
const fieldsOf = (text: string): string[] => text.slice(text.lastIndexOf(')') + 2).split(' ');

function statFields(pid: number): string[] | null {
  try {
    return fieldsOf(readRegularText(`/proc/${pid}/stat`));
  } catch {
    return null;
  }
}
