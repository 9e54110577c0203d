/**
 * The SHA-256 of a large file, kept in the cache with a stamp of the file (place, size, inode and time of change, which every write
 * alters): a file that is opened again is not read again. A file that changed a moment ago could change again unseen, and is not kept.
 * What is not known is hashed by a thread of its own.
 */
import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, keepInCache } from './cache-folder.ts';
import { hashInThread } from './file-hash-thread.ts';
import { sha256, sha256File } from './hash.ts';
import { readRegularText } from './regular-file.ts';

/** Clocks of files are this coarse at worst. */
const freshMs = 2000;
/** Smaller files are hashed faster than they are looked up. */
const leastBytes = 2 ** 24;
/** Hashes that are kept. */
const mostKept = 1_000;

export interface KeptHashOptions {
  readonly folder?: string;
  readonly leastBytes?: number;
  /** Ends the hashing, with its reason. */
  readonly signal?: AbortSignal;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export async function keptHash(path: string, options: KeptHashOptions = {}): Promise<string> {
  const { folder = cacheFolder('hashes'), leastBytes: least = leastBytes, now = Date.now, signal } = options;
  const hashWhole = () => (statSync(path).size < least ? sha256File(path) : hashInThread(path, signal));
  const before = stampOf(path, least, now());
  if (before === null) return hashWhole();
  const kept = join(folder, before);
  const known = readKept(kept);
  if (known !== null) return known;
  const hash = await hashWhole();
  if (stampOf(path, least, now()) === before) await keepInCache(kept, `${hash}\n`, mostKept);
  return hash;
}

/** Null for a file whose hash is not kept. */
function stampOf(path: string, least: number, now: number): string | null {
  const real = realpathSync(path);
  const { size, ino, dev, ctimeMs, mtimeMs } = statSync(real);
  if (size < least || now - ctimeMs < freshMs) return null;
  return sha256([real, size, dev, ino, ctimeMs, mtimeMs].join('\n'));
}

/** Null where nothing is kept, or what is kept cannot be read or is no hash. */
function readKept(file: string): string | null {
  try {
    return /^[0-9a-f]{64}(?=\n?$)/.exec(readRegularText(file))?.[0] ?? null;
  } catch {
    return null;
  }
}
