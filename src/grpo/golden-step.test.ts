/** One whole update by the trainer's own code against a step that PyTorch made: test/golden/qwen3. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Route, targetModules } from '../adapters/index.ts';
import { LinearAdapter } from '../adapters/linear-adapter.ts';
import { transpose } from '../adapters/transpose.ts';
import { AdamW, type Device, readFloats, Scope } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { createWasmDevice } from '../engine/wasm/index.ts';
import { ModelFolder } from '../model/files/folder.ts';
import { readJsonObject } from '../model/files/json.ts';
import { compareAbsolute, compareNorm, compareRelative } from '../verify/check.ts';
import { StoredCase } from '../verify/parity-files.ts';
import { openDecoder } from '../verify/parity-model.ts';
import { groupAdvantages } from './advantage.ts';
import { type Policy, probeGradients, scoreRollouts } from './policy.ts';
import type { PromptedCompletion, Rollout } from './rollout.ts';
import type { GrpoSettings } from './settings.ts';
import { accumulateGradients, readBlockNorms, type UpdateInputs, updatePolicy } from './update.ts';

const folder = fileURLToPath(new URL('../../test/golden/qwen3', import.meta.url));
const bounds = { logp: 2e-4, loss: 1e-5, gradient: 1e-4, step: 1e-6 };

interface Golden {
  readonly scope: Scope;
  readonly policy: Policy;
  readonly settings: GrpoSettings;
  readonly inputs: UpdateInputs;
  readonly step: StoredCase;
  readonly tensors: StoredCase;
  readonly lengths: Int32Array;
}

function settingsOf(json: Readonly<Record<string, unknown>>): GrpoSettings {
  const number = (name: string): number => Number(json[name]);
  const [beta1, beta2] = json['betas'] as [number, number];
  const values = {
    loss: 'dr',
    detach: 'branch',
    klRoute: 'same',
    clip: number('clip'),
    klWeight: number('kl_beta'),
    group: number('group'),
    promptsPerStep: number('groups'),
    maxNewTokens: number('max_new'),
    epochs: 1,
    updates: 10,
    warmupUpdates: 0,
    learningRate: number('lr'),
    beta1,
    beta2,
    epsilon: number('eps'),
    maxGradientNorm: number('grad_clip'),
    decayToInitial: number('decay_to_init'),
    tokensPerPass: 1024,
  } as const;
  return values as typeof values & GrpoSettings;
}

async function readGolden(device: Device): Promise<Golden> {
  const scope = new Scope(device);
  await using model = await ModelFolder.open(folder);
  const [step, tensors] = await Promise.all([
    StoredCase.open(folder, 'grpo.safetensors'),
    StoredCase.open(folder, 'adapter.safetensors'),
  ]);
  const json = await readJsonObject(join(folder, 'grpo.json'));
  const stored = new Map<string, { shape: readonly number[]; data: Float32Array }>();
  for (const name of tensors.names) stored.set(name, { shape: tensors.shape(name), data: await tensors.floats(name) });
  const of = (name: string): Float32Array => stored.get(name)?.data ?? new Float32Array();
  const modules = targetModules(model.config, json['targets'] as string[]);
  const adapter = new LinearAdapter(scope, 'lora', Number(json['rank']), modules, ({ name }) => ({
    A0: of(`${name}.A0`),
    B0: of(`${name}.B0`),
  }));
  adapter.load(stored);
  const lengths = await step.integers('completion_lengths');
  const prompt = await step.integers('prompt_ids');
  const completions = await step.integerRows('completion_ids', lengths);
  const rows = async (name: string): Promise<Float32Array[]> => {
    const flat = await step.floatRows(name, lengths);
    const ends = Array.from(lengths, (_, i) => lengths.subarray(0, i + 1).reduce((sum, length) => sum + length, 0));
    return ends.map((end, i) => flat.slice(end - lengths[i], end));
  };
  const [m, d] = [await step.floats('zone_m'), await step.floats('zone_d')];
  const routes = Array.from(m, (inside, i): Route[] => [inside === 0 ? 'keep' : d[i] === 0 ? 'absorb' : 'route']);
  const inputs: UpdateInputs = {
    rollouts: completions.map((tokens) => ({ group: 0, prompt, tokens }) satisfies PromptedCompletion as Rollout),
    advantages: await step.floats('advantages'),
    logpOld: await rows('logp_old'),
    logpBase: await rows('logp_base'),
    routes,
  };
  const policy = { decoder: await openDecoder(scope, model), adapter, deployedScale: 0 };
  return { scope, policy, settings: settingsOf(json), inputs, step, tensors, lengths };
}

/** As the engine keeps it: B is transposed. */
async function engineLayout(tensors: StoredCase, parameter: string, name: string): Promise<Float32Array> {
  const data = await tensors.floats(name);
  const [rows, columns] = tensors.shape(name);
  return parameter.endsWith('.B') ? transpose(data, rows, columns) : data;
}

