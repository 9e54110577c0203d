/** Servers that are slow, endless, broken or lying: each costs a bounded time and memory, and is told apart by its error. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { GraderError, UserError } from '../../src/base/index.ts';
import type { OutsideEnvironment } from '../../src/env/outside/environment.ts';
import { OpenEnvEnvironment } from '../../src/env/outside/openenv.ts';
import { OrsEnvironment } from '../../src/env/outside/ors.ts';
import { OutsideServer } from '../../src/env/outside/server.ts';
import { closed, type EchoServer, listening, openEnvEcho, orsEcho, sayEvents } from './echo-servers.ts';

const common = { keyVariable: '', tasks: 4, labels: false, concurrency: 2, timeoutSeconds: 20, retries: 0 };
const signal = new AbortController().signal;

type Changes = Partial<typeof common>;

function orsAt({ url }: Pick<EchoServer, 'url'>, changes: Changes = {}): OutsideEnvironment {
  const settings = { ...common, url, environment: '', tool: '', argument: '', ...changes };
  return new OrsEnvironment(new OutsideServer(settings, signal, async () => undefined), settings);
}

function openEnvAt({ url }: Pick<EchoServer, 'url'>, changes: Changes = {}): OutsideEnvironment {
  const settings = { ...common, url, prompt: 'task', action: '', reset: {}, step: {}, seed: 0, ...changes };
  return new OpenEnvEnvironment(new OutsideServer(settings, signal, async () => undefined), settings);
}

const place = { split: 'train', index: 0 };
const answerOf = (environment: OutsideEnvironment) => answerAt(environment, 'train-0', place);
const openEnvAnswer = (environment: OutsideEnvironment) => answerAt(environment, 'seed-0', { seed: 0 });

async function answerAt(environment: OutsideEnvironment, id: string, at: Readonly<Record<string, string | number>>) {
  return environment.answer({ id, split: null, place: at, messages: await environment.prompt(at) }, 'n += 1');
}

/** Writes for ever, as far as it is read; `sent` counts what was. */
function flood(response: ServerResponse, piece: string, sent: { bytes: number }): true {
  const write = (): void => {
    while (!response.destroyed && response.write(piece)) sent.bytes += piece.length;
    sent.bytes += piece.length;
  };
  response.writeHead(200, { 'content-type': 'application/json' }).on('drain', write);
  write();
  return true;
}

const onPath =
  (path: string, meddle: (response: ServerResponse) => void) =>
  (request: IncomingMessage, response: ServerResponse) => {
    if (request.url !== path) return false;
    meddle(response);
    return true;
  };

const result = (output: string): string => `{"ok": true, "output": ${output}}`;

const key = 'sk-outside-"0123456789';
const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

/** Does the work with a key in the environment, under the name that its settings are given. */
async function withKey(work: (settings: Changes) => Promise<void>): Promise<void> {
  process.env['GQ_TEST_OUTSIDE_KEY'] = key;
  try {
    await work({ keyVariable: 'GQ_TEST_OUTSIDE_KEY' });
  } finally {
    delete process.env['GQ_TEST_OUTSIDE_KEY'];
  }
}

