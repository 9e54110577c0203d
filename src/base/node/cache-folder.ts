/**
 * The folder in which results that can be computed again are kept between runs: the one that GQ_CACHE names, or else
 * gradient-quarantine in the user's cache (XDG_CACHE_HOME, ~/.cache). Removing it loses time, nothing else.
 */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { writeFileAtomic } from './atomic-file.ts';
import { makeFolder } from './system-error.ts';

type CacheEnvironment = Readonly<Record<string, string | undefined>>;

/** `kind` names the subfolder for one sort of result. */
export function cacheFolder(kind: string, environment: CacheEnvironment = process.env): string {
  const named = (key: string): string | undefined => environment[key] || undefined;
  const root = named('GQ_CACHE') ?? join(named('XDG_CACHE_HOME') ?? join(homedir(), '.cache'), 'gradient-quarantine');
  return join(root, kind);
}

/**
 * The folder of what must last between runs and belongs to no run: the one that GQ_STATE names, or else gradient-quarantine in the
 * user's state (XDG_STATE_HOME, ~/.local/state). `kind` names the subfolder.
 */
export function stateFolder(kind: string, environment: CacheEnvironment = process.env): string {
  const { GQ_STATE, XDG_STATE_HOME } = environment;
  return join(GQ_STATE || join(XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'gradient-quarantine'), kind);
}

/**
 * Writes a file of the cache, and drops the oldest beside it beyond the `most` that are kept. A cache that cannot be written costs time,
 * nothing else.
 */
export async function keepInCache(file: string, text: string, most: number): Promise<void> {
  try {
    const folder = dirname(file);
    makeFolder(folder);
    await writeFileAtomic(file, text);
    const paths = readdirSync(folder).map((name) => join(folder, name));
    if (paths.length <= most) return;
    const dated = paths.map((path) => ({ path, at: statSync(path).mtimeMs })).sort((a, b) => b.at - a.at);
    for (const { path } of dated.slice(most)) rmSync(path, { force: true });
  } catch {
    return;
  }
}
