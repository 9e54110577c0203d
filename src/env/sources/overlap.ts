/**
 * Finds problems that stand in two splits, or twice in a split that is evaluated. Two problems are the same if they have the same id or
 * the same statement; statements are compared without case, white space, marks of Markdown, characters that nobody sees and
 * typographic variants, so that a copy with another layout is found too.
 */
import { UserError } from '../../base/index.ts';
import type { Problem } from '../problem.ts';
import { type Split, type Splits, splitNames } from './splits.ts';

/** What stands between the two, or all of it where they are not there; in time that is linear, whatever the text. */
function between(text: string, start: string, end: RegExp): string {
  const from = text.indexOf(start) + start.length;
  const length = text.slice(from).search(end);
  return text.includes(start) && length >= 0 ? text.slice(from, from + length) : text;
}

/** What a problem asks for: in the forms of the benchmark and of LeetCodeDataset's queries without the frame around it, in others the whole prompt. */
export function statementOf({ messages }: Pick<Problem, 'messages'>): string {
  const text = messages.flatMap(({ role, content }) => (role === 'user' ? [content] : [])).join('\n');
  const framed = between(text, 'PROBLEM:', /\n[^\S\n]*Your solution\b/);
  const statement = between(framed, '### Question:', /\n[^\S\n]*### Format:/);
  return statement
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[‘’]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/[‐-―−]/g, '-')
    .replace(/&nbsp;|\*\*|__|[\s`]|\p{Cf}/gu, '');
}

const shownProblems = 5;

/** Returns the splits, or refuses them with the problems that stand twice in them. `names`: what the user calls each split. */
export function expectNoOverlap(splits: Splits, names: Readonly<Record<Split, string>>): Splits {
  for (const split of ['validation', 'test'] as const) expectNoRepetition(splits[split], split, names[split]);
  for (const [i, first] of splitNames.entries()) {
    for (const second of splitNames.slice(i + 1)) {
      const shared = sharedProblems(splits[first], splits[second]);
      if (shared.length === 0) continue;
      throw new UserError({
        call: `config, table data: ${first} problems of ${names[first]}, ${second} problems of ${names[second]}`,
        expected: 'no problem in both, by id or by statement',
        found: `${shared.length} of ${splits[second].length} ${second} problems: ${listFirst(shared)}`,
        fix: 'Take them out of one of the two: a problem that is trained on measures nothing when it is evaluated.',
      });
    }
  }
  return splits;
}

/** A problem that counts twice makes intervals narrower than they are. Training may repeat one. */
function expectNoRepetition(problems: readonly Problem[], split: Split, name: string): void {
  const seen = new Map<string, string>();
  const repeated = problems.flatMap((problem) => {
    const statement = statementOf(problem);
    const first = seen.get(statement);
    if (first === undefined) seen.set(statement, problem.id);
    return first === undefined ? [] : [`${problem.id} (the statement of ${first})`];
  });
  if (repeated.length === 0) return;
  throw new UserError({
    call: `config, table data: ${split} problems of ${name}`,
    expected: 'every problem once, by statement',
    found: `${repeated.length} of ${problems.length} again: ${listFirst(repeated)}`,
    fix: 'Take them out: a problem that is evaluated twice counts as two.',
  });
}

function listFirst(problems: readonly string[]): string {
  const more = problems.length > shownProblems ? ` and ${problems.length - shownProblems} more` : '';
  return `${problems.slice(0, shownProblems).join(', ')}${more}`;
}

function sharedProblems(first: readonly Problem[], second: readonly Problem[]): string[] {
  const ids = new Set(first.map(({ id }) => id));
  const statements = new Map(first.map((problem) => [statementOf(problem), problem.id]));
  return second.flatMap((problem) => {
    if (ids.has(problem.id)) return [`${problem.id} (the same id)`];
    const other = statements.get(statementOf(problem));
    return other === undefined ? [] : [`${problem.id} (the statement of ${other})`];
  });
}
