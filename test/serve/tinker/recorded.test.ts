/** Requests of Tinker's own SDK, recorded, train five steps of the micro model with the gradients that the trainer computes. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AdamW, type Parameter, readFloats } from '../../../src/engine/index.ts';
import { accumulateGradients, type GrpoSettings, type Policy, stepOptions } from '../../../src/grpo/index.ts';
import { accumulateNll } from '../../../src/grpo/supervised.ts';
import { openAdapter } from '../../../src/lab/adapter.ts';
import { grpoSettings } from '../../../src/run/index.ts';
import { Served } from './trained.ts';

interface Recorded {
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly accept: string;
    readonly type?: string;
    readonly body?: string;
    readonly told?: { readonly session_id?: string; readonly request_id?: string };
  }[];
  readonly steps: readonly {
    readonly loss: string;
    readonly config: { readonly clip_low_threshold: number } | null;
    readonly told: number;
    readonly rollouts: readonly {
      readonly prompt: readonly number[];
      readonly tokens: readonly number[];
      readonly logprobs: readonly number[];
      readonly advantage: number;
    }[];
  }[];
}

const recorded = JSON.parse(readFileSync(new URL('recorded-sdk.json', import.meta.url), 'utf8')) as Recorded;

let served: Served;
beforeAll(async () => {
  served = await Served.start({ context: null, rows: 16 }, 'micro');
});
afterAll(() => served[Symbol.asyncDispose]());

const read = async (parameters: readonly Parameter[], what: 'value' | 'gradient'): Promise<Float32Array> => {
  const all = await Promise.all(parameters.map((parameter) => readFloats(parameter[what])));
  return Float32Array.from(all.flatMap((values) => Array.from(values)));
};

const largest = (values: Float32Array): number => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
const apart = (one: Float32Array, other: Float32Array): number => largest(one.map((value, i) => value - other[i]));

/** The trainer, with an adapter of its own at the same start. */
async function openTrainer() {
  const { lab } = served;
  const { config, parts, warn, signal } = lab;
  const own = { config: { ...config, seed: 1 }, parts, warn, signal, pairs: lab.pairs };
  const model = await lab.weights;
  const adapter = await openAdapter(own, model, { initial: null, drawn: null });
  const policy: Policy = { decoder: model.decoder, adapter, deployedScale: 0 };
  const optimiser = lab.use(new AdamW(adapter.parameters));
  const usual = grpoSettings(config);
  // A sum over tokens: each has the weight 1.
  const sampling = { ...usual.sampling, group: 1, promptsPerStep: 1, maxNewTokens: 1 };
  const adam = {
    ...usual.optimiser,
    beta1: 0.9,
    beta2: 0.95,
    epsilon: 1e-8,
    decayToInitial: 0,
    maxGradientNorm: Infinity,
  };
  const learn = async ({ loss, config: clip, rollouts: given }: Recorded['steps'][number]): Promise<number> => {
    optimiser.zeroGradients();
    const rollouts = given.map(({ prompt, tokens }) => ({
      group: prompt[0],
      prompt: Int32Array.from(prompt),
      tokens: Int32Array.from(tokens),
    }));
    if (loss === 'cross_entropy') {
      // The mean over completions of the mean over tokens has other weights, so each is learned apart, by its length.
      let total = 0;
      for (const rollout of rollouts) {
        const weight = rollout.tokens.length;
        const nll = await accumulateNll(policy, optimiser, [rollout], {
          route: 'absorb',
          weight,
          tokensPerPass: 512,
          detach: 'branch',
        });
        total += weight * nll;
      }
      return total;
    }
    const range = loss === 'ppo' ? 1 - (clip?.clip_low_threshold ?? 0.8) : 1e9;
    const settings: GrpoSettings = {
      ...usual,
      sampling,
      loss: { ...usual.loss, kind: 'dr', klWeight: 0, clip: range },
    };
    const logps = given.map(({ logprobs }) => Float32Array.from(logprobs));
    const made = await accumulateGradients(
      policy,
      optimiser,
      {
        rollouts,
        advantages: Float32Array.from(given, ({ advantage }) => advantage),
        logpOld: logps,
        logpBase: logps,
        routes: given.map(() => ['absorb']),
      },
      settings,
    );
    return made.loss;
  };
  return {
    parameters: adapter.parameters,
    learn,
    step: (number: number) => optimiser.update(number, stepOptions(adam, 2e-3)),
  };
}

it('gradients are those of the trainer to 1e-5 in each of five steps', async () => {
  const trainer = await openTrainer();
  const ids = new Map<string, string>();
  const renamed = (text: string): string => [...ids].reduce((so, [old, now]) => so.replaceAll(old, now), text);
  let [modelId, step, pending]: [string, number, string | null] = ['', 0, null];
  const differences: number[] = [];
  for (const { method, path, type, body, accept, told } of recorded.requests) {
    // The client sent the step before it fetched the gradients; here they are looked at before it.
    if (path.endsWith('/optim_step') && pending !== null) {
      expect(await served.fetchAnswer<object>(pending)).not.toHaveProperty('error');
      const { parameters } = served.opened(modelId).policy.adapter;
      const expectedLoss = await trainer.learn(recorded.steps[step]);
      const [ours, theirs] = [await read(trainer.parameters, 'gradient'), await read(parameters, 'gradient')];
      expect(largest(ours)).toBeGreaterThan(0.1);
      differences.push(apart(ours, theirs) / largest(ours));
      expect(expectedLoss).toBeCloseTo(recorded.steps[step].told, 3);
      trainer.step(++step);
      pending = null;
    }
    const isBinary = type?.includes('protobuf') === true;
    const sent =
      body === undefined
        ? undefined
        : isBinary
          ? Buffer.from(renamed(Buffer.from(body, 'base64').toString('latin1')), 'latin1')
          : renamed(body);
    const response = await fetch(`${served.server.url}${path}`, {
      method,
      headers: { accept, ...(type === undefined ? {} : { 'content-type': type }) },
      ...(sent === undefined ? {} : { body: sent as BodyInit }),
    });
    expect({ path, status: response.status }).toEqual({ path, status: 200 });
    if (response.headers.get('content-type')?.includes('protobuf')) continue;
    const answer = (await response.json()) as { session_id?: string; request_id?: string; model_id?: string };
    for (const key of ['session_id', 'request_id'] as const) {
      const [old, now] = [told?.[key], answer[key]];
      if (old !== undefined && now !== undefined) ids.set(old.slice(-36), now.slice(-36));
    }
    modelId = answer.model_id ?? modelId;
    if (path.endsWith('/forward_backward')) pending = answer.request_id ?? null;
  }
  expect(differences).toHaveLength(5);
  expect(Math.max(...differences)).toBeLessThan(1e-5);
  const { parameters } = served.opened(modelId).policy.adapter;
  expect(apart(await read(trainer.parameters, 'value'), await read(parameters, 'value'))).toBeLessThan(1e-5);
  expect(served.warnings).toEqual([]);
});
