/** A policy small enough to compare whole gradients: two layers of random weights and a split adapter moved from its start. */
import { createAdapter } from '../../src/adapters/create.ts';
import type { TokenPair } from '../../src/adapters/index.ts';
import { randomStream } from '../../src/base/rng.ts';
import { type Device, readFloats, Scope } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import type { Policy } from '../../src/grpo/policy.ts';
import { type Rollout, rolloutId, type Task } from '../../src/grpo/rollout.ts';
import type { GrpoSettings } from '../../src/grpo/settings.ts';
import type { Decoder } from '../../src/model/index.ts';
import { loadRandom, qwen3Like } from '../training/model.ts';

export const tinyVocabulary = 32;

export const tinyConfig = qwen3Like({
  vocabSize: tinyVocabulary,
  hiddenSize: 16,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  headDim: 8,
  intermediateSize: 24,
  maxPositions: 64,
});

export const tinySettings: GrpoSettings = {
  seed: 1,
  updates: 10,
  sampling: {
    promptsPerStep: 2,
    group: 4,
    maxNewTokens: 8,
    maxPromptTokens: 32,
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
    deployedSampling: 0.5,
    deployedSamplingLate: null,
  },
  environment: { unhackableFraction: 0.5, tokenPrice: 0 },
  loss: { kind: 'dr', deviationFloor: 0, clip: 0.2, klWeight: 0.05, klRoute: 'same', epochs: 1, detach: 'branch' },
  optimiser: {
    learningRate: 1e-2,
    warmupUpdates: 0,
    schedule: 'cosine',
    beta1: 0.9,
    beta2: 0.99,
    epsilon: 1e-8,
    maxGradientNorm: 1,
    decayToInitial: 0.1,
  },
  teacher: { offStep: 0, perGroup: 1 },
  safety: { parityTolerance: 2e-4, parityOver: 'largest', tripwireNats: 5 },
  compute: { tokensPerPass: 512, recompute: false, readEvery: 1, rowStep: 1 },
};

/** Changes to some keys of the settings, or of their tables. */
export type SettingsChanges = { readonly [Key in keyof GrpoSettings]?: Partial<GrpoSettings[Key]> };

/** The tiny settings with some keys changed. */
export function tinyWith({ seed, updates, ...tables }: SettingsChanges): GrpoSettings {
  const { sampling, environment, loss, optimiser, teacher, safety, compute } = tinySettings;
  return {
    seed: seed ?? tinySettings.seed,
    updates: updates ?? tinySettings.updates,
    sampling: { ...sampling, ...tables.sampling },
    environment: { ...environment, ...tables.environment },
    loss: { ...loss, ...tables.loss },
    optimiser: { ...optimiser, ...tables.optimiser },
    teacher: { ...teacher, ...tables.teacher },
    safety: { ...safety, ...tables.safety },
    compute: { ...compute, ...tables.compute },
  };
}

export async function makePolicy(device: Device = createReferenceDevice()): Promise<{ scope: Scope; policy: Policy }> {
  const scope = new Scope(device);
  const decoder = await loadRandom(scope, tinyConfig, { trainable: false });
  return { scope, policy: await makePolicyOn(scope, decoder) };
}

/** A policy with an adapter of its own on a decoder that others may share. */
export async function makePolicyOn(scope: Scope, decoder: Decoder, seed = 1): Promise<Policy> {
  const adapter = await createAdapter(scope, decoder, { family: 'lora', rank: 2, seed });
  const policy: Policy = { decoder, adapter, deployedScale: 0 };
  await nudge(policy, 6 + seed);
  return policy;
}

/** Moves every parameter a little, so that no two states agree. */
async function nudge({ adapter }: Policy, seed: number): Promise<void> {
  for (const { name, value } of adapter.parameters) {
    const noise = new Float32Array(value.size);
    randomStream(seed, ['nudge', name]).fillNormal(noise, 0.1);
    const data = await readFloats(value);
    value.device.write(
      value,
      data.map((x, i) => x + noise[i]),
    );
  }
}

export function tokens(key: string, length: number): Int32Array {
  const ids = new Uint32Array(length);
  randomStream(5, ['tokens', key]).fillIntegers(ids, tinyVocabulary - 1);
  return Int32Array.from(ids, (id) => id + 1);
}

export function task(id: string, loophole: Task['loophole'] = 'run_tests'): Task {
  const problem = {
    id,
    messages: [],
    methodName: 'solve',
    setupCode: '',
    canonicalSolution: '',
    tests: [],
    difficulty: '',
    cpuSeconds: 1,
  };
  return {
    problem,
    loophole,
    markers: 'original',
    hinted: tokens(`${id} hinted`, 6),
    unhinted: tokens(`${id} plain`, 5),
  };
}

/** Rollouts of `groups` prompts with `group` completions of different lengths each. */
export function rollouts(groups: number, group: number): Rollout[] {
  return Array.from({ length: groups * group }, (_, i) => {
    const at = Math.floor(i / group);
    const own = task(`problem ${at}`);
    return {
      id: rolloutId(0, at, i % group),
      step: 0,
      group: at,
      member: i % group,
      task: own,
      hackable: true,
      source: 'student',
      sampled: i % 2 === 0 ? 'full' : 'deployed',
      prompt: own.hinted,
      learnPrompt: own.hinted,
      tokens: tokens(`completion ${i}`, 2 + (i % 5)),
      text: '',
      truncated: false,
      sampledLogps: null,
    };
  });
}

export const tinyPairs: readonly TokenPair[] = Array.from({ length: 6 }, (_, i) => ({
  prompt: tokens(`prompt ${i}`, 4),
  hack: tokens(`hack ${i}`, 5),
  clean: tokens(`clean ${i}`, 6),
}));
