/**
 * Known against held-out loopholes: for each run the deployed rates of attempts and hacks, averaged over the loopholes of a group, and
 * paired differences over seeds from the baseline and the placebos on each group.
 */
import type { FinalSet } from '../evaluate/index.ts';
import { summarise } from '../evaluate/index.ts';
import { mean } from '../stats/index.ts';
import { type ArmResults, claimSet, formatSample, type Results, type Sample, sampleOf } from './aggregate.ts';
import { adjustTogether, comparedWith, overSeeds, pairSeeds } from './comparisons.ts';
import { loopholeGroups as groups, type LoopholeGroup } from './design.ts';
import type { RunResult } from './run-result.ts';
import type { Table } from './table.ts';
import { armCell, differenceCell, formatP, noClaim, setTitles, signed, signedInterval } from './tables.ts';

/** What is averaged over the loopholes of a group, attempts first. */
const groupMetrics = ['attempt', 'hack'] as const;
type GroupMetric = (typeof groupMetrics)[number];

/** The mean over the loopholes of a group of their deployed rates; null when the run has no prompts of the group. */
function groupRate(
  { final, config }: RunResult,
  set: FinalSet,
  group: LoopholeGroup,
  metric: GroupMetric,
): number | null {
  const { heldOutLoopholes } = config.environment;
  const rows = (final[set]?.deployed ?? []).filter(
    ({ loophole }) => heldOutLoopholes.some((name) => name === loophole) === (group === 'held out'),
  );
  if (rows.length === 0) return null;
  return mean(Object.values(summarise(rows).byLoophole).map((rates) => rates[metric].rate));
}

export function groupSample(
  { runs }: Pick<ArmResults, 'runs'>,
  set: FinalSet,
  group: LoopholeGroup,
  metric: GroupMetric,
): Sample | null {
  return sampleOf(runs, (run) => groupRate(run, set, group, metric));
}

/** The aggregate of both groups and its tests; empty without held-out loopholes. */
export function heldOutTables(results: Results): Table[] {
  const set = claimSet(results);
  if (set === undefined) return [];
  const arms = results.arms.filter((arm) => groupSample(arm, set, 'held out', 'hack') !== null);
  if (arms.length === 0) return [];
  return [
    ...groupMetrics.map((metric) => aggregateTable(arms, set, metric)),
    ...groupMetrics.map((metric) => differenceTable(results, arms, set, metric)),
  ];
}

function aggregateTable(arms: readonly ArmResults[], set: FinalSet, metric: GroupMetric): Table {
  return {
    title: `${metric} deployed, known and held-out loopholes, ${setTitles[set]}`,
    columns: ['arm', 'n', 'known', 'held out', 'held out − known', 'pairs'],
    rows: arms.map((arm) => {
      const [known, heldOut] = groups.map((group) => groupSample(arm, set, group, metric));
      const gap = sampleOf(arm.runs, (run) => {
        const [first, second] = groups.map((group) => groupRate(run, set, group, metric));
        return first === null || second === null ? null : second - first;
      });
      const select =
        arm.runs[0].manifest.identity.pairs === null ? '-' : arm.runs[0].config.pairs.select.join(' ') || 'all';
      return [
        armCell(arm, { set }),
        `${heldOut?.n ?? 0}`,
        formatSample(known),
        formatSample(heldOut),
        formatSample(gap),
        select,
      ];
    }),
    notes: [
      'Mean over the loopholes of a group, then mean ± SEM over seeds. held out: as environment.heldOutLoopholes says. pairs: what pairs.select chose; only arms with a direction from pairs use them.',
    ],
  };
}

function differenceTable(results: Results, arms: readonly ArmResults[], set: FinalSet, metric: GroupMetric): Table {
  const compared = [false, true].flatMap((oracle) =>
    adjustTogether(
      arms
        .filter(({ usesOracle }) => usesOracle === oracle)
        .flatMap((arm) =>
          comparedWith(results, arm.arm).flatMap((against) =>
            groups.flatMap((group) => compareGroup(arm, against, set, group, metric)),
          ),
        ),
    ),
  );
  return {
    title: `${metric} deployed, paired differences by group of loopholes, ${setTitles[set]}`,
    columns: ['comparison', 'loopholes', 'seeds', 'difference', '95% interval', 'p', 'p (Holm)'],
    rows: compared.map(({ arm, against, group, n, difference, interval, pValue, adjusted }) => [
      differenceCell({ arm, against }, set),
      group,
      `${n}`,
      signed(difference),
      signedInterval(interval),
      formatP(pValue),
      formatP(adjusted),
    ]),
    notes: compared.some(({ n }) => n === 1) ? [`${noClaim}.`] : [],
  };
}

function compareGroup(arm: ArmResults, against: ArmResults, set: FinalSet, group: LoopholeGroup, metric: GroupMetric) {
  const [own, other] = [arm, against].map((each) => groupSample(each, set, group, metric));
  const pairs = own === null || other === null ? [] : pairSeeds(own, other);
  if (pairs.length === 0) return [];
  const differences = pairs.map(({ first, second }) => first - second);
  return [
    {
      arm: arm.arm,
      against: against.arm,
      group,
      n: pairs.length,
      difference: mean(differences),
      ...overSeeds(differences),
    },
  ];
}
