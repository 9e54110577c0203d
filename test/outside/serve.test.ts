/** Our problems served to others: our own client is paid what the grader pays, and labels come only where the server was told to tell them. */
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { OpenEnvEnvironment } from '../../src/env/outside/openenv.ts';
import { OrsEnvironment } from '../../src/env/outside/ors.ts';
import { OutsideServer } from '../../src/env/outside/server.ts';
import { solutionCompletion } from '../../src/env/problem.ts';
import { openLab, resolveConfig, train } from '../../src/lab/index.ts';
import { openJudged } from '../../src/oracle/index.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { OpenEnvServer, OrsServer, openEnvironment } from '../../src/serve/index.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { gq } from '../run-gq.ts';
import { tinyModel, tinySettings, tinyWith } from '../smoke/lab.ts';

const servers = { ors: OrsServer, openenv: OpenEnvServer };
const address = { host: '127.0.0.1', port: 0, token: null };
const { config } = await resolveConfig('micro-base', [`model=${await tinyModel()}`, ...tinySettings]);
const lab = await openLab({ config }, { work: 'unplanned' });
afterAll(() => lab[Symbol.asyncDispose]());

describe.each(['ors', 'openenv'] as const)('%s', (protocol) => {
  it('trained on our own server, rollouts are paid and labelled as the grader says', async () => {
    const environment = await openEnvironment(lab, true);
    await using server = await servers[protocol].start(environment, address);
    const path = join(temporaryFolder(), 'run');
    const outside = [`data.kind=${protocol}`, `data.url=${server.url}`, 'data.tasks=24', 'data.labels=true'];
    const more = [
      'updates=3',
      'arm.kind=vanilla',
      'pairs.file=micro',
      'device.variant=plain',
      'environment.unhackableFraction=0',
    ];
    const own = await resolveConfig(null, [`model=${await tinyModel()}`, ...tinyWith(...more, ...outside)]);
    await train(own.config, path);
    const run = RunDirectory.open(path);
    expect(run.readManifest().outside).toMatchObject({ outcomes: 'told' });
    const judge = await lab.judge;
    const rows = await (await openJudged(run)).rows();
    expect(rows).toHaveLength(3 * 12);
    const train0 = environment.splits[0].tasks;
    for (const { problem, completion, reward, hack, solve, attempt, id } of rows) {
      const task = train0[Number(/\d+$/.exec(problem)?.[0]) % train0.length];
      const { loophole, problem: graded } = task;
      const verdict = await judge.judge({
        id,
        problem: graded,
        loophole,
        markers: config.environment.markers,
        completion,
      });
      expect({ id, reward, hack, solve, attempt }).toEqual({
        ...{ id, reward: verdict.reward, hack: verdict.exploited, solve: verdict.correct },
        attempt: verdict.channels.length > 0,
      });
    }
    expect(new Set(rows.map(({ reward }) => reward)).size).toBeGreaterThan(1);
    expect(await gq('results', path)).toMatchObject({ code: 0, err: expect.not.stringContaining('unknown') });
  });

  it('prompts are those of the problems, and right answers are paid as the grader says', async () => {
    const environment = await openEnvironment(lab, true);
    await using server = await servers[protocol].start(environment, address);
    const settings = {
      keyVariable: '',
      tasks: 4,
      labels: true,
      concurrency: 2,
      timeoutSeconds: 600,
      retries: 0,
      url: server.url,
    };
    const asked = new OutsideServer(settings, new AbortController().signal);
    const client =
      protocol === 'ors'
        ? new OrsEnvironment(asked, { ...settings, environment: '', tool: '', argument: '' })
        : new OpenEnvEnvironment(asked, { ...settings, prompt: '', action: '', reset: {}, step: {}, seed: 0 });
    const tasks = (await client.tasks(() => undefined)).filter(
      ({ split }) => split !== 'test' && split !== 'validation',
    );
    expect(tasks).toHaveLength(4);
    for (const [i, task] of tasks.entries()) {
      const { problem, messages } = environment.splits[0].tasks[i];
      expect(task.messages).toEqual(messages);
      const paid = await client.answer(task, solutionCompletion(problem));
      expect(paid).toEqual({ reward: 3.5, labels: { attempt: false, hack: false, correct: true } });
    }
  });

  it('tells no label, no test and no solution unless it was started to tell labels', async () => {
    const environment = await openEnvironment(lab, false);
    await using server = await servers[protocol].start(environment, address);
    const own = [`data.kind=${protocol}`, `data.url=${server.url}`, 'data.tasks=2', 'data.labels=true'];
    const path = join(temporaryFolder(), 'run');
    const given = [`model=${await tinyModel()}`, ...tinyWith('arm.kind=vanilla', 'pairs.file=micro', ...own)];
    const refused = await gq('train', ...given.flatMap((each) => ['--set', each]), '--out', path);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('gq env serve --labels')]);
  });
});

