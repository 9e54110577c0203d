/** What the page of an experiment shows, made from its results by the code that makes reports. */
import { type FinalSet, type OutcomeRates, type Rate, summarise } from '../evaluate/index.ts';
import { loopholeSummary, type Results } from '../report/aggregate.ts';
import { allTables } from '../report/all-tables.ts';
import { placebosOf } from '../report/comparisons.ts';
import { allFigures } from '../report/figures.ts';
import { bestSide, type SideBySide } from '../report/samples.ts';
import { describeResults } from '../report/statements.ts';
import { setTitles } from '../report/tables.ts';
import { armDifferences } from '../run/index.ts';
import { mean, meanInterval, wilsonInterval } from '../stats/index.ts';
import { type QueueEntry, questionFacts } from '../study/queue/folder.ts';
import type { ShownCompletion, ShownRates } from './api.ts';

export async function experimentPage(
  id: string,
  results: Results,
  idOf: (path: string) => string,
  questions: readonly QueueEntry[] = [],
) {
  const { name, baseline, design, arms, leftOut } = results;
  const figures = await allFigures(results);
  const placebos = new Set([results.placebo, ...arms.flatMap(({ arm }) => placebosOf(results, arm))]);
  const example = bestSide(results);
  const exampleRun = arms.find(({ arm }) => arm === example?.arm)?.runs[0]?.path;
  return {
    id,
    name,
    why: design.why,
    resolve: design.resolve,
    arms: arms.map(({ arm, usesOracle }) => ({ arm, usesLabels: usesOracle, isPlacebo: placebos.has(arm) })),
    seeds: [...new Set([...design.seeds, ...arms.flatMap((arm) => arm.runs.map(({ seed }) => seed))])],
    baseline,
    words: [...questions.flatMap(questionFacts).map((fact) => fact.join(': ')), ...describeResults(results)],
    story: figures.find((figure) => figure.name === 'story') ?? null,
    figures: figures.filter((figure) => figure.name !== 'story'),
    tables: allTables(results),
    example: example === null || exampleRun === undefined ? null : { ...exampleOf(example), run: idOf(exampleRun) },
    differences: differencesOf(results),
    curves: curvesOf(results),
    matrices: loopholeMatrices(results),
    leftOut,
  };
}

function exampleOf({ arm, full, deployed }: SideBySide) {
  const { problem, loophole, prompt } = full;
  return { arm, problem, loophole, prompt, base: null, full: shown(full), deployed: shown(deployed) };
}

export function shown({ completion, attempt, hack, solve }: ShownCompletion): ShownCompletion {
  return { completion, attempt, hack, solve };
}

function differencesOf({ arms, baseline }: Results) {
  const reference = arms.find(({ arm }) => arm === baseline)?.runs[0];
  if (reference === undefined) return [];
  return arms
    .filter(({ arm }) => arm !== baseline)
    .map(({ arm, runs }) => ({ arm, keys: armDifferences(reference.config, runs[0].config) }));
}

/** Rates on the whole curve set; the base belongs to both states. */
function curvesOf({ arms }: Results) {
  return arms.flatMap(({ arm, runs }) =>
    runs.map((run) => {
      const own = run.evaluations.filter(({ set, limit }) => set === 'curve' && limit === null);
      const updates = [...new Set(own.map(({ update }) => update))].sort((a, b) => a - b);
      const at = (update: number, state: 'full' | 'deployed'): ShownRates | null => {
        const wanted = run.hasQuarantine ? state : 'full';
        const found = own.find((one) => one.update === update && (one.state === wanted || one.state === 'base'));
        if (found === undefined) return null;
        const { attempt, hack, solve, cleanSolve } = summarise(found.rows);
        return { attempt: attempt.rate, hack: hack.rate, solve: solve.rate, cleanSolve: cleanSolve.rate };
      };
      const points = updates.map((update) => ({ update, full: at(update, 'full'), deployed: at(update, 'deployed') }));
      return { arm, seed: run.seed, points };
    }),
  );
}

export function loopholeMatrices({ sets, arms }: Results) {
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

function cellsOf({ arm, runs }: Results['arms'][number], set: FinalSet, loophole: string) {
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
