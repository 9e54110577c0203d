/** The numbers of a loophole matrix as a table that can be copied, and where each leads. */
import { textOf } from '../../report/draw/index.ts';
import type { ExperimentPage, LoopholeMatrix } from '../api.ts';
import { type RateName, rateWords } from '../query.ts';
import { linkTo, type ShownState, stateWords } from './address.ts';
import type { Door } from './doors.ts';

/** What a matrix may show; hacks never stand without attempts, nor solves without those that are clean. */
export const shownKinds = ['hack', 'solve', 'difference'] as const;
export type ShownKind = (typeof shownKinds)[number];

export const metricsOf = (kind: ShownKind): readonly RateName[] =>
  kind === 'solve' ? ['solve', 'cleanSolve'] : ['attempt', 'hack'];

export function findCell(
  { cells }: LoopholeMatrix,
  loophole: string,
  arm: string,
  state: ShownState,
): LoopholeMatrix['cells'][number] | undefined {
  return cells.find((cell) => cell.loophole === loophole && cell.arm === arm && cell.state === state);
}

export function tableOf(page: ExperimentPage, matrix: LoopholeMatrix, kind: ShownKind) {
  const metrics = metricsOf(kind);
  const rates = page.arms.flatMap(({ arm }) =>
    metrics.flatMap((metric) => (['full', 'deployed'] as const).map((state) => ({ arm, metric, state }))),
  );
  const cell = (loophole: string, { arm, metric, state }: (typeof rates)[number]): string => {
    const rate = findCell(matrix, loophole, arm, state)?.[metric];
    return rate === undefined ? '-' : `${rate.rate.toFixed(2)} [${rate.low.toFixed(2)}, ${rate.high.toFixed(2)}]`;
  };
  return {
    title: `${metrics.map((metric) => rateWords[metric]).join(' and ')} by loophole and arm, ${matrix.set}`,
    columns: [
      'loophole',
      'pairs',
      ...rates.map(({ arm, metric, state }) => `${arm}, ${rateWords[metric]} ${stateWords[state]}`),
    ],
    rows: matrix.loopholes.map(({ loophole, isHeldOut }) => [
      loophole,
      isHeldOut ? 'held out' : 'known',
      ...rates.map((rate) => cell(loophole, rate)),
    ]),
  };
}

/** Two columns of each rate of an arm: as trained and deployed. */
export function doorOf(page: ExperimentPage, { set }: LoopholeMatrix, kind: ShownKind): Door {
  const columnsOfArm = 2 * metricsOf(kind).length;
  return ([first], column) => {
    const loophole = textOf(first);
    const arm = page.arms[Math.floor((column - 2) / columnsOfArm)]?.arm;
    if (arm === undefined) return null;
    return linkTo('answers', page.id, { arm, loophole, set, state: column % 2 === 0 ? 'full' : null });
  };
}
