/**
 * Files and folders that are whole or absent: written beside the target, flushed to disk, renamed over it, and the rename flushed
 * through the directory. A crash at any moment leaves the old file or the new one. A process that ends by itself in the middle, as at
 * Ctrl-C, removes what it wrote so far; one that is killed leaves it.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, rmSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { UserError } from '../errors.ts';
import { makeFolder, renamePath } from './system-error.ts';

/** Makes the creation and renaming of files in a directory survive a power cut. */
export function syncDirectory(path: string): void {
  // Windows cannot open a directory as a file, and needs no flush of one.
  if (process.platform === 'win32') return;
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Files and folders that are being written. */
const drafts = new Set<string>();

function removeDrafts(): void {
  for (const draft of drafts) rmSync(draft, { recursive: true, force: true });
}

/** `write` fills the draft of `path`, which then gets that name; when it fails, nothing is left behind. */
async function whole<T>(path: string, write: (draft: string) => Promise<T>): Promise<T> {
  const draft = `${path}.${randomUUID()}.tmp`;
  if (drafts.size === 0) process.on('exit', removeDrafts);
  drafts.add(draft);
  try {
    const written = await write(draft);
    await rename(draft, path);
    return written;
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => undefined);
    // The temporary name means nothing to the caller.
    throw renamePath(error, draft, path);
  } finally {
    drafts.delete(draft);
    if (drafts.size === 0) process.off('exit', removeDrafts);
  }
}

/** Whether a name is that of a file which a killed process had not finished in place of `name`. */
export function isDraftOf(name: string, entry: string): boolean {
  return entry.startsWith(`${name}.`) && entry.endsWith('.tmp');
}

/** `write` fills the new file; when it fails, the target stays as it was and nothing is left behind. */
export async function replaceFile(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  await whole(path, async (draft) => {
    await using file = await open(draft, 'wx');
    await write(file);
    await file.sync();
  });
  syncDirectory(dirname(path));
}

/** A folder that appears when `fill` has filled it, or not at all. One that exists is never touched. */
export async function createFolder<T>(directory: string, fill: (draft: string) => Promise<T>): Promise<T> {
  const target = resolve(directory);
  if (existsSync(target)) {
    throw new UserError({
      call: `write the folder ${directory}`,
      expected: 'a folder that does not exist yet',
      found: 'one that does',
      fix: 'Name another folder, or remove this one.',
    });
  }
  makeFolder(dirname(target));
  return await whole(target, async (draft) => {
    await mkdir(draft);
    return await fill(draft);
  });
}

export async function writeFileAtomic(path: string, data: string | Uint8Array): Promise<void> {
  await replaceFile(path, (file) => file.writeFile(data));
}
