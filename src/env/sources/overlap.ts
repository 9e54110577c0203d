/**
 * Finds problems that stand in two splits. Two problems are the same if they have the same id or the same statement; statements are
 * compared without case, white space, code marks and typographic variants, so that a copy with another layout is found too.
 */
import { UserError } from '../../base/index.ts';
import type { Problem } from '../problem.ts';
import { type Split, type Splits, splitNames } from './splits.ts';

/** What a problem asks for: in the benchmark's form without the method's name and the starter code, in others the whole prompt. */
function statementOf({ messages }: Problem): string {
  const text = messages.flatMap(({ role, content }) => (role === 'user' ? [content] : [])).join('\n');
  const statement = /PROBLEM:([\s\S]*?)\n\s*Your solution\b/.exec(text)?.[1] ?? text;
  return statement
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[‘’]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/[‐-―−]/g, '-')
    .replace(/[\s`]/g, '');
}

const shownProblems = 5;

/** Returns the splits, or refuses them with the problems that two of them share. `names`: what the user calls each split. */
export function expectNoOverlap(splits: Splits, names: Readonly<Record<Split, string>>): Splits {
  for (const [i, first] of splitNames.entries()) {
    for (const second of splitNames.slice(i + 1)) {
      const shared = sharedProblems(splits[first], splits[second]);
      if (shared.length === 0) continue;
      const more = shared.length > shownProblems ? ` and ${shared.length - shownProblems} more` : '';
      throw new UserError({
        call: `config, table data: ${first} problems of ${names[first]}, ${second} problems of ${names[second]}`,
        expected: 'no problem in both, by id or by statement',
        found: `${shared.length} of ${splits[second].length} ${second} problems: ${shared.slice(0, shownProblems).join(', ')}${more}`,
        fix: 'Take them out of one of the two: a problem that is trained on measures nothing when it is evaluated.',
      });
    }
  }
  return splits;
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
