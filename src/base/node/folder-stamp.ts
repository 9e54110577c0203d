/**
 * The size of what a folder holds, and a stamp of it, without reading it: size, inode and time of change of every file, which every write alters. A folder
 * with a file that is fresh enough to change unseen has no stamp, and neither has one with a link, which may lead out of it.
 */
import { existsSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256 } from './hash.ts';

/** Clocks of files are this coarse at worst. */
const freshMs = 2000;

/** Null where what is kept about the folder could be out of date unseen. */
function folderStamp(folder: string): string | null {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    const newest = Date.now() - freshMs;
    const lines: string[] = [];
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name);
      const stats = statSync(path);
      if (entry.isSymbolicLink() || stats.ctimeMs > newest) return null;
      lines.push(lineOf(path, stats));
    }
    return sha256(lines.sort().join('\n'));
  } catch {
    // What cannot be looked at is for the reader to complain about.
    return null;
  }
}

function lineOf(path: string, { size, ino, ctimeMs }: Stats): string {
  return `${path} ${size} ${ino} ${ctimeMs}`;
}

let program: { readonly stamp: string | null } | undefined;

/** The stamp of the program's own files, as they were when it was first asked for. */
export function programStamp(): string | null {
  program ??= { stamp: folderStamp(fileURLToPath(new URL('../../', import.meta.url))) };
  return program.stamp;
}

/** The size of the files in a folder that count, of which one may be gone by now; 0 where there is no folder. */
export function bytesIn(folder: string, counts: (file: string) => boolean = () => true): number {
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true, recursive: true }) : [];
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const counted = paths.filter((path) => counts(relative(folder, path)));
  return counted.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}
