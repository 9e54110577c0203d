/**
 * Blind seeds: a claim may name seeds that are trained before anyone knows how they come out. Until the claim is opened (`gq claim open`),
 * nothing that labels say of such a run is read, and its policy is not evaluated. The register of its study says whether it is open.
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { shellLine, UserError } from '../base/index.ts';
import { readRegularText } from '../base/node/index.ts';
import { readManifest } from './manifest.ts';

export const registerName = 'register';
export const openedName = 'opened.json';

export const openedSchema = z.object({ at: z.string(), claim: z.string(), missing: z.array(z.string()) });

/** `path`: the folder of a run, begun or not. The study is the folder that the run is really in, whatever link leads to it. */
export function isBlind(path: string): boolean {
  const manifest = join(path, 'manifest.json');
  if (!existsSync(manifest) || readManifest(manifest).claim?.blind !== true) return false;
  return !wasOpened(join(dirname(realpathSync(path)), registerName, openedName));
}

/** What is no record of an opening opens nothing. */
function wasOpened(file: string): boolean {
  try {
    return openedSchema.safeParse(JSON.parse(readRegularText(file))).success;
  } catch {
    return false;
  }
}

export function expectOpen(path: string, call: string): void {
  if (!isBlind(path)) return;
  throw new UserError({
    call,
    expected: 'a run whose outcome may be known',
    found: 'a blind seed of a claim that is not opened yet',
    fix: `Once all blind runs of the claim are trained: ${shellLine('gq', 'claim', 'open', dirname(realpathSync(resolve(path))))}`,
  });
}
