/** The room that checkpoints take, for the shape of Qwen3-4B without allocating it. */
import { expect, it } from 'vitest';
import { findStart, targetModules } from '../adapters/index.ts';
import { resolveBuiltin } from '../lab/index.ts';
import { modelPresets } from '../model/index.ts';
import { describeDisk, planDisk } from './disk.ts';

const shape = {
  ...modelPresets.micro,
  vocabSize: 151_936,
  hiddenSize: 2560,
  layers: 36,
  heads: 32,
  kvHeads: 8,
  headDim: 128,
  intermediateSize: 9728,
};

const planOf = (...settings: string[]) => {
  const { config } = resolveBuiltin(null, ['adapter.rank=32', 'arm.kind=activation', 'updates=200', ...settings]);
  return { plan: planDisk(config, findStart(config.adapter.family), targetModules(shape)), output: config.output };
};

it('a checkpoint of Qwen3-4B at rank 32 is below 0.6 GB, and only the newest has more', () => {
  const { plan, output } = planOf();
  // Per layer, inputs and outputs of q, k, v, o, gate, up and down, times 2R ranks, layers and four bytes.
  const numbers = (2 * (2560 + 4096) + 2 * (2560 + 1024) + 3 * (2560 + 9728)) * 64 * 36;
  expect(plan.adapterBytes).toBe(4 * numbers);
  expect(plan.adapterBytes).toBeLessThan(0.6e9);
  expect(plan.initialBytes).toBe(plan.adapterBytes);
  expect(plan.stateBytes).toBe(2 * plan.adapterBytes + 4 * (8192 + 8193 * 7 * 36 * 32));
  expect(plan.checkpoints).toBe(21);
  expect(plan.mostBytes).toBe(22 * plan.adapterBytes + 2 * plan.stateBytes);
  expect(plan.mostBytes).toBeLessThan(15e9);
  expect(describeDisk(plan, output)).toBe(
    'checkpoints need up to 14.27 GB on disk: initial values 0.53 GB once, 0.53 GB in each of 21 checkpoints, 1.32 GB of state in the newest',
  );
});

it('a frozen B and gains are smaller; every state kept costs what it says', () => {
  const whole = planOf().plan;
  const frozen = planOf('adapter.family=lora-frozen-b').plan;
  expect(frozen.adapterBytes).toBeLessThan(whole.adapterBytes / 2);
  expect(frozen.initialBytes).toBe(whole.initialBytes);
  expect(planOf('adapter.family=antipasto').plan.adapterBytes).toBe(4 * 7 * 36 * (64 + 32 * 32));
  expect(planOf('output.keepState=all').plan.mostBytes).toBe(22 * whole.adapterBytes + 21 * whole.stateBytes);
});

it('a gate by token keeps a row for each of its tokens', () => {
  const { plan } = planOf('arm.granularity=token', 'arm.bufferRows=512', 'arm.bufferTokens=16');
  expect(plan.stateBytes).toBe(2 * plan.adapterBytes + 4 * (512 + (512 * 16 + 1) * 7 * 36 * 32));
});

it('a run with fewer rollouts than the buffer has rows keeps a row for each rollout', () => {
  const { plan } = planOf('updates=2');
  expect(plan.stateBytes).toBe(2 * plan.adapterBytes + 4 * (128 + 129 * 7 * 36 * 32));
});
