/**
 * Which pairs of a file are used. A selection is a list of terms that all must hold: `section:NAME`, `heading:PREFIX`,
 * `tag:TAG`; commas inside a term separate alternatives (`tag:run_tests,sentinel`). The hash of a selected set covers its
 * headings, prompts and completions in their order; tags and sections only select, so the hash leaves them out.
 */
import { nearestName, UserError } from '../../base/index.ts';
import { sha256Json } from '../../base/node/index.ts';
import type { Pair } from './pair.ts';

const kinds = {
  section: {
    names: (pair: Pair): readonly string[] => [pair.section],
    holds: (pair: Pair, name: string): boolean => pair.section === name,
  },
  heading: {
    names: (pair: Pair): readonly string[] => [pair.heading],
    holds: (pair: Pair, prefix: string): boolean => pair.heading.startsWith(prefix),
  },
  tag: {
    names: (pair: Pair): readonly string[] => pair.tags,
    holds: (pair: Pair, tag: string): boolean => pair.tags.includes(tag),
  },
} as const;
type Kind = keyof typeof kinds;

export interface SelectionTerm {
  readonly kind: Kind;
  readonly alternatives: readonly string[];
}

function parseTerm(text: string): SelectionTerm {
  const colon = text.indexOf(':');
  const kind = text.slice(0, Math.max(0, colon)).trim();
  const alternatives = text.slice(colon + 1).split(',').map((name) => name.trim()); // biome-ignore format: one step
  if (Object.hasOwn(kinds, kind) && alternatives.every((name) => name !== '')) {
    return { kind: kind as Kind, alternatives };
  }
  throw new UserError({
    call: `select pairs by "${text}"`,
    expected: 'section:NAME, heading:PREFIX or tag:TAG, alternatives separated by commas',
    found: text === '' ? 'nothing' : `"${text}"`,
  });
}

/** The selected pairs, in file order. A name that fits no pair of the file is an error, and so is an empty set. */
export function selectPairs(pairs: readonly Pair[], terms: readonly (string | SelectionTerm)[]): readonly Pair[] {
  const parsed = terms.map((term) => (typeof term === 'string' ? parseTerm(term) : term));
  for (const { kind, alternatives } of parsed) {
    for (const name of alternatives) expectName(pairs, kind, name);
  }
  const selected = pairs.filter((pair) =>
    parsed.every(({ kind, alternatives }) => alternatives.some((name) => kinds[kind].holds(pair, name))),
  );
  if (selected.length > 0) return selected;
  throw new UserError({
    call: `select pairs by ${parsed.map(({ kind, alternatives }) => `"${kind}:${alternatives.join(',')}"`).join(', ')}`,
    expected: 'at least one pair that meets all terms',
    found: `none of ${pairs.length}`,
  });
}

function expectName(pairs: readonly Pair[], kind: Kind, name: string): void {
  if (pairs.some((pair) => kinds[kind].holds(pair, name))) return;
  const names = [...new Set(pairs.flatMap(kinds[kind].names))];
  const nearest = nearestName(name, names);
  throw new UserError({
    call: `select pairs by "${kind}:${name}"`,
    expected: kind === 'heading' ? 'the start of a heading in the file' : `one of ${names.join(', ')}`,
    found: `"${name}"`,
    ...(nearest === undefined ? {} : { fix: `Did you mean "${nearest}"?` }),
  });
}

/** Hash of the pairs in their order: sums in another order would differ in their last bits. */
export function hashPairs(pairs: readonly Pair[]): string {
  return sha256Json(pairs.map(({ heading, prompt, hack, clean }) => ({ heading, prompt, hack, clean })));
}
