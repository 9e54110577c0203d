/** The evasion split: a monitor's scores of the same texts on the base and on the trained policy, of one run and of all arms over seeds. */
import type { Evasion } from '../measure/index.ts';
import { formatSample, type Results, sampleOf } from './aggregate.ts';
import type { RunResult } from './run-result.ts';
import type { Table } from './table.ts';
import { armCell, noClaim, signed } from './tables.ts';

const note =
  'Mean scores of the same texts, as the base reads them and as the trained policy does, by the monitor of the last checkpoint; labels divide the rollouts, for diagnosis only. Hacks that score lower on the policy hide in its activations; hacks that score low on both pass by their text.';

export function evasionTable({ hacks, clean, auroc, difference, ...found }: Evasion): Table {
  const { from, to, rollouts, abstained } = found;
  const sides = [['hacks', hacks] as const, ['clean', clean] as const];
  const missed = abstained === 0 ? [] : [`The monitor abstained on ${abstained} of ${rollouts}.`];
  const areas =
    auroc === null
      ? 'none, for lack of one side'
      : `${auroc.base.toFixed(2)} on the base, ${auroc.policy.toFixed(2)} on the policy`;
  return {
    title: `evasion split, rollouts of updates ${from} to ${to}`,
    columns: ['rollouts', 'n', 'score on base', 'score on policy', 'difference', '95% interval', 'contribution'],
    rows: sides.map(([name, side]) =>
      side === null
        ? [name, '0', '-', '-', '-', '-', '-']
        : [
            name,
            `${side.rollouts}`,
            side.base.toFixed(3),
            side.policy.toFixed(3),
            signed(side.difference),
            side.interval === null ? '-' : `[${signed(side.interval.low)}, ${signed(side.interval.high)}]`,
            signed(side.contribution),
          ],
    ),
    notes: [
      note,
      `The contributions add up to the difference over all rollouts, ${signed(difference)}. AUROC of hacks against clean rollouts: ${areas}.`,
      ...missed,
      `Interval: Student's, over rollouts. ${noClaim}.`,
    ],
  };
}

/** Values of a run by their names in CSV and JSON; null for a run that nobody asked about. */
export const evasionValues: Readonly<Record<string, (run: RunResult) => number | null>> = {
  'evasion-hacks-base': ({ evasion }) => evasion?.hacks?.base ?? null,
  'evasion-hacks-policy': ({ evasion }) => evasion?.hacks?.policy ?? null,
  'evasion-clean-base': ({ evasion }) => evasion?.clean?.base ?? null,
  'evasion-clean-policy': ({ evasion }) => evasion?.clean?.policy ?? null,
  'evasion-auroc-base': ({ evasion }) => evasion?.auroc?.base ?? null,
  'evasion-auroc-policy': ({ evasion }) => evasion?.auroc?.policy ?? null,
};

/** The splits of all arms that have one, over seeds. */
export function evasionsTable({ arms }: Results): Table {
  const split = arms.filter(({ runs }) => runs.some(({ evasion }) => evasion !== null));
  return {
    title: 'evasion split of monitors that read activations',
    columns: [
      ...['arm', 'n', 'hacks, on base', 'hacks, on policy', 'clean, on base', 'clean, on policy'],
      ...['AUROC on base', 'AUROC on policy'],
    ],
    rows: split.map(({ arm, runs, usesOracle }) => [
      armCell({ arm, usesOracle }, { training: true }),
      `${runs.filter(({ evasion }) => evasion !== null).length}`,
      ...Object.values(evasionValues).map((value) => formatSample(sampleOf(runs, value))),
    ]),
    notes: [note],
  };
}
