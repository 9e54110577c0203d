/** Whose evaluations of a base a run may take over, with a sampler and a judge whose answers are known. */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { evaluationRows, temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { builtinLoopholes, type Judge, type Verdict } from '../env/index.ts';
import { generateMicroProblems } from '../env/micro/index.ts';
import type { Sampler } from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import { EvaluationStore } from './index.ts';
import { RunEvaluator } from './run-evaluator.ts';

const problems = generateMicroProblems({ seed: 1, split: 'test', count: 3 });
const none = new Float32Array();
const base = { update: 0, set: 'test-unhinted', state: 'base', limit: null } as const;

/** An evaluator of a new run whose model answers every prompt with `answer`. */
async function evaluatorOf(answer: string, temperature: number, siblings: readonly string[] = []) {
  const run = await writeRun(temporaryFolder(), { config: { sampling: { temperature } } });
  const sampler: Sampler = {
    sample: async (requests) =>
      requests.map(() => ({ tokens: new Int32Array(1), logps: none, fullLogps: none, finish: 'stop' })),
  };
  const judge = {
    concurrency: 1,
    judge: async () =>
      ({ correct: true, exploited: false, channels: [], compiles: true, labels: {} }) as unknown as Verdict,
  } as unknown as Judge;
  const text = {
    stopTokens: [],
    decode: () => answer,
    show: () => 'prompt',
    prompt: () => new Int32Array(1),
  } as unknown as ModelText;
  const use = { used: problems.length, leftOut: [] };
  const evaluator = new RunEvaluator({
    ...{
      run,
      config: run.readManifest().config,
      sampler,
      judge,
      text,
      siblings,
      inWords: false,
      loopholes: builtinLoopholes,
    },
    ...{ policy: {} as never, partition: { assigned: new Map(), heldOut: [] } as never },
    ...{ splits: { train: [], validation: [], test: problems }, use: { train: use, validation: use, test: use } },
  });
  return { path: run.path, evaluator };
}

const answersOf = (path: string): string[] => [
  ...new Set(
    new EvaluationStore(path)
      .all()
      .flatMap(({ rows }) => rows)
      .map(({ completion }) => completion),
  ),
];

it('takes over the evaluation of a base from a run with the same base, prompts and sampling, and of no other', async () => {
  const first = await evaluatorOf('of the first', 0.5);
  await first.evaluator.evaluate(base);
  expect(answersOf(first.path)).toEqual(['of the first']);
  const same = await evaluatorOf('computed again', 0.5, [first.path]);
  await same.evaluator.evaluate(base);
  expect(answersOf(same.path)).toEqual(['of the first']);
  const warmer = await evaluatorOf('of its own', 0.9, [first.path]);
  await warmer.evaluator.evaluate(base);
  expect(answersOf(warmer.path)).toEqual(['of its own']);
});

it('an evaluation of what a run trained is refused in the folder of another, whose base it may have', async () => {
  const [one, other] = [await evaluatorOf('', 0.5), await evaluatorOf('', 0.9)];
  for (const { evaluator } of [one, other]) {
    Object.assign(evaluator, { complete: async () => evaluationRows({ ...base, outcomes: 'hs' }) });
    await evaluator.evaluate(base);
    await evaluator.evaluate({ ...base, state: 'full' });
  }
  expect(new EvaluationStore(one.path).all()).toHaveLength(2);
  cpSync(join(one.path, 'evaluations'), join(other.path, 'evaluations'), { recursive: true });
  const read = () => new EvaluationStore(other.path).all();
  expect(read).toThrow(/00000-test-unhinted-full\.json: expected the evaluation of this run, found one of another run/);
  rmSync(join(other.path, 'evaluations', '00000-test-unhinted-full.json'));
  expect(read()).toHaveLength(1);
});

it('waits for a base that another run of this process evaluates at this moment, and makes it itself where that fails', async () => {
  const first = await evaluatorOf('of the first', 0.5);
  const second = await evaluatorOf('computed again', 0.5, [first.path]);
  const warmer = await evaluatorOf('of its own', 0.9, [first.path]);
  await Promise.all([first, second, warmer].map(({ evaluator }) => evaluator.evaluate(base)));
  expect([second, warmer].map(({ path }) => answersOf(path))).toEqual([['of the first'], ['of its own']]);
  const broken = await evaluatorOf('never', 0.5);
  const third = await evaluatorOf('of the third', 0.5, [broken.path]);
  const fails = broken.evaluator.evaluate(base, () => {
    throw new Error('it ends here');
  });
  const [end] = await Promise.allSettled([fails, third.evaluator.evaluate(base)]);
  expect(end).toMatchObject({ status: 'rejected', reason: { message: 'it ends here' } });
  expect(answersOf(third.path)).toEqual(['of the third']);
});
