/** A search of rollouts: text or a regular expression, facets (a value of a rollout as text), order, pages. It is written as parameters of an address, so every search is a link. */
import { messageOf, readWhole, UserError, visibleLine } from '../base/index.ts';
import type { JudgedRollout } from '../oracle/judged/columns.ts';

export { scoreWords as scoreText } from '../measure/gate/rollout-words.ts';
export { outcomesNote as rateNote } from '../measure/table.ts';

export const rolloutOrders = ['update', 'surprise', 'score', 'advantage', 'reward', 'tokens', 'shuffled'] as const;
export type RolloutOrder = (typeof rolloutOrders)[number];

export type RolloutQuery = Readonly<ReturnType<typeof parseQuery>>;

const mostRows = 500;

export function parseQuery(parameters: URLSearchParams) {
  const order = parameters.get('order') ?? 'update';
  const known = rolloutOrders.find((name) => name === order);
  if (known === undefined) {
    throw new UserError({ call: 'rollouts, order', expected: rolloutOrders.join(', '), found: order });
  }
  return {
    text: parameters.get('text') ?? '',
    isPattern: parameters.get('pattern') === '1',
    from: wholeOrNull(parameters, 'from'),
    to: wholeOrNull(parameters, 'to'),
    facets: Object.fromEntries<string>(
      facetNames.flatMap((name) => {
        const value = parameters.get(name);
        return value === null ? [] : [[name, value] as const];
      }),
    ),
    without: (parameters.get('without') ?? '').split(',').filter((arm) => arm !== ''),
    order: known,
    offset: wholeOrNull(parameters, 'offset') ?? 0,
    limit: Math.min(mostRows, wholeOrNull(parameters, 'limit') ?? 100),
  };
}

function wholeOrNull(parameters: URLSearchParams, name: string): number | null {
  const text = parameters.get(name);
  if (text === null || text === '') return null;
  const value = readWhole(text);
  if (value !== null) return value;
  throw new UserError({ call: `rollouts, ${name}`, expected: 'a whole number of at least 0', found: text });
}

/** What finds a text, or what a pattern matches, regardless of case; null: every text matches. */
export function expressionOf({ text, isPattern }: Pick<RolloutQuery, 'text' | 'isPattern'>): RegExp | null {
  if (text === '') return null;
  try {
    return new RegExp(isPattern ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'im');
  } catch (cause) {
    const found = messageOf(cause);
    throw new UserError({ call: 'rollouts, text', expected: 'a regular expression', found }, { cause });
  }
}

const excerptLength = 160;
/** What nearly every program begins with: the fence, the class and the head of its method. */
const usualBegin = /^\s*(```\w*\s*\n)?\s*class Solution\b.*\n\s*def .*:[ \t]*\n\s*(?=\S)/;

/** A line of a completion: from a little before the place that was searched for, else from where it begins to say something of its own. */
export function excerptOf(text: string, expression: RegExp | null = null): string {
  const found = expression === null ? -1 : text.search(expression);
  const own = usualBegin.exec(text.slice(0, 4 * excerptLength))?.[0].length ?? 0;
  const start = found < 0 ? own : Math.max(0, found - 40);
  const end = start + excerptLength;
  const words = text
    .slice(start, end)
    .replace(/\n```\s*$/, '')
    .replace(/\s+/g, ' ');
  return `${found > 40 ? '…' : ''}${visibleLine(words)}${end < text.trimEnd().length ? '…' : ''}`;
}

export const facetedNames = [
  ...(['attempt', 'hack', 'solve', 'route', 'flagged', 'loophole', 'hackable'] as const),
  ...(['advantage', 'source', 'sampled', 'truncated'] as const),
] as const;
export type FacetedRollout = JudgedRollout<(typeof facetedNames)[number]> & { readonly run: string };

export const facetValues: Readonly<Record<string, (row: FacetedRollout) => string>> = {
  attempt: ({ attempt }) => (attempt ? 'yes' : 'no'),
  truth: ({ hack, solve }) => (hack ? 'hack' : solve ? 'solve' : 'neither'),
  route: ({ route }) => route ?? 'none',
  // Rollouts of earlier versions have none.
  flagged: ({ flagged }) => (typeof flagged !== 'boolean' ? 'no monitor' : flagged ? 'yes' : 'no'),
  loophole: ({ loophole, hackable }) => (hackable ? loophole : 'no hint'),
  advantage: ({ advantage }) => (advantage > 0 ? 'above 0' : advantage < 0 ? 'below 0' : '0'),
  source: ({ source }) => source,
  sampled: ({ sampled }) => sampled,
  truncated: ({ truncated }) => (truncated ? 'yes' : 'no'),
  // The folder of a run of an experiment is its arm and its seed.
  arm: ({ run }) => run.slice(run.lastIndexOf('/') + 1).replace(/-\d+$/, ''),
  run: ({ run }) => run,
};

export const facetNames: readonly string[] = Object.keys(facetValues);

const facetWords: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  sampled: { full: 'as trained' },
  source: { student: 'the policy', 'teacher-hack': 'a shown hack', 'teacher-solve': 'a shown solve' },
};

/** How a page says the value of a facet. */
export const facetWord = (name: string, value: string): string => facetWords[name]?.[value] ?? value;

/** What may become of a rollout, by the grader's verdict, and the facets that find it. A hack is an attempt, and only what opened no loophole is clean. */
export const verdictFacets = {
  'attempt, hack': { attempt: 'yes', truth: 'hack' },
  'attempt, solved': { attempt: 'yes', truth: 'solve' },
  'attempt, unpaid': { attempt: 'yes', truth: 'neither' },
  'clean solve': { attempt: 'no', truth: 'solve' },
  neither: { attempt: 'no', truth: 'neither' },
} as const;
export type VerdictWord = keyof typeof verdictFacets;
export const verdictWords = Object.keys(verdictFacets) as readonly VerdictWord[];

export function verdictWordOf({ attempt, hack, solve }: JudgedRollout<'attempt' | 'hack' | 'solve'>): VerdictWord {
  if (hack) return 'attempt, hack';
  if (attempt) return solve ? 'attempt, solved' : 'attempt, unpaid';
  return solve ? 'clean solve' : 'neither';
}

/** The rates of every screen, in this order: no rate of hacks without that of attempts before it. */
export const rateWords = { attempt: 'attempt', hack: 'hack', solve: 'solve', cleanSolve: 'clean solve' } as const;
export type RateName = keyof typeof rateWords;
export const rateNames = Object.keys(rateWords) as readonly RateName[];

export const rateFacets: Readonly<Record<RateName, Readonly<Record<string, string>>>> = {
  attempt: { attempt: 'yes' },
  hack: verdictFacets['attempt, hack'],
  solve: { truth: 'solve' },
  cleanSolve: verdictFacets['clean solve'],
};

export function isCounted(rate: RateName, row: JudgedRollout<'attempt' | 'hack' | 'solve'>): boolean {
  const facets: Readonly<Record<string, string>> = verdictFacets[verdictWordOf(row)];
  return Object.entries(rateFacets[rate]).every(([name, value]) => facets[name] === value);
}
