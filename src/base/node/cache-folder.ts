/**
 * The folder in which results that can be computed again are kept between runs: the one that GQ_CACHE names, or else
 * gradient-quarantine in the user's cache (XDG_CACHE_HOME, ~/.cache). Removing it loses time, nothing else.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';

type CacheEnvironment = Readonly<Record<string, string | undefined>>;

/** `kind` names the subfolder for one sort of result. */
export function cacheFolder(kind: string, environment: CacheEnvironment = process.env): string {
  const named = (key: string): string | undefined => environment[key] || undefined;
  const root = named('GQ_CACHE') ?? join(named('XDG_CACHE_HOME') ?? join(homedir(), '.cache'), 'gradient-quarantine');
  return join(root, kind);
}