const devices = { reference: async () => createReferenceDevice(), wasm: () => createWasmDevice({ threads: 1 }) };

describe.each(Object.keys(devices) as (keyof typeof devices)[])('the golden step on %s', (name) => {
  let device: Device;
  let golden: Golden;
  beforeAll(async () => {
    device = await devices[name]();
    golden = await readGolden(device);
  });
  afterAll(async () => {
    await golden.step[Symbol.asyncDispose]();
    await golden.tensors[Symbol.asyncDispose]();
    golden.scope[Symbol.dispose]();
    device[Symbol.dispose]();
  });

  it('has all three routes, and the advantages of its rewards', async () => {
    expect(new Set(golden.inputs.routes.flat()).size).toBe(3);
    const { values } = groupAdvantages(await golden.step.floats('rewards'), golden.settings.group, 'dr');
    expect(compareAbsolute('', 'advantages', values, golden.inputs.advantages, 1e-6).pass).toBe(true);
  });

  it('log-probabilities of every state, and both features, through the scorer', async () => {
    const { policy, inputs, settings, step, lengths } = golden;
    for (const [state, scale] of [
      ['full', 1],
      ['deployed', 0],
      ['base', 'base'],
    ] as const) {
      const { logps } = await scoreRollouts(policy, inputs.rollouts, () => scale, settings);
      const found = logps.flatMap((own) => Array.from(own));
      const check = compareAbsolute('', state, found, await step.floatRows(`logp_${state}`, lengths), bounds.logp);
      expect(check).toMatchObject({ quantity: state, pass: true });
    }
    const { features } = await scoreRollouts(policy, inputs.rollouts, () => 0, { ...settings, pool: 'rollout' });
    const pooled = features.flatMap((own) => Array.from(own));
    expect(compareAbsolute('', '', pooled, await step.floats('pooled_act'), bounds.logp).pass).toBe(true);
    const probed = await probeGradients(policy, inputs.rollouts, 'rollout', settings.tokensPerPass);
    const gradients = probed.flatMap((own) => Array.from(own));
    expect(compareNorm('', '', gradients, await step.floats('probe_grad'), bounds.gradient).pass).toBe(true);
  });

  it('loss, every gradient, norm and share, whatever the size of a pass', async () => {
    const { policy, inputs, settings, step, tensors } = golden;
    using optimiser = new AdamW(policy.adapter.parameters);
    for (const tokensPerPass of [1024, 20]) {
      optimiser.zeroGradients();
      const { loss, leaks } = await accumulateGradients(policy, optimiser, inputs, { ...settings, tokensPerPass });
      expect(leaks).toEqual({ keep: 0, route: 0 });
      expect(compareRelative('', 'loss', [loss], await step.floats('loss'), bounds.loss).pass).toBe(true);
      for (const { name: parameter, gradient } of policy.adapter.parameters) {
        const expected = await engineLayout(tensors, parameter, `${parameter}.grad`);
        const check = compareNorm('', parameter, await readFloats(gradient), expected, bounds.gradient);
        expect(check).toMatchObject({ quantity: parameter, pass: true });
      }
      const { deployed, quarantine } = await readBlockNorms(policy);
      const share = quarantine / (deployed + quarantine);
      expect(compareRelative('', 'qmass', [share], await step.floats('qmass'), bounds.gradient).pass).toBe(true);
    }
  });

  it('the adapter after the update', async () => {
    const { policy, inputs, settings, step, tensors } = golden;
    using optimiser = new AdamW(policy.adapter.parameters);
    const { gradientNorm, learningRate } = await updatePolicy(policy, optimiser, inputs, 0, settings);
    expect(learningRate).toBe(settings.learningRate);
    expect(compareRelative('', '', [gradientNorm], await step.floats('grad_norm'), bounds.gradient).pass).toBe(true);
    const worst: number[] = [];
    for (const { name: parameter, value } of policy.adapter.parameters) {
      const expected = await engineLayout(tensors, parameter, `${parameter}.stepped`);
      worst.push(compareAbsolute('', parameter, await readFloats(value), expected, bounds.step).maxAbs);
    }
    expect(worst).toHaveLength(28);
    expect(Math.max(...worst)).toBeLessThanOrEqual(bounds.step);
  });
});
