/** The hooks around sampling and scoring, in whole updates of a tiny policy: none, prompts, steering. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { furthest, plainArm, TinyLab } from '../../test/grpo/tiny-lab.ts';
import { task, tinySettings, tokens } from '../../test/grpo/tiny-policy.ts';
import { affine } from '../engine/index.ts';
import type { Project } from '../model/index.ts';
import { type Arm, absorbAll, seesNothing } from './arm.ts';
import type { ArmTools } from './arm-tools.ts';
import { absorb } from './arms/plain.ts';
import { drawTasks } from './draw.ts';
import { steerPolicy } from './policy.ts';
import type { Sampler } from './sampler.ts';
import type { StepOutcome } from './stages.ts';

let lab: TinyLab;
beforeAll(async () => {
  lab = await TinyLab.open();
});
afterAll(() => lab[Symbol.dispose]());

const trainedOf = ({ rollouts, trained }: StepOutcome) => trained.map((i) => rollouts[i]);
const tolerance = tinySettings.safety.parityTolerance;

describe('an arm without hooks', () => {
  it('absorbs, byte for byte, and is the absorb arm', async () => {
    const plain = await lab.step(plainArm);
    const absorbing = await lab.step({ ...plainArm, route: ({ rollouts }) => absorbAll(rollouts.length) });
    expect(plain.outcome.trained).toHaveLength(8);
    expect(plain.outcome.routing).toEqual(absorbAll(8));
    expect(plain.outcome.result?.gradientNorm).toBeGreaterThan(1e-3);
    expect(absorbing).toEqual(plain);
    expect(await lab.step(await absorb.open({}, {} as ArmTools))).toEqual(plain);
  });

  it('costs nothing: one pass in the deployed state that sampled some, one of the base, one that learns', async () => {
    const { passes } = await lab.step(plainArm);
    expect(passes).toMatchObject({ grade: 0, score: 2, route: 0, learn: 1 });
    // The prompts, then a pass per token until the last row is finished.
    expect(passes.sample).toBeLessThanOrEqual(tinySettings.sampling.maxNewTokens);
  });

  it('hooks that change nothing change no byte and cost no pass', async () => {
    const idle: Arm = {
      sees: { features: null, text: true },
      prompt: ({ hinted, unhinted, hackable }) => {
        const own = hackable ? hinted : unhinted;
        return { sample: own, learn: own };
      },
      steer: (project) => project,
      reward: ({ rewards }) => rewards,
      screen: ({ rollouts }) => rollouts.map(() => 'train'),
      route: ({ rollouts }) => absorbAll(rollouts.length),
      gradient: async () => {},
    };
    const plain = await lab.step(plainArm);
    const found = await lab.step(idle);
    expect(found.outcome).toMatchObject({ learnedRewards: plain.outcome.rewards, screening: Array(8).fill('train') });
    expect({ ...found, outcome: { ...found.outcome, learnedRewards: null, screening: null } }).toEqual(plain);
  });

  it('learns nothing where rewards are equal, and scores nothing there', async () => {
    const { outcome, passes } = await lab.step(plainArm, { rewards: Array(8).fill(1) });
    expect(passes).toMatchObject({ grade: 0, score: 0, route: 0, learn: 0 });
    expect(outcome).toMatchObject({ trained: [], skippedGroups: [true, true], result: null, learnedRewards: null });
  });
});

it('compares the sampler with the pass that learns, where no other pass reads the rollouts', async () => {
  const full = { sampling: { deployedSampling: 0 } };
  const { outcome, passes } = await lab.step(plainArm, { changes: full });
  expect(passes.score).toBe(1);
  const rollouts = trainedOf(outcome);
  expect(outcome.logpOld).toEqual(await lab.score(rollouts, 'prompt'));
  const apart = rollouts.map(({ sampledLogps }, i) => furthest(sampledLogps ?? [], outcome.logpOld[i]));
  expect(outcome.parity).toBe(Math.max(...apart));
  const another = (sampler: Sampler): Sampler => ({
    sample: async (...asked) =>
      (await sampler.sample(...asked)).map((own) => ({ ...own, fullLogps: own.fullLogps.map((logp) => logp - 0.1) })),
  });
  await expect(lab.step(plainArm, { changes: full, through: another })).rejects.toThrow('policy parity');
});

describe('the prompt hook', () => {
  const asked = (id: string) => tokens(`${id} asked`, 7);
  const learned = (id: string) => tokens(`${id} learned`, 4);
  const apart: Arm = {
    ...plainArm,
    prompt: ({ problem }) => ({ sample: asked(problem.id), learn: learned(problem.id) }),
  };

  it('is asked once for each drawn task', async () => {
    const drawn: unknown[] = [];
    await lab.step({
      ...apart,
      prompt: (own) => {
        drawn.push(own);
        return { sample: own.unhinted, learn: own.hinted };
      },
    });
    const tasks = ['a', 'b'].map((id) => task(id));
    const shown = drawTasks(tasks, tinySettings, 0).map(({ task: { problem, ...own }, hackable }) => ({
      ...own,
      hackable,
      problem: { id: problem.id, messages: problem.messages },
    }));
    expect(drawn).toEqual(shown);
  });

  it('samples under one prompt and is guarded under it', async () => {
    const { outcome, requests } = await lab.step(apart);
    for (const { group, prompt, learnPrompt, task: own } of outcome.rollouts) {
      expect(prompt).toEqual(asked(own.problem.id));
      expect(learnPrompt).toEqual(learned(own.problem.id));
      expect(requests[4 * group].prompt).toEqual(prompt);
    }
    const rollouts = trainedOf(outcome);
    const scored = await lab.score(rollouts, 'prompt');
    const differences = rollouts.map(({ sampledLogps }, i) => furthest(sampledLogps ?? [], scored[i]));
    expect(outcome.parity).toBeCloseTo(Math.max(...differences), 12);
    expect(outcome.parity).toBeLessThan(tolerance);
    const elsewhere = (sampler: Sampler): Sampler => ({
      sample: (requests, ...others) =>
        sampler.sample(
          requests.map((request, i) => ({ ...request, prompt: learned(i < 4 ? 'a' : 'b') })),
          ...others,
        ),
    });
    await expect(lab.step(apart, { through: elsewhere })).rejects.toThrow('policy parity');
  });

  it('learns under the other: log π_old, log π_base and the gradients', async () => {
    const { outcome, gradients, passes } = await lab.step(apart);
    const rollouts = trainedOf(outcome);
    expect(outcome.logpOld).toEqual(await lab.score(rollouts, 'learnPrompt'));
    expect(outcome.logpBase).toEqual(await lab.score(rollouts, 'learnPrompt', { base: true }));
    expect(furthest(outcome.logpOld[0], (await lab.score(rollouts, 'prompt'))[0])).toBeGreaterThan(1e-2);
    const inputs = lab.inputsOf(outcome);
    expect(gradients).toEqual(await lab.gradients(inputs));
    const asSampled = await lab.gradients({ ...inputs, rollouts });
    expect(furthest(gradients, asSampled)).toBeGreaterThan(1e-4);
    outcome.result?.rollouts.forEach(({ ratio }, i) => {
      if (rollouts[i].sampled === 'full') expect(ratio).toBeCloseTo(1, 5);
    });
    expect(passes).toMatchObject({ grade: 0, score: 3, learn: 1 });
  });

  it('with equal prompts gives the bytes of no hook', async () => {
    const copies: Arm = {
      ...plainArm,
      prompt: ({ hinted, unhinted, hackable }) => {
        const own = hackable ? hinted : unhinted;
        return { sample: own.slice(), learn: own.slice() };
      },
    };
    const { passes: _one, ...plain } = await lab.step(plainArm);
    const { passes: _other, ...copied } = await lab.step(copies);
    // Prompts that are other arrays have a reading of their own for the parity guard, which costs and changes nothing.
    const scoringPasses = plain.outcome.scoringPasses + copied.outcome.rollouts.length;
    expect(copied).toEqual({ ...plain, outcome: { ...plain.outcome, scoringPasses } });
  });

  it('gives features of the completions under the prompt that is learned', async () => {
    const sees = { features: { kind: 'activation', granularity: 'rollout' }, text: false } as const;
    const { outcome } = await lab.step({ ...apart, sees });
    const same = await lab.step({
      ...apart,
      sees,
      prompt: ({ problem }) => ({ sample: asked(problem.id), learn: asked(problem.id) }),
    });
    expect(outcome.features).toHaveLength(8);
    expect(same.outcome.rollouts.map(({ tokens: own }) => own)).toEqual(outcome.rollouts.map(({ tokens: own }) => own));
    expect(furthest(outcome.features[0], same.outcome.features[0])).toBeGreaterThan(1e-3);
  });
});

describe('the steering hook', () => {
  let steered = 0;
  /** Adds a constant to the output of one layer. */
  const steer =
    (project: Project): Project =>
    (tape, x, layers, onto) => {
      steered++;
      return project(tape, x, layers, onto).map((y, i) =>
        layers[i].module === 'model.layers.0.mlp.up_proj' ? affine(tape, y, 1, 0.7) : y,
      );
    };
  const arm: Arm = { sees: seesNothing, steer };

  it('acts while the policy samples, and the guard sees the same policy', async () => {
    const plain = await lab.step(plainArm);
    const { outcome } = await lab.step(arm);
    expect(outcome.rollouts.map(({ text }) => text)).not.toEqual(plain.outcome.rollouts.map(({ text }) => text));
    expect(outcome.parity).toBeLessThan(tolerance);
    const scored = await lab.score(outcome.rollouts, 'prompt', { policy: steerPolicy(lab.policy, arm) });
    outcome.rollouts.forEach(({ sampledLogps }, i) => {
      expect(furthest(sampledLogps ?? [], scored[i])).toBeLessThan(tolerance);
    });
  });

  it('acts while it scores and learns, and leaves log π_base alone', async () => {
    const { outcome, gradients } = await lab.step(arm);
    const rollouts = trainedOf(outcome);
    const policy = steerPolicy(lab.policy, arm);
    expect(outcome.logpOld).toEqual(await lab.score(rollouts, 'prompt', { policy }));
    expect(furthest(outcome.logpOld[0], (await lab.score(rollouts, 'prompt'))[0])).toBeGreaterThan(1e-3);
    expect(outcome.logpBase).toEqual(await lab.score(rollouts, 'prompt', { base: true }));
    const inputs = lab.inputsOf(outcome);
    expect(gradients).toEqual(await lab.gradients(inputs, { policy }));
    expect(furthest(gradients, await lab.gradients(inputs))).toBeGreaterThan(1e-4);
    outcome.result?.rollouts.forEach(({ ratio }, i) => {
      if (rollouts[i].sampled === 'full') expect(ratio).toBeCloseTo(1, 5);
    });
  });

  it('stops a run whose sampler is not steered', async () => {
    const { outcome } = await lab.step(plainArm);
    const unsteered = (): Sampler => ({
      sample: async () =>
        outcome.rollouts.map(({ tokens: own, sampledLogps }) => {
          const logps = sampledLogps ?? new Float32Array();
          return { tokens: own, logps, fullLogps: logps, finish: 'stop' as const };
        }),
    });
    await expect(lab.step(arm, { through: unsteered })).rejects.toThrow('policy parity');
    expect((await lab.step(plainArm, { through: unsteered })).outcome.parity).toBeLessThan(tolerance);
  });

  it('never acts on the policy itself', async () => {
    const before = await lab.step(plainArm);
    await lab.step(arm);
    steered = 0;
    expect(await lab.step(plainArm)).toEqual(before);
    await lab.score(before.outcome.rollouts, 'prompt');
    expect(steered).toBe(0);
    expect(steerPolicy(lab.policy, plainArm)).toBe(lab.policy);
    const { adapter } = steerPolicy(lab.policy, arm);
    expect(adapter.parameters).toBe(lab.policy.adapter.parameters);
    expect(await adapter.tensors()).toEqual(await lab.policy.adapter.tensors());
  });
});
