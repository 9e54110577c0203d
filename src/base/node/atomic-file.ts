/**
 * Files that are whole or absent: written beside the target, flushed to disk, renamed over it, and the rename flushed
 * through the directory. A crash at any moment leaves the old file or the new one.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync } from 'node:fs';
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

/** `write` fills the new file; when it fails, the target stays as it was and nothing is left behind. */
export async function replaceFile(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
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
  }
  syncDirectory(dirname(path));
}

export async function writeFileAtomic(path: string, data: string | Uint8Array): Promise<void> {
  await replaceFile(path, (file) => file.writeFile(data));
}