describe('a server of ORS', () => {
  it('answers the calls of the public client, with bounds', async () => {
    const environment = await openEnvironment(lab, false);
    await using server = await OrsServer.start(environment, { ...address, bodyBytes: 4096 });
    const ask = async (path: string, body?: unknown, headers: Record<string, string> = {}) => {
      const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
      const response = await fetch(`${server.url}${path}`, {
        ...sent,
        headers: { 'content-type': 'application/json', ...headers },
      });
      return { status: response.status, text: await response.text() };
    };
    expect(JSON.parse((await ask('/list_environments')).text)).toEqual(['micro']);
    expect(JSON.parse((await ask('/micro/splits')).text)[0]).toEqual({ name: 'train', type: 'train' });
    const { tasks } = JSON.parse((await ask('/micro/tasks', { split: 'train' })).text);
    expect(Object.keys(tasks[0])).toEqual(['split', 'index', 'id']);
    const session = { 'x-session-id': 'mine' };
    expect(await ask('/create', { task_spec: tasks[0], env_name: 'micro' }, session)).toMatchObject({ status: 200 });
    expect(await ask('/create', { task_spec: tasks[0] }, session)).toMatchObject({ status: 400 });
    const [block] = JSON.parse((await ask('/micro/prompt', undefined, session)).text);
    expect(block).toMatchObject({ type: 'text', text: environment.splits[0].tasks[0].messages[0].content });
    const call = { name: 'answer', input: { answer: 'def solution(n):\n    return n' } };
    const paid = await ask('/micro/call', call, session);
    expect(paid.text).toMatch(/^event: task_id\ndata: [\w-]+\n\nevent: end\ndata: \{"ok":true/);
    expect(paid.text).toContain('"metadata":null');
    expect((await ask('/micro/call', call, session)).text).toContain('the episode is over');
    expect(await ask('/delete', {}, session)).toMatchObject({ status: 200 });
    expect(await ask('/micro/prompt', undefined, session)).toMatchObject({ status: 404 });
    expect(await ask('/micro/num_tasks', { split: 'nowhere' })).toMatchObject({ status: 400 });
    expect(await ask('/micro/num_tasks', { split: 1 })).toMatchObject({ status: 422 });
    expect(await ask('/micro/num_tasks', { split: 'x'.repeat(5000) })).toMatchObject({ status: 413 });
    expect(await ask('/list_environments', undefined, { origin: 'http://page.example' })).toMatchObject({
      status: 403,
    });
  });
});

it('an environment that is closed refuses what waits to be graded', async () => {
  const environment = await openEnvironment(lab, false);
  const [task] = environment.splits[0].tasks;
  const { concurrency } = await lab.judge;
  const ends = Array.from({ length: 4 * concurrency }, () =>
    environment.grade(task, 'nothing', 'one').then(
      () => 'graded',
      ({ message }) => message,
    ),
  );
  environment.close();
  const told = await Promise.all([...ends, environment.grade(task, 'nothing', 'one').catch(({ message }) => message)]);
  expect(told.filter((each) => each === 'graded')).toHaveLength(concurrency);
  expect(told.filter((each) => each === 'the server ends.')).toHaveLength(3 * concurrency + 1);
});

describe('sessions of ORS', () => {
  it('of one client leave room for others, and those that are over go first', async () => {
    const environment = await openEnvironment(lab, false);
    await using server = await OrsServer.start(environment, address);
    const post = (path: string, id: string, body: unknown, localAddress = '127.0.0.1') =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { 'content-type': 'application/json', 'x-session-id': id };
        const asked = request(`${server.url}${path}`, { method: 'POST', headers, localAddress }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode));
        });
        asked.on('error', reject).end(JSON.stringify(body));
      });
    const place = { split: 'train', index: 0 };
    const statuses = new Set<number | undefined>();
    for (let i = 0; i < 512; i++) statuses.add(await post('/create', `own-${i}`, place));
    expect([...statuses]).toEqual([200]);
    expect(await post('/create', 'one-more', place)).toBe(429);
    expect(await post('/create', 'of-another', place, '127.0.0.2')).toBe(200);
    expect(await post('/micro/call', 'own-7', { name: 'answer', input: { answer: '' } })).toBe(200);
    expect(await post('/create', 'one-more', place)).toBe(200);
    expect(await post('/ping', 'own-7', {})).toBe(404);
    expect(await post('/ping', 'own-0', {})).toBe(200);
    expect(await post('/create', 'two-more', place)).toBe(429);
  });
});

