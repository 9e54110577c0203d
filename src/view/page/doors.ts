/** Where the numbers of a table lead: to the answers or the rollouts that they were counted from, which their cells say. */
import { aboutOf, type Cell } from '../../report/draw/index.ts';
import type { ExperimentPage, ListedRun } from '../api.ts';
import { linkTo, type Parameters } from './address.ts';

export type Door = (row: readonly Cell[], column: number) => string | null;

export function experimentDoor(page: ExperimentPage): Door {
  return (row, column) => {
    const { arm, against, set = null, loophole = null, training } = aboutOf(row, column);
    if (arm === undefined) return null;
    if (against !== undefined) return compareDoor(page, arm, against, set);
    if (begun(page, arm).length === 0) return null;
    return training ? linkTo('rollouts', page.id, { arm }) : linkTo('answers', page.id, { arm, set, loophole });
  };
}

const begun = ({ runs }: ExperimentPage, arm: string): ListedRun[] =>
  runs.filter((run) => run.arm === arm && run.status !== 'not started');

function compareDoor(page: ExperimentPage, first: string, second: string, set: string | null) {
  for (const run of begun(page, first)) {
    const other = begun(page, second).find(({ seed }) => seed === run.seed);
    if (other !== undefined) return linkTo('compare', run.id, { with: other.id, set });
  }
  return null;
}

export function gateDoor(run: string): Door {
  return (row, column) => {
    const { updates, attempt = '', route = '', advantage = '', sampled = '' } = aboutOf(row, column);
    const [from = '', to = ''] = updates?.map(String) ?? [];
    return linkTo('rollouts', run, { from, to, attempt, route, advantage, sampled });
  };
}

/** Another order of a search. Placebos disagree with the grader by design, and would fill a list of surprises: it begins without them, unless it is of one arm or run. */
export function ordered(order: string, now: URLSearchParams, placebos: readonly string[]): Parameters {
  const isOfOne = now.has('arm') || now.has('run');
  if (order === 'surprise') return { order, without: isOfOne ? null : placebos.join(',') };
  return now.get('order') === 'surprise' ? { order, without: null } : { order };
}
