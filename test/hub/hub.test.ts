/** Models by their name on the hub: found in the cache, named when incomplete, fetched over lines that break. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { modelDirectory, resolveBuiltin } from '../../src/lab/index.ts';
import { hubCache } from '../../src/model/hub/cache.ts';
import type { SilenceWatch } from '../../src/model/hub/download.ts';
import { fetchModel, findSnapshot, ModelFolder, parseHubName } from '../../src/model/index.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { gq } from '../run-gq.ts';
import { HubServer } from './hub-server.ts';

const name = { repository: 'org/model', revision: 'main' };
const files = new Map<string, Buffer>();
let server: HubServer;
let cache = '';
let environment: Record<string, string> = {};

beforeAll(async () => {
  const folder = join(temporaryFolder(), 'made');
  await gq('model', 'init', '--config', 'nano', '--tokenizer-from', 'bytes', '--seed', '1', '--to', folder);
  for (const each of readdirSync(folder)) files.set(each, readFileSync(join(folder, each)));
  files.set('pytorch_model.bin', Buffer.from('another format'));
});

beforeEach(async () => {
  server = await HubServer.start(files);
  cache = join(temporaryFolder(), 'hub');
  environment = { HF_HUB_CACHE: cache, HF_ENDPOINT: server.endpoint };
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await server[Symbol.asyncDispose]();
});

const fetchIt = (options = {}) => fetchModel(name, { environment, waitMs: 1, ...options });
/** In place of the clock: a connection of the silent file is silent for too long once it has sent all it will. */
const noPatience: SilenceWatch = (url, silent) => {
  const isSilent = server.faults.silent?.has(url.split('/').at(-1) ?? '') === true;
  if (isSilent) server.faults.onSilence = silent;
  return { heard: () => void (isSilent && setImmediate(silent)), end: () => undefined };
};
const pathsOf = (host: string, ending: string) =>
  server.seen.filter((each) => each.host === host && each.path.endsWith(ending));

describe('names', () => {
  it('are ORG/NAME with an optional revision, and no paths', () => {
    expect(parseHubName('Qwen/Qwen3-4B')).toEqual({ repository: 'Qwen/Qwen3-4B', revision: 'main' });
    expect(parseHubName('Qwen/Qwen3-4B@refs/pr/2')?.revision).toBe('refs/pr/2');
    for (const path of ['/a/b', './a/b', 'a/b/c', 'a', '../b', 'a/..', 'a/b@../x', 'a/b@', 'a/b@x/']) {
      expect(parseHubName(path)).toBeNull();
    }
  });

  it('stay names in a config, unless a folder has that path', () => {
    expect(resolveBuiltin(null, ['model=Qwen/Qwen3-4B']).config.model).toBe('Qwen/Qwen3-4B');
    expect(resolveBuiltin(null, ['model=models/micro']).config.model).toBe(resolve('models/micro'));
    expect(resolveBuiltin(null, ['model=./models/none']).config.model).toBe(resolve('models/none'));
  });
});

describe('the cache', () => {
  it('is named by the first variable that is set', () => {
    const all = {
      HF_HUB_CACHE: '/a',
      HUGGINGFACE_HUB_CACHE: '/b',
      HF_HOME: '/c',
      XDG_CACHE_HOME: '/d',
    };
    const { HF_HUB_CACHE: _1, ...second } = all;
    const { HUGGINGFACE_HUB_CACHE: _2, ...third } = second;
    const { HF_HOME: _3, ...fourth } = third;
    expect([all, second, third, fourth, {}].map((each) => hubCache(each))).toEqual([
      '/a',
      '/b',
      '/c/hub',
      '/d/huggingface/hub',
      join(homedir(), '.cache/huggingface/hub'),
    ]);
    expect(hubCache({ HF_HOME: '~/models' })).toBe(join(homedir(), 'models/hub'));
  });

  it('says what a snapshot lacks, and how to fetch it, without a network', () => {
    vi.stubEnv('HF_HUB_CACHE', cache);
    expect(() => modelDirectory('org/model')).toThrow(/no such model there.*gq model fetch org\/model$/);
    const folder = join(cache, 'models--org--model');
    const snapshot = join(folder, 'snapshots', server.commit);
    mkdirSync(snapshot, { recursive: true });
    mkdirSync(join(folder, 'refs'));
    expect(() => modelDirectory('org/model@dev')).toThrow(/no revision dev of it/);
    writeFileSync(join(folder, 'refs', 'main'), `${server.commit}\n`);
    expect(() => modelDirectory('org/model')).toThrow(
      /without config\.json, tokenizer\.json, model\.safetensors or model\.safetensors\.index\.json/,
    );
    for (const each of ['config.json', 'tokenizer.json']) writeFileSync(join(snapshot, each), '{}');
    const shards = { a: 'model-1.safetensors', b: 'model-2.safetensors' };
    writeFileSync(join(snapshot, 'model.safetensors.index.json'), JSON.stringify({ weight_map: shards }));
    writeFileSync(join(snapshot, 'model-1.safetensors'), '');
    expect(() => modelDirectory('org/model')).toThrow(/without model-2\.safetensors/);
    writeFileSync(join(snapshot, 'model-2.safetensors'), '');
    expect(modelDirectory('org/model')).toBe(snapshot);
    expect(modelDirectory(`org/model@${server.commit}`)).toBe(snapshot);
    expect(server.seen).toEqual([]);
  });
});

