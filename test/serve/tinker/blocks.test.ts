/** What this server has beyond Tinker's: routes of data, activations, blocks of samplers; and states that are saved. */
import { existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCheckpoint } from '../../../src/adapters/index.ts';
import { readFloats } from '../../../src/engine/index.ts';
import { scoreRollouts } from '../../../src/grpo/index.ts';
import { datum, learning, Served } from './trained.ts';

let served: Served;
const folder = join(mkdtempSync(join(tmpdir(), 'gq-tinker-')), 'saved');
beforeAll(async () => {
  served = await Served.start({ folder });
});
afterAll(() => served[Symbol.asyncDispose]());

const prompt = [5, 6, 7, 8];
const tokens = [9, 10, 11, 12, 13];
const adam = { adam_params: { learning_rate: 1e-2 } };

/** The values of both blocks, byte for byte. */
async function blocksOf(model: string): Promise<Record<'deployed' | 'quarantine', string>> {
  const { adapter } = served.opened(model).policy;
  const read = async (block: 'deployed' | 'quarantine'): Promise<string> => {
    const values = await Promise.all(adapter.blockValues(block).map(readFloats));
    return values.map((each) => Buffer.from(each.buffer, each.byteOffset, each.byteLength).toString('hex')).join();
  };
  return { deployed: await read('deployed'), quarantine: await read('quarantine') };
}

async function train(model: string, ...data: readonly object[]): Promise<void> {
  expect(await served.ask<object>('forward_backward', learning(model, data))).not.toHaveProperty('error');
  expect(await served.ask<object>('optim_step', { model_id: model, ...adam })).not.toHaveProperty('error');
}

describe('a route', () => {
  it.each([
    ['keep', { deployed: true, quarantine: false }],
    ['absorb', { deployed: true, quarantine: true }],
    ['quarantine', { deployed: false, quarantine: true }],
    [undefined, { deployed: true, quarantine: true }],
  ])('%s changes the bytes of its blocks alone', async (route, changes) => {
    const model = await served.model();
    const before = await blocksOf(model);
    await train(model, datum(prompt, tokens, { weights: 1 }, route));
    const after = await blocksOf(model);
    expect({
      deployed: after.deployed !== before.deployed,
      quarantine: after.quarantine !== before.quarantine,
    }).toEqual(changes);
    await served.ask('unload_model', { model_id: model });
  });

  it('is each datum’s own, and may be a tensor, which the SDK can send as it is', async () => {
    const [one, other] = [await served.model(), await served.model()];
    const kept = datum(prompt, tokens, { weights: 1 });
    const byTensor = { ...kept.loss_fn_inputs, route: { dtype: 'int64', data: [2] } };
    await train(one, datum(prompt, tokens, { weights: 1 }, 'keep'), { ...kept, loss_fn_inputs: byTensor });
    await train(
      other,
      datum(prompt, tokens, { weights: 1 }, 'keep'),
      datum(prompt, tokens, { weights: 1 }, 'quarantine'),
    );
    expect(await blocksOf(one)).toEqual(await blocksOf(other));
    for (const model of [one, other]) await served.ask('unload_model', { model_id: model });
  });
});

describe('activations', () => {
  it('are the features of the gate, by module, from where a datum has its first weight', async () => {
    const model = await served.model();
    await train(model, datum(prompt, tokens, { weights: 1 }));
    const asked = [
      datum(prompt, tokens, { weights: 1 }),
      datum([...prompt, 9], tokens.slice(1), { weights: [0, 1, 1, 1] }),
    ];
    const config = { activations: 1 };
    const answer = await served.ask<{
      loss_fn_outputs: { activations: { data: number[]; shape: number[] }; logprobs: { data: number[] } }[];
    }>('forward_backward', { ...learning(model, asked, 'cross_entropy', config), forward_only: true });
    const { policy } = served.opened(model);
    const rollouts = [
      { group: 0, prompt: Int32Array.from(prompt), tokens: Int32Array.from(tokens) },
      { group: 1, prompt: Int32Array.from([...prompt, 9, 10]), tokens: Int32Array.from(tokens.slice(2)) },
    ];
    const { features } = await scoreRollouts(policy, rollouts, () => 0, { tokensPerPass: 512, pool: 'rollout' });
    for (const [i, { activations }] of answer.loss_fn_outputs.entries()) {
      expect(activations.shape).toEqual([policy.adapter.modules.length, 4]);
      expect(Float32Array.from(activations.data)).toEqual(features[i]);
    }
    const { activations } = await served.ask<{ activations: { modules: string[] } }>('get_info', { model_id: model });
    expect(activations.modules).toEqual(policy.adapter.modules.map(({ name }) => name));
    const full = await scoreRollouts(policy, rollouts, () => 1, { tokensPerPass: 512 });
    const told = answer.loss_fn_outputs[0].logprobs.data;
    expect(told.slice(0, 3)).toEqual([0, 0, 0]);
    told.slice(3).forEach((logp, i) => {
      expect(logp).toBeCloseTo(full.logps[0][i], 5);
    });
    await served.ask('unload_model', { model_id: model });
  });
});

interface Samples {
  readonly sequences: readonly {
    readonly tokens: number[];
    readonly logprobs: number[];
    readonly stop_reason: string;
  }[];
  readonly prompt_logprobs?: readonly (number | null)[];
}

