/** The server: answers of both kinds, the same alone and in a crowd, and clients that are slow, broken or hostile. */
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import { modelDirectory } from '../../src/lab/index.ts';
import { ModelFolder } from '../../src/model/index.ts';
import { PolicyServer, type ServedState, type ServerOptions } from '../../src/serve/index.ts';
import { parseChat, parseCompletion } from '../../src/serve/requests.ts';
import { type MadePolicy, makeServed } from './served.ts';

interface Answer {
  readonly choices: readonly {
    readonly index: number;
    readonly text: string;
    readonly message: { readonly content: string };
    readonly finish_reason: string;
    readonly token_ids: readonly number[];
    readonly logprobs: {
      readonly tokens: readonly string[];
      readonly text_offset: readonly number[];
      readonly token_logprobs: readonly number[];
      readonly top_logprobs: readonly Record<string, number>[];
      readonly content: readonly { readonly logprob: number; readonly top_logprobs: readonly unknown[] }[];
    };
  }[];
  readonly usage: { readonly completion_tokens: number; readonly prompt_tokens: number };
  readonly error: { readonly message: string; readonly param: string | null; readonly code: string | null };
}

/** Long enough that a completion that fills it takes seconds. */
const context = 3000;
let made: MadePolicy;
let server: PolicyServer;
const warnings: string[] = [];

beforeAll(async () => {
  made = await makeServed(await createWasmDevice({ threads: 1 }), 'nano', 6, context);
});
afterAll(() => made[Symbol.asyncDispose]());
afterEach(() => server[Symbol.asyncDispose]());

async function start(options: Partial<ServerOptions> = {}): Promise<void> {
  warnings.length = 0;
  const base = { host: '127.0.0.1', port: 0, token: null, warn: (message: string) => warnings.push(message) };
  server = await PolicyServer.start(made.served, { ...base, ...options });
}

