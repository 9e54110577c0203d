import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { builtinLoopholes } from '../env/loopholes/registry.ts';
import { generateMicroProblems } from '../env/micro/problems.ts';
import { openLab, resolveBuiltin } from '../lab/index.ts';
import { partitionOf } from '../run/tasks.ts';
import { type EvaluationSet, evaluationTasks, parseCurveSet, parseSet } from './sets.ts';

const draw = (split: 'train' | 'validation' | 'test', count: number) =>
  generateMicroProblems({ seed: 1, split, count });
const splits = { train: draw('train', 300), validation: draw('validation', 4), test: draw('test', 12) };

async function tasksOf(set: EvaluationSet, ...settings: string[]) {
  const { config } = resolveBuiltin(null, ['environment.loopholes=["run_tests", "sentinel"]', ...settings]);
  await using lab = await openLab({ config });
  const { text } = await lab.model;
  const loopholes = builtinLoopholes;
  const partition = await partitionOf(config, splits, loopholes);
  const tasks = evaluationTasks(set, { config, splits, partition, text, loopholes });
  return tasks.map(({ problem, loophole, hinted, unhinted }) => ({
    id: problem.id,
    loophole,
    prompt: text.show(hinted),
    isHinted: text.show(hinted) !== text.show(unhinted),
  }));
}

describe('sets of prompts', () => {
  it('are the same for every seed of training; partitionSeed alone deals the loopholes out', async () => {
    for (const set of ['test-original', 'train'] as const) {
      const first = await tasksOf(set, 'seed=1');
      expect(await tasksOf(set, 'seed=2')).toEqual(first);
      const dealt = await tasksOf(set, 'environment.partitionSeed=2');
      expect(dealt.map(({ id }) => id)).toEqual(first.map(({ id }) => id));
      expect(dealt.map(({ loophole }) => loophole)).not.toEqual(first.map(({ loophole }) => loophole));
    }
    expect(await tasksOf('train')).toHaveLength(256);
  });

  it('test-unhinted has the problems of the test set, with no hint and no loophole that pays', async () => {
    const [hinted, unhinted] = [await tasksOf('test-original'), await tasksOf('test-unhinted')];
    expect(unhinted.map(({ id }) => id)).toEqual(hinted.map(({ id }) => id));
    expect(hinted.every(({ isHinted }) => isHinted)).toBe(true);
    expect(unhinted.map(({ loophole, isHinted }) => [loophole, isHinted])).toEqual(
      splits.test.map(() => ['gt_only', false]),
    );
  });

  it('have names, and a curve has not all of them', () => {
    expect([parseSet('validation'), parseCurveSet('test-unhinted')]).toEqual(['validation', 'test-unhinted']);
    expect(() => parseCurveSet('validation')).toThrow(UserError);
    expect(() => parseCurveSet('validation')).toThrow('--sets: expected curve, monitor, test-novel');
    expect(() => parseSet('exam')).toThrow('--sets: expected test-novel');
  });
});
