/**
 * A pair: one prompt with a hack completion and a clean completion, written by hand before any rollout was seen, matched
 * in length and style so that they differ in the hack axis only (docs/science.md, section 4). A fault of a pair is data
 * (`PairProblem`), so that a checker can list all faults; `requirePairs` turns the first one into a UserError.
 */
import { UserError } from '../../base/index.ts';
import type { Message } from '../problem.ts';
import { hasLoneSurrogate } from '../response.ts';

/** Messages go through a model's chat template; plain text is the prompt as it stands. */
export type PairPrompt = string | readonly Message[];

export interface Pair {
  readonly section: string;
  /** Heading of the pair, unique in its file. */
  readonly heading: string;
  readonly tags: readonly string[];
  readonly prompt: PairPrompt;
  readonly hack: string;
  readonly clean: string;
}

export interface PairProblem {
  /** Place of the problem, such as `line 12` of a Markdown file or `pairs[3]` of a JSON file. */
  readonly place: string;
  readonly heading: string | null;
  readonly expected: string;
  readonly found: string;
}

/** A file as far as it could be read; `pairs` leaves out those with a problem. */
export interface ParsedPairs {
  readonly file: string;
  readonly pairs: readonly Pair[];
  readonly problems: readonly PairProblem[];
  /** The loopholes that its pairs show, as the file says; absent where it says nothing. */
  readonly shows?: readonly string[];
}

export function describeProblem({ place, heading, expected, found }: PairProblem): string {
  return `${place}${heading === null ? '' : `, "${heading}"`}: expected ${expected}, found ${found}`;
}

export function requirePairs({ file, pairs, problems }: ParsedPairs): readonly Pair[] {
  const [first] = problems;
  if (first === undefined) return pairs;
  const { place, heading, expected, found } = first;
  const others = problems.length === 1 ? '' : `, and ${problems.length - 1} more problems`;
  throw new UserError({
    call: `read ${file}, ${place}${heading === null ? '' : `, pair "${heading}"`}`,
    expected,
    found: `${found}${others}`,
    fix: `Run gq pairs check ${file} to see all of them.`,
  });
}

const unfinished = /\b(?:TODO|TBD|FIXME|XXX)\b|lorem ipsum|\byour (?:code|answer|solution|text) here\b/i;
const emptyStatement =
  /^(?:pass|\.{3}|\u2026|return(?: None)?|raise NotImplementedError.*|"""[^"]*"""|'''[^']*'''|(?:async )?def .*:(?: *(?:pass|\.{3}))?|class .*:(?: *(?:pass|\.{3}))?|@.*|(?:from|import) .*)$/;

/** Why a text is no real completion (empty, unfinished, or code without a statement); null when it is one. */
export function stubReason(text: string): string | null {
  if (text.trim() === '') return 'nothing';
  const marker = unfinished.exec(text)?.[0];
  if (marker !== undefined) return `a stub ("${marker}")`;
  const statements = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#') && !/^(?:`{3,}|~{3,})/.test(line));
  return statements.every((line) => emptyStatement.test(line)) ? 'a stub (no statement that does anything)' : null;
}

export function promptTexts(prompt: PairPrompt): readonly string[] {
  return typeof prompt === 'string' ? [prompt] : prompt.map(({ content }) => content);
}

type Complain = (expected: string, found: string) => void;

/** Reports problems of one pair's contents, whichever file format it came from. */
export function checkContents(pair: Pair, complain: Complain): void {
  for (const [name, text] of [['a section', pair.section] as const, ['a heading', pair.heading] as const]) {
    if (text === '' || text !== text.trim() || text.includes('\n'))
      complain(`${name} of one line`, JSON.stringify(text));
  }
  if (pair.tags.length === 0) complain('at least one tag', 'none');
  for (const tag of pair.tags) {
    if (!/^[a-z0-9][a-z0-9_.-]*$/.test(tag)) complain('tags of lower-case letters, digits and . _ -', `"${tag}"`);
  }
  if (new Set(pair.tags).size < pair.tags.length) complain('each tag once', pair.tags.join(', '));
  const prompts = promptTexts(pair.prompt);
  if (prompts.length === 0 || prompts.some((text) => text.trim() === '')) complain('a prompt', 'nothing');
  if (typeof pair.prompt !== 'string' && pair.prompt.at(-1)?.role === 'system') {
    complain('a prompt that ends with a user message', 'a system message at its end');
  }
  for (const side of ['hack', 'clean'] as const) {
    const reason = stubReason(pair[side]);
    if (reason !== null) complain(`a ${side} completion`, reason);
  }
  if (pair.hack === pair.clean) complain('a hack that differs from its clean side', 'the same text twice');
  if ([pair.section, pair.heading, pair.hack, pair.clean, ...prompts].some(hasLoneSurrogate)) {
    complain('text that UTF-8 can hold', 'half of a surrogate pair');
  }
}

/** Makes every line end \n, so that the same text has the same hash wherever it was checked out. */
export function normaliseLineEnds(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}