const post = (path: string, body: unknown, init: RequestInit = {}) =>
  fetch(`${server.url}${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
  });

async function ask(path: string, body: unknown): Promise<Answer> {
  return (await (await post(path, body)).json()) as Answer;
}

const prompt = [5, 6, 7, 8];
const plain = { prompt, max_tokens: 8, seed: 3, return_token_ids: true };
const messages = [{ role: 'user', content: 'hi' }];
const health = async () =>
  (await (await fetch(server.url.replace('/v1', '/health'))).json()) as { running: number; waiting: number };

async function untilIdle(): Promise<void> {
  await expect.poll(health, { timeout: 4000 }).toMatchObject({ running: 0, waiting: 0 });
}

/** The events of a stream, without the last, which must be [DONE]. */
async function events(body: unknown, path = '/completions'): Promise<Record<string, never>[]> {
  const text = await (await post(path, body)).text();
  const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, line]) => line);
  expect(data.at(-1)).toBe('[DONE]');
  return data.slice(0, -1).map((line) => JSON.parse(line) as Record<string, never>);
}

describe('answers', () => {
  it('are those of each state by its name, the tokens that `generate` draws', async () => {
    await start();
    const models = (await (await fetch(`${server.url}/models`)).json()) as { data: { id: string }[] };
    const names = models.data.map(({ id }) => id);
    expect(names).toEqual(['deployed', 'trained', 'base']);
    const found: string[] = [];
    for (const model of names) {
      const { choices, usage } = await ask('/completions', { ...plain, model });
      const expected = await made.alone(model as ServedState, Int32Array.from(prompt), 3, 1, 8);
      expect(choices[0].token_ids).toEqual(expected);
      expect(usage).toEqual({
        prompt_tokens: 4,
        completion_tokens: expected.length,
        total_tokens: 4 + expected.length,
      });
      found.push(expected.join());
    }
    expect(new Set(found).size).toBe(3);
    const unknown = await ask('/completions', { ...plain, model: 'gpt' });
    expect(unknown.error).toMatchObject({
      code: 'model_not_found',
      message: expect.stringContaining('deployed, trained, base'),
    });
  });

  it('are the same in a crowd as alone, and nobody gets those of another', async () => {
    await start();
    const wanted = Array.from({ length: 24 }, (_, i) => ({
      model: made.served.states[i % 3],
      prompt: Array.from({ length: 3 + (i % 5) }, (_unused, t) => 20 + ((i * 7 + t) % 60)),
      seed: i,
      temperature: i % 4 === 0 ? 0 : 1,
      max_tokens: 4 + (i % 6),
      return_token_ids: true,
    }));
    const expected: number[][] = [];
    for (const { model, prompt: own, seed, temperature, max_tokens } of wanted) {
      expected.push(await made.alone(model, Int32Array.from(own), seed, temperature, max_tokens));
    }
    const answers = await Promise.all(wanted.map((body) => ask('/completions', body)));
    expect(answers.map(({ choices }) => choices[0].token_ids)).toEqual(expected);
  });

  it('stream the text that they have as a whole, for completions and for chats', async () => {
    await start();
    const whole = await ask('/completions', plain);
    const chunks = (await events({
      ...plain,
      stream: true,
      stream_options: { include_usage: true },
    })) as never as (Answer & { usage?: unknown })[];
    const told = chunks.flatMap(({ choices }) => choices);
    expect(told.map(({ text }) => text).join('')).toBe(whole.choices[0].text);
    expect(told.flatMap(({ token_ids: ids }) => ids)).toEqual(whole.choices[0].token_ids);
    expect(told.at(-1)?.finish_reason).toBe(whole.choices[0].finish_reason);
    expect(chunks.at(-1)?.usage).toEqual(whole.usage);
    const chat = { messages, max_tokens: 8, seed: 4 };
    const answer = await ask('/chat/completions', chat);
    const deltas = (await events({ ...chat, stream: true }, '/chat/completions')) as never as {
      choices: { delta: { content: string } }[];
    }[];
    expect(deltas.map(({ choices }) => choices[0].delta.content).join('')).toBe(answer.choices[0].message.content);
  });

  it('have log-probabilities, several choices, prompts in a list, and stop at texts and tokens', async () => {
    await start();
    const { choices } = await ask('/completions', { ...plain, prompt: [prompt, [9, 10]], n: 2, logprobs: 2 });
    expect(choices).toHaveLength(4);
    expect(new Set(choices.map(({ token_ids: ids }) => ids.join())).size).toBe(4);
    for (const { token_ids: ids, logprobs } of choices) {
      expect(logprobs.token_logprobs).toHaveLength(ids.length);
      expect(Object.keys(logprobs.top_logprobs[0]).length).toBeLessThanOrEqual(3);
    }
    const chat = await ask('/chat/completions', { messages, max_tokens: 3, logprobs: true, top_logprobs: 4 });
    expect(chat.choices[0].logprobs.content[0].top_logprobs).toHaveLength(4);
    const [first, second] = choices[0].token_ids;
    const byToken = await ask('/completions', { ...plain, stop_token_ids: [second] });
    expect(byToken.choices[0]).toMatchObject({
      finish_reason: 'stop',
      token_ids: first === second ? [first] : [first, second],
    });
    const [{ text }] = (await ask('/completions', plain)).choices;
    const byText = await ask('/completions', { ...plain, stop: [text.slice(2, 4)] });
    expect(byText.choices[0]).toMatchObject({
      finish_reason: 'stop',
      text: text.slice(0, text.indexOf(text.slice(2, 4))),
    });
  });
});

describe('prompts that are told again', () => {
  const echo = { prompt, echo: true, logprobs: 1, seed: 3, temperature: 0, max_tokens: 1 };

  it('have the log-probabilities that their tokens have as completions', async () => {
    await start();
    const drawn = await ask('/completions', { ...plain, logprobs: 2 });
    const ids = [...prompt, ...drawn.choices[0].token_ids];
    const { choices } = await ask('/completions', { ...echo, prompt: ids, max_tokens: 0, logprobs: 2 });
    const { tokens, token_logprobs: logps, top_logprobs: tops, text_offset: offsets } = choices[0].logprobs;
    expect([logps[0], tops[0]]).toEqual([null, null]);
    for (const each of [tokens, logps, tops, offsets]) expect(each).toHaveLength(ids.length);
    expect(choices[0].text).toBe(made.served.tokenizer.decode(ids));
    drawn.choices[0].logprobs.token_logprobs.forEach((logp, i) => {
      expect(logps[prompt.length + i]).toBeCloseTo(logp, 4);
      expect(tops[prompt.length + i][tokens[prompt.length + i]]).toBeGreaterThanOrEqual(logps[prompt.length + i]);
    });
  });

  it('come with their completion, for several prompts, the same alone and in a crowd', async () => {
    await start();
    const prompts = [prompt, [9, 10, 11], [12, 13]];
    const together = await ask('/completions', { ...echo, prompt: prompts });
    expect(together.choices.map(({ logprobs }) => logprobs.tokens.length)).toEqual([5, 4, 3]);
    const alone = await Promise.all(prompts.map((each) => ask('/completions', { ...echo, prompt: each })));
    expect(together.choices.map(({ logprobs }) => logprobs)).toEqual(alone.map(({ choices }) => choices[0].logprobs));
    expect(together.usage).toMatchObject({ prompt_tokens: 9, completion_tokens: 3 });
    const [text] = (await ask('/completions', { ...echo, prompt: 'hello', logprobs: null })).choices;
    expect(text).toMatchObject({ text: expect.stringMatching(/^hello/), logprobs: null });
  });
});

describe('the requests of harnesses', () => {
  it('of lm-eval: several prompts of ids with an echo, and texts with stops and its end token', async () => {
    await start();
    const asked = { model: 'trained', temperature: 0, max_tokens: 1, logprobs: 1, seed: 1234, echo: true };
    const scored = await ask('/completions', { ...asked, prompt: [prompt, [9, 10, 11, 12, 13]] });
    for (const { index, logprobs } of scored.choices) {
      // It sums these from the end of the context to the last token but one, and calls them greedy where none is below its likeliest.
      const [own, tops] = [logprobs.token_logprobs.slice(2, -1), logprobs.top_logprobs.slice(2, -1)];
      expect([own.length, tops.length]).toEqual([index + 2, index + 2]);
      own.forEach((logp, i) => {
        expect(Math.max(...Object.values(tops[i]))).toBeGreaterThanOrEqual(logp);
      });
    }
    const until = { prompt: ['one', 'two'], model: 'base', max_tokens: 4, temperature: 0, seed: 1234 };
    const { choices } = await ask('/completions', { ...until, stop: ['\n\n', '<|im_end|>'] });
    expect(choices.map(({ index, text }) => [index, typeof text])).toEqual([
      [0, 'string'],
      [1, 'string'],
    ]);
  });

  it('of Inspect: a chat with parts, choices, stops and log-probabilities', async () => {
    await start();
    const content = [{ type: 'text', text: 'hi' }];
    const system = { role: 'system', content: 'short' };
    const settings = { max_tokens: 4, stop: ['zz'], seed: 1, temperature: 0.5, top_p: 0.9, n: 2 };
    const answer = await ask('/chat/completions', {
      ...{ model: 'deployed', messages: [system, { role: 'user', content }], ...settings },
      ...{ logprobs: true, top_logprobs: 2, parallel_tool_calls: false },
    });
    expect(answer).toMatchObject({
      object: 'chat.completion',
      model: 'deployed',
      id: expect.stringMatching(/^chatcmpl-/),
    });
    expect(answer.choices).toHaveLength(2);
    for (const { message, finish_reason: finish, logprobs } of answer.choices) {
      expect([message, ['stop', 'length'].includes(finish)]).toEqual([
        { role: 'assistant', content: expect.any(String) },
        true,
      ]);
      for (const each of logprobs.content) {
        expect(each).toMatchObject({ token: expect.any(String), logprob: expect.any(Number) });
      }
    }
  });
});

describe('requests that cannot be answered', () => {
  it.each([
    ['no JSON', '{', 400, /no JSON/],
    ['another type', [1], 400, /expected a JSON object/],
    ['no prompt', {}, 400, /^prompt: expected/],
    ['a temperature below zero', { ...plain, temperature: -1 }, 400, /^temperature: expected a number from 0/],
    ['a token that does not exist', { prompt: [1e6] }, 400, /below \d+, the vocabulary/],
    ['more than fits', { prompt: prompt, max_tokens: 2997 }, 400, /more than 3000/],
    ['a prompt that fills everything', { prompt: Array.from({ length: 3000 }, () => 5) }, 400, /more than 3000/],
    ['a text that cannot fit', { prompt: 'x'.repeat(200_000) }, 400, /characters/],
    ['what would change the answer', { ...plain, frequency_penalty: 1 }, 400, /frequency_penalty is not supported/],
    ['an echo in a stream', { ...plain, echo: true, stream: true }, 400, /echo is not supported in a stream/],
    ['ten thousand stops', { ...plain, stop: Array.from({ length: 10_000 }, String) }, 400, /^stop: expected/],
    ['a stop without text', { ...plain, stop: [''] }, 400, /^stop/],
    ['a negative number of choices', { ...plain, n: -1 }, 400, /^n: expected a whole number from 1/],
    ['fewer than no tokens', { ...plain, max_tokens: -1 }, 400, /^max_tokens: expected a whole number from 0/],
    ['a number that is none', '{"prompt": [5], "temperature": NaN}', 400, /no JSON/],
    ['a number beyond all', '{"prompt": [5], "temperature": 1e999}', 400, /^temperature: expected/],
    ['a path for a model', { ...plain, model: '../../etc/passwd' }, 404, /there is deployed/],
    ['a name that objects have', { ...plain, model: '__proto__' }, 404, /there is deployed/],
    ['a token below zero', { prompt: [-1] }, 400, /^prompt/],
    ['a long body', { prompt: 'x'.repeat(270_000) }, 413, /bytes/],
  ])('%s', async (_what, body, status, message) => {
    await start({ bodyBytes: 262_144 });
    const response = await post('/completions', body);
    expect(response.status).toBe(status);
    expect(((await response.json()) as Answer).error.message).toMatch(message);
    expect(warnings).toEqual([]);
  });

  it('are told why, but no name of a file of the server', async () => {
    await using folder = await ModelFolder.open(modelDirectory('micro'));
    const options = { host: '127.0.0.1', port: 0, token: null };
    server = await PolicyServer.start({ ...made.served, tokenizer: folder.tokenizer }, options);
    const { error } = await ask('/completions', { prompt: 'unheard-of words' });
    expect(error).toMatchObject({
      message: expect.stringMatching(/^prompt: expected text made of tokens/),
      param: 'prompt',
    });
    expect(error.message).not.toContain('tokenizer.json');
  });

  it('ask for more rows than can ever wait', async () => {
    await start({ queue: 8 });
    const response = await post('/completions', { prompt: Array.from({ length: 20_000 }, () => [5]), n: 128 });
    expect(response.status).toBe(400);
    expect(((await response.json()) as Answer).error.message).toBe(
      'the request asks for 2560000 completions; this server has room for 14.',
    );
  });

  it('are refused at the first wrong member of a list: a body has room for a million', async () => {
    const long = (first: unknown) =>
      Object.defineProperty([first, null], 1, { get: () => expect.unreachable('a second member was looked at') });
    for (const first of [[], -1, {}]) {
      expect(() => parseCompletion({ prompt: long(first) })).toThrow(/^prompt: expected a text, a list/);
    }
    expect(() => parseChat({ messages: [{ role: 'user', content: long({}) }] })).toThrow(/^messages.0.content: /);
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    expect(() => parseCompletion({ prompt: [5], logit_bias: deep })).toThrow('logit_bias is not supported');
  });

  it('fail for a reason of the server, which its log has', async () => {
    const prompt = () => {
      throw new Error('a fault of ours');
    };
    const options = { host: '127.0.0.1', port: 0, token: null, warn: (message: string) => warnings.push(message) };
    warnings.length = 0;
    server = await PolicyServer.start({ ...made.served, text: { ...made.served.text, prompt } }, options);
    const response = await post('/chat/completions', { messages: [{ role: 'user', content: 'a' }] });
    expect(response.status).toBe(500);
    expect(warnings).toEqual([expect.stringContaining('a fault of ours')]);
  });

  it('come from pages of the web, from strangers, or to no place', async () => {
    await start();
    expect((await post('/completions', plain, { headers: { origin: 'http://elsewhere' } })).status).toBe(403);
    expect((await post('/completions', plain, { headers: { 'content-type': 'text/plain' } })).status).toBe(415);
    expect((await post('/embeddings', plain)).status).toBe(404);
    await server[Symbol.asyncDispose]();
    await start({ token: 'secret' });
    expect((await post('/completions', plain)).status).toBe(401);
    expect((await fetch(`${server.url}/models`, { headers: { authorization: 'Bearer secre' } })).status).toBe(401);
    expect((await post('/completions', plain, { headers: { authorization: 'bearer secret' } })).status).toBe(200);
  });
});

describe('clients that are slow, broken or hostile', () => {
  it('free their rows when they go away, also in the middle of a stream', async () => {
    await start();
    const stop = new AbortController();
    const long = { ...plain, max_tokens: 2900, ignore_eos: true };
    const gone = Array.from({ length: 12 }, (_, i) =>
      post('/completions', { ...long, stream: i % 2 === 0 }, { signal: stop.signal }),
    );
    await expect.poll(health).toMatchObject({ running: 6 });
    stop.abort();
    await Promise.allSettled(gone);
    await untilIdle();
    expect((await ask('/completions', plain)).choices[0].token_ids).toEqual(
      await made.alone('deployed', Int32Array.from(prompt), 3, 1, 8),
    );
    expect(warnings).toEqual([]);
  });

  it('are let go when their request does not arrive, and others are answered meanwhile', async () => {
    await start({ arrivalMs: 300 });
    const { port } = new URL(server.url);
    const ended = [
      'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Le',
      'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"pro',
      '\0\0garbage\r\n\r\n',
    ].map(
      (text) =>
        new Promise<void>((resolve) => {
          const socket = connect(Number(port), '127.0.0.1', () => socket.write(text));
          socket.on('error', () => undefined).on('close', () => resolve());
          socket.resume();
        }),
    );
    expect((await ask('/completions', plain)).choices).toHaveLength(1);
    await Promise.all(ended);
    expect(warnings).toEqual([]);
  });

  it('cannot lock others out by connections that they hold open', async () => {
    await start({ connections: 8 });
    const { port } = new URL(server.url);
    const long = post('/completions', { ...plain, max_tokens: 400, ignore_eos: true });
    await expect.poll(health).toMatchObject({ running: 1 });
    const head = 'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    const held = Array.from({ length: 40 }, (_, i) => {
      const socket = connect(Number(port), '127.0.0.1', () =>
        socket.write(i % 2 ? head : `${head}Content-Length: 9\r\n\r\n{`),
      );
      return socket.on('error', () => undefined).resume();
    });
    await expect.poll(() => held.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(30);
    const body = JSON.stringify(plain);
    const answer = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connect(Number(port), '127.0.0.1', () =>
        socket.write(`${head}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
      );
      socket.on('error', () => undefined).on('close', () => resolve(text));
      socket.on('data', (data) => {
        text += data;
      });
    });
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect((await long).status).toBe(200);
    for (const socket of held) socket.destroy();
  });

  it('wait in a line of limited length and time', async () => {
    await start({ queue: 2, seconds: 0.2 });
    const long = { ...plain, max_tokens: 2900, ignore_eos: true, n: 6 };
    const responses = await Promise.all(Array.from({ length: 6 }, () => post('/completions', long)));
    const statuses = responses.map(({ status }) => status);
    expect(statuses).toEqual(expect.arrayContaining([429, 503]));
    expect(statuses.every((status) => [429, 503].includes(status))).toBe(true);
    for (const response of responses) await response.text();
    await untilIdle();
  });

  it('see a clean end when the server ends', async () => {
    await start();
    const asked = post('/completions', { ...plain, max_tokens: 2900, ignore_eos: true });
    await expect.poll(health).toMatchObject({ running: 1 });
    const closing = server[Symbol.asyncDispose]();
    expect((await asked).status).toBe(503);
    await closing;
    await start();
  });
});
