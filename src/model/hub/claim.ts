/** A mark that a process fetches into a folder of the cache: two would write over each other's files. */
import { join } from 'node:path';
import { UserError } from '../../base/index.ts';
import { tryClaim } from '../../base/node/index.ts';

export function claimFolder(folder: string, name: string): Disposable {
  const path = join(folder, 'fetching.lock');
  const claim = tryClaim(path);
  if ('held' in claim) return claim.held;
  throw new UserError({
    call: `fetch ${name}`,
    expected: 'no other process that fetches it',
    found: `one on ${claim.holder.replace(' ', ', process ')}`,
    fix: `Wait for it; if it is gone, remove ${path}.`,
  });
}
