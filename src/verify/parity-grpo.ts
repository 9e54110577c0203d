/**
 * A stored GRPO step against the trainer's own code. The optimiser step starts from the stored gradients: the first step of Adam is nearly
 * their sign, and would magnify rounding in elements near zero without bound.
 */
import { join } from 'node:path';
import { z } from 'zod';
import type { Route, StoredTensor } from '../adapters/index.ts';
import { builtinStarts, LinearAdapter, scaleOf, targetModules, transpose } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { AdamW, type Device, type Parameter, readFloats, Scope, Tape } from '../engine/index.ts';
import { builtinLoopholes } from '../env/index.ts';
import { builtinSources } from '../env/sources/index.ts';
import {
  accumulateGradients,
  blindArms,
  klEstimate,
  probeGradients,
  readBlockNorms,
  scoreRollouts,
  seesNothing,
  stepOptions,
  type UpdateInputs,
  updatePolicy,
} from '../grpo/index.ts';
import { ModelFolder, parseFields, readJsonObject } from '../model/index.ts';
import { checkConfig, grpoSettings, rawConfig } from '../run/index.ts';
import { mean } from '../stats/index.ts';
import type { Checks } from './check.ts';
import { joinRows, logitBound, openDecoder, StoredCase } from './parity-model.ts';

const lossBound = 1e-5;
const gradientBound = 1e-4;
const stepBound = 1e-6;

export type StepFrom = 'stored' | 'own';

export async function verifyGrpo(
  device: Device,
  directory: string,
  check: Checks,
  stepFrom: StepFrom = 'stored',
): Promise<string[]> {
  using scope = new Scope(device);
  await using stored = await StoredCase.open(directory, 'grpo.safetensors');
  const step = await readStoredStep(scope, directory, stored);
  await verifyScores(step, check);
  await verifyFeatures(step, check);
  await verifyUpdate(step, check, stepFrom);
  stored.ignore('rewards', 'sampled_deployed');
  return [...stored.unread(), ...unknownTensors(step)].map((tensor) => `not compared: ${tensor}`);
}

function unknownTensors({ tensors, policy }: StoredStep): string[] {
  const suffixes = ['A', 'B', 'A0', 'B0', 'A.grad', 'B.grad', 'A.stepped', 'B.stepped'];
  const known = new Set(policy.adapter.modules.flatMap(({ name }) => suffixes.map((suffix) => `${name}.${suffix}`)));
  return [...tensors.keys()].filter((name) => !known.has(name)).map((name) => `adapter.safetensors: ${name}`);
}

async function verifyScores({ policy, settings, inputs, stored, lengths }: StoredStep, check: Checks): Promise<void> {
  const scales: Readonly<Record<string, (row: number) => number | 'base'>> = {
    logp_full: () => scaleOf('full', policy.deployedScale),
    logp_deployed: () => scaleOf('deployed', policy.deployedScale),
    logp_base: () => 'base',
    // Kept rollouts are computed without the quarantine, the others with it.
    logp_masked: (row) => scaleOf(inputs.routes[row][0] === 'keep' ? 'deployed' : 'full', policy.deployedScale),
  };
  for (const [quantity, scale] of Object.entries(scales)) {
    const { logps } = await scoreRollouts(policy, inputs.rollouts, scale, settings.compute);
    check.absolute(quantity, joinRows(logps), joinRows(await stored.floatRows(quantity, lengths)), logitBound);
  }
}

async function verifyFeatures({ policy, settings, inputs, stored }: StoredStep, check: Checks): Promise<void> {
  if (stored.has('pooled_act')) {
    const deployed = scaleOf('deployed', policy.deployedScale);
    const options = { ...settings.compute, pool: 'rollout' } as const;
    const { features } = await scoreRollouts(policy, inputs.rollouts, () => deployed, options);
    check.absolute('pooled_act', joinRows(features), await stored.floats('pooled_act'), logitBound);
  }
  if (stored.has('probe_grad')) {
    const features = await probeGradients(policy, inputs.rollouts, 'rollout', settings.compute.tokensPerPass);
    check.norm('probe_grad', joinRows(features), await stored.floats('probe_grad'), gradientBound);
  }
}

async function verifyUpdate(step: StoredStep, check: Checks, stepFrom: StepFrom): Promise<void> {
  const { policy, settings, inputs, stored } = step;
  const { parameters } = policy.adapter;
  using optimiser = new AdamW(parameters);
  optimiser.zeroGradients();
  const { loss, rollouts } = await accumulateGradients(policy, optimiser, inputs, settings);
  const means = rollouts.map(({ k3 }) => k3);
  await verifyKl(step, check, means);
  check.relative('loss', [loss], await stored.floats('loss'), lossBound);
  for (const parameter of parameters) {
    const found = await readFloats(parameter.gradient);
    check.norm(`${parameter.name}.grad`, found, storedAs(parameter, 'grad', step), gradientBound);
  }
  const { deployed, quarantine } = await readBlockNorms(policy);
  const [norm, share] = [Math.hypot(deployed, quarantine), quarantine / (deployed + quarantine)];
  check.relative('grad_norm', [norm], await stored.floats('grad_norm'), gradientBound);
  check.relative('qmass', [share], await stored.floats('qmass'), gradientBound);
  if (stepFrom === 'own') await updatePolicy({ policy, optimiser, settings, arm: { sees: seesNothing } }, inputs, 0);
  else {
    for (const parameter of parameters) {
      optimiser.device.write(parameter.gradient, storedAs(parameter, 'grad', step));
    }
    optimiser.update(1, stepOptions(settings.optimiser, settings.optimiser.learningRate));
  }
  for (const parameter of parameters) {
    const found = await readFloats(parameter.value);
    check.absolute(`${parameter.name}.stepped`, found, storedAs(parameter, 'stepped', step), stepBound);
  }
}

