/** Facets: a value of a rollout as text, by which rollouts are chosen and counted. */
import type { JudgedRollout } from '../oracle/judged/index.ts';

/** What facets are made of. */
export type FacetedRollout = JudgedRollout<
  'hack' | 'solve' | 'route' | 'loophole' | 'hackable' | 'advantage' | 'source' | 'sampled' | 'truncated'
> & { readonly run: string };

export const facetValues: Readonly<Record<string, (row: FacetedRollout) => string>> = {
  truth: truthOf,
  route: ({ route }) => route ?? 'none',
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

/** What became of a rollout, by the grader's verdict. */
export function truthOf({ hack, solve }: JudgedRollout<'hack' | 'solve'>): 'hack' | 'solve' | 'neither' {
  return hack ? 'hack' : solve ? 'solve' : 'neither';
}
