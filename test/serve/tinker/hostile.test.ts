/** Requests to train that are wrong, repeated, out of order, too large, too many, or of somebody else. */
import { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { TinkerOptions } from '../../../src/serve/index.ts';
import { datum, learning, Served } from './trained.ts';

let served: Served;
const start = async (options: Partial<TinkerOptions> = {}): Promise<void> => {
  served = await Served.start(options);
};
afterEach(() => served[Symbol.asyncDispose]());

const prompt = [5, 6, 7];
const tokens = [9, 10, 11];
const good = datum(prompt, tokens, { weights: 1 });
const adam = { adam_params: { learning_rate: 1e-2 } };

async function refused(path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await served.post(path, body, headers);
  const answer = (await response.json()) as { detail: unknown };
  expect(Object.keys(answer)).toEqual(['detail']);
  return { status: response.status, detail: String(answer.detail) };
}

const bad = (status: number, words: string | RegExp) => ({ status, detail: expect.stringMatching(words) });

/** A request to learn as protocol buffers: one datum of one token, whose weight has these four bytes. */
function wire(model: string, weight: Buffer): Buffer {
  const piece = (field: number, ...parts: readonly Uint8Array[]): Buffer => {
    const bytes = Buffer.concat(parts);
    const { length } = bytes;
    const size = length < 128 ? [length] : [(length % 128) + 128, length >> 7];
    return Buffer.concat([Buffer.from([field * 8 + 2, ...size]), bytes]);
  };
  const tensor = (key: string, dtype: number, dense: Buffer): Buffer =>
    piece(
      2,
      piece(1, Buffer.from(key)),
      piece(2, piece(1, dense), Buffer.from([24, dtype]), piece(4, Buffer.from([1]))),
    );
  const target = Buffer.alloc(8);
  target.writeInt32LE(9);
  const text = piece(1, piece(1, piece(1, Buffer.from([5, 0, 0, 0]))));
  const own = piece(3, text, tensor('target_tokens', 2, target), tensor('weights', 1, weight));
  return Buffer.concat([piece(1, Buffer.from(model)), own, piece(4, Buffer.from('cross_entropy'))]);
}

const protobuf = { 'content-type': 'application/x-protobuf' };

describe('requests that are wrong', () => {
  it('are refused with what was expected, and leave the model as it was', async () => {
    await start();
    const model = await served.model();
    const ask = (data: readonly object[], loss?: string, config?: object) =>
      refused('forward_backward', learning(model, data, loss, config));
    const with_ = (changes: object) => ({ ...good, loss_fn_inputs: { ...good.loss_fn_inputs, ...changes } });
    const weights = (data: readonly unknown[], more: object = {}) =>
      with_({ weights: { dtype: 'float32', data, ...more } });
    expect(await ask([])).toEqual(bad(400, 'data: expected 1 to 1024, found 0'));
    expect(await ask([weights([1, 1])])).toEqual(bad(400, /data\[0\]\.weights: expected 5 numbers.*found 2/));
    expect(await ask([good, weights([0, 0, 1, 1, 1], { shape: [1, 5] })])).toEqual(
      bad(400, /data\[1\]\.weights.*shape \[1,5\]/),
    );
    expect(await ask([weights([0, 0, 1, null, 1])])).toEqual(
      bad(400, 'weights.data: expected a list of finite numbers'),
    );
    expect(await ask([weights([0, 1, 1, 1, 1])])).toEqual(bad(400, /target_tokens: expected the token that follows/));
    expect(await ask([with_({ target_tokens: { dtype: 'float32', data: [0, 0, 9, 10, 11] } })])).toEqual(
      bad(400, 'expected int64'),
    );
    expect(await ask([with_({ target_tokens: { dtype: 'int64', data: [0, 0, 9, 10, 1e6] } })])).toEqual(
      bad(400, 'tokens below'),
    );
    expect(await ask([{ ...good, model_input: { chunks: [{ tokens: [-1] }] } }])).toEqual(bad(400, 'tokens below'));
    expect(await ask([{ ...good, model_input: { chunks: [] } }])).toEqual(bad(400, 'expected tokens, found none'));
    expect(await ask([{ ...good, route: 'delete' }])).toEqual(bad(400, 'expected one of keep, absorb, quarantine'));
    expect(await ask([with_({ route: { dtype: 'int64', data: [3] } })])).toEqual(bad(400, 'route: expected one int64'));
    expect(await ask([with_({ mask: { dtype: 'float32', data: [0, 0, 1, 1, 1] } })])).toEqual(
      bad(400, /mask: expected target_tokens, weights/),
    );
    expect(await ask([good], 'dro')).toEqual(
      bad(400, 'expected one of cross_entropy, importance_sampling, ppo, found dro'),
    );
    expect(await ask([good], 'ppo')).toEqual(bad(400, /data\[0\].*ppo/));
    expect(await ask([good], 'cross_entropy', { beta: 1 })).toEqual(bad(400, 'beta is not known'));
    const long = new Array<number>(64).fill(9);
    expect(await ask([datum(prompt, long, { weights: 1 })])).toEqual(bad(400, 'fewer than 64 tokens'));
    expect(await refused('forward_backward', `{"model_id": "${model}", "forward_backward_input": NaN}`)).toEqual(
      bad(400, 'no JSON'),
    );
    expect(await refused('forward_backward', { ...learning(model, [good]), rout: 'keep' })).toEqual(bad(400, 'rout'));
    const keys = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`key ${i}`, '']));
    expect(await ask([good], 'ppo', keys)).toEqual(bad(400, 'loss_fn_config: expected an object of at most 16 keys'));
    expect(await ask([{ ...good, loss_fn_inputs: keys }])).toEqual(
      bad(400, 'loss_fn_inputs: expected an object of at'),
    );
    const strange = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key ${i}`, '']));
    expect((await refused('session_heartbeat', { session_id: 'x', ...strange })).detail.length).toBe(1000);
    expect(await refused('optim_step', { model_id: model, adam_params: { learning_rate: 'fast' } })).toEqual(
      bad(400, 'adam_params.learning_rate'),
    );
    for (const eps of [0, 1e-300]) {
      expect(await refused('optim_step', { model_id: model, adam_params: { eps } })).toEqual(
        bad(400, 'adam_params.eps: expected a number from 1e-20'),
      );
    }
    const other = { session_id: model.slice(0, 36), base_model: 'another' };
    expect(await refused('create_model', other)).toEqual(bad(400, 'base_model: this server has'));
    const gradient = await served.ask<{ metrics: Record<string, number> }>('optim_step', { model_id: model, ...adam });
    expect(gradient.metrics['gradient_norm:mean']).toBe(0);
    expect(served.warnings).toEqual([]);
  });

  it('in protocol buffers are refused too: torn ones, and numbers that are none', async () => {
    await start();
    const model = await served.model();
    const numbers = [1, Number.NaN, Number.POSITIVE_INFINITY].map((value) => {
      const bytes = Buffer.alloc(4);
      bytes.writeFloatLE(value);
      return wire(model, bytes);
    });
    expect((await served.post('forward_backward', numbers[0], protobuf)).status).toBe(200);
    expect(await refused('forward_backward', numbers[1], protobuf)).toEqual(
      bad(400, 'weights: expected finite numbers, found NaN'),
    );
    expect(await refused('forward_backward', numbers[2], protobuf)).toEqual(bad(400, 'found Infinity'));
    expect(await refused('forward_backward', wire(model, Buffer.alloc(3)), protobuf)).toEqual(bad(400, 'no message'));
    for (let length = 1; length < numbers[0].length; length++) {
      const response = await served.post('forward_backward', numbers[0].subarray(0, length), protobuf);
      expect([400, 404]).toContain(response.status);
    }
    expect(served.warnings).toEqual([]);
  });

  it('in protocol buffers end where there are too many messages or numbers are not whole, before they are all read', async () => {
    await start();
    const model = await served.model();
    const good = wire(model, Buffer.alloc(4));
    const ask = (...parts: readonly Uint8Array[]) => refused('forward_backward', Buffer.concat(parts), protobuf);
    const datum = (part: Buffer): Buffer => {
      const { length } = part;
      return Buffer.concat([Buffer.from([26, (length & 127) | 128, ((length >> 7) & 127) | 128, length >> 14]), part]);
    };
    const repeated = (bytes: readonly number[], count: number): Buffer =>
      Buffer.alloc(bytes.length * count, Buffer.from(bytes));
    // What follows the data is torn: who counts first never sees it.
    expect(await ask(good, repeated([26, 0], 1024), Buffer.from([255]))).toEqual(
      bad(400, 'data: expected at most 1024'),
    );
    const parts = datum(repeated([10, 0], 2 ** 17));
    expect(await ask(good, parts)).toEqual(bad(400, 'expected at most 131072 fields'));
    const sizes = (shape: Buffer): Buffer =>
      datum(Buffer.concat([Buffer.from([18, shape.length + 2, 18, shape.length]), shape]));
    expect(await ask(good, sizes(repeated([34, 1, 1], 9)))).toEqual(bad(400, 'at most 8 dimensions'));
    expect(await ask(good, sizes(Buffer.concat([Buffer.from([34, 81]), repeated([1], 81)])))).toEqual(
      bad(400, 'at most 8 dimensions'),
    );
    const half = Buffer.alloc(9, 2 * 8 + 1);
    half.writeDoubleLE(1.5, 1);
    expect(await ask(good, half)).toEqual(bad(400, 'seq_id: expected a whole number'));
    const negative = [16, ...new Array<number>(9).fill(255), 1];
    expect(await ask(good, Buffer.from(negative))).toEqual(bad(400, 'seq_id: expected a whole number'));
    expect((await served.post('forward_backward', good, protobuf)).status).toBe(200);
    expect(served.warnings).toEqual([]);
  });

  it('whose loss is not finite drop the gradients, and spoil nothing', async () => {
    await start();
    const model = await served.model();
    await served.ask('forward_backward', learning(model, [good]));
    const wild = datum(prompt, tokens, { logprobs: -1e30, advantages: 1 });
    // The clip makes the loss of the second finite, but not its gradient.
    for (const loss of ['importance_sampling', 'ppo']) {
      expect(await served.ask('forward_backward', learning(model, [wild], loss))).toMatchObject({
        category: 'user',
        error: expect.stringContaining('gradients since the last optim_step are dropped'),
      });
    }
    const { metrics } = await served.ask<{ metrics: Record<string, number> }>('optim_step', {
      model_id: model,
      ...adam,
    });
    expect(metrics['gradient_norm:mean']).toBe(0);
    const after = await served.ask<{ metrics: Record<string, number> }>('forward_backward', learning(model, [good]));
    expect(after.metrics['loss:sum']).toBeGreaterThan(0);
    expect(served.warnings).toEqual([]);
  });
});

describe('requests of clients', () => {
  it('are done once for each number, in the order of the numbers; a refused one keeps none waiting', async () => {
    await start({ pollMs: 50 });
    const model = await served.model();
    const send = async (seq_id: number, body: object, path = 'forward_backward'): Promise<string> =>
      ((await (await served.post(path, { ...body, seq_id })).json()) as { request_id: string }).request_id;
    const second = await send(2, { model_id: model, ...adam }, 'optim_step');
    const waiting = await served.post('retrieve_future', { request_id: second });
    expect({ status: waiting.status, answer: await waiting.json() }).toEqual({
      status: 408,
      answer: { type: 'try_again', request_id: second, queue_state: 'active' },
    });
    const first = await send(1, learning(model, [good]));
    expect(await send(1, learning(model, [good]))).toBe(first);
    const { metrics } = await served.fetchAnswer<{ metrics: Record<string, number> }>(second);
    const once = await served.fetchAnswer(first);
    expect(await served.fetchAnswer(first)).toEqual(once);
    const other = await served.model();
    await served.ask('forward_backward', learning(other, [good]));
    expect(await served.ask('optim_step', { model_id: other, ...adam })).toMatchObject({ metrics });
    const third = { ...learning(model, [{ ...good, model_input: { chunks: [] } }]), seq_id: 3 };
    expect(await refused('forward_backward', third)).toEqual(bad(400, 'expected tokens'));
    expect(await served.fetchAnswer(await send(4, learning(model, [good])))).toHaveProperty('metrics');
    expect(await refused('optim_step', { model_id: model, ...adam, seq_id: 3 })).toEqual(bad(400, 'used before'));
    expect(await refused('optim_step', { model_id: model, ...adam, seq_id: 99_999 })).toEqual(
      bad(400, 'expected about 5'),
    );
  });

  it.each<[string, (model: string) => readonly [path: string, body: unknown, headers?: Record<string, string>]]>([
    ['its schema', (model) => ['optim_step', { model_id: model, seq_id: 1, adam_params: { learning_rate: -1 } }]],
    [
      'a path that nothing was saved at',
      (model) => [
        'load_weights',
        { model_id: model, seq_id: 1, path: `tinker://${model}/weights/none`, optimizer: false },
      ],
    ],
    [
      'damaged protocol buffers',
      (model) => {
        const body = wire(model, Buffer.alloc(4));
        const number = Buffer.from([16, 1]);
        const place = body.length - wire('', Buffer.alloc(4)).length + 2;
        return [
          'forward_backward',
          Buffer.concat([body.subarray(0, place), number, body.subarray(place, -3)]),
          protobuf,
        ];
      },
    ],
  ])('refused for %s keep none waiting either', async (_name, ask) => {
    await start({ pollMs: 200 });
    const model = await served.model();
    const [path, body, headers] = ask(model);
    const { status } = await served.post(path, body, headers);
    expect([400, 404]).toContain(status);
    const { request_id } = (await (
      await served.post('optim_step', { model_id: model, ...adam, seq_id: 2 })
    ).json()) as { request_id: string };
    await expect.poll(async () => (await served.post('retrieve_future', { request_id })).status).toBe(200);
  });

  it('whose number is far away wait for nothing, however often they come', async () => {
    await start();
    const model = await served.model();
    const far = { model_id: model, ...adam, seq_id: 90_000 };
    for (let i = 0; i < 2; i++) expect(await refused('optim_step', far)).toEqual(bad(400, 'expected about 1'));
    const { futures } = served.server.service.sessions.of(model, 'model');
    expect([...futures.values()].filter(({ outcome }) => outcome === null)).toEqual([]);
  });

  it('see nothing of others: ids that they were not told are those of nobody', async () => {
    await start();
    const model = await served.model();
    const unknown = '00000000-0000-4000-8000-000000000000';
    const gone = bad(404, /^no such /);
    for (const [path, body] of [
      ['session_heartbeat', { session_id: unknown }],
      ['create_model', { session_id: unknown, base_model: served.server.service.baseModel }],
      ['get_info', { model_id: `${unknown}:train:0` }],
      ['forward_backward', learning(`${unknown}:train:0`, [good])],
      ['optim_step', { model_id: `${unknown}:train:0`, ...adam }],
      ['save_weights', { model_id: `${unknown}:train:0`, path: 'x' }],
      ['load_weights', { model_id: model, path: `tinker://${unknown}:train:0/weights/x`, optimizer: false }],
      [
        'asample',
        { sampling_session_id: `${unknown}:sample:0`, prompt: { chunks: [{ tokens: [1] }] }, sampling_params: {} },
      ],
      ['retrieve_future', { request_id: `${unknown}:request:${unknown}` }],
    ] as const) {
      expect({ path, ...(await refused(path, body)) }).toEqual({ path, ...gone });
    }
    expect(await refused('get_info', { model_id: `${model.slice(0, 36)}:train:9` })).toEqual(bad(404, 'no such model'));
    expect(await refused('retrieve_future', { request_id: `${model.slice(0, 36)}:request:${unknown}` })).toEqual(
      bad(410, 'no such request'),
    );
    expect(await refused('save_weights', { model_id: model, path: '../x' })).toEqual(bad(400, 'a name of at most'));
    expect(await refused('load_weights', { model_id: model, path: '/etc/passwd', optimizer: false })).toEqual(
      bad(400, 'tinker://'),
    );
    for (const path of ['sessions', 'training_runs', 'checkpoints', 'futures']) {
      expect((await fetch(`${served.server.url}/api/v1/${path}`)).status).toBe(404);
    }
  });

  it('are bounded: bodies, sessions, models, futures that nobody fetches, idle sessions', async () => {
    let now = 0;
    const limits = { sessions: 3, models: 2, futures: 4, idleMs: 1000, clock: () => now };
    await start({ bodyBytes: 4096, limits });
    expect(await refused('create_session', { tags: ['x'.repeat(5000)] })).toEqual(bad(413, 'at most 4096 bytes'));
    expect(await refused('create_session', '{}', { 'content-type': 'text/plain' })).toEqual(
      bad(415, 'application/json'),
    );
    expect(await refused('create_session', gzipSync('{}'), { 'content-encoding': 'gzip' })).toEqual(
      bad(415, 'not compressed'),
    );
    const [one, two] = [await served.model(1), await served.model(2)];
    const session = await served.session();
    expect(await refused('create_session', {})).toEqual(bad(429, '3 sessions are open'));
    const third = { session_id: session, base_model: served.server.service.baseModel };
    expect(await refused('create_model', third)).toEqual(bad(429, '2 models are open'));
    const ids: string[] = [];
    for (let i = 0; i < 8; i++) {
      ids.push(
        ((await (await served.post('optim_step', { model_id: one, ...adam })).json()) as { request_id: string })
          .request_id,
      );
      await served.fetchAnswer(ids[i]);
    }
    expect(await refused('retrieve_future', { request_id: ids[0] })).toEqual(bad(410, 'not fetched for too long'));
    expect(served.server.service.sessions.of(one, 'model').futures.size).toBeLessThanOrEqual(4);
    const model = served.opened(two);
    now = 1000;
    await served.ask('get_info', { model_id: one });
    now = 1001;
    expect(await refused('get_info', { model_id: two })).toEqual(bad(404, 'no such model'));
    expect(await served.ask('get_info', { model_id: one })).toMatchObject({ model_id: one });
    expect(served.server.service.sessions.count).toBe(1);
    // What a closed session had is freed.
    await expect(
      model.step({ learning_rate: 1, beta1: 0, beta2: 0, eps: 1, weight_decay: 0, grad_clip_norm: 0 }),
    ).rejects.toThrow();
    expect(await served.model()).toMatch(/:train:/);
  });

  it('are told when too much of theirs is in line, and that the server ends', async () => {
    await start({ limits: { futures: 4 } });
    const model = await served.model();
    // Number 1 never comes, so these wait.
    const send = (seq_id: number) => served.post('optim_step', { model_id: model, ...adam, seq_id });
    const { request_id: id } = (await (await send(2)).json()) as { request_id: string };
    for (const number of [3, 4, 5]) expect((await send(number)).status).toBe(200);
    expect(await refused('optim_step', { model_id: model, ...adam, seq_id: 6 })).toEqual(bad(429, 'too many requests'));
    const { sessions } = served.server.service;
    const waiting = () => sessions.of(id, 'request').futures.get(id)?.waiting.size;
    // A client that is killed while it waits leaves nothing behind.
    const killed = new AbortController();
    const url = `${served.server.url}/api/v1/retrieve_future`;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ request_id: id });
    const asked = fetch(url, { method: 'POST', headers, body, signal: killed.signal });
    await expect.poll(waiting).toBe(1);
    killed.abort();
    await expect(asked).rejects.toThrow();
    await expect.poll(waiting).toBe(0);
    const polled = served.post('retrieve_future', { request_id: id });
    await expect.poll(waiting).toBe(1);
    await served.server[Symbol.asyncDispose]();
    expect(await (await polled).json()).toEqual({ error: 'the session was closed.', category: 'user' });
    expect(sessions.count).toBe(0);
  });
});

