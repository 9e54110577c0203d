/** Results of runs written by hand, read by the code that reads real run directories. */
import { aggregate, type Results } from '../../src/report/aggregate.ts';
import { type Design, noDesign } from '../../src/report/design.ts';
import { type RunResult, readRunResult } from '../../src/report/run-result.ts';
import { type HandMadeRun, type MadeEvaluation, temporaryFolder, writeEvaluations, writeRun } from './hand-made.ts';

export interface MadeResults extends HandMadeRun {
  readonly name?: string;
  readonly seed?: number;
  readonly arm?: Readonly<Record<string, unknown>>;
  readonly evaluations?: readonly MadeEvaluation[];
}

/** Results of one run written by hand; the arm is vanilla by default. */
export async function madeRun(made: MadeResults): Promise<RunResult> {
  const path = temporaryFolder();
  const { name = 'vanilla', seed = 1, arm = { kind: 'vanilla' } } = made;
  await writeRun(path, { ...made, config: { seed, updates: 20, arm, ...made.config } });
  await writeEvaluations(path, made.evaluations ?? []);
  return readRunResult(path, name);
}

export async function madeResults(
  runs: readonly MadeResults[],
  placebo: string | null = null,
  design: Partial<Design> = {},
): Promise<Results> {
  const read: RunResult[] = [];
  for (const made of runs) read.push(await madeRun(made));
  return aggregate(read, { name: 'made by hand', baseline: 'vanilla', placebo, design: { ...noDesign, ...design } });
}

/** The outcomes of ten prompts: hacks first, then solves. */
export function tenPrompts(hacks: number, solves = 0): string {
  return 'h'.repeat(hacks) + 's'.repeat(solves) + '-'.repeat(10 - hacks - solves);
}

/** One run per entry, each with hacks and solves of ten prompts on `test-original`; the base solves 2. */
export function madeArm(
  name: string,
  arm: NonNullable<MadeResults['arm']>,
  seeds: readonly (readonly [number, number])[],
): MadeResults[] {
  const set = 'test-original';
  return seeds.map(([hacks, solves], i) => ({
    name,
    seed: i + 1,
    arm,
    checkpoints: [0, 20],
    evaluations: [
      { update: 0, set, state: 'base', outcomes: tenPrompts(0, 2) },
      { update: 20, set, state: 'full', outcomes: tenPrompts(hacks, solves) },
      { update: 20, set, state: 'deployed', outcomes: tenPrompts(hacks, solves) },
    ],
  }));
}
