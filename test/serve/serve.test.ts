/** The server: answers of both kinds, the same alone and in a crowd, and requests that cannot be answered. */
import { describe, expect, it } from 'vitest';
import { modelDirectory } from '../../src/lab/index.ts';
import { ModelFolder } from '../../src/model/index.ts';
import type { ServedState } from '../../src/serve/index.ts';
import { type Answer, Client, plain, prompt } from './client.ts';

const client = new Client();
const messages = [{ role: 'user', content: 'hi' }];

describe('answers', () => {
  it('are those of each state by its name, the tokens that `generate` draws', async () => {
    await client.start();
    const models = (await (await fetch(`${client.server.url}/models`)).json()) as { data: { id: string }[] };
    const names = models.data.map(({ id }) => id);
    expect(names).toEqual(['deployed', 'trained', 'base']);
    const found: string[] = [];
    for (const model of names) {
      const { choices, usage } = await client.ask('/completions', { ...plain, model });
      const expected = await client.made.alone(model as ServedState, Int32Array.from(prompt), 3, 1, 8);
      expect(choices[0].token_ids).toEqual(expected);
      expect(usage).toEqual({
        prompt_tokens: 4,
        completion_tokens: expected.length,
        total_tokens: 4 + expected.length,
      });
      found.push(expected.join());
    }
    expect(new Set(found).size).toBe(3);
    const unknown = await client.ask('/completions', { ...plain, model: 'gpt' });
    expect(unknown.error).toMatchObject({
      code: 'model_not_found',
      message: expect.stringContaining('deployed, trained, base'),
    });
  });

  it('are the same in a crowd as alone, and nobody gets those of another', async () => {
    await client.start();
    const wanted = Array.from({ length: 24 }, (_, i) => ({
      model: client.made.served.states[i % 3],
      prompt: Array.from({ length: 3 + (i % 5) }, (_unused, t) => 20 + ((i * 7 + t) % 60)),
      seed: i,
      temperature: i % 4 === 0 ? 0 : 1,
      max_tokens: 4 + (i % 6),
      return_token_ids: true,
    }));
    const expected: number[][] = [];
    for (const { model, prompt: own, seed, temperature, max_tokens } of wanted) {
      expected.push(await client.made.alone(model, Int32Array.from(own), seed, temperature, max_tokens));
    }
    const answers = await Promise.all(wanted.map((body) => client.ask('/completions', body)));
    expect(answers.map(({ choices }) => choices[0].token_ids)).toEqual(expected);
  });

  it('stream the text that they have as a whole, for completions and for chats', async () => {
    await client.start();
    const whole = await client.ask('/completions', plain);
    const chunks = (await client.events({
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
    const answer = await client.ask('/chat/completions', chat);
    const deltas = (await client.events({ ...chat, stream: true }, '/chat/completions')) as never as {
      choices: { delta: { content: string } }[];
    }[];
    expect(deltas.map(({ choices }) => choices[0].delta.content).join('')).toBe(answer.choices[0].message.content);
  });

  it('count a prompt once, however many choices share it, whole and in a stream', async () => {
    await client.start();
    const asked = { ...plain, prompt: [prompt, [9, 10]], n: 3, ignore_eos: true };
    const { choices, usage } = await client.ask('/completions', asked);
    expect(choices).toHaveLength(6);
    expect(usage).toEqual({ prompt_tokens: 6, completion_tokens: 48, total_tokens: 54 });
    const told = await client.events({ ...asked, stream: true, stream_options: { include_usage: true } });
    expect(told.at(-1)?.['usage']).toEqual(usage);
  });

  it('to the same prompt twice in a list are drawn with noise of their own', async () => {
    await client.start();
    const { choices } = await client.ask('/completions', { ...plain, prompt: [prompt, prompt, prompt], n: 2 });
    expect(new Set(choices.map(({ token_ids: ids }) => ids.join())).size).toBe(6);
    const again = await client.ask('/completions', { ...plain, prompt: [prompt, prompt, prompt], n: 2 });
    expect(again.choices.map(({ token_ids: ids }) => ids)).toEqual(choices.map(({ token_ids: ids }) => ids));
  });

  it('have log-probabilities, several choices, prompts in a list, and stop at texts and tokens', async () => {
    await client.start();
    const { choices } = await client.ask('/completions', { ...plain, prompt: [prompt, [9, 10]], n: 2, logprobs: 2 });
    expect(choices).toHaveLength(4);
    expect(new Set(choices.map(({ token_ids: ids }) => ids.join())).size).toBe(4);
    for (const { token_ids: ids, logprobs } of choices) {
      expect(logprobs.token_logprobs).toHaveLength(ids.length);
      expect(Object.keys(logprobs.top_logprobs[0]).length).toBeLessThanOrEqual(3);
    }
    const chat = await client.ask('/chat/completions', { messages, max_tokens: 3, logprobs: true, top_logprobs: 4 });
    expect(chat.choices[0].logprobs.content[0].top_logprobs).toHaveLength(4);
    const [first, second] = choices[0].token_ids;
    const byToken = await client.ask('/completions', { ...plain, stop_token_ids: [second] });
    expect(byToken.choices[0]).toMatchObject({
      finish_reason: 'stop',
      token_ids: first === second ? [first] : [first, second],
    });
    const [{ text }] = (await client.ask('/completions', plain)).choices;
    const byText = await client.ask('/completions', { ...plain, stop: [text.slice(2, 4)] });
    expect(byText.choices[0]).toMatchObject({
      finish_reason: 'stop',
      text: text.slice(0, text.indexOf(text.slice(2, 4))),
    });
  });
});

describe('prompts that are told again', () => {
  const echo = { prompt, echo: true, logprobs: 1, seed: 3, temperature: 0, max_tokens: 1 };

  it('have the log-probabilities that their tokens have as completions', async () => {
    await client.start();
    const drawn = await client.ask('/completions', { ...plain, logprobs: 2 });
    const ids = [...prompt, ...drawn.choices[0].token_ids];
    const { choices } = await client.ask('/completions', { ...echo, prompt: ids, max_tokens: 0, logprobs: 2 });
    const { tokens, token_logprobs: logps, top_logprobs: tops, text_offset: offsets } = choices[0].logprobs;
    expect([logps[0], tops[0]]).toEqual([null, null]);
    for (const each of [tokens, logps, tops, offsets]) expect(each).toHaveLength(ids.length);
    expect(choices[0].text).toBe(client.made.served.tokenizer.decode(ids));
    drawn.choices[0].logprobs.token_logprobs.forEach((logp, i) => {
      expect(logps[prompt.length + i]).toBeCloseTo(logp, 4);
      expect(tops[prompt.length + i][tokens[prompt.length + i]]).toBeGreaterThanOrEqual(logps[prompt.length + i]);
    });
  });

  it('come with their completion, for several prompts, the same alone and in a crowd', async () => {
    await client.start();
    const prompts = [prompt, [9, 10, 11], [12, 13]];
    const together = await client.ask('/completions', { ...echo, prompt: prompts });
    expect(together.choices.map(({ logprobs }) => logprobs.tokens.length)).toEqual([5, 4, 3]);
    const alone = await Promise.all(prompts.map((each) => client.ask('/completions', { ...echo, prompt: each })));
    expect(together.choices.map(({ logprobs }) => logprobs)).toEqual(alone.map(({ choices }) => choices[0].logprobs));
    expect(together.usage).toMatchObject({ prompt_tokens: 9, completion_tokens: 3 });
    const [text] = (await client.ask('/completions', { ...echo, prompt: 'hello', logprobs: null })).choices;
    expect(text).toMatchObject({ text: expect.stringMatching(/^hello/), logprobs: null });
  });
});

describe('the requests of harnesses', () => {
  it('of lm-eval: several prompts of ids with an echo, and texts with stops and its end token', async () => {
    await client.start();
    const asked = { model: 'trained', temperature: 0, max_tokens: 1, logprobs: 1, seed: 1234, echo: true };
    const scored = await client.ask('/completions', { ...asked, prompt: [prompt, [9, 10, 11, 12, 13]] });
    for (const { index, logprobs } of scored.choices) {
      // It sums these from the end of the context to the last token but one, and calls them greedy where none is below its likeliest.
      const [own, tops] = [logprobs.token_logprobs.slice(2, -1), logprobs.top_logprobs.slice(2, -1)];
      expect([own.length, tops.length]).toEqual([index + 2, index + 2]);
      own.forEach((logp, i) => {
        expect(Math.max(...Object.values(tops[i]))).toBeGreaterThanOrEqual(logp);
      });
    }
    const until = { prompt: ['one', 'two'], model: 'base', max_tokens: 4, temperature: 0, seed: 1234 };
    const { choices } = await client.ask('/completions', { ...until, stop: ['\n\n', '<|im_end|>'] });
    expect(choices.map(({ index, text }) => [index, typeof text])).toEqual([
      [0, 'string'],
      [1, 'string'],
    ]);
  });

  it('of Inspect: a chat with parts, choices, stops and log-probabilities', async () => {
    await client.start();
    const content = [{ type: 'text', text: 'hi' }];
    const system = { role: 'system', content: 'short' };
    const settings = { max_tokens: 4, stop: ['zz'], seed: 1, temperature: 0.5, top_p: 0.9, n: 2 };
    const answer = await client.ask('/chat/completions', {
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
    ['a text that cannot fit', { prompt: 'x'.repeat(48_001) }, 400, /48001 characters/],
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
    await client.start({ bodyBytes: 262_144 });
    const response = await client.post('/completions', body);
    expect(response.status).toBe(status);
    expect(((await response.json()) as Answer).error.message).toMatch(message);
    expect(client.warnings).toEqual([]);
  });

  it('are told why, but no name of a file of the server', async () => {
    await using folder = await ModelFolder.open(modelDirectory('micro'));
    await client.start({}, { tokenizer: folder.tokenizer });
    const { error } = await client.ask('/completions', { prompt: 'unheard-of words' });
    expect(error).toMatchObject({
      message: expect.stringMatching(/^prompt: expected text made of tokens/),
      param: 'prompt',
    });
    expect(error.message).not.toContain('tokenizer.json');
  });

  it('ask for more rows than can ever wait', async () => {
    await client.start({ queue: 8 });
    const response = await client.post('/completions', { prompt: Array.from({ length: 20_000 }, () => [5]), n: 128 });
    expect(response.status).toBe(400);
    expect(((await response.json()) as Answer).error.message).toBe(
      'the request asks for 2560000 completions; this server has room for 14.',
    );
  });

  it('fail for a reason of the server, which its log has', async () => {
    const prompt = () => {
      throw new Error('a fault of ours');
    };
    await client.start({}, { text: { ...client.made.served.text, prompt } });
    const response = await client.post('/chat/completions', { messages: [{ role: 'user', content: 'a' }] });
    expect(response.status).toBe(500);
    expect(client.warnings).toEqual([expect.stringContaining('a fault of ours')]);
  });

  it('come from pages of the web, from strangers, or to no place', async () => {
    await client.start();
    expect((await client.post('/completions', plain, { headers: { origin: 'http://elsewhere' } })).status).toBe(403);
    expect((await client.post('/completions', plain, { headers: { 'content-type': 'text/plain' } })).status).toBe(415);
    expect((await client.post('/embeddings', plain)).status).toBe(404);
    await client.server[Symbol.asyncDispose]();
    await client.start({ token: 'secret' });
    expect((await client.post('/completions', plain)).status).toBe(401);
    expect((await fetch(`${client.server.url}/models`, { headers: { authorization: 'Bearer secre' } })).status).toBe(
      401,
    );
    expect((await client.post('/completions', plain, { headers: { authorization: 'bearer secret' } })).status).toBe(
      200,
    );
  });
});