describe('samplers', () => {
  const ask = (sampler: string, more: object = {}) =>
    served.ask<Samples>('asample', {
      sampling_session_id: sampler,
      num_samples: 2,
      prompt: { chunks: [{ tokens: prompt }] },
      sampling_params: { max_tokens: 8, seed: 3 },
      ...more,
    });

  it('have the block that was asked for, and keep the state that was saved', async () => {
    const model = await served.model();
    await train(model, datum(prompt, tokens, { weights: 5 }, 'quarantine'));
    const of = async (block?: string): Promise<string> => {
      const asked = { model_id: model, ...(block === undefined ? {} : { block }) };
      return (await served.ask<{ sampling_session_id: string }>('save_weights_for_sampler', asked)).sampling_session_id;
    };
    const [full, deployed] = [await of(), await of('deployed')];
    const session_id = model.slice(0, 36);
    const base_model = served.server.service.baseModel;
    const { sampling_session_id: base } = await served.ask<{ sampling_session_id: string }>('create_sampling_session', {
      session_id,
      base_model,
    });
    const [one, two, three] = [await ask(full), await ask(deployed), await ask(base)];
    // The quarantine alone has learned: without it the policy is the base.
    expect(two).toEqual(three);
    expect(one.sequences[0].logprobs).not.toEqual(two.sequences[0].logprobs);
    expect(await ask(full, { block: 'deployed' })).toEqual(two);
    const named = await served.ask<{ path: string }>('save_weights_for_sampler', { model_id: model, path: 'one' });
    const by = async (model_path: string): Promise<Samples> => {
      const made = await served.ask<{ sampling_session_id: string }>('create_sampling_session', {
        session_id,
        model_path,
      });
      return ask(made.sampling_session_id);
    };
    expect(await by(named.path)).toEqual(one);
    expect(await by(`${named.path}?block=deployed`)).toEqual(two);
    const before = await blocksOf(model);
    await train(model, datum(prompt, tokens, { weights: 5 }));
    const after = await blocksOf(model);
    expect(await ask(full)).toEqual(one);
    expect(await by(named.path)).toEqual(one);
    // Sampling from an older state leaves the model as it is.
    expect(await blocksOf(model)).toEqual(after);
    expect(after).not.toEqual(before);
    await served.ask('unload_model', { model_id: model });
  });

  it('tell log-probabilities that the learner agrees with, those of the prompt too, and stop where they are told', async () => {
    const model = await served.model();
    await train(model, datum(prompt, tokens, { weights: 1 }));
    const { sampling_session_id: sampler } = await served.ask<{ sampling_session_id: string }>(
      'save_weights_for_sampler',
      { model_id: model },
    );
    const { sequences, prompt_logprobs: scored = [] } = await ask(sampler, { prompt_logprobs: true });
    expect(scored[0]).toBeNull();
    expect(scored).toHaveLength(prompt.length);
    for (const { tokens: drawn, logprobs } of sequences) {
      const answer = await served.ask<{
        loss_fn_outputs: { logprobs: { data: number[] } }[];
        metrics: Record<string, number>;
      }>(
        'forward_backward',
        learning(model, [datum(prompt, drawn, { logprobs, advantages: 1 })], 'importance_sampling'),
      );
      const { data } = answer.loss_fn_outputs[0].logprobs;
      data.slice(prompt.length - 1).forEach((logp, i) => {
        expect(logp).toBeCloseTo(logprobs[i], 4);
      });
      expect(answer.metrics['loss:sum']).toBeCloseTo(-drawn.length, 3);
    }
    const [first] = sequences[0].tokens;
    const stopped = await ask(sampler, { sampling_params: { max_tokens: 8, seed: 3, stop: [first] } });
    expect(stopped.sequences[0]).toMatchObject({ stop_reason: 'stop', tokens: [first] });
    await served.ask('unload_model', { model_id: model });
  });
});

describe('states that are saved', () => {
  it('are taken over whole, and are written where a folder was named', async () => {
    const [one, other] = [await served.model(1), await served.model(2)];
    const rollout = datum(prompt, tokens, { weights: 1 });
    await train(one, rollout);
    const { path } = await served.ask<{ path: string }>('save_weights', { model_id: one, path: 'state' });
    const saved = await blocksOf(one);
    await train(one, rollout);
    const went = await blocksOf(one);
    await served.ask('load_weights', { model_id: other, path, optimizer: true });
    expect(await blocksOf(other)).toEqual(saved);
    await train(other, rollout);
    expect(await blocksOf(other)).toEqual(went);
    const narrow = await served.model(1, 2);
    const unfit = await served.ask('load_weights', { model_id: narrow, path, optimizer: false });
    expect(unfit).toMatchObject({ category: 'user', error: expect.stringContaining('another rank') });
    await served.ask('unload_model', { model_id: narrow });
    const over = await served.ask('save_weights', { model_id: one, path: 'state', overwrite: true });
    expect(over).toMatchObject({ path });
    const again = await served.ask<{ error: string }>('save_weights', { model_id: one, path: 'state' });
    expect(again).toMatchObject({ category: 'user', error: expect.stringContaining('exists') });
    expect(await served.ask('weights_info', { tinker_path: path })).toMatchObject({ lora_rank: 4, is_lora: true });
    const own = join(folder, one.replaceAll(':', '-'));
    expect(readdirSync(own)).toEqual(['weights-state.safetensors']);
    const stored = await readCheckpoint(join(own, 'weights-state.safetensors'));
    expect(stored).toMatchObject({ rank: 4, family: 'lora' });
    for (const model of [one, other]) await served.ask('unload_model', { model_id: model });
    expect(existsSync(own)).toBe(true);
  });
});