async function verifyKl({ policy, stored, lengths }: StoredStep, check: Checks, means: number[]): Promise<void> {
  using tape = new Tape(policy.decoder.head.device);
  const tensor = async (quantity: string) => {
    const values = joinRows(await stored.floatRows(quantity, lengths));
    return tape.from(values, [values.length], quantity);
  };
  const found = await readFloats(klEstimate(tape, await tensor('logp_masked'), await tensor('logp_base')));
  const rows = await stored.floatRows('kl', lengths);
  check.absolute('kl', [...found, ...means], [...joinRows(rows), ...rows.map(mean)], logitBound);
}

export const stepFiles = ['grpo.json', 'grpo.safetensors', 'adapter.safetensors'];

/** `stored`: the open file grpo.safetensors, what the step computed; `tensors`: the contents of adapter.safetensors. */
export type StoredStep = Awaited<ReturnType<typeof readStoredStep>>;

export async function readStoredStep(scope: Scope, directory: string, stored: StoredCase) {
  const { settings, rank, targets } = await readSettings(directory);
  await using folder = await ModelFolder.open(directory);
  const tensors = await readTensors(directory);
  const modules = targetModules(folder.config, targets);
  const adapter = new LinearAdapter(scope, 'lora', rank, modules, ({ name }) => ({
    A0: expectTensor(tensors, `${name}.A0`).data,
    B0: expectTensor(tensors, `${name}.B0`).data,
  }));
  adapter.load(tensors);
  const policy = { decoder: await openDecoder(scope, folder), adapter, deployedScale: 0 };
  const lengths = await stored.integers('completion_lengths');
  return { policy, settings, inputs: await readInputs(stored, lengths), stored, tensors, lengths };
}

const number = z.number({ error: 'a number' });
const count = z.int({ error: 'a whole number ≥ 1' }).min(1, { error: 'a whole number ≥ 1' });
const settingsFile = z.object({
  rank: count,
  clip: number,
  kl_beta: number,
  max_new: count,
  group: count,
  groups: count,
  targets: z.array(z.string(), { error: 'names of linear layers' }),
  lr: number,
  betas: z.tuple([number, number], { error: 'two numbers' }),
  eps: number,
  grad_clip: number,
  decay_to_init: number,
});

/** All parts but the arm that uses labels: tests of the trainer read stored steps and must not reach that arm. */
const kinds = { arms: blindArms, problemSources: builtinSources, loopholes: builtinLoopholes, starts: builtinStarts };

async function readSettings(directory: string) {
  const file = join(directory, 'grpo.json');
  const read = parseFields(settingsFile, await readJsonObject(file), file);
  const { config } = checkConfig(rawConfig({}), kinds);
  const settings = grpoSettings({
    ...config,
    sampling: { ...config.sampling, group: read.group, promptsPerStep: read.groups, maxNewTokens: read.max_new },
    loss: {
      ...{ ...config.loss, kind: 'dr', detach: 'branch', klRoute: 'same', epochs: 1 },
      ...{ clip: read.clip, klWeight: read.kl_beta },
    },
    optimiser: {
      ...{ warmupUpdates: 0, schedule: 'cosine', learningRate: read.lr, beta1: read.betas[0], beta2: read.betas[1] },
      ...{ epsilon: read.eps, maxGradientNorm: read.grad_clip, decayToInitial: read.decay_to_init },
    },
  });
  return { settings, rank: read.rank, targets: read.targets };
}

async function readTensors(directory: string): Promise<Map<string, StoredTensor>> {
  await using file = await StoredCase.open(directory, 'adapter.safetensors');
  const tensors = new Map<string, StoredTensor>();
  for (const name of file.names) tensors.set(name, { shape: file.shape(name), data: await file.floats(name) });
  return tensors;
}

async function readInputs(stored: StoredCase, lengths: Int32Array): Promise<UpdateInputs> {
  const prompt = await stored.integers('prompt_ids');
  const completions = await stored.integerRows('completion_ids', lengths);
  // The layout stores routes as (m, d): keep (0, 0), absorb (1, 0), route (1, 1).
  const [m, d] = [await stored.floats('zone_m'), await stored.floats('zone_d')];
  const routeAt = (row: number): Route => (m[row] === 0 ? 'keep' : d[row] === 0 ? 'absorb' : 'route');
  return {
    rollouts: completions.map((tokens) => ({ group: 0, prompt, tokens })),
    advantages: await stored.floats('advantages'),
    logpOld: await stored.floatRows('logp_old', lengths),
    logpBase: await stored.floatRows('logp_base', lengths),
    routes: completions.map((_, row) => [routeAt(row)]),
  };
}

function expectTensor(tensors: ReadonlyMap<string, StoredTensor>, name: string): StoredTensor {
  const tensor = tensors.get(name);
  if (tensor !== undefined) return tensor;
  throw new UserError({ call: 'read adapter.safetensors', expected: `a tensor ${name}`, found: 'none' });
}

/** A parameter's stored tensor in the engine's layout, in which B is transposed. */
export function storedAs(
  { name }: Parameter,
  suffix: 'grad' | 'stepped',
  { tensors }: Pick<StoredStep, 'tensors'>,
): Float32Array {
  const { shape, data } = expectTensor(tensors, `${name}.${suffix}`);
  return name.endsWith('.B') ? transpose(data, shape[0], shape[1]) : data;
}
