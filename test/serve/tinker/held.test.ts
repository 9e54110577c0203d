/** What requests of clients hold in memory, and for how long. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { TinkerOptions } from '../../../src/serve/index.ts';
import type { LineJob } from '../../../src/serve/tinker/sessions.ts';
import { temporaryFolder } from '../../lab/hand-made.ts';
import { datum, learning, Served } from './trained.ts';

let served: Served;
const start = async (options: Partial<TinkerOptions> = {}): Promise<void> => {
  served = await Served.start(options);
};
afterEach(() => served[Symbol.asyncDispose]());

async function refused(path: string, body: unknown) {
  const response = await served.post(path, body);
  const answer = (await response.json()) as { detail: unknown };
  expect(Object.keys(answer)).toEqual(['detail']);
  return { status: response.status, detail: String(answer.detail) };
}

const bad = (status: number, words: string | RegExp) => ({ status, detail: expect.stringMatching(words) });

describe('what a session holds', () => {
  const asked = (sampler: string, params: object = {}) => ({
    sampling_session_id: sampler,
    num_samples: 128,
    prompt: { chunks: [{ tokens: [5] }] },
    sampling_params: { max_tokens: 8, temperature: 1, top_k: -1, top_p: 1, ...params },
  });
  const sampler = async () => {
    const { baseModel: base_model } = served.server.service;
    const body = { session_id: await served.session(), base_model };
    return (await served.ask<{ sampling_session_id: string }>('create_sampling_session', body)).sampling_session_id;
  };

  it('has stop lists with an end', async () => {
    await start();
    const id = await sampler();
    const stop = (length: number) => asked(id, { stop: Array.from({ length }, (_, i) => i) });
    expect(await refused('asample', stop(257))).toEqual(bad(400, 'at most 256 token ids'));
    expect(await served.ask('asample', stop(256))).toHaveProperty('sequences');
  });

  it('counts the samples that wait to be made', async () => {
    await start({ limits: { bytes: 2 ** 17 } });
    const id = await sampler();
    const { service } = served.server;
    const { request_id: first } = service.sample(asked(id), 100) as { request_id: string };
    service.sample(asked(id), 100);
    expect(() => service.sample(asked(id), 100)).toThrow('too many requests of this session wait');
    expect((await served.fetchAnswer<{ sequences: readonly object[] }>(first)).sequences).toHaveLength(128);
  });

  it('is made in turns that take a share of it, and one request at least', async () => {
    await start({ limits: { bytes: 16_000 } });
    const { sessions } = served.server.service;
    const session = sessions.of(await served.session(), 'session');
    const turns: number[] = [];
    const run: LineJob['run'] = async (jobs) => {
      turns.push(jobs.length);
      return jobs.map(() => ({}));
    };
    const together = {};
    const futures = [3000, 1000, 1000, 1000, 500, 500].map((bytes) => session.begin(null, bytes));
    for (const future of futures) session.line.push({ future, together, run });
    sessions.wake();
    await expect.poll(() => futures.at(-1)?.outcome).not.toBeNull();
    expect(turns).toEqual([1, 2, 3]);
  });

  it('leaves an equal share of the bytes of all sessions to each of the others', async () => {
    await start({ limits: { sessions: 4, bytes: 2 ** 17, allBytes: 2 ** 17 } });
    const [greedy, modest] = [await sampler(), await sampler()];
    const { service } = served.server;
    // 128 samples of 9 tokens are weighed as 51 KB, a half of them as 26 KB.
    service.sample(asked(greedy), 100);
    service.sample(asked(greedy), 100);
    const { request_id: small } = service.sample({ ...asked(modest), num_samples: 64 }, 100) as { request_id: string };
    expect(() => service.sample(asked(modest), 100)).toThrow('too many requests of this session wait');
    expect((await served.fetchAnswer<{ sequences: readonly object[] }>(small)).sequences).toHaveLength(64);
  });

  it('counts each datum of a request to learn, however short', async () => {
    await start({ limits: { bytes: 2 ** 16 } });
    const model = await served.model();
    const data = new Array<object>(40).fill(datum([5], [9], { weights: 1 }));
    // Number 1 never comes, so these wait.
    const send = (seq_id: number) => served.post('forward_backward', { ...learning(model, data), seq_id });
    expect((await send(2)).status).toBe(200);
    expect((await send(3)).status).toBe(429);
  });

  it('is weighed when an answer comes, too: older answers are forgotten then', async () => {
    await start({ limits: { bytes: 3000 } });
    const { sessions } = served.server.service;
    const session = sessions.of(await served.session(), 'session');
    const futures = [1, 2].map(() => session.begin(null, 10));
    for (const future of futures)
      session.line.push({ future, together: future, run: async () => [{ text: 'x'.repeat(1000) }] });
    sessions.wake();
    await expect.poll(() => futures[1].outcome).not.toBeNull();
    expect([...session.futures.values()]).toEqual([futures[1]]);
  });
});

describe('files of saved states', () => {
  it('have an end: nothing is saved under a name once the folder is full', async () => {
    const folder = join(temporaryFolder(), 'saved');
    await start({ folder, limits: { diskBytes: 1 } });
    const model_id = await served.model();
    expect(await served.ask('save_weights', { model_id, path: 'one' })).toHaveProperty('path');
    const full = { category: 'user', error: expect.stringContaining('--out-gib') };
    expect(await served.ask('save_weights', { model_id, path: 'two' })).toMatchObject(full);
    // Another model of another client finds the folder as full, and samplers without a name need none of it.
    const other = { model_id: await served.model() };
    expect(await served.ask('save_weights_for_sampler', { ...other, path: 'three' })).toMatchObject(full);
    expect(await served.ask('save_weights_for_sampler', other)).toHaveProperty('sampling_session_id');
    expect(readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith('.safetensors'))).toEqual([
      join(model_id.replaceAll(':', '-'), 'weights-one.safetensors'),
    ]);
  });

  it('have a limit, which is told, and a state without a file is not kept', async () => {
    const folder = temporaryFolder();
    await start({ folder, limits: { diskBytes: 1 } });
    const model_id = await served.model();
    const save = (path: string, overwrite = false) => served.ask('save_weights', { model_id, path, overwrite });
    expect(await save('one')).toHaveProperty('path');
    const full = { category: 'user', error: expect.stringContaining('--out-gib') };
    for (const path of ['two', 'two']) expect(await save(path)).toMatchObject(full);
    expect(await save('one', true)).toHaveProperty('path');
    expect(await served.ask('save_weights_for_sampler', { model_id, path: 'two' })).toMatchObject(full);
    const [files] = readdirSync(folder);
    expect(readdirSync(join(folder, files))).toEqual(['weights-one.safetensors']);
    rmSync(join(folder, files, 'weights-one.safetensors'));
    expect(await save('two')).toHaveProperty('path');
    expect(served.warnings).toEqual([]);
  });
});

describe('states of a model', () => {
  it('give way where they are samplers, also named ones, which older loops save at every step', async () => {
    await start({ limits: { states: 2 } });
    const model_id = await served.model();
    const save = (kind: string, path: string) => served.ask<{ path: string }>(kind, { model_id, path });
    const saved: string[] = [];
    for (const name of ['000000', '000001', '000002']) saved.push((await save('save_weights_for_sampler', name)).path);
    const sampler = { session_id: model_id.slice(0, 36) };
    expect(await refused('create_sampling_session', { ...sampler, model_path: saved[0] })).toEqual(
      bad(404, 'no longer'),
    );
    const last = await served.ask('create_sampling_session', { ...sampler, model_path: saved[2] });
    expect(last).toHaveProperty('sampling_session_id');
    for (const name of ['one', 'two']) expect(await save('save_weights', name)).toHaveProperty('path');
    expect(await save('save_weights', 'three')).toMatchObject({ error: expect.stringContaining('which is the most') });
  });
});

describe('a model', () => {
  it('is made once for each number, even when its answer is forgotten', async () => {
    await start({ limits: { futures: 1 } });
    const asked = { session_id: await served.session(), base_model: served.server.service.baseModel, model_seq_id: 1 };
    const { model_id: id } = await served.ask<{ model_id: string }>('create_model', asked);
    const first = served.opened(id);
    await served.ask('optim_step', { model_id: id, adam_params: {} });
    expect(await served.ask('create_model', asked)).toMatchObject({ model_id: id });
    expect(served.opened(id)).toBe(first);
  });

  it('whose session is closed is freed after the samples that another session draws from it', async () => {
    let now = 0;
    await start({ limits: { idleMs: 1000, clock: () => now } });
    const { service } = served.server;
    const owner = { model_id: await served.model(), path: 'x' };
    const { path } = await served.ask<{ path: string }>('save_weights_for_sampler', owner);
    const body = { session_id: await served.session(), model_path: path };
    const { sampling_session_id } = await served.ask<{ sampling_session_id: string }>('create_sampling_session', body);
    const chunks = [{ tokens: [5, 6, 7] }];
    const sampling_params = { max_tokens: 8, temperature: 1, top_k: -1, top_p: 1 };
    const asked = { sampling_session_id, num_samples: 4, prompt: { chunks }, sampling_params };
    now = 900;
    const { request_id: id } = service.sample(asked, 100) as { request_id: string };
    now = 1500;
    service.sessions.closeIdle();
    expect(service.sessions.count).toBe(1);
    expect(await served.fetchAnswer(id)).toHaveProperty('sequences');
    expect(await refused('asample', asked)).toEqual(bad(404, 'no such sampling session'));
    expect(served.warnings).toEqual([]);
  });
});
