/** The endpoint of a judge against a server that is late, breaks off, refuses, floods, redirects and says nonsense. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnsweringServer, answeringServer, type Respond, say } from '../../../test/answering-server.ts';
import { addressFault } from '../../base/index.ts';
import { ChatEndpoint, type EndpointSettings } from './endpoint.ts';

const variable = 'GQ_TEST_JUDGE_KEY';
const key = 'sk-secret/"quoted\\"-0123';
const never = new AbortController().signal;
const flood = 'x'.repeat(2 << 20);

beforeEach(() => {
  process.env[variable] = key;
});
afterEach(() => {
  delete process.env[variable];
});

interface Asked {
  readonly server: AnsweringServer;
  readonly pauses: readonly number[];
  readonly ask: () => ReturnType<ChatEndpoint['ask']>;
}

async function asking(respond: Respond, changes: Partial<EndpointSettings> = {}): Promise<Asked & AsyncDisposable> {
  const server = await answeringServer(respond);
  const pauses: number[] = [];
  const settings = {
    ...{ modelName: 'a-model', keyVariable: variable, maxTokens: 16 },
    ...{ timeoutSeconds: 5, retries: 2, ...changes },
  };
  const endpoint = new ChatEndpoint(server.endpoint, settings, async (seconds) => void pauses.push(seconds));
  return {
    server,
    pauses,
    ask: () => endpoint.ask('Is it?', never),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

it('asks at temperature 0 with the key in the header, and reads text and tokens', async () => {
  await using asked = await asking((response) => say(response, ' Yes\n'));
  expect(await asked.ask()).toEqual({ text: 'Yes', fault: null, detail: 'Yes', requests: 1, tokens: 7, model: null });
  const [{ path, authorization, body }] = asked.server.requests;
  expect([path, authorization]).toEqual(['/v1/chat/completions', `Bearer ${key}`]);
  const messages = [{ role: 'user', content: 'Is it?' }];
  expect(body).toEqual({ model: 'a-model', messages, temperature: 0, max_tokens: 16 });
});

describe('answers that say nothing are named, and not asked for again', () => {
  const raw =
    (body: string, status = 200): Respond =>
    (response) => {
      response.writeHead(status).end(body);
    };
  it.each<[string, string, Respond]>([
    ['empty', 'an empty text', (response) => say(response, '  ')],
    ['empty', 'no text', (response) => say(response, null)],
    ['malformed', 'a number', (response) => say(response, 1)],
    ['malformed', 'NaN', raw('{"choices":[{"message":{"content":NaN}}]}')],
    ['malformed', 'a page', raw('<!doctype html><title>Sign in</title><p>Yes</p>')],
    ['malformed', 'an error', raw('{"error":{"message":"Yes"}}')],
    ['malformed', 'a text in parts', (response) => say(response, [{ type: 'text', text: 'Yes' }])],
    ['malformed', 'an empty body', raw('')],
    ['malformed', 'no choices', raw('{"choices":[]}')],
    ['malformed', 'a list', raw('[]')],
    ['refused', 'a refusal', raw('{"choices":[{"message":{"content":null,"refusal":"I cannot"}}]}')],
    ['refused', 'a filter', raw('{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}')],
    ['refused', 'status 400', raw('{"error":"too long"}', 400)],
    ['too long', 'two megabytes', (response) => say(response, 'Yes'.repeat(700_000))],
  ])('%s: %s', async (fault, _what, respond) => {
    await using asked = await asking(respond);
    expect(await asked.ask()).toMatchObject({ text: null, fault, requests: 1 });
    expect(asked.server.requests).toHaveLength(1);
  });
});

describe('failures on the way', () => {
  it.each<[string, string, Respond]>([
    ['failing', 'status 503', (response) => void response.writeHead(503).end('busy')],
    ['failing', 'status 503 with two megabytes', (response) => void response.writeHead(503).end(flood)],
    ['unreachable', 'a connection that is closed', (response) => void response.destroy()],
    [
      'unreachable',
      'an answer that breaks off',
      (response) => void response.writeHead(200, { 'content-length': '99' }).write('{', () => response.destroy()),
    ],
    ['overloaded', 'status 429', (response) => void response.writeHead(429).end()],
  ])('%s: %s is tried again, with pauses that double', async (fault, _what, respond) => {
    await using asked = await asking(respond);
    expect(await asked.ask()).toMatchObject({ text: null, fault, requests: 3, tokens: 0 });
    expect(asked.pauses).toEqual([0.5, 1]);
  });

  it('is late after its seconds, and answered at the next attempt', async () => {
    const respond: Respond = (response, _request, count) => {
      if (count > 0) say(response, 'No');
    };
    await using asked = await asking(respond, { timeoutSeconds: 0.4 });
    expect(await asked.ask()).toMatchObject({ text: 'No', requests: 2 });
    await using stubborn = await asking(() => undefined, { timeoutSeconds: 0.05, retries: 0 });
    expect(await stubborn.ask()).toMatchObject({ fault: 'late', detail: 'no answer within 0.05 seconds' });
  });

  it('is late where it trickles without an end, and where it stops after the headers', async () => {
    const trickle: Respond = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const clock = setInterval(() => response.write(' '), 5);
      response.once('close', () => clearInterval(clock));
    };
    const silent: Respond = (response) => void response.writeHead(200, { 'content-length': '40' }).flushHeaders();
    for (const respond of [trickle, silent]) {
      await using asked = await asking(respond, { timeoutSeconds: 0.1, retries: 0 });
      expect(await asked.ask()).toMatchObject({ text: null, fault: 'late', requests: 1 });
    }
  });

  it.each([
    ['7', [7, 1]],
    [new Date(Date.now() - 9e6).toUTCString(), [0.5, 1]],
    ['NaN', [0.5, 1]],
    ['-5', [0.5, 1]],
  ])('waits as Retry-After says: %s', async (header, pauses) => {
    await using asked = await asking((response, _request, count) => {
      response.writeHead(429, count === 0 ? { 'retry-after': header } : {}).end();
    });
    await asked.ask();
    expect(asked.pauses).toEqual(pauses);
  });

  it.each(['3600', '9'.repeat(30), new Date(Date.now() + 9e10).toUTCString()])(
    'gives up where it would have to wait for an hour or more: %s',
    async (header) => {
      await using asked = await asking((response) => void response.writeHead(429, { 'retry-after': header }).end());
      expect(await asked.ask()).toMatchObject({ fault: 'overloaded', requests: 1 });
      expect(asked.pauses).toEqual([]);
    },
  );
});

describe('the key', () => {
  it('does not follow a redirect', async () => {
    await using elsewhere = await answeringServer((response) => say(response, 'Yes'));
    const location = `${elsewhere.endpoint}/chat/completions`;
    await using asked = await asking((response) => void response.writeHead(307, { location }).end());
    await expect(asked.ask()).rejects.toThrow(/status 307.*Redirects are not followed/);
    expect(elsewhere.requests).toEqual([]);
  });

  it('is struck out of everything that the server says', async () => {
    const echo =
      (status: number): Respond =>
      (response, { authorization }) => {
        response.statusCode = status;
        say(response, `Yes ${authorization}`);
      };
    await using answer = await asking(echo(200));
    expect(await answer.ask()).toMatchObject({ text: 'Yes Bearer [key]' });
    await using plain = await asking((response, { authorization }) => void response.writeHead(400).end(authorization));
    expect(await plain.ask()).toMatchObject({ detail: 'status 400: Bearer [key]' });
    await using refused = await asking(
      (response, { authorization }) => void response.writeHead(401).end(authorization),
    );
    await expect(refused.ask()).rejects.toThrow(/status 401: Bearer \[key\]\. Check .*GQ_TEST_JUDGE_KEY/);
    await using long = await asking((response) => void response.writeHead(401).end(flood));
    await expect(long.ask()).rejects.toThrow(/found status 401\. Check/);
  });

  it('must be there for an address elsewhere, and need not be for one here', async () => {
    const settings = { modelName: 'm', keyVariable: variable, maxTokens: 1, timeoutSeconds: 1, retries: 0 };
    const open = (endpoint: string, keyVariable = variable) => new ChatEndpoint(endpoint, { ...settings, keyVariable });
    delete process.env[variable];
    expect(() => open('https://api.example.com/v1')).toThrow(
      /a key in the environment variable GQ_TEST_JUDGE_KEY, found none/,
    );
    process.env[variable] = 'two words';
    expect(() => open('https://api.example.com/v1')).toThrow(/characters that no key has/);
    expect(() => open('https://api.example.com/v1', '')).not.toThrow();
    delete process.env[variable];
    await using asked = await asking((response) => say(response, 'No'));
    await asked.ask();
    expect(asked.server.requests[0].authorization).toBeNull();
  });
});

it('takes https anywhere, http on this machine, and no address with secrets in it', () => {
  for (const good of [
    'https://api.example.com/v1',
    'http://localhost:8000/v1',
    'http://127.0.0.1:1/',
    'http://[::1]/v1',
  ]) {
    expect(addressFault(good)).toBeNull();
  }
  for (const bad of ['http://api.example.com/v1', 'http://localhost.example.com', 'ftp://localhost', 'v1', '']) {
    expect(addressFault(bad)).toMatch(/begins with https/);
  }
  for (const bad of ['https://me:secret@api.example.com', 'https://api.example.com/v1?key=secret', 'https://h/#x']) {
    expect(addressFault(bad)).toMatch(/without a name, a password or a query/);
  }
});
