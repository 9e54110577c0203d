/** Runs that a server samples for: an honest one, ones that lie in every way that somebody has met, and ones that break. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { defineJudge } from '../../src/env/own-judge.ts';
import { adapterHash } from '../../src/grpo/index.ts';
import { type LabOptions, openLab, resolveBuiltin } from '../../src/lab/index.ts';
import { train } from '../../src/lab/train.ts';
import { RunDirectory } from '../../src/run/index.ts';
import { readEvents, readRollouts } from '../../src/run/read.ts';
import { gqProgram } from '../gq-command.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { orsEcho } from '../outside/echo-servers.ts';
import { gq } from '../run-gq.ts';
import { setting } from '../smoke/identity-lab.ts';
import { stoppedAfterFirst, tinyModel, tinySettings, tinyWith } from '../smoke/lab.ts';
import { type Choice, type SamplingProxy, startProxy } from './sampling-proxy.ts';

const home = temporaryFolder();
const adapters = join(home, 'adapters');
const key = 'sk-sampler-"0123456789';
let model = '';
let proxy: SamplingProxy;
let runs = 0;

/** Every other program is right, so that groups differ and something is learned. */
const judge = defineJudge({
  name: 'coin',
  decide: ({ completion }) => ({ compiles: true, correct: completion.length % 2 === 0, channels: [] }),
});

const config = (...settings: readonly string[]) =>
  resolveBuiltin(null, [`model=${model}`, ...tinySettings, 'arm.kind=activation', 'updates=3', ...settings]).config;

const outside = (...settings: readonly string[]) =>
  config(
    `sampler.url=${proxy.url}/v1`,
    `sampler.folder=${adapters}`,
    'sampler.tolerance=1e-3',
    'sampler.retries=1',
    ...settings,
  );

const nextRun = (): string => join(home, `run-${runs++}`);

async function stepsOf(path: string) {
  const steps = [];
  for await (const event of readEvents(RunDirectory.open(path))) if (event.kind === 'step') steps.push(event);
  return steps;
}

async function lastHash(path: string, options: LabOptions = { judge }): Promise<string> {
  await using lab = await openLab({ run: path }, options);
  return adapterHash(await lab.at(RunDirectory.open(path).listCheckpoints().at(-1) ?? 0));
}

beforeAll(async () => {
  model = await tinyModel();
  const served = join(home, 'served');
  await train(config('updates=1', 'output.storeFeatures=false'), served, { judge });
  mkdirSync(adapters);
  proxy = await startProxy(served, adapters);
});
beforeEach(() => {
  proxy.faults = {};
  proxy.asked.length = 0;
});
afterAll(() => proxy[Symbol.asyncDispose]());

describe('an honest server', () => {
  it('samples for a run: each state by its own adapter, older ones unloaded, and events say who sampled', async () => {
    const path = nextRun();
    expect(await train(outside(), path, { judge })).toMatchObject({ end: 'finished', holds: true });
    const steps = await stepsOf(path);
    expect(steps.map(({ sampler }) => [sampler?.by, sampler?.staleness, sampler?.retries])).toEqual([
      ['vllm', 0, 0],
      ['vllm', 0, 0],
      ['vllm', 0, 0],
    ]);
    for (const { sampler } of steps) expect(sampler?.largestLogRatio).toBeLessThan(2e-4);
    const states = new Set<string>();
    for await (const { sampled } of readRollouts(RunDirectory.open(path))) states.add(sampled);
    expect([...states].sort()).toEqual(['deployed', 'full']);
    const models = proxy.asked.filter(({ path: at }) => at === '/v1/completions').map(({ body }) => body['model']);
    expect(new Set(models).size).toBe(6);
    expect(models[0]).toMatch(/^gq-run-0-[0-9a-f]{8}-0-deployed-[0-9a-f]{8}$/);
    expect([await proxy.models(), readdirSync(adapters)]).toEqual([[], []]);
    expect(RunDirectory.open(path).readManifest().config.sampler).toMatchObject({ kind: 'vllm' });
  });

  it('gives a run that was broken off and resumed the same adapter, and asks again for no update that is stored', async () => {
    const [whole, broken] = [nextRun(), nextRun()];
    await train(outside('output.checkpointEvery=1'), whole, { judge });
    await train(outside('output.checkpointEvery=1'), broken, { judge, ...stoppedAfterFirst() });
    proxy.asked.length = 0;
    expect(await train(outside('output.checkpointEvery=1'), broken, { judge })).toMatchObject({ end: 'finished' });
    expect(proxy.asked.filter(({ path }) => path === '/v1/completions')).toHaveLength(24);
    expect(await lastHash(broken)).toBe(await lastHash(whole));
  });

  it('may speak as SGLang does', async () => {
    const path = nextRun();
    const settings = ['sampler.kind=sglang', `sampler.url=${proxy.url}`, `sampler.folder=${adapters}`, 'updates=2'];
    await train(config(...settings), path, { judge });
    expect((await stepsOf(path)).map(({ sampler }) => sampler?.by)).toEqual(['sglang', 'sglang']);
  });

  it('may keep its weights for some updates: the rollouts are then learned from as those of the older weights', async () => {
    const path = nextRun();
    await train(outside('sampler.maxStaleness=1', 'updates=4'), path, { judge });
    const steps = await stepsOf(path);
    expect(steps.map(({ sampler }) => sampler?.staleness)).toEqual([0, 1, 0, 1]);
    const apart = steps.map(({ ratio }) => Math.max(0, ...Object.values(ratio).map((mean) => Math.abs(mean - 1))));
    expect(apart[1]).toBeGreaterThan(10 * apart[0]);
  });
});

