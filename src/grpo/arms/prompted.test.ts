/** The arms on prompts, in whole updates of a tiny policy: what they sample under, what they learn under, and the gradient. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { furthest, plainArm, TinyLab } from '../../../test/grpo/tiny-lab.ts';
import { tokens } from '../../../test/grpo/tiny-policy.ts';
import type { ArmTools } from '../arm-tools.ts';
import { openArm } from '../open-arm.ts';
import type { Sampler } from '../sampler.ts';
import type { StepOutcome } from '../stages.ts';
import { inoculation, recontextualisation } from './prompted.ts';

let lab: TinyLab;
beforeAll(async () => {
  lab = await TinyLab.open();
});
afterAll(() => lab[Symbol.dispose]());

/** The tiny policy reads no text: an instruction is a prompt of tokens of its own for each problem. */
const promptOf = (given: string, place: string, id: string) => tokens(`${given} ${place} ${id}`, 7);
const tools = {
  instruct: (given: string, place: string) => (asked: { problem: { id: string } }) => promptOf(given, place, asked.problem.id),
} as unknown as ArmTools; // biome-ignore format: short

/** Everything is sampled in full state, where the pass that learns computes the same policy as the one that scores. */
const full = { sampling: { deployedSampling: 0 } };
const trainedOf = ({ rollouts, trained }: StepOutcome) => trained.map((i) => rollouts[i]);

describe('inoculation', () => {
  it('samples and learns under the instruction', async () => {
    const arm = await openArm(inoculation, { text: 'unrelated', place: 'before' }, tools);
    const { outcome, requests, passes } = await lab.step(arm, { changes: full });
    for (const { prompt, learnPrompt, group, task } of outcome.rollouts) {
      expect(prompt).toEqual(promptOf('unrelated', 'before', task.problem.id));
      expect(learnPrompt).toBe(prompt);
      expect(requests[4 * group].prompt).toEqual(prompt);
    }
    // One pass that scores the base: the same as without a prompt hook.
    expect(passes).toMatchObject({ score: 1, learn: 1 });
  });
});

describe('recontextualisation', () => {
  const open = () => openArm(recontextualisation, {}, tools);

  it('samples under one instruction; log π_old and log π_ref are of the other, and every ratio is exactly 1', async () => {
    const { outcome } = await lab.step(await open(), { changes: full });
    const rollouts = trainedOf(outcome);
    for (const { prompt, learnPrompt, task } of rollouts) {
      expect(prompt).toEqual(promptOf('discourage', 'after', task.problem.id));
      expect(learnPrompt).toEqual(promptOf('permit', 'after', task.problem.id));
    }
    expect(outcome.logpOld).toEqual(await lab.score(rollouts, 'learnPrompt'));
    expect(outcome.logpBase).toEqual(await lab.score(rollouts, 'learnPrompt', { base: true }));
    expect(outcome.result?.rollouts.map(({ ratio }) => ratio)).toEqual(Array(8).fill(1));
    // The prompts are far apart: under the sampling prompt's log π_old the ratios would be.
    const sampled = await lab.score(rollouts, 'prompt');
    const apart = sampled.map((logps, i) => furthest(logps, outcome.logpOld[i]));
    expect(Math.min(...apart)).toBeGreaterThan(1e-3);
  });

  it('has the gradient of a run whose completions were given under the learning prompt', async () => {
    const { outcome, gradients, values } = await lab.step(await open(), { changes: full });
    const logps = new Map(trainedOf(outcome).map(({ id }, i) => [id, outcome.logpOld[i]]));
    const given = (): Sampler => ({
      sample: async () =>
        outcome.rollouts.map(({ id, tokens: own }) => {
          const fullLogps = logps.get(id) ?? new Float32Array(own.length);
          return { tokens: own, logps: fullLogps, fullLogps, finish: 'stop' as const };
        }),
    });
    const learned = await openArm(inoculation, { text: 'permit' }, tools);
    const direct = await lab.step(learned, { changes: full, through: given });
    expect(direct.outcome.parity).toBe(0);
    expect(direct.gradients).toEqual(gradients);
    expect(direct.values).toEqual(values);
    expect(furthest((await lab.step(plainArm, { changes: full })).gradients, gradients)).toBeGreaterThan(1e-4);
  });
});

it('the texts are in the label of tables, with the control', () => {
  expect(inoculation.label({})).toBe('inoculation request');
  expect(inoculation.label({ text: 'unrelated' })).toBe('inoculation unrelated');
  expect(inoculation.label({ text: 'Write fast code.', place: 'before' })).toBe(
    'inoculation “Write fast code.” before',
  );
  expect(recontextualisation.label({ sample: 'none' })).toBe('recontextualisation none → permit');
});
