/**
 * Known against held-out loopholes: for each run the deployed rates of attempts and hacks, averaged over the loopholes of a group, and
 * paired differences over seeds from the baseline and the placebos on each group.
 */

import type { FinalSet } from '../evaluate/index.ts';
import { summarise } from '../evaluate/index.ts';
import { claimNote, formatP, makeTable, signed, signedInterval, type Table } from '../measure/table.ts';
import { average, mean } from '../stats/index.ts';
import type { ArmResults, Results, Sample } from './aggregate.ts';
import { claimSet, formatSample, sampleOf, sharedSeeds } from './aggregate.ts';
import { overSeeds, testArms } from './comparisons.ts';
import { loopholeGroups as groups, type LoopholeGroup } from './experiment-schema.ts';
import type { RunResult } from './run-result.ts';
import { armCell, differenceCell, titleOf } from './tables.ts';

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
  const gapOf = (run: RunResult): number | null => {
    const [known, heldOut] = groups.map((group) => groupRate(run, set, group, metric));
    return known === null || heldOut === null ? null : heldOut - known;
  };
  return makeTable(
    titleOf(`${metric} deployed, known and held-out loopholes`, set),
    arms,
    {
      arm: (arm) => armCell(arm, { set }),
      n: (arm) => `${groupSample(arm, set, 'held out', metric)?.n ?? 0}`,
      known: (arm) => formatSample(groupSample(arm, set, 'known', metric)),
      'held out': (arm) => formatSample(groupSample(arm, set, 'held out', metric)),
      'held out − known': ({ runs }) => formatSample(sampleOf(runs, gapOf)),
      pairs: ({ runs: [{ manifest, config }] }) =>
        manifest.identity.pairs === null ? '-' : config.pairs.select.join(' ') || 'all',
    },
    'Mean over the loopholes of a group, then mean ± SEM over seeds. held out: as environment.heldOutLoopholes says. pairs: what pairs.select chose; only arms with a direction from pairs use them.',
  );
}

function differenceTable(results: Results, arms: readonly ArmResults[], set: FinalSet, metric: GroupMetric): Table {
  const compareGroups = (arm: ArmResults, against: ArmResults) =>
    groups.flatMap((group) => {
      const samples = [arm, against].map((each) => groupSample(each, set, group, metric));
      const differences = sharedSeeds(...samples).map(({ values: [own, other] }) => own - other);
      const [n, difference] = [differences.length, average(differences)];
      return n === 0 ? [] : [{ arm: arm.arm, against: against.arm, group, n, difference, ...overSeeds(differences) }];
    });
  const compared = testArms({ ...results, arms }, undefined, compareGroups);
  return makeTable(
    titleOf(`${metric} deployed, paired differences by group of loopholes`, set),
    compared,
    {
      comparison: (one) => differenceCell(one, set),
      loopholes: ({ group }) => group,
      seeds: ({ n }) => `${n}`,
      difference: ({ difference }) => signed(difference),
      '95% interval': ({ interval }) => signedInterval(interval),
      p: ({ pValue }) => formatP(pValue),
      'p (Holm)': ({ adjusted }) => formatP(adjusted),
    },
    claimNote(compared.map(({ n }) => n)),
  );
}
