import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeEvaluations, writeRun } from '../../test/lab/hand-made.ts';
import { generateMicroProblems } from '../env/micro/problems.ts';
import { curveNames, finalNames } from './plan.ts';
import { type EvaluatorParts, evaluateAll, RunEvaluator } from './run-evaluator.ts';
import { EvaluationStore } from './store.ts';

const chain = { leastSteps: 2, mostSteps: 4, productFraction: 0.4 };
const draw = (split: 'train' | 'test', count: number) => generateMicroProblems({ seed: 1, split, count, chain });

/** An evaluator of a run whose five problems left none for validation; it has no model, so nothing can be computed. */
async function fiveProblems() {
  const path = join(temporaryFolder(), 'run');
  const run = await writeRun(path, { checkpoints: [0, 5] });
  const splits = { train: draw('train', 4), validation: [], test: draw('test', 1) };
  return { path, evaluator: new RunEvaluator({ run, splits } as unknown as EvaluatorParts) };
}

describe('evaluations that cannot be made', () => {
  it('of a split without problems are refused before any is made', async () => {
    const { path, evaluator } = await fiveProblems();
    const names = [
      ...finalNames(['full'], { update: 5, sets: ['test-original'], scales: [], limit: null }),
      ...curveNames(['full'], [0, 5], 5),
    ];
    await expect(evaluateAll(evaluator, names)).rejects.toThrow(
      'expected problems in the split "validation", for the set curve, found none (4 train, 0 validation, 1 test)',
    );
    expect(new EvaluationStore(path).all()).toEqual([]);
  });

  it('beside evaluations whose samples were drawn by another rule are refused before any is made', async () => {
    const { path, evaluator } = await fiveProblems();
    await writeEvaluations(path, [{ update: 0, set: 'train', state: 'base', outcomes: 's-' }]);
    const names = finalNames(['full'], { update: 5, sets: ['test-unhinted'], scales: [], limit: null });
    await expect(evaluateAll(evaluator, names)).rejects.toThrow(
      'found train at update 0 with seed 1, of an earlier version',
    );
    expect(new EvaluationStore(path).all()).toHaveLength(1);
  });

  it('of a checkpoint that is not there are refused before any is made', async () => {
    const { path, evaluator } = await fiveProblems();
    const names = finalNames(['full', 'deployed'], { update: 3, sets: ['train'], scales: [0.5], limit: null });
    await expect(evaluateAll(evaluator, names)).rejects.toThrow('one of its checkpoints: 0, 5, found 3');
    expect(new EvaluationStore(path).all()).toEqual([]);
  });
});