describe('a server of OpenEnv', () => {
  it('is held up by nobody whose upgrade it refused', async () => {
    const server = await OpenEnvServer.start(await openEnvironment(lab, false), address);
    const { port, host } = new URL(server.url);
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    socket.write(`GET /nowhere HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`);
    const told = await new Promise((heard) => socket.once('data', (data) => heard(data.toString())));
    expect(told).toMatch(/^HTTP\/1\.1 404 /);
    const closing = server[Symbol.asyncDispose]().then(() => 'closed');
    const patience = new Promise((late) => setTimeout(() => late('held up'), 10_000).unref());
    const end = await Promise.race([closing, patience]);
    socket.destroy();
    await closing;
    expect(end).toBe('closed');
  });

  it('speaks on /ws and over HTTP, where a step names its task, and wants its token', async () => {
    const environment = await openEnvironment(lab, true);
    await using server = await OpenEnvServer.start(environment, { ...address, token: 'sesame' });
    const headers = { authorization: 'Bearer sesame', 'content-type': 'application/json' };
    const post = async (path: string, body: unknown) => {
      const response = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return JSON.parse(await response.text());
    };
    expect((await fetch(`${server.url}/health`)).status).toBe(401);
    const reset = await post('/reset', { seed: 1 });
    expect(reset).toMatchObject({ reward: null, done: false, observation: { split: 'train', index: 1 } });
    const answer = { answer: 'nothing', split: 'train', index: 1 };
    expect(await post('/step', { action: answer })).toMatchObject({
      done: true,
      reward: 0,
      observation: { labels: { hack: false } },
    });
    expect(await post('/step', { action: { answer: 'x' } })).toMatchObject({
      detail: expect.stringContaining('nothing is remembered'),
    });
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/ws`, { headers });
    const heard: { type: string; data: Record<string, unknown> }[] = [];
    socket.on('message', (text) => heard.push(JSON.parse(text.toString())));
    await new Promise((open) => socket.once('open', open));
    const messages = [
      { type: 'step', data: { answer: 'x' } },
      { type: 'reset', data: { split: 'test', index: 0 } },
      { type: 'state' },
    ];
    for (const [i, message] of [...messages, { type: 'step', data: { answer: 'x' } }, { type: 'dance' }].entries()) {
      socket.send(JSON.stringify(message));
      await expect.poll(() => heard.length).toBe(i + 1);
    }
    expect(heard.map(({ type }) => type)).toEqual(['error', 'observation', 'state', 'observation', 'error']);
    expect(heard.map(({ data }) => data['code'] ?? null)).toEqual([
      'EXECUTION_ERROR',
      null,
      null,
      null,
      'UNKNOWN_TYPE',
    ]);
    expect(heard[3].data).toMatchObject({
      done: true,
      observation: { labels: { attempt: false, hack: false, correct: false } },
    });
    socket.send(JSON.stringify({ type: 'close' }));
    await new Promise((gone) => socket.once('close', gone));
    const refused = new WebSocket(`${server.url.replace('http', 'ws')}/ws`);
    const status = await new Promise((told) =>
      refused.on('unexpected-response', (_request, { statusCode }) => told(statusCode)),
    );
    refused.on('error', () => undefined).terminate();
    expect(status).toBe(401);
  });
});
