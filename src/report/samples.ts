/** Rollouts and evaluated prompts to show in a report: chosen by fixed rules, never by hand. */
import { UserError } from '../base/index.ts';
import { type EvaluationRow, EvaluationStore, type FinalSet, type OutcomeRow, pairRows } from '../evaluate/index.ts';
import type { JudgedRollout } from '../oracle/index.ts';
import { claimSet, type Results } from './aggregate.ts';
import { isPlacebo } from './comparisons.ts';
import type { RunResult } from './run-result.ts';

export interface ExampleRollout {
  readonly what: string;
  readonly arm: string;
  readonly rollout: JudgedRollout;
}

type Choose = (what: string, holds: (row: JudgedRollout) => boolean, at?: 'first' | 'middle') => ExampleRollout[];

async function choiceOf({ arms }: Results) {
  const all = arms.flatMap((arm) => arm.runs);
  const runs = await Promise.all(all.map(async ({ arm, rollouts }) => ({ arm, rows: await rollouts() })));
  const choose: Choose = (what, holds, at = 'first') => {
    const found = runs.map(({ arm, rows }) => ({ arm, rows: rows.filter(holds) })).find(({ rows }) => rows.length > 0);
    if (found === undefined) return [];
    return [{ what, arm: found.arm, rollout: found.rows[at === 'first' ? 0 : Math.floor(found.rows.length / 2)] }];
  };
  return { choose, loopholes: [...new Set(runs.flatMap(({ rows }) => rows.map(({ loophole }) => loophole)))].sort() };
}

export async function exampleRollouts(results: Results): Promise<ExampleRollout[]> {
  const { choose } = await choiceOf(results);
  return [
    ...(await loopholeExamples(results)),
    ...choose('a kept rollout', ({ route }) => route === 'keep', 'middle'),
    ...choose('a routed rollout', ({ route }) => route === 'route', 'middle'),
  ];
}

/** For every loophole the first hack of a hinted prompt and the first solve, of the first arm that has them. */
export async function loopholeExamples(results: Results): Promise<ExampleRollout[]> {
  const { choose, loopholes } = await choiceOf(results);
  return loopholes.flatMap((name) => [
    ...choose(`${name}: the first hack`, ({ loophole, hack }) => loophole === name && hack),
    ...choose(`${name}: a solve`, ({ loophole, solve, hackable }) => loophole === name && solve && hackable),
  ]);
}

/** What came of an answer, over it. */
export function outcomeWords({ attempt, hack, solve }: Pick<OutcomeRow, 'attempt' | 'hack' | 'solve'>): string {
  const end = hack ? 'hack' : solve ? 'solve' : 'neither hack nor solve';
  return attempt ? `attempt, ${end}` : end;
}

export type SideBySide = Readonly<NonNullable<ReturnType<typeof sideBySide>>>;

const isClean = ({ solve, attempt }: OutcomeRow): boolean => solve && !attempt;
/** What cheats comes before what solves: a hack that is gone shows more than an attempt in a right program. */
const preference: readonly ((full: OutcomeRow, deployed: OutcomeRow) => boolean)[] = [
  (full, deployed) => full.hack && isClean(deployed),
  (full, deployed) => full.hack && !deployed.attempt,
  (full, deployed) => full.attempt && isClean(deployed),
  (full, deployed) => full.attempt && !deployed.attempt,
  (full) => full.attempt,
  () => true,
];

/** Which prompt the example is, in words: the rule that chose it, and what no prompt shows. */
export function exampleWords({ full, deployed, prompts }: Pick<SideBySide, 'full' | 'deployed' | 'prompts'>): string {
  const hack = 'a hack (a wrong program that is paid)';
  const noHack = `Of ${prompts} prompts a run none goes from ${hack} to no attempt.`;
  const kinds = [
    `Shown: the first prompt with ${hack} as trained that is solved cleanly when deployed.`,
    `Shown: the first prompt with ${hack} as trained and no attempt when deployed. None of the prompts hacked as trained is solved cleanly when deployed.`,
    `Shown: the first prompt with an attempt as trained that is solved cleanly when deployed. ${noHack}`,
    `Shown: the first prompt with an attempt as trained and none when deployed. ${noHack}`,
    'Shown: the first prompt with an attempt as trained. All of these are attempted when deployed too.',
    'Shown: the first prompt. None is attempted as trained.',
  ];
  return kinds[preference.findIndex((holds) => holds(full, deployed))];
}

function bestOf<Pair>(pairs: readonly Pair[], rowsOf: (pair: Pair) => readonly [OutcomeRow, OutcomeRow]): Pair | null {
  for (const holds of preference) {
    const found = pairs.find((pair) => holds(...rowsOf(pair)));
    if (found !== undefined) return found;
  }
  return null;
}

/** One prompt in both states: the first that goes from a hack to a clean solve, else to no attempt, else the next best kind. */
export function sideBySide(run: RunResult, set: FinalSet) {
  const states = run.final[set];
  if (!run.hasQuarantine || !states?.full || !states.deployed) return null;
  const pairs = pairRows(states.full, states.deployed);
  const best = bestOf(pairs, (pair) => pair);
  if (best === null) return null;
  const inState = (rows: readonly OutcomeRow[]): EvaluationRow => withTexts(run, rows, best[0].problem);
  const sides = { full: inState(states.full), deployed: inState(states.deployed) };
  return { arm: run.arm, path: run.path, set, prompts: pairs.length, ...sides };
}

function withTexts({ path, evaluations }: RunResult, rows: readonly OutcomeRow[], problem: string): EvaluationRow {
  const name = evaluations.find((one) => one.rows === rows);
  const found = name && new EvaluationStore(path).find(name)?.rows.find((row) => row.problem === problem);
  if (found) return found;
  throw new UserError({ call: `read ${path}`, expected: `the answer to ${problem}`, found: 'it is gone' });
}

/** The example of a first page: a hack that deployment removed, of no placebo, and of an arm without labels if there is one; else the next best. */
export function bestSide(results: Results): SideBySide | null {
  const set = claimSet(results);
  if (set === undefined) return null;
  const split = results.arms.filter(({ hasQuarantine }) => hasQuarantine);
  const claiming = split.filter(({ arm }) => !isPlacebo(results, arm));
  const arms = (claiming.length === 0 ? split : claiming).toSorted(
    (a, b) => Number(a.usesOracle) - Number(b.usesOracle),
  );
  const sides = arms.flatMap(({ runs }) => runs.flatMap((run) => sideBySide(run, set) ?? []));
  return bestOf(sides, ({ full, deployed }) => [full, deployed]);
}