/** Expects an error of the user's that says this, and nothing of the key. */
async function expectRefusal(work: Promise<unknown>, said: RegExp): Promise<void> {
  const error: unknown = await work.then(
    () => null,
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(UserError);
  expect(String(error)).toMatch(said);
  expect(String(error)).not.toContain('0123456789');
}

describe('ORS', () => {
  it('an honest server is paid by', async () => {
    await using server = await orsEcho();
    expect(await answerOf(orsAt(server))).toEqual({ reward: 1.5, labels: null });
  });

  it.each<[string, string, RegExp]>([
    ['NaN', '{"blocks": [], "reward": NaN, "finished": true}', /as JSON, found/],
    ['a text', '{"blocks": [], "reward": "1", "finished": true}', /a number as its reward.*output\.reward/],
    ['too much', '{"blocks": [], "reward": 1e300, "finished": true}', /a number as its reward/],
    ['nothing', '{"blocks": [], "reward": null, "finished": true}', /expected a reward, found none/],
    ['no end', '{"blocks": [], "reward": 1, "finished": false}', /Environments of several turns cannot be trained on/],
    ['torn JSON', '{"blocks": [', /as JSON, found/],
    ['a list', '[]', /the result of a tool call/],
  ])('refuses a reward that is %s', async (_name, output, expected) => {
    const call = onPath('/statements/call', (response) => sayEvents(response, ['end', result(output)]));
    await using server = await orsEcho({ meddle: call });
    const refused = answerOf(orsAt(server));
    await expect(refused).rejects.toThrow(expected);
    await expect(refused).rejects.toBeInstanceOf(UserError);
  });

  it('wants labels where they are asked for, and knows no others', async () => {
    const output = '{"blocks": [], "reward": 1, "finished": true, "metadata": {"labels": {"attempt": 1}}}';
    await using server = await orsEcho({
      meddle: onPath('/statements/call', (response) => sayEvents(response, ['end', result(output)])),
    });
    await expect(answerOf(orsAt(server, { labels: true }))).rejects.toThrow('expected labels (attempt, hack, correct)');
  });

  it.each<[string, string]>([
    ['a body', '/list_environments'],
    ['a stream of comments', '/statements/call'],
    ['a stream without an end', '/create_session'],
  ])('reads no more than a megabyte of %s that has no end', async (_name, path) => {
    const sent = { bytes: 0 };
    const piece = `${path === '/list_environments' ? '' : ': '}${'x'.repeat(65_534)}\n`;
    await using server = await orsEcho({ meddle: onPath(path, (response) => void flood(response, piece, sent)) });
    await expect(answerOf(orsAt(server))).rejects.toThrow(/expected at most 1048576 (?:bytes|characters)/);
    // What the system holds for a reader that went away is no part of ours.
    expect(sent.bytes).toBeLessThan(64 * 2 ** 20);
  });

  it('a server that never answers, or drips, is late', async () => {
    for (const meddle of [
      onPath('/statements/call', () => undefined),
      onPath('/statements/call', (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const drip = setInterval(() => response.write(': ping\n\n'), 20);
        response.on('close', () => clearInterval(drip));
      }),
    ]) {
      await using server = await orsEcho({ meddle });
      const late = answerOf(orsAt(server, { timeoutSeconds: 0.5 }));
      await expect(late).rejects.toThrow(/no whole answer to \S+ within 0\.5 seconds/);
      await expect(late).rejects.toBeInstanceOf(GraderError);
    }
  });

  it('one that breaks off half way is asked again in a new session, as often as allowed', async () => {
    let breaks = 0;
    const meddle = onPath('/statements/call', (response) => {
      breaks += 1;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: chunk\ndata: {"ok": tr\n\n', () => response.destroy());
    });
    await using server = await orsEcho({ meddle });
    await expect(answerOf(orsAt(server, { retries: 2 }))).rejects.toThrow(/3 times.*--resume/);
    expect(breaks).toBe(3);
    let once = 0;
    await using restored = await orsEcho({
      meddle: (request, response) =>
        request.url === '/statements/call' && once++ === 0 && !!response.writeHead(503).end(),
    });
    expect(await answerOf(orsAt(restored, { retries: 1 }))).toMatchObject({ reward: 1.5 });
  });

  it('a redirect is refused, and nobody else is spoken to', async () => {
    let visitors = 0;
    const elsewhere = createServer((_request, response) => {
      visitors += 1;
      response.end('[]');
    });
    const url = await listening(elsewhere);
    const meddle = onPath(
      '/list_environments',
      (response) => void response.writeHead(308, { location: `${url}/x` }).end(),
    );
    await using server = await orsEcho({ meddle });
    await expect(answerOf(orsAt(server))).rejects.toThrow(/status 308.*Redirects are not followed/);
    expect(visitors).toBe(0);
    await closed(elsewhere);
  });

  it('is not paid by for another task than the one that was asked for', async () => {
    await using server = await orsEcho();
    const environment = orsAt(server);
    const messages = await environment.prompt(place);
    server.opening = 'start with n. ';
    const changed = environment.answer({ id: 'train-0', split: null, place, messages }, 'n += 1');
    await expectRefusal(changed, /expected the prompt of train-0 again, found another one/);
    expect(server.paid).toEqual([]);
    // The first of two episodes is never begun, so that the second meets it.
    await using mixing = await orsEcho({
      meddle: (request, response) => {
        if (request.url === '/create_session') sayEvents(response, ['task_id', 'same'], ['end', '']);
        return request.url === '/create_session' || request.url === '/create';
      },
    });
    const mixed = orsAt(mixing);
    const both = Promise.all([mixed.prompt(place), mixed.prompt(place)]);
    await expectRefusal(both, /expected a session for each episode, found the id of another one/);
  });

  it('is sent a key on this machine by each of its names', () => {
    return withKey(async (settings) => {
      for (const host of ['127.0.0.1', 'localhost', '[::1]'])
        expect(() => orsAt({ url: `http://${host}:9` }, settings)).not.toThrow();
      expect(() => orsAt({ url: 'http://192.0.2.1:9' }, settings)).toThrow('https:// where a key is sent');
    });
  });

  it('what it says of itself is checked too', async () => {
    const cases: readonly (readonly [string, unknown, RegExp])[] = [
      ['/list_environments', ['..'], /a name of letters/],
      ['/list_environments', ['a', 'b'], /data\.environment/],
      ['/statements/tools', { tools: [] }, /a list of tools/],
      ['/create', undefined, /status 403/],
    ];
    for (const [path, said, expected] of cases) {
      const status = said === undefined ? 403 : 200;
      const meddle = onPath(path, (response) => void response.writeHead(status).end(JSON.stringify(said ?? null)));
      await using server = await orsEcho({ meddle });
      await expect(answerOf(orsAt(server))).rejects.toThrow(expected);
    }
    const image = JSON.stringify([{ type: 'image', data: '', mimeType: 'image/png' }]);
    await using server = await orsEcho({
      meddle: onPath('/statements/prompt', (response) => void response.end(image)),
    });
    await expect(orsAt(server).prompt(place)).rejects.toThrow('expected a prompt of text blocks, found an image');
    await using session = await orsEcho({
      meddle: onPath('/create_session', (response) => sayEvents(response, ['task_id', 'a b\tc'], ['end', ''])),
    });
    await expect(answerOf(orsAt(session))).rejects.toThrow('the id of a session');
  });
});

describe('a server that repeats the key', () => {
  it('is told without it, whatever it names after it', async () => {
    const tools = JSON.stringify({ tools: [{ name: key, description: '' }] });
    await using server = await orsEcho({ meddle: onPath('/statements/tools', (response) => void response.end(tools)) });
    await withKey((settings) => expectRefusal(answerOf(orsAt(server, settings)), /expected an argument of \[key\]/));
  });

  it.each<[string, string, unknown]>([
    ['prompt', '/statements/prompt', [{ type: 'text', text: `say ${key}` }]],
    ['split', '/statements/splits', [{ name: key, type: 'train' }]],
    ['name', '/list_environments', ['0123456789']],
  ])('is refused for a %s with it, which would be stored', async (what, path, said) => {
    await using server = await orsEcho({ meddle: onPath(path, (response) => void response.end(JSON.stringify(said))) });
    await withKey(async (settings) => {
      // A name has no quotes.
      if (what === 'name') process.env['GQ_TEST_OUTSIDE_KEY'] = '0123456789';
      await expectRefusal(
        orsAt(server, settings).tasks(() => undefined),
        /without the key/,
      );
    });
  });

  it('is refused over a WebSocket too', async () => {
    await using server = await openEnvEcho();
    server.opening = `say ${key}. `;
    await withKey((settings) => expectRefusal(openEnvAt(server, settings).prompt({ seed: 0 }), /without the key/));
  });
});

describe('JSON that is nested without measure', () => {
  it('is an error of the server', async () => {
    const tools = `{"tools": [{"name": "a", "description": "", "input_schema": {"a": ${nested}}}]}`;
    await using server = await orsEcho({ meddle: onPath('/statements/tools', (response) => void response.end(tools)) });
    await expectRefusal(answerOf(orsAt(server)), /expected a list of tools, found .*nested/);
    await using spoken = await openEnvEcho({
      meddle: (socket) => {
        socket.send(`{"type": "observation", "data": {"observation": {"task": ${nested}}, "done": false}}`);
        return true;
      },
    });
    await expectRefusal(openEnvAnswer(openEnvAt(spoken)), /expected a reply to reset, found .*nested/);
  });
});

describe('OpenEnv', () => {
  it('an honest server is paid by', async () => {
    await using server = await openEnvEcho();
    expect(await openEnvAnswer(openEnvAt(server))).toEqual({ reward: 1.5, labels: null });
  });

  const seen = (reward: string, done = true): string =>
    `{"type": "observation", "data": {"observation": {"task": "x"}, "reward": ${reward}, "done": ${done}}}`;

  it.each<[string, string, RegExp]>([
    ['NaN', seen('NaN'), /as JSON, found/],
    ['a text', seen('"1"'), /a number as its reward/],
    ['nothing', seen('null'), /expected a reward, found none/],
    ['no end', seen('1', false), /Environments of several turns cannot be trained on/],
    ['torn JSON', '{"type": "observ', /as JSON, found/],
    ['an error', '{"type": "error", "data": {"message": "no", "code": "EXECUTION_ERROR"}}', /EXECUTION_ERROR: no/],
    ['a long text', `"${'x'.repeat(2 ** 21)}"`, /at most 1048576 bytes in a message/],
  ])('refuses a reward that is %s', async (_name, reply, expected) => {
    const meddle = (socket: { send(text: string): void }, type: string): boolean => {
      if (type === 'step') socket.send(reply);
      return type === 'step';
    };
    await using server = await openEnvEcho({ meddle });
    const refused = openEnvAnswer(openEnvAt(server));
    await expect(refused).rejects.toThrow(expected);
    await expect(refused).rejects.toBeInstanceOf(UserError);
  });

  it('a server that is silent is late, one that talks without being asked is refused, one that goes is asked again', async () => {
    await using silent = await openEnvEcho({ meddle: (_socket, type) => type === 'step' });
    await expect(openEnvAnswer(openEnvAt(silent, { timeoutSeconds: 0.5 }))).rejects.toThrow(
      /no answer from \/ws within 0\.5/,
    );
    await using chatty = await openEnvEcho({
      meddle: (socket, type) => {
        if (type === 'step') for (let i = 0; i < 100; i++) socket.send(seen('1'));
        return type === 'step';
      },
    });
    await openEnvAnswer(openEnvAt(chatty)).catch((error: unknown) =>
      expect(String(error)).toContain('nobody asked for'),
    );
    let breaks = 0;
    await using going = await openEnvEcho({
      meddle: (socket, type) => {
        if (type === 'step' && breaks++ === 0) socket.terminate();
        return type === 'step' && breaks === 1;
      },
    });
    expect(await openEnvAnswer(openEnvAt(going, { retries: 1 }))).toMatchObject({ reward: 1.5 });
    expect(breaks).toBe(2);
    await using bytes = await openEnvEcho({
      meddle: (socket, type) => {
        socket.send(Buffer.from('{}'));
        return type === 'reset';
      },
    });
    await expect(openEnvAnswer(openEnvAt(bytes))).rejects.toThrow('expected one text for each message, found bytes');
  });

  it('a redirect is refused, and so are tasks that do not depend on the seed alone', async () => {
    await using moved = await openEnvEcho({
      upgrade: (socket) =>
        void socket.end('HTTP/1.1 302 Found\r\nlocation: http://127.0.0.2:9/ws\r\ncontent-length: 0\r\n\r\n'),
    });
    await expect(openEnvAnswer(openEnvAt(moved))).rejects.toThrow(/status 302.*Redirects are not followed/);
    await using changing = await openEnvEcho();
    const environment = openEnvAt(changing);
    const messages = await environment.prompt({ seed: 0 });
    changing.opening = 'start with n. ';
    const other = environment.answer({ id: 'seed-0', split: null, place: { seed: 0 }, messages }, 'x');
    await expect(other).rejects.toThrow('another one for the same seed');
    const same = { ...common, url: changing.url, prompt: '', action: 'code', reset: {}, step: {}, seed: 0 };
    const deaf = await openEnvEcho({
      meddle: (socket, type) => {
        if (type === 'reset') socket.send(seen('null', false));
        return type === 'reset';
      },
    });
    const stuck = { ...same, url: deaf.url };
    const tasks = new OpenEnvEnvironment(new OutsideServer(stuck, signal), stuck).tasks(() => undefined);
    await expect(tasks).rejects.toThrow('the same prompt for 4 seeds');
    await deaf[Symbol.asyncDispose]();
  });
});
