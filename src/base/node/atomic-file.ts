/**
 * Files that are whole or absent: written beside the target, flushed to disk, renamed over it, and the rename flushed
 * through the directory. A crash at any moment leaves the old file or the new one. A process that ends by itself in the middle, as at
 * Ctrl-C, removes what it wrote so far; one that is killed leaves it.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { renamePath } from './system-error.ts';

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

/** Files that are being written. */
const drafts = new Set<string>();

function removeDrafts(): void {
  for (const draft of drafts) rmSync(draft, { force: true });
}

/** Whether a name is that of a file which a killed process had not finished in place of `name`. */
export function isDraftOf(name: string, entry: string): boolean {
  return entry.startsWith(`${name}.`) && entry.endsWith('.tmp');
}

/** `write` fills the new file; when it fails, the target stays as it was and nothing is left behind. */
export async function replaceFile(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  if (drafts.size === 0) process.on('exit', removeDrafts);
  drafts.add(temporary);
  try {
    {
      await using file = await open(temporary, 'wx');
      await write(file);
      await file.sync();
    }
    await rename(temporary, path);
  } catch (error) {
    // The temporary name means nothing to the caller.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw renamePath(error, temporary, path);
  } finally {
    drafts.delete(temporary);
    if (drafts.size === 0) process.off('exit', removeDrafts);
  }
  syncDirectory(dirname(path));
}

export async function writeFileAtomic(path: string, data: string | Uint8Array): Promise<void> {
  await replaceFile(path, (file) => file.writeFile(data));
}