/** What a server may do wrong, and what is said of it. */
const change = (at: number, work: (choice: Choice) => void) => (choice: Choice, count: number) => {
  if (count % 12 === at) work(choice);
};
const lies: readonly (readonly [string, (choice: Choice, count: number) => void, RegExp])[] = [
  [
    'log-probabilities that are not its own',
    ({ logprobs }) => {
      logprobs.token_logprobs = logprobs.token_logprobs.map((logp) => logp - 0.01);
    },
    /log ratio/,
  ],
  [
    'one other token',
    change(7, (choice) => {
      const own = choice.token_ids;
      const other = own.findIndex((token, i) => i > 0 && token !== own[0] && i < own.length - 1);
      own[other] = own[0];
    }),
    /log ratio|the text|after the end/,
  ],
  [
    'a token beyond the vocabulary',
    change(3, (choice) => {
      choice.token_ids[0] = 1e6;
    }),
    /token 1000000, where the model knows/,
  ],
  [
    'a text that is not that of its tokens',
    change(5, (choice) => {
      choice.text += ' and more';
    }),
    /for tokens that are/,
  ],
  [
    'no end',
    (choice) => {
      choice.token_ids.pop();
      choice.logprobs.token_logprobs.pop();
    },
    /end token|no end|the text/,
  ],
  [
    'too many tokens',
    (choice) => {
      choice.token_ids = [...choice.token_ids, ...new Array<number>(64).fill(3)];
    },
    /of at most 32/,
  ],
  [
    'too few log-probabilities',
    ({ logprobs }) => {
      logprobs.token_logprobs.pop();
    },
    /log-probabilities for/,
  ],
  [
    'a log-probability that is no number',
    ({ logprobs }) => {
      logprobs.token_logprobs[0] = null as unknown as number;
    },
    /an answer without token ids, their log-probabilities/,
  ],
];

describe('a server that lies is noticed in the first update', () => {
  it.each(lies)('%s', async (_, choice, said) => {
    proxy.faults = { choice };
    const path = nextRun();
    await expect(train(outside(), path, { judge })).rejects.toThrow(said);
    expect(await stepsOf(path)).toEqual([]);
    expect(await proxy.models()).toEqual([]);
  });

  it('and once it is right the run goes on, with what an unbroken one has', async () => {
    const [path, whole] = [nextRun(), nextRun()];
    proxy.faults = { choice: lies[0][1] };
    await expect(train(outside('updates=2'), path, { judge })).rejects.toThrow(/go on with --resume/);
    proxy.faults = {};
    expect(await train(outside('updates=2'), path, { judge })).toMatchObject({ end: 'finished' });
    await train(outside('updates=2'), whole, { judge });
    expect(await lastHash(path)).toBe(await lastHash(whole));
  });

  it('or, with onMismatch = "local", this process samples what it would have sampled alone, and says so', async () => {
    const [path, alone] = [nextRun(), nextRun()];
    proxy.faults = { choice: lies[0][1] };
    const warnings: string[] = [];
    const sink = { name: 'warnings', event: (event: { kind: string; name?: string; message?: string }) => void (event.kind === 'warning' && event.name === 'local-sampler' && warnings.push(event.message ?? '')) }; // biome-ignore format: one line
    await train(outside('sampler.onMismatch=local'), path, { judge, sinks: [sink] });
    await train(config(), alone, { judge });
    expect(await lastHash(path)).toBe(await lastHash(alone));
    expect((await stepsOf(path)).map(({ sampler }) => sampler?.by)).toEqual(['local', 'local', 'local']);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^from update 1 on this process samples, not the server: \|log ratio\|/);
  });

  it.each<[string, (name: string) => boolean, RegExp]>([
    [
      'the weights before',
      (name) => /-0-(?:full|deployed)-/.test(name),
      /update 2: .*follows the weights of before the first update/,
    ],
    ['the other state', (name) => name.includes('-full-'), /update 2: .*in deployed state follows the other state/],
  ])('and so is one that samples by %s', async (_, isKept, said) => {
    // Far below the default tolerance, which alone would not notice it.
    const settings = ['sampler.tolerance=1', 'optimiser.learningRate=1e-4', 'optimiser.schedule=constant'];
    const kept = new Map<string, string>();
    proxy.faults = {
      ask: (body, path) => {
        const { lora_name: name, model: asked } = body as { lora_name?: string; model?: string };
        const stateOf = (text: string) => (isKept('x-full-x') ? 'all' : text.includes('-full-') ? 'full' : 'deployed');
        if (path.endsWith('/load_lora_adapter') && name !== undefined && isKept(name)) kept.set(stateOf(name), name);
        if (path.endsWith('unload_lora_adapter') && name !== undefined && [...kept.values()].includes(name))
          return null;
        return asked === undefined ? body : { ...body, model: kept.get(stateOf(asked)) ?? asked };
      },
    };
    await expect(train(outside(...settings), nextRun(), { judge })).rejects.toThrow(said);
    for (const name of kept.values()) await proxy.unload(name);
  });
});

