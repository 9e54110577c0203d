/** Loopholes by arms on the last checkpoint: how often each was attempted, hacked and solved, as trained and deployed, over seeds. */
import type { FinalSet, OutcomeRates, Rate } from '../evaluate/index.ts';
import { loopholeSummary, type Results, setTitles } from '../report/index.ts';
import { mean, meanInterval, wilsonInterval } from '../stats/index.ts';
import type { LoopholeMatrix, MatrixCell } from './api.ts';

type ArmOfResults = Results['arms'][number];

export function loopholeMatrices({ sets, arms }: Results): LoopholeMatrix[] {
  return sets.map((set) => {
    const runs = arms.flatMap((arm) => arm.runs);
    const names = [...new Set(runs.flatMap(({ final }) => (final[set]?.full ?? []).map(({ loophole }) => loophole)))];
    const heldOut = new Set<string>(runs.flatMap(({ config }) => config.environment.heldOutLoopholes));
    const isHeldOut = (name: string): boolean => heldOut.has(name);
    const ordered = [...names.filter((name) => !isHeldOut(name)), ...names.filter(isHeldOut)];
    return {
      set,
      title: setTitles[set],
      loopholes: ordered.map((loophole) => ({ loophole, isHeldOut: isHeldOut(loophole) })),
      cells: ordered.flatMap((loophole) => arms.flatMap((arm) => cellsOf(arm, set, loophole))),
    };
  });
}

function cellsOf({ arm, runs }: ArmOfResults, set: FinalSet, loophole: string): MatrixCell[] {
  return (['full', 'deployed'] as const).flatMap((state) => {
    const counted = runs.flatMap((run) => loopholeSummary(run, set, state, loophole) ?? []);
    if (counted.length === 0) return [];
    const rate = (key: keyof OutcomeRates): Rate => rateOver(counted.map((one) => one[key]));
    return [
      {
        ...{ arm, state, loophole, seeds: counted.length },
        ...{ attempt: rate('attempt'), hack: rate('hack'), solve: rate('solve'), cleanSolve: rate('cleanSolve') },
      },
    ];
  });
}

/** One seed has an interval over prompts, several have one over seeds. */
function rateOver(seeds: readonly { readonly count: number; readonly of: number; readonly rate: number }[]): Rate {
  const sum = (key: 'count' | 'of'): number => seeds.reduce((total, one) => total + one[key], 0);
  const [count, of] = [sum('count'), sum('of')];
  const rates = seeds.map(({ rate }) => rate);
  const { low, high } = seeds.length === 1 ? wilsonInterval(count, of) : meanInterval(rates);
  return { count, of, rate: mean(rates), low: Math.max(0, low), high: Math.min(1, high) };
}
