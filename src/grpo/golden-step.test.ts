/**
 * One whole update against a step that PyTorch made (test/golden/qwen3). Beyond `gq verify parity`, the step here starts from the
 * trainer's own gradients, on every device of this machine and in passes of any size, and no route may leak into another.
 */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdamW, type Device, readFloats, Scope } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { createWasmDevice } from '../engine/wasm/index.ts';
import { Checks } from '../verify/check.ts';
import { readStoredStep, type StoredStep, storedAs } from '../verify/parity-grpo.ts';
import { StoredCase } from '../verify/parity-model.ts';
import { groupAdvantages } from './advantage.ts';
import { seesNothing } from './arm.ts';
import { accumulateGradients, updatePolicy } from './update.ts';

const folder = fileURLToPath(new URL('../../test/golden/qwen3', import.meta.url));
const check = new Checks('golden step');
const bounds = { loss: 1e-5, gradient: 1e-4, step: 1e-6 };
const devices = { reference: async () => createReferenceDevice(), wasm: () => createWasmDevice({ threads: 1 }) };

describe.each(Object.keys(devices) as (keyof typeof devices)[])('the golden step on %s', (name) => {
  let device: Device;
  let scope: Scope;
  let golden: StoredStep;
  beforeAll(async () => {
    device = await devices[name]();
    scope = new Scope(device);
    golden = await readStoredStep(scope, folder, await StoredCase.open(folder, 'grpo.safetensors'));
  });
  afterAll(async () => {
    await golden.stored[Symbol.asyncDispose]();
    scope[Symbol.dispose]();
    device[Symbol.dispose]();
  });

  it('has all three routes, and the advantages of its rewards', async () => {
    expect(new Set(golden.inputs.routes.flat()).size).toBe(3);
    const { values } = groupAdvantages(await golden.stored.floats('rewards'), golden.settings.sampling.group, 'dr');
    expect(check.absolute('advantages', values, golden.inputs.advantages, 1e-6).pass).toBe(true);
  });

  it('loss and every gradient, whatever the size of a pass, and no leak', async () => {
    const { policy, inputs, settings, stored } = golden;
    using optimiser = new AdamW(policy.adapter.parameters);
    for (const tokensPerPass of [1024, 20]) {
      optimiser.zeroGradients();
      const cut = { ...settings, compute: { ...settings.compute, tokensPerPass } };
      const { loss, leaks } = await accumulateGradients(policy, optimiser, inputs, cut);
      expect(leaks).toEqual({ keep: 0, route: 0 });
      expect(check.relative('loss', [loss], await stored.floats('loss'), bounds.loss).pass).toBe(true);
      for (const parameter of policy.adapter.parameters) {
        const found = await readFloats(parameter.gradient);
        const compared = check.norm(parameter.name, found, storedAs(parameter, 'grad', golden), bounds.gradient);
        expect(compared).toMatchObject({ quantity: parameter.name, pass: true });
      }
    }
  });

  it('the adapter after the update', async () => {
    const { policy, inputs, settings, stored } = golden;
    using optimiser = new AdamW(policy.adapter.parameters);
    const context = { policy, optimiser, arm: { sees: seesNothing }, settings };
    const { gradientNorm, learningRate } = await updatePolicy(context, inputs, 0);
    expect(learningRate).toBe(settings.optimiser.learningRate);
    expect(check.relative('', [gradientNorm], await stored.floats('grad_norm'), bounds.gradient).pass).toBe(true);
    const worst: number[] = [];
    for (const parameter of policy.adapter.parameters) {
      const found = await readFloats(parameter.value);
      worst.push(check.absolute('', found, storedAs(parameter, 'stepped', golden), bounds.step).maxAbs);
    }
    expect(worst).toHaveLength(28);
    expect(Math.max(...worst)).toBeLessThanOrEqual(bounds.step);
  });
});