describe('a server that breaks', () => {
  const breaks: readonly (readonly [string, NonNullable<SamplingProxy['faults']['answer']>, RegExp])[] = [
    ['never answers', () => true, /late: no answer within 0.3 seconds, after 2 requests/],
    [
      'never ends',
      (response) => {
        const timer = setInterval(() => response.write('x'), 20);
        response.once('close', () => clearInterval(timer));
        return true;
      },
      /late: no answer within 0.3 seconds, after 2 requests/,
    ],
    [
      'floods',
      (response) => {
        const write = (): void => {
          while (!response.destroyed && response.write('x'.repeat(65_536)));
        };
        response.on('drain', write);
        write();
        return true;
      },
      /too long: more than \d+ bytes, after 1 request\./,
    ],
    ['closes', (response) => void response.destroy() === undefined, /unreachable: .*, after 2 requests/],
    ['fails', (response) => void response.writeHead(503).end() === undefined, /failing: status 503, after 2 requests/],
    [
      'tears its JSON',
      (response) => void response.end('{"choices":[{"te') === undefined,
      /an answer without token ids/,
    ],
    [
      'redirects',
      (response) => void response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end() === undefined,
      /status 307 \(redirects are not followed\)/,
    ],
  ];
  it.each(breaks)('%s', async (_, break_, said) => {
    const path = nextRun();
    // Nothing else is asked of a server that is late, so that a slow machine changes nothing.
    const isLate = `${said}`.includes('late');
    proxy.faults = { answer: (response, at, count) => (isLate || at.endsWith('/completions')) && break_(response, at, count) }; // biome-ignore format: one line
    const settings = isLate ? ['sampler.timeoutSeconds=0.3'] : [];
    await expect(train(outside(...settings), path, { judge })).rejects.toThrow(said);
  });

  it.each([
    [404, /load_lora_adapter: status 404: .*--enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1/s],
    [401, /load_lora_adapter: status 401: .*sampler\.keyVariable names/s],
  ])('or refuses to load adapters by status %d: what to do about it is said', async (status, said) => {
    proxy.faults = { answer: (response, at) => at.endsWith('load_lora_adapter') && void response.writeHead(status).end('{}') === undefined }; // biome-ignore format: one line
    await expect(train(outside(), nextRun(), { judge })).rejects.toThrow(said);
  });

  it('or stands in another folder: it is told the whole path of an adapter', async () => {
    const path = nextRun();
    proxy.faults = { answer: (response, at) => at.endsWith('load_lora_adapter') && void response.writeHead(400).end() === undefined }; // biome-ignore format: one line
    const here = relative(process.cwd(), path);
    await expect(train(config(`sampler.url=${proxy.url}/v1`), here, { judge })).rejects.toThrow(/status 400/);
    expect(proxy.asked[0].body['lora_path']).toBe(join(path, 'sampler', String(proxy.asked[0].body['lora_name'])));
  });

  it('for a moment is asked again, which the events count', async () => {
    const path = nextRun();
    proxy.faults = { answer: (response, at, count) => at.endsWith('/completions') && count % 24 === 0 && void response.destroy() === undefined }; // biome-ignore format: one line
    await train(outside('updates=2'), path, { judge });
    const retries = (await stepsOf(path)).map(({ sampler }) => sampler?.retries ?? 0);
    expect(retries.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(0);
  });
});

describe('a process that is killed', () => {
  /** `gq serve` in a process of its own, at the port of an earlier one or any. */
  async function startServer(url: string | null) {
    const port = url === null ? '0' : new URL(url).port;
    const own = [gqProgram(), 'serve', join(home, 'served'), '--adapters', adapters, '--port', port];
    const child = spawn(process.execPath, own, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = await once(child.stdout, 'data');
    const kill = async (): Promise<void> => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
    };
    return { url: String(said).trim(), kill, [Symbol.asyncDispose]: kill };
  }

  /** Kills the server once the first update is done. */
  const killing = (server: { kill(): Promise<void> }) => ({
    name: 'kills',
    event: async (event: { kind: string; update?: number }) => {
      if (event.kind === 'step' && event.update === 1) await server.kill();
    },
  });

  it('the server: the run stops as said and goes on to the same adapter, or this process samples from there on', async () => {
    const [whole, stopped, local] = [nextRun(), nextRun(), nextRun()];
    await using first = await startServer(null);
    const settings = [`sampler.url=${first.url}`, 'output.checkpointEvery=1'];
    const begin = (path: string, server: { kill(): Promise<void> }, ...more: readonly string[]) =>
      train(outside(...settings, ...more), path, { judge, sinks: [killing(server)] });
    await train(outside(...settings), whole, { judge });
    await expect(begin(stopped, first)).rejects.toThrow(/update 2: .*unreachable: .*go on with --resume/);
    expect([(await stepsOf(stopped)).length, readdirSync(adapters)]).toEqual([1, []]);
    await using second = await startServer(first.url);
    expect(await train(outside(...settings), stopped, { judge })).toMatchObject({ end: 'finished' });
    expect(await lastHash(stopped)).toBe(await lastHash(whole));
    expect(await begin(local, second, 'sampler.onMismatch=local')).toMatchObject({ end: 'finished' });
    expect((await stepsOf(local)).map(({ sampler }) => sampler?.by)).toEqual(['vllm', 'local', 'local']);
    expect(readdirSync(adapters)).toEqual([]);
  });

  it('the trainer: what it left at the server is removed when the run goes on, which ends with the same adapter', async () => {
    const [whole, killed] = [nextRun(), nextRun()];
    // Judged by a server too, so that no Python is needed.
    await using environment = await orsEcho();
    const data = ['data.kind=ors', `data.url=${environment.url}`, 'data.tasks=24', 'pairs.file=micro'];
    const config = tinyWith(...data, 'arm.kind=activation', 'updates=3', 'output.checkpointEvery=1');
    const server = [`sampler.url=${proxy.url}/v1`, `sampler.folder=${adapters}`, 'sampler.tolerance=1e-3'];
    const given = setting(`model=${model}`, ...config, ...server);
    expect(await gq('train', ...given, '--out', whole)).toMatchObject({ code: 0 });
    let isKilled = false;
    const child = spawn(process.execPath, [gqProgram(), 'train', ...given, '--out', killed], { stdio: 'ignore' });
    // In the middle of the second update: some of its completions have come.
    proxy.faults = {
      choice: () => {
        if (isKilled || RunDirectory.open(killed).listCheckpoints().at(-1) !== 1) return;
        isKilled = child.kill('SIGKILL');
      },
    };
    await once(child, 'exit');
    proxy.faults = {};
    expect([isKilled, (await proxy.models()).length, readdirSync(adapters).length]).toEqual([true, 4, 4]);
    expect(await gq('train', '--resume', killed)).toMatchObject({ code: 0 });
    expect([await proxy.models(), readdirSync(adapters)]).toEqual([[], []]);
    expect(await lastHash(killed, {})).toBe(await lastHash(whole, {}));
  });
});

it('sends its key to the server that was named, and to no file', async () => {
  const path = nextRun();
  process.env['GQ_TEST_SAMPLER_KEY'] = key;
  try {
    // The server repeats the key in its refusal, which is told.
    proxy.faults = { answer: (response, at) => at.endsWith('/completions') && void response.writeHead(401).end(`no ${key} and ${JSON.stringify(key)}`) === undefined }; // biome-ignore format: one line
    const settings = ['sampler.keyVariable=GQ_TEST_SAMPLER_KEY', 'sampler.onMismatch=local', 'updates=1'];
    await train(outside(...settings), path, { judge });
  } finally {
    delete process.env['GQ_TEST_SAMPLER_KEY'];
  }
  expect(proxy.asked[0].key).toBe(`Bearer ${key}`);
  const files = readdirSync(path, { recursive: true }).map((name) => join(path, String(name)));
  const texts = files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file, 'latin1'));
  expect(texts.some((text) => text.includes('status 401: no [key]'))).toBe(true);
  expect(texts.filter((text) => text.includes('sk-sampler') || text.includes('0123456789'))).toEqual([]);
});
