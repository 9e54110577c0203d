/**
 * Opens files in folders that somebody else may have filled. No call waits: a named pipe, a socket or a device in the place of a file is
 * an error at once (EFTYPE, as BSD calls it), where a plain open could wait for a writer for ever and hear no signal. A file that is written must also be the one
 * that its name says, neither a link nor a second name of a file elsewhere: whoever made the folder would choose what is overwritten.
 */
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  type ReadStream,
  readFileSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { makeFolder } from './system-error.ts';

// Windows has none of these, and 0 asks for nothing.
const { O_NONBLOCK = 0, O_NOFOLLOW = 0, O_NOCTTY = 0, O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_APPEND } = constants;
const reading = O_RDONLY | O_NONBLOCK | O_NOCTTY;
const writing = O_RDWR | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;

/** `new` makes a file that must not be there, `append` makes one that is missing, `change` takes one that is there. */
export type WriteMode = 'new' | 'append' | 'change';

const modes: Readonly<Record<WriteMode, number>> = {
  new: O_CREAT | O_EXCL,
  append: O_CREAT | O_APPEND,
  change: 0,
};

export function openToRead(path: string): number {
  return opened(path, reading, expectReadable);
}

export function openToWrite(path: string, mode: WriteMode): number {
  return opened(path, writing | modes[mode], expectOwn);
}

/** As `openToRead`, for readers that do not wait for the disk. */
export async function openHandle(path: string): Promise<FileHandle> {
  const file = await open(path, reading).catch((error: unknown) => {
    throw explain(error, path);
  });
  try {
    expectReadable(await file.stat(), path);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

export function readRegular(path: string): Buffer {
  const file = openToRead(path);
  try {
    return readFileSync(file);
  } catch (error) {
    throw Object.assign(error as Error, { path });
  } finally {
    closeSync(file);
  }
}

export function readRegularText(path: string): string {
  return readRegular(path).toString('utf8');
}

/** Makes a file that must not be there, and returns when it is on disk. */
export function writeNew(path: string, text: string): void {
  const file = openToWrite(path, 'new');
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } catch (error) {
    throw Object.assign(error as Error, { path });
  } finally {
    closeSync(file);
  }
}

/** The file is open when this returns, and closed with the stream. `end`: the last byte that is read. */
export function streamRegular(path: string, highWaterMark = 2 ** 16, end = Number.POSITIVE_INFINITY): ReadStream {
  return createReadStream(path, { fd: openToRead(path), highWaterMark, end });
}

/** Makes a folder whose files will be written, or removed: a link to another place is refused. */
export function makeOwnFolder(path: string): void {
  makeFolder(path);
  if (lstatSync(path).isSymbolicLink()) throw wrongKind('a link', path, 'a folder');
}

function opened(path: string, flags: number, expect: (stats: Stats, path: string) => void): number {
  let file: number;
  try {
    file = openSync(path, flags);
  } catch (error) {
    throw explain(error, path);
  }
  try {
    expect(fstatSync(file), path);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function expectReadable(stats: Stats, path: string): void {
  if (!stats.isFile()) throw wrongKind(kindOf(stats), path);
}

function expectOwn(stats: Stats, path: string): void {
  expectReadable(stats, path);
  if (stats.nlink > 1) throw wrongKind(`a file with ${stats.nlink} names (hard links)`, path);
}

/** What the system says of a link that is not followed, or of a socket, names neither. */
function explain(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ELOOP' && statSync(path, { throwIfNoEntry: false }) !== undefined) return wrongKind('a link', path);
  if (code === 'ENXIO') return wrongKind('a socket or a device', path);
  return error;
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a folder';
  if (stats.isFIFO()) return 'a named pipe';
  return stats.isSocket() ? 'a socket' : 'a device';
}

function wrongKind(kind: string, path: string, expected = 'a regular file'): Error {
  const code = kind === 'a folder' ? 'EISDIR' : 'EFTYPE';
  const words = `${kind} where ${expected} must be`;
  return Object.assign(new Error(`${code}: ${words}, open '${path}'`), { code, syscall: 'open', path, words });
}