describe('fetching', () => {
  it('fills the layout that other tools read, with the weights from another host', async () => {
    const { directory, commit } = await fetchIt();
    expect(commit).toBe(server.commit);
    expect(findSnapshot(name, environment)).toBe(directory);
    const weights = join(directory, 'model.safetensors');
    expect(lstatSync(weights).isSymbolicLink()).toBe(true);
    expect(readlinkSync(weights)).toMatch(/^\.\.\/\.\.\/blobs\/[0-9a-f]{64}$/);
    expect(readlinkSync(join(directory, 'config.json'))).toMatch(/^\.\.\/\.\.\/blobs\/[0-9a-f]{40}$/);
    expect(readdirSync(directory)).not.toContain('pytorch_model.bin');
    expect(pathsOf('store', 'model.safetensors')).toHaveLength(1);
    await using folder = await ModelFolder.open(directory);
    expect(folder.hasTokenizer).toBe(true);
    const before = server.seen.length;
    await fetchIt();
    expect(server.seen.length).toBe(before + 1);
  });

  it('goes on where a connection broke, and asks for no byte twice', async () => {
    const size = files.get('model.safetensors')?.length ?? 0;
    server.faults.breakAfter = Math.ceil(size / 4);
    await fetchIt({ progress: () => setImmediate(() => server.breakConnection()) });
    const ranges = pathsOf('store', 'model.safetensors').map(({ range }) => Number(/\d+/.exec(range ?? '0')?.[0]));
    expect(ranges.length).toBeGreaterThan(2);
    expect(ranges).toEqual([...ranges].sort((a, b) => a - b));
    expect(new Set(ranges).size).toBe(ranges.length);
  });

  it('keeps what arrived when it gives up, and goes on from there in the next call', async () => {
    server.faults.silent = new Set(['model.safetensors']);
    await expect(fetchIt({ silence: noPatience, attempts: 2 })).rejects.toThrow(/What has arrived is kept/);
    expect(() => findSnapshot(name, environment)).toThrow('no revision main');
    expect(existsSync(join(cache, 'models--org--model', 'fetching.lock.json'))).toBe(false);
    server.faults.silent.clear();
    await fetchIt();
    expect(pathsOf('store', 'model.safetensors').at(-1)?.range).toMatch(/^bytes=[1-9]/);
  });

  it('waits for a server in trouble, and starts again with one that knows no ranges', async () => {
    server.faults.errors = 3;
    await fetchIt();
    rmSync(cache, { recursive: true });
    server.faults.silent = new Set(['model.safetensors']);
    await expect(fetchIt({ silence: noPatience, attempts: 1 })).rejects.toThrow();
    Object.assign(server.faults, { silent: new Set(), ignoresRange: true });
    await fetchIt();
  });

  it('refuses bytes with another hash, and keeps none of them', async () => {
    server.faults.changed = new Map([['config.json', 1]]);
    await fetchIt();
    rmSync(cache, { recursive: true });
    server.faults.changed = new Map([['model.safetensors', 9]]);
    await expect(fetchIt()).rejects.toThrow(/expected a file with the hash [0-9a-f]{64}, found one with .*, twice/);
    const blobs = readdirSync(join(cache, 'models--org--model', 'blobs'));
    expect(blobs.filter((each) => each.length === 64 || each.endsWith('.incomplete'))).toEqual([]);
  });

  it('replaces what is damaged in the cache, and leaves the rest as it is', async () => {
    const { directory } = await fetchIt();
    const damaged = ['model.safetensors', 'tokenizer.json', 'config.json'].map((each) => join(directory, each));
    const [weights, tokenizer, config] = damaged;
    const before = damaged.map((path) => readFileSync(path));
    // One byte is another, the end is missing, and a link leads out of the cache.
    writeFileSync(weights, Buffer.from(before[0]).fill(1, 5000, 5001));
    writeFileSync(tokenizer, before[1].subarray(0, 100));
    rmSync(config);
    symlinkSync('/etc/hostname', config);
    server.seen.length = 0;
    await fetchIt();
    expect(damaged.map((path) => readFileSync(path).equals(before[damaged.indexOf(path)]))).toEqual([true, true, true]);
    expect(readlinkSync(config)).toMatch(/blobs/);
    const fetched = server.seen
      .filter(({ path }) => path.includes('/resolve/'))
      .map(({ path }) => path.split('/').at(-1));
    expect([...new Set(fetched)].sort()).toEqual(['model.safetensors', 'tokenizer.json']);
  });

  it('takes no token and no address that cannot be one, at once and without showing them', async () => {
    const wrong = [
      ...['hf_sec\nret', 'hf sec ret', 'hf_secrét'].map((HF_TOKEN) => ({ HF_TOKEN })),
      ...[
        'secret',
        '127.0.0.1:1',
        'ftp://secret',
        'http://',
        'http://me:secret@localhost',
        `${server.endpoint}?secret`,
      ].map((HF_ENDPOINT) => ({ HF_ENDPOINT })),
    ];
    for (const each of wrong) {
      const message = await fetchModel(name, { environment: { ...environment, ...each }, waitMs: 60_000 }).then(
        () => 'fetched',
        (error: Error) => error.message,
      );
      expect(message).toMatch(/expected HF_(?:TOKEN|ENDPOINT) to be/);
      expect(message).not.toMatch(/sec.?r/);
    }
    expect(server.seen).toEqual([]);
    await fetchModel(name, { environment: { ...environment, HF_ENDPOINT: ` ${server.endpoint}// ` } });
  });

  it('says what goes without a network where no hub answers', async () => {
    const given = { ...environment, HF_ENDPOINT: 'http://127.0.0.1:1' };
    const fetching = fetchModel(name, { environment: given, attempts: 1, waitMs: 0 });
    await expect(fetching).rejects.toThrow(
      /expected an answer.*Without a network: --set model=DIR takes a folder .* HF_ENDPOINT names a hub/,
    );
  });

  it('says so where a folder has the place of a file or of a revision', async () => {
    const { directory } = await fetchIt();
    mkdirSync(join(cache, 'models--org--model', 'refs', 'folder'));
    expect(() => findSnapshot({ ...name, revision: 'folder' }, environment)).toThrow('no revision folder of it');
    rmSync(join(directory, 'config.json'));
    mkdirSync(join(directory, 'config.json'));
    vi.stubEnv('HF_HUB_CACHE', cache);
    vi.stubEnv('HF_ENDPOINT', server.endpoint);
    const { code, err } = await gq('model', 'fetch', 'org/model');
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('a folder where a file must be') });
  });

  it('sends the token to the hub and nowhere else, and stores it nowhere', async () => {
    server.faults.token = 'hf_secret';
    await expect(fetchIt()).rejects.toThrow(/status 401\. Set HF_TOKEN/);
    await fetchModel(name, { environment: { ...environment, HF_TOKEN: 'hf_secret' } });
    expect(pathsOf('store', '').map(({ authorization }) => authorization)).toEqual([undefined]);
    const stored = readdirSync(cache, { recursive: true, encoding: 'utf8' }).map((each) => join(cache, each));
    const texts = stored.filter((each) => lstatSync(each).isFile()).map((each) => readFileSync(each, 'latin1'));
    expect(texts.some((text) => text.includes('hf_secret'))).toBe(false);
  });

  it('refuses when it must stay offline, when another process fetches, and what the hub does not have', async () => {
    await expect(fetchModel(name, { environment: { ...environment, HF_HUB_OFFLINE: '1' } })).rejects.toThrow(
      /HF_HUB_OFFLINE=1/,
    );
    expect(server.seen).toEqual([]);
    await expect(fetchModel({ ...name, repository: 'org/none' }, { environment })).rejects.toThrow(/status 404/);
    const lock = join(cache, 'models--org--model', 'fetching.lock.json');
    mkdirSync(join(cache, 'models--org--model'), { recursive: true });
    writeFileSync(lock, JSON.stringify({ pid: process.pid, host: 'elsewhere', started: null }));
    await expect(fetchIt()).rejects.toThrow(/found process \d+ on elsewhere/);
    rmSync(lock);
    await fetchIt();
  });

  it('is a command, whose model other commands take by name', async () => {
    for (const [key, value] of Object.entries(environment)) vi.stubEnv(key, value);
    const wrong = await gq('model', 'fetch', 'model');
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('expected ORG/NAME') });
    const { code, out } = await gq('model', 'fetch', 'org/model');
    expect({ code, out }).toEqual({ code: 0, out: `${findSnapshot(name, environment)}\n` });
    const shown = await gq('model', 'inspect', 'org/model', '--json');
    expect(JSON.parse(shown.out)).toMatchObject({ architecture: 'Qwen3ForCausalLM' });
  });
});
