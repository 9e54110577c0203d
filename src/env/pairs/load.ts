/** Loads files of pairs: by path, or by bare name for those that come with the package (data/pairs). */
import { readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nearestName, UserError } from '../../base/index.ts';
import { readText } from '../../model/index.ts';
import { builtinLoopholes, namesOf } from '../loopholes/registry.ts';
import { shownLoopholes } from './bait.ts';
import { parsePairsJson } from './json.ts';
import { parsePairsMarkdown } from './markdown.ts';
import { type Pair, type PairProblem, type ParsedPairs, requirePairs } from './pair.ts';
import { hashPairs, type SelectionTerm, selectPairs } from './select.ts';

/** The folder of the shipped pairs; the relative path is the same from src and from dist. */
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
  /** Hash of the selected pairs; other pairs of the file do not change it. */
  readonly hash: string;
}

/** A bare name such as `hack` is a shipped file; a name that ends in .md or .json is a path. */
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
    fix: nearest === undefined ? 'Check one with: gq pairs check micro' : `Did you mean ${nearest}?`,
  });
}

/** Reads a file as far as possible, with a list of everything that is wrong in it. */
export async function readPairFile(name: string): Promise<ParsedPairs> {
  const file = pairFilePath(name);
  const text = await readText(file);
  const parsed = extname(file) === '.json' ? parsePairsJson(text, file) : parsePairsMarkdown(text, file);
  return { ...parsed, problems: [...parsed.problems, ...falseShows(parsed)] };
}

/** What a file says that its pairs show must be what they show of the package's loopholes; others may belong to plugins. */
function falseShows({ shows, pairs }: ParsedPairs): PairProblem[] {
  if (shows === undefined) return [];
  const known = namesOf(builtinLoopholes);
  const found = shownLoopholes(pairs, known);
  const said = shows.filter((name) => known.some((own) => own === name));
  if (said.length === found.length && said.every((name) => found.some((own) => own === name))) return [];
  const words = (names: readonly string[]): string => names.join(', ') || 'none';
  return [
    {
      place: 'Shows',
      heading: null,
      expected: `the loopholes that its pairs show (${words(found)})`,
      found: words(said),
    },
  ];
}

/** Loads the pairs of a run. The whole file must be right, also the pairs that are not selected. */
export async function loadPairs(name: string, terms: readonly (string | SelectionTerm)[] = []): Promise<PairSet> {
  const parsed = await readPairFile(name);
  const pairs = selectPairs(requirePairs(parsed), terms);
  return { file: parsed.file, pairs, hash: hashPairs(pairs) };
}
