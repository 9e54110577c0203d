/** A run that falls apart: a collapse in the very first update trips the wire, and numbers that are not finite end the run in words. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.ts';
import { Tripwire } from '../../src/grpo/tripwire.ts';
import { Lab } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open();
});
afterAll(() => lab[Symbol.asyncDispose]());

describe('divergence', () => {
  it('is measured from the base: a fall in the first update is a strike', () => {
    const wire = new Tripwire(5);
    wire.begin(-0.2);
    wire.watch(-6.5, 'one');
    expect(wire.state).toMatchObject({ best: -0.2, strikes: 1, tripped: null });
    wire.watch(-6.6, 'two');
    expect(wire.state.tripped).toContain('last sample: two');
  });

  it('a learning rate that ruins the policy at once stops the run after two updates', async () => {
    const { end, steps, events } = await lab.train([
      'arm.kind=vanilla',
      'updates=6',
      'optimiser.learningRate=3',
      'safety.tripwireNats=1',
    ]);
    expect({ end, updates: steps.length }).toEqual({ end: 'tripwire', updates: 2 });
    expect(events.at(-1)).toMatchObject({ kind: 'stop', reason: 'tripwire', update: 2 });
  });

  it.each([
    [
      'seen by the tripwire set',
      2,
      /^update 1: expected finite numbers, found the log-probability of the tripwire set is NaN/,
    ],
    ['seen by the sampler', 0, /^update 2: expected finite numbers, found sample row \d+: expected finite logits/],
  ])('numbers that are not finite, %s', async (_, prompts, message) => {
    const settings = [
      'updates=4',
      'optimiser.learningRate=1e30',
      'output.checkpointEvery=1',
      `safety.tripwirePrompts=${prompts}`,
    ];
    const training = lab.train(['arm.kind=vanilla', ...settings]);
    await expect(training).rejects.toThrow(UserError);
    await expect(training).rejects.toThrow(message);
    await expect(training).rejects.toThrow('lower optimiser.learningRate (now 1e+30)');
    const checkpoints = readdirSync(join(lab.path(lab.lastRun), 'checkpoints')).filter((name) => /^\d+$/.test(name));
    expect(checkpoints.at(-1)).toBe(prompts === 0 ? '00001' : '00000');
  });
});
