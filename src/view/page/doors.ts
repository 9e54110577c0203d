/** Where the numbers of a table lead: to the answers or the rollouts that they were counted from. Rows and columns say whose they are. */
import type { Table } from '../../report/draw/index.ts';
import type { ExperimentPage, ListedRun } from '../api.ts';
import { linkTo } from './address.ts';

/** Where a cell leads; null: nowhere. */
export type Door = (row: readonly string[], column: number) => string | null;

type Names = Pick<Table, 'title' | 'columns'>;

/** The doors of a table or of the numbers of a figure of an experiment. */
export function experimentDoor(page: ExperimentPage, { title, columns }: Names): Door {
  const set = page.matrices.find((matrix) => title.includes(matrix.title))?.set ?? null;
  const armColumn = Math.max(0, columns.indexOf('arm'));
  const loopholeColumn = columns.indexOf('loophole');
  const isTraining = /while training|monitor/.test(title);
  return (row) => {
    const name = row[armColumn] ?? '';
    const pair = name.split(' − ').map((each) => armNamed(page, each));
    if (pair.length === 2) return compareDoor(page, pair, set);
    const isBase = /^base( of |$)/.test(name);
    const arm = armNamed(page, isBase ? name.replace(/^base( of )?/, '') || page.baseline : name);
    if (arm === null || begun(page, arm).length === 0) return null;
    if (isTraining && !isBase) return linkTo('rollouts', page.id, { arm });
    const loophole = loopholeColumn < 0 ? null : (row[loopholeColumn] ?? null);
    return linkTo('answers', page.id, { arm, set, loophole });
  };
}

/** The arm that a cell names, whatever is added to the name. */
function armNamed({ arms }: ExperimentPage, cell: string): string | null {
  const found = arms.filter(({ arm }) => cell === arm || cell.startsWith(`${arm} `) || cell.startsWith(`${arm},`));
  // Of "gate" and "gate b" the longer name is meant.
  return found.sort((a, b) => b.arm.length - a.arm.length)[0]?.arm ?? null;
}

const begun = ({ runs }: ExperimentPage, arm: string): ListedRun[] =>
  runs.filter((run) => run.arm === arm && run.status !== 'not started');

/** A difference of two arms opens two runs of the same seed, prompt by prompt. */
function compareDoor(page: ExperimentPage, [first, second]: readonly (string | null)[], set: string | null) {
  if (first === null || second === null) return null;
  for (const run of begun(page, first)) {
    const other = begun(page, second).find(({ seed }) => seed === run.seed);
    if (other !== undefined) return linkTo('compare', run.id, { with: other.id, set });
  }
  return null;
}

/** The doors of a table about the gate of a run: a window opens the rollouts of its updates. */
export function gateDoor(run: string): Door {
  return ([first = ''], column) => {
    const [, from = '', to = ''] = /^(\d+)-(\d+)$/.exec(first) ?? [];
    const advantage = from === '' && column === 2 ? 'above 0' : null;
    return linkTo('rollouts', run, { from, to, advantage });
  };
}
