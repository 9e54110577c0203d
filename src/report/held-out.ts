/**
 * Known against held-out loopholes: for each run the deployed hack rate, averaged over the loopholes of a group, and paired
 * differences over seeds from the baseline and the placebos on each group.
 */
import type { FinalSet } from '../evaluate/index.ts';
import { summarise } from '../evaluate/index.ts';
import { mean } from '../stats/index.ts';
import { type ArmResults, claimSet, formatSample, type Results, type Sample, sampleOf } from './aggregate.ts';
import { adjustTogether, comparedWith, overSeeds, pairSeeds } from './comparisons.ts';
import { loopholeGroups as groups, type LoopholeGroup } from './design.ts';
import type { RunResults } from './run-results.ts';
import type { Table } from './table.ts';
import { formatP, noClaim, oracleMark, setTitles, signed } from './tables.ts';

/** The mean over the loopholes of a group of their deployed hack rates; null when the run has no prompts of the group. */
function groupHack({ final, config }: RunResults, set: FinalSet, group: LoopholeGroup): number | null {
  const { heldOutLoopholes } = config.environment;
  const rows = (final[set]?.deployed ?? []).filter(
    ({ loophole }) => heldOutLoopholes.some((name) => name === loophole) === (group === 'held out'),
  );
  if (rows.length === 0) return null;
  return mean(Object.values(summarise(rows).byLoophole).map(({ hack }) => hack.rate));
}

export function groupSample({ runs }: Pick<ArmResults, 'runs'>, set: FinalSet, group: LoopholeGroup): Sample | null {
  return sampleOf(runs, (run) => groupHack(run, set, group));
}

/** The aggregate of both groups and its tests; empty without held-out loopholes. */
export function heldOutTables(results: Results): Table[] {
  const set = claimSet(results);
  if (set === undefined) return [];
  const arms = results.arms.filter((arm) => groupSample(arm, set, 'held out') !== null);
  if (arms.length === 0) return [];
  return [aggregateTable(arms, set), differenceTable(results, arms, set)];
}

function aggregateTable(arms: readonly ArmResults[], set: FinalSet): Table {
  return {
    title: `hack deployed, known and held-out loopholes, ${setTitles[set]}`,
    columns: ['arm', 'n', 'known', 'held out', 'held out − known', 'pairs'],
    rows: arms.map((arm) => {
      const [known, heldOut] = groups.map((group) => groupSample(arm, set, group));
      const gap = sampleOf(arm.runs, (run) => {
        const [first, second] = groups.map((group) => groupHack(run, set, group));
        return first === null || second === null ? null : second - first;
      });
      const select =
        arm.runs[0].manifest.identity.pairs === null ? '-' : arm.runs[0].config.pairs.select.join(' ') || 'all';
      const name = `${arm.arm}${arm.usesOracle ? oracleMark : ''}`;
      return [name, `${heldOut?.n ?? 0}`, formatSample(known), formatSample(heldOut), formatSample(gap), select];
    }),
    notes: [
      'Mean over the loopholes of a group, then mean ± SEM over seeds. held out: as environment.heldOutLoopholes says. pairs: what pairs.select chose; only arms with a direction from pairs use them.',
    ],
  };
}

function differenceTable(results: Results, arms: readonly ArmResults[], set: FinalSet): Table {
  const compared = [false, true].flatMap((oracle) =>
    adjustTogether(
      arms
        .filter(({ usesOracle }) => usesOracle === oracle)
        .flatMap((arm) =>
          comparedWith(results, arm.arm).flatMap((against) =>
            groups.flatMap((group) => compareGroup(arm, against, set, group)),
          ),
        ),
    ),
  );
  return {
    title: `hack deployed, paired differences by group of loopholes, ${setTitles[set]}`,
    columns: ['comparison', 'loopholes', 'seeds', 'difference', '95% interval', 'p', 'p (Holm)'],
    rows: compared.map(({ name, group, n, difference, interval, pValue, adjusted }) => [
      name,
      group,
      `${n}`,
      signed(difference),
      interval === null ? '-' : `[${signed(interval.low)}, ${signed(interval.high)}]`,
      formatP(pValue),
      formatP(adjusted),
    ]),
    notes: compared.some(({ n }) => n === 1) ? [`${noClaim}.`] : [],
  };
}

function compareGroup(arm: ArmResults, against: ArmResults, set: FinalSet, group: LoopholeGroup) {
  const [own, other] = [groupSample(arm, set, group), groupSample(against, set, group)];
  const pairs = own === null || other === null ? [] : pairSeeds(own, other);
  if (pairs.length === 0) return [];
  const differences = pairs.map(({ first, second }) => first - second);
  const name = `${arm.arm} − ${against.arm}`;
  return [{ name, group, n: pairs.length, difference: mean(differences), ...overSeeds(differences) }];
}