describe('who may ask', () => {
  const token = 'tml-0123456789abcdef';
  it('shows the token as a bearer or as the key of the SDK, and it is told to nobody', async () => {
    await start({ token });
    expect(await refused('create_session', {})).toEqual(bad(401, 'token'));
    expect(await refused('create_session', {}, { 'x-api-key': 'tml-other' })).toEqual(bad(401, 'token'));
    const shown: Record<string, string>[] = [{ 'x-api-key': token }, { authorization: `Bearer ${token}` }];
    for (const headers of shown) {
      const response = await served.post('create_session', {}, headers);
      expect(response.status).toBe(200);
      expect(await response.text()).not.toContain(token);
    }
    const { status } = await fetch(`${served.server.url}/api/v1/healthz`);
    expect(status).toBe(401);
    expect(served.warnings.join()).not.toContain(token);
  });

  it('is a program of this machine where there is no token; and the server connects to nobody', async () => {
    await start();
    expect(await refused('create_session', {}, { origin: 'https://example.com' })).toEqual(bad(403, 'own machine'));
    const connect = vi.spyOn(Socket.prototype, 'connect');
    const model = await served.model();
    await served.ask('forward_backward', learning(model, [good]));
    await served.ask('telemetry', { events: [], session_id: 'x' });
    const { port } = new URL(served.server.url);
    const ports = connect.mock.calls.map((words) => JSON.stringify(words).match(/"port":"?(\d+)/)?.[1]);
    connect.mockRestore();
    expect(new Set(ports)).toEqual(new Set(ports.length === 0 ? [] : [port]));
  });
});
