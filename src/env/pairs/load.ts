/** Files of pairs, by path or, for those that come with the package (data/pairs), by bare name. */
import { readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nearestName, UserError } from '../../base/index.ts';
import { readText } from '../../model/index.ts';
import { parsePairsJson } from './json.ts';
import { parsePairsMarkdown } from './markdown.ts';
import { type Pair, type ParsedPairs, requirePairs } from './pair.ts';
import { hashPairs, type SelectionTerm, selectPairs } from './select.ts';

/** The same depth below the package in src and in dist. */
const shippedFolder = fileURLToPath(new URL('../../../data/pairs', import.meta.url));

export function shippedPairNames(): readonly string[] {
  return readdirSync(shippedFolder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => name.slice(0, -'.md'.length))
    .sort();
}

export interface PairSet {
  readonly file: string;
  readonly pairs: readonly Pair[];
  /** Of what was selected, whatever else the file holds. */
  readonly hash: string;
}

/** `hack` is the shipped file of that name; anything with an extension is a path. */
export function pairFilePath(name: string): string {
  const extension = extname(name);
  if (extension === '.md' || extension === '.json') return name;
  const shipped = shippedPairNames();
  if (shipped.includes(name)) return join(shippedFolder, `${name}.md`);
  const nearest = nearestName(name, shipped);
  throw new UserError({
    call: `pairs ${name}`,
    expected: `a .md or .json file, or one of ${shipped.join(', ')}`,
    found: `"${name}"`,
    ...(nearest === undefined ? {} : { fix: `Did you mean ${nearest}?` }),
  });
}

/** As far as the file can be read, with everything that is wrong in it. */
export async function readPairFile(name: string): Promise<ParsedPairs> {
  const file = pairFilePath(name);
  const text = await readText(file);
  return extname(file) === '.json' ? parsePairsJson(text, file) : parsePairsMarkdown(text, file);
}

/** What a run uses: the file must be right as a whole, also where nothing is selected. */
export async function loadPairs(name: string, terms: readonly (string | SelectionTerm)[] = []): Promise<PairSet> {
  const parsed = await readPairFile(name);
  const pairs = selectPairs(requirePairs(parsed), terms);
  return { file: parsed.file, pairs, hash: hashPairs(pairs) };
}
