/**
 * Reads a stored GRPO step for the trainer's own code: the policy, the settings and the inputs of an update. The layout is that of
 * test/golden: grpo.json, grpo.safetensors and adapter.safetensors beside a model.
 */
import { join } from 'node:path';
import { z } from 'zod';
import {
  builtinStarts,
  LinearAdapter,
  type Route,
  type StoredTensor,
  targetModules,
  transpose,
} from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import type { Parameter, Scope } from '../engine/index.ts';
import { builtinLoopholes } from '../env/index.ts';
import { builtinSources } from '../env/sources/index.ts';
import { blindArms, type GrpoSettings, type Policy, type UpdateInputs } from '../grpo/index.ts';
import { ModelFolder, parseFields, readJsonObject } from '../model/index.ts';
import { checkConfig, grpoSettings, rawConfig } from '../run/index.ts';
import { StoredCase } from './parity-files.ts';
import { openDecoder } from './parity-model.ts';

export const stepFiles = ['grpo.json', 'grpo.safetensors', 'adapter.safetensors'];

export interface StoredStep {
  readonly policy: Policy;
  readonly settings: GrpoSettings;
  readonly inputs: UpdateInputs;
  /** The open file grpo.safetensors: what the step computed. */
  readonly stored: StoredCase;
  /** The contents of adapter.safetensors: parameters, gradients, and the parameters after the step. */
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  /** Number of completion tokens of each rollout. */
  readonly lengths: Int32Array;
}

export async function readStoredStep(scope: Scope, directory: string, stored: StoredCase): Promise<StoredStep> {
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
const blindParts = {
  arms: blindArms,
  problemSources: builtinSources,
  loopholes: builtinLoopholes,
  starts: builtinStarts,
};

/** The numbers of grpo.json as a run's config would give them to the trainer. */
async function readSettings(directory: string) {
  const file = join(directory, 'grpo.json');
  const read = parseFields(settingsFile, await readJsonObject(file), file);
  const { config } = checkConfig(rawConfig({}), blindParts);
  const settings = grpoSettings({
    ...config,
    sampling: { ...config.sampling, group: read.group, promptsPerStep: read.groups, maxNewTokens: read.max_new },
    loss: {
      ...config.loss,
      kind: 'dr',
      detach: 'branch',
      klRoute: 'same',
      epochs: 1,
      clip: read.clip,
      klWeight: read.kl_beta,
    },
    optimiser: {
      warmupUpdates: 0,
      schedule: 'cosine',
      learningRate: read.lr,
      beta1: read.betas[0],
      beta2: read.betas[1],
      epsilon: read.eps,
      maxGradientNorm: read.grad_clip,
      decayToInitial: read.decay_to_init,
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
