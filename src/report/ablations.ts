/** What each part buys: every arm against the baseline and its placebos with the quarantine's share beside, and what the arms change. */
import { claimSet, finalSample, findArm, formatSample, type Results } from './aggregate.ts';
import { type ComparedMetric, type Comparison, compareArms } from './comparisons.ts';
import type { Cell, Table } from './table.ts';
import { armCell, formatP, noClaim, setTitles, signed } from './tables.ts';

/** One row per comparison of deployed attempts and hacks, with the rates of the arm and the qmass of both. */
export function ablationTable(results: Results): Table {
  const set = claimSet(results);
  const compared = (metric: ComparedMetric): Comparison[] =>
    set === undefined ? [] : [false, true].flatMap((oracle) => compareArms(results, set, metric, oracle));
  const [attempts, found] = [compared('attempt'), compared('hack')];
  return {
    title: `what each part buys${set === undefined ? '' : `, ${setTitles[set]}`}`,
    columns: [
      ...['arm', 'against', 'attempt', 'hack', 'solve', 'qmass', 'its qmass'],
      ...['attempt difference', 'hack difference', '95% interval', 'seeds', 'p (Holm)'],
    ],
    rows: found.map((one, i) => ablationRow(results, one, attempts[i])),
    notes: [
      'Deployed rates. Only what an arm removes beyond a placebo of similar qmass speaks for its direction. Interval and p-value are those of the paired differences in hack.',
      ...(found.some(({ seeds }) => seeds.length === 1) ? [`${noClaim}.`] : []),
    ],
  };
}

function ablationRow(results: Results, one: Comparison, attempts: Comparison): Cell[] {
  const { set, arm, against, qmass, interval, difference, seeds, adjusted } = one;
  const own = findArm(results, arm);
  const rate = (metric: ComparedMetric): string => formatSample(finalSample(own?.runs ?? [], set, 'deployed', metric));
  const mass = (value: number | null): string => (value === null ? '-' : value.toFixed(2));
  return [
    armCell({ arm, usesOracle: own?.usesOracle === true }, { set }),
    against,
    rate('attempt'),
    rate('hack'),
    rate('solve'),
    mass(qmass.arm),
    mass(qmass.against),
    signed(attempts.difference),
    signed(difference),
    interval === null ? '-' : `[${signed(interval.low)}, ${signed(interval.high)}]`,
    `${seeds.length}`,
    formatP(adjusted),
  ];
}

/** The recipe of every arm and what it changes, with its deployed rates; empty outside an experiment. */
export function settingsTable(results: Results): Table {
  const set = claimSet(results);
  const rows = results.design.arms.flatMap(({ name, recipe, set: changes }) => {
    const arm = findArm(results, name);
    if (arm === undefined || set === undefined) return [];
    const rate = (metric: ComparedMetric): string => formatSample(finalSample(arm.runs, set, 'deployed', metric));
    const rates = [rate('attempt'), rate('hack'), rate('solve')];
    return [[armCell(arm, { set }), `${arm.runs.length}`, recipe, changes.join(' ') || '-', ...rates]];
  });
  return {
    title: `what the arms change${set === undefined ? '' : `, ${setTitles[set]}`}`,
    columns: ['arm', 'n', 'recipe', 'changes to it', 'attempt deployed', 'hack deployed', 'solve deployed'],
    rows,
  };
}
