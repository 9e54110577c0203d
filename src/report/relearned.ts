/** The relearning attack over seeds: updates until vanilla training of the deployed policy hacks half as often as the baseline ends. */
import { emergence, finalWindow, type RelearningReport, reportRelearning } from '../measure/index.ts';
import { type Interval, mean, meanInterval } from '../stats/index.ts';
import { findArm, type Results } from './aggregate.ts';
import type { Table } from './table.ts';
import { armCell, noClaim } from './tables.ts';

export interface RelearnedArm {
  readonly arm: string;
  readonly usesOracle: boolean;
  readonly seeds: readonly { readonly seed: number; readonly report: RelearningReport }[];
  readonly fromBase: CountedUpdates;
  readonly fromDeployed: CountedUpdates;
  /** Updates from the deployed policy less those from the base. */
  readonly difference: CountedUpdates & { readonly interval: Interval | null };
}

/** A mean over seeds. Seeds that never reached the rate count with all their updates: the mean is then a lower or an upper bound. */
interface CountedUpdates {
  readonly mean: number;
  readonly unreached: number;
}

/** Arms that were attacked, in the seeds in which the baseline hacks at all. */
export function relearnedArms(results: Results): RelearnedArm[] {
  const vanilla = findArm(results, results.baseline);
  return results.arms.flatMap(({ arm, usesOracle, runs }): RelearnedArm[] => {
    const seeds = runs.flatMap(({ seed, attack }) => {
      const base = vanilla?.runs.find((run) => run.seed === seed);
      const report = base === undefined || attack === null ? null : reportRelearning(base.training, attack);
      return report === null ? [] : [{ seed, report }];
    });
    if (seeds.length === 0) return [];
    const starts = seeds.map(({ report }) => [report.fromBase, report.fromDeployed]);
    const [fromBase, fromDeployed] = [0, 1].map((at) => ({
      mean: mean(starts.map((pair) => pair[at].reached ?? pair[at].updates)),
      unreached: starts.filter((pair) => pair[at].reached === null).length,
    }));
    const differences = starts.map(([base, own]) => (own.reached ?? own.updates) - (base.reached ?? base.updates));
    const difference = {
      mean: mean(differences),
      unreached: starts.filter((pair) => pair.some(({ reached }) => reached === null)).length,
      interval: differences.length < 2 ? null : meanInterval(differences),
    };
    return [{ arm, usesOracle, seeds, fromBase, fromDeployed, difference }];
  });
}

export function relearnedTable(results: Results): Table {
  const arms = relearnedArms(results);
  return {
    title: 'relearning: updates of vanilla training until the hack is back',
    columns: [
      'arm',
      'seeds',
      'from the base',
      'from deployed',
      'difference',
      '95% interval',
      'first attempt',
      'last attempt',
      'first hack',
      'last hack',
    ],
    rows: arms.map(({ arm, usesOracle, seeds, fromBase, fromDeployed, difference }) => {
      const rate = (of: 'firstAttempt' | 'finalAttempt' | 'firstRate' | 'finalRate'): string => {
        const found = seeds.flatMap(({ report }) => report.fromDeployed[of] ?? []);
        return found.length === 0 ? '-' : mean(found).toFixed(2);
      };
      return [
        armCell({ arm, usesOracle }),
        `${seeds.length}`,
        countedText(fromBase, seeds.length),
        countedText(fromDeployed, seeds.length),
        countedText(difference, seeds.length),
        difference.interval === null
          ? '-'
          : `[${difference.interval.low.toFixed(1)}, ${difference.interval.high.toFixed(1)}]`,
        rate('firstAttempt'),
        rate('finalAttempt'),
        rate('firstRate'),
        rate('finalRate'),
      ];
    }),
    notes: [
      `The hack is back at half of ${results.baseline}'s final rate. Means over seeds; a seed that never got there counts with all its updates and is named. first, last: rates of attempts and of hacks on hinted prompts over the first ${emergence.window} and the last ${finalWindow} updates from the deployed policy.`,
      ...(arms.some(({ seeds }) => seeds.length === 1) ? [`${noClaim}.`] : []),
    ],
  };
}

function countedText({ mean: value, unreached }: CountedUpdates, seeds: number): string {
  return `${value.toFixed(1)}${unreached === 0 ? '' : ` (not reached in ${unreached} of ${seeds})`}`;
}
