/**
 * Errors of the operating system, in words: which path, what is the matter with it, what to do. A call that was given only a
 * descriptor has no path in its error; `namePath` adds it where the path is known.
 */
import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Complaint } from '../errors.ts';

interface SystemError extends Error {
  readonly code: string;
  readonly syscall?: string;
  path?: string;
  readonly dest?: string;
  /** What was found, of an error of our own in the form of the system's. */
  readonly words?: string;
}

const anotherPlace = 'Name another path.';
const makeRoom = 'Make room on that disk and call again: what was finished is kept.';
const openFiles = 'Close other programs, or raise the limit (ulimit -n 1024).';

/** Code → what was found, what to do. */
const words: Readonly<Record<string, readonly [string, string]>> = {
  ENOENT: ['no such file or folder', 'Check the path: a relative one begins in the working folder.'],
  EEXIST: ['something there already', 'Name another path, or move away what is there.'],
  ENOTDIR: ['a file where a folder must be', anotherPlace],
  EISDIR: ['a folder where a file must be', 'Name a file.'],
  ENOTEMPTY: ['a folder that is not empty', anotherPlace],
  EACCES: ['no permission', 'Change the permissions, or name another path.'],
  EPERM: ['no permission', 'Change the permissions, or name another path.'],
  EROFS: ['a disk that can only be read', 'Name a path on another disk.'],
  ENOSPC: ['no space left on its disk', makeRoom],
  EDQUOT: ['no space left in the quota of this user', makeRoom],
  EFBIG: [
    'a file that is larger than this system allows',
    'Raise the limit (ulimit -f), or name a path on another disk.',
  ],
  EMFILE: ['too many open files in this process', openFiles],
  ENFILE: ['too many open files on this machine', openFiles],
  EIO: ['a disk that fails', 'Look at the disk, and restore the file from a copy.'],
  ELOOP: ['links that lead in a circle', anotherPlace],
  ENAMETOOLONG: ['a name that is too long for this disk', 'Name a shorter path.'],
  EBUSY: ['a file that another program uses', 'End that program, or name another path.'],
  ETXTBSY: ['a file that another program uses', 'End that program, or name another path.'],
  EXDEV: ['a path on another disk', 'Name a path on the same disk.'],
  EINVAL: ['a path or a disk that does not allow this', anotherPlace],
  ENOTSUP: ['a disk that does not allow this', 'Name a path on another disk.'],
  EOPNOTSUPP: ['a disk that does not allow this', 'Name a path on another disk.'],
  ENOSYS: ['a disk that does not allow this', 'Name a path on another disk.'],
  ENODEV: ['no such device', anotherPlace],
  ENXIO: ['no such device', anotherPlace],
  ESTALE: ['a network folder that has gone', 'Mount it again.'],
  ENOMEM: ['too little memory', 'End other programs, or lower what is asked for.'],
  EAGAIN: ['too many processes or threads', 'End other programs, or raise the limit (ulimit -u).'],
};

/** An error of the system, or the one that another error wraps; null for all others. */
export function systemComplaint(error: unknown): Complaint | null {
  const found = findSystemError(error, 0);
  if (found === null) return null;
  const { code, syscall = 'use', path, dest, message, words: own } = found;
  const [what, fix] =
    code !== 'EFTYPE' || own === undefined
      ? (words[code] ?? [message, undefined])
      : [own, 'Move it away, or name another path.'];
  const spawned = syscall.startsWith('spawn');
  const place = path === undefined ? 'a file' : path;
  return {
    call: spawned ? `run ${syscall.slice('spawn '.length) || place}` : `${verbOf(syscall)} ${dest ?? place}`,
    expected: spawned ? 'a program that can be started' : 'a path that can be used so',
    found: what,
    ...(fix === undefined ? {} : { fix: spawned ? 'Install it, or name another one.' : fix }),
  };
}

/** Troubles of a machine that may be over, or absent elsewhere, when the same command is run again. */
const passing: ReadonlySet<string> = new Set(
  'ENOSPC EDQUOT EMFILE ENFILE EIO EBUSY ETXTBSY ESTALE ENOMEM EAGAIN EROFS'.split(' '),
);

/** Whether an error, or the one that it wraps, is a trouble of the machine and not of the call. */
export function isPassing(error: unknown): boolean {
  return passing.has(findSystemError(error, 0)?.code ?? '');
}

function verbOf(syscall: string): string {
  if (/^(mkdir|mkdtemp)/.test(syscall)) return 'make the folder';
  if (/^(scandir|opendir)/.test(syscall)) return 'read the folder';
  if (/^(write|ftruncate|truncate|fsync|fdatasync)/.test(syscall)) return 'write';
  return /^(read|rename|unlink|rm|rmdir)$/.test(syscall) ? syscall : 'open';
}

/** What wraps: a cause, or what an error at the end of a `using` suppressed. */
function findSystemError(error: unknown, depth: number): SystemError | null {
  if (!(error instanceof Error) || depth > 8) return null;
  const { code, syscall, suppressed } = error as Error & { code?: unknown; syscall?: unknown; suppressed?: unknown };
  if (typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) && typeof syscall === 'string') return error as SystemError;
  return findSystemError(suppressed, depth + 1) ?? findSystemError(error.cause, depth + 1);
}

/** Adds the path to an error of the system that has none, and returns the error. */
export function namePath(error: unknown, path: string): unknown {
  const found = findSystemError(error, 0);
  if (found !== null) found.path ??= path;
  return error;
}

/** Puts the name that the caller knows in place of a temporary one, also of a folder above, or of none. */
export function renamePath(error: unknown, temporary: string, path: string): unknown {
  const found = findSystemError(namePath(error, path), 0);
  if (found?.path?.startsWith(temporary)) found.path = `${path}${found.path.slice(temporary.length)}`;
  return error;
}

/** Makes a folder and those above it, and returns the first that it made; null if all were there. Node's own recursive mkdir never ends in a place like /proc, where none can be made. */
export function makeFolder(path: string): string | null {
  const full = resolve(path);
  if (statSync(full, { throwIfNoEntry: false })?.isDirectory() === true) return null;
  const above = dirname(full) === full ? null : makeFolder(dirname(full));
  try {
    mkdirSync(full);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (statSync(full, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
    return above;
  }
  return above ?? full;
}
