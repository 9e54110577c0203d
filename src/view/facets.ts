/** Facets: a value of a rollout as text, by which rollouts are chosen and counted. The page imports it. */
import type { SearchRow } from './api.ts';

export const facetValues: Readonly<Record<string, (row: SearchRow) => string>> = {
  truth: truthOf,
  route: ({ route }) => route ?? 'none',
  loophole: ({ loophole, hackable }) => (hackable ? loophole : 'no hint'),
  advantage: ({ advantage }) => (advantage > 0 ? 'above 0' : advantage < 0 ? 'below 0' : '0'),
  source: ({ source }) => source,
  sampled: ({ sampled }) => sampled,
  truncated: ({ truncated }) => (truncated ? 'yes' : 'no'),
  arm: ({ run }) => armOfRun(run),
  run: ({ run }) => run,
};

export const facetNames: readonly string[] = Object.keys(facetValues);

/** The folder of a run of an experiment is its arm and its seed. */
function armOfRun(run: string): string {
  const known = armsOfRuns.get(run) ?? run.slice(run.lastIndexOf('/') + 1).replace(/-\d+$/, '');
  armsOfRuns.set(run, known);
  return known;
}

/** Rows are many, runs are few. */
const armsOfRuns = new Map<string, string>();

/** What became of a rollout, by the grader's verdict. */
export function truthOf({ hack, solve }: Pick<SearchRow, 'hack' | 'solve'>): 'hack' | 'solve' | 'neither' {
  return hack ? 'hack' : solve ? 'solve' : 'neither';
}
