/**
 * Remembers pairs that labels chose by what they say, so that a pair is known again without its tag. `gq pairs from-pool` records them in
 * the file beside the pairs and among this user's records; a pair is compared by its prompt and both sides, in either order and
 * whatever their white space. A pair whose text was changed, or that was made on another machine and copied without the file beside it, is not known again.
 */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { makeFolder, readRegularText, sha256Json, stateFolder, writeFileAtomic } from '../../base/node/index.ts';
import { isPoolDerived } from './from-pool.ts';
import type { Pair } from './pair.ts';

const folderName = 'labelled-pairs';
export const provenanceEnding = '.provenance.json';

const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

function contentHash({ prompt, hack, clean }: Pair): string {
  const asked = typeof prompt === 'string' ? prompt : prompt.map(({ content }) => content).join('\n');
  return sha256Json([plain(asked), ...[plain(hack), plain(clean)].sort()]);
}

export function contentHashes(pairs: readonly Pair[]): string[] {
  return pairs.map(contentHash);
}

/** Records pairs among those of this user. */
export async function recordLabelled(pairs: readonly Pair[]): Promise<void> {
  const folder = stateFolder(folderName);
  makeFolder(folder);
  const contents = contentHashes(pairs);
  await writeFileAtomic(join(folder, `${sha256Json(contents)}.json`), `${JSON.stringify({ contents })}\n`);
}

/** Whether labels chose any of the pairs of a file: a tag says so, or one of them was recorded. */
export function labelsChose(pairs: readonly Pair[], file: string): boolean {
  if (pairs.some(isPoolDerived)) return true;
  const places = [...filesIn(stateFolder(folderName), '.json'), ...filesIn(dirname(file), provenanceEnding)];
  const recorded = new Set(places.flatMap(readContents));
  return recorded.size > 0 && contentHashes(pairs).some((hash) => recorded.has(hash));
}

function filesIn(folder: string, ending: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
}

const recordSchema = z.looseObject({ contents: z.array(z.string()) });

/** A file beside the pairs may be of something else. */
function readContents(path: string): readonly string[] {
  try {
    return recordSchema.parse(JSON.parse(readRegularText(path))).contents;
  } catch {
    return [];
  }
}
