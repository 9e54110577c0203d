import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { ModelFolder } from '../../model/index.ts';
import { runCli } from '../program.ts';
import { formatBytes } from './model.ts';

const golden = fileURLToPath(new URL('../../../test/golden', import.meta.url));
let folder = '';
const path = (name: string) => join(folder, name);

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const written = { out: '', err: '' };
  const code = await runCli(['model', ...argv], {
    stdout: { write: (text) => (written.out += text) },
    stderr: { write: (text) => (written.err += text) },
  });
  return { code, ...written };
}

const init = (config: string, from: string, to: string, seed = '1') =>
  run(
    'init',
    '--config',
    config,
    '--tokenizer-from',
    from === 'bytes' ? from : path(from),
    '--seed',
    seed,
    '--to',
    path(to),
  );

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'model-command-'));
  await writeFile(path('tokens.json'), JSON.stringify(['def', ' ', 'f', '(', ')', ':', '\n', '    ', 'pass']));
  await writeFile(path('number.json'), '3');
});

describe('gq model inspect', () => {
  it('prints what the folder is, for a person and as JSON', async () => {
    const { code, out, err } = await run('inspect', join(golden, 'qwen3-bf16'), '--scan');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/architecture +Qwen3ForCausalLM\n/);
    expect(out).toMatch(/parameters +70,976\n/);
    expect(out).toMatch(/weights +BF16 × 24; 141.0 KiB in 1 file\(s\)\n/);
    expect(out).toMatch(/memory, cuda +138.6 KiB of weights \(2 P\), 320 bytes for each cached token\n/);
    const json = JSON.parse((await run('inspect', join(golden, 'qwen3-bf16'), '--json')).out);
    expect(json).toMatchObject({
      architecture: 'Qwen3ForCausalLM',
      parameters: 70_976,
      dtypes: { BF16: 24 },
      diskBytes: 144_424,
    });
    expect(json.memory.map(({ device }: { device: string }) => device)).toEqual(['reference', 'wasm', 'cuda']);
  });

  it('lists the words of a model that has few, spaces and line ends too, and none of one that has many', async () => {
    const { out } = await run('inspect', 'micro');
    expect(out).toMatch(/^words +"0" "1" .* "start with n\." " add "/m);
    expect(
      Math.max(
        ...out
          .split('\n')
          .filter((line) => line.includes('"'))
          .map(({ length }) => length),
      ),
    ).toBeLessThan(115);
    const { words } = JSON.parse((await run('inspect', 'micro', '--json')).out);
    expect(words).toContain('        return n\n');
    expect(words).not.toContain('<|im_start|>');
    await init('nano', 'bytes', 'many');
    expect(JSON.parse((await run('inspect', path('many'), '--json')).out)).toMatchObject({
      tokenizerSize: 259,
      words: [],
    });
  });

  it('exits 2 with the reason, and finds a NaN only when it reads the weights', async () => {
    expect(await run('inspect', path('none'))).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('no such folder'),
    });
    expect((await init('nano', 'tokens.json', 'nan')).code).toBe(0);
    const bytes = await readFile(path('nan/model.safetensors'));
    bytes.writeUInt32LE(0x7fc00000, bytes.length - 4);
    await writeFile(path('nan/model.safetensors'), bytes);
    expect((await run('inspect', path('nan'))).code).toBe(0);
    const scanned = await run('inspect', path('nan'), '--scan');
    expect(scanned).toMatchObject({ code: 2, out: '' });
    expect(scanned.err).toMatch(/tensor model.norm.weight: expected finite weights, found NaN at element 63/);
  });
});

describe('gq model init', () => {
  it('makes a tokenizer of bytes, and the vocabulary follows for a preset', async () => {
    const { code, err } = await init('nano', 'bytes', 'of-bytes');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    await using model = await ModelFolder.open(path('of-bytes'));
    expect(model.config.vocabSize).toBe(model.tokenizer.size);
    expect(model.config).toMatchObject({ eosTokenIds: [2], padTokenId: 0, hiddenSize: 64, vocabSize: 259 });
    expect(model.tokenizer.encode(' the').length).toBe(4);
  });

  it('takes the tokenizer of a model folder, or of a fetched model by its name', async () => {
    const source = path('a-model');
    expect((await init('nano', 'tokens.json', 'a-model')).code).toBe(0);
    const commit = 'a'.repeat(40);
    const fetched = path('cache/models--Some--Model');
    await cp(source, join(fetched, 'snapshots', commit), { recursive: true });
    await mkdir(join(fetched, 'refs'));
    await writeFile(join(fetched, 'refs/main'), commit);
    vi.stubEnv('HF_HUB_CACHE', path('cache'));
    const from = (model: string, to: string) => run('init', '--config', 'nano', '--tokenizer-from', model, '--seed', '2', '--to', path(to)); // biome-ignore format: one call
    const made = [await from('Some/Model', 'by-name'), await from(source, 'by-path'), await from('None/Such', 'none')];
    vi.unstubAllEnvs();
    expect(made.map(({ code }) => code)).toEqual([0, 0, 2]);
    expect(made[2].err).toContain('no such model');
    const tokenizerOf = (name: string) => readFile(path(`${name}/tokenizer.json`), 'utf8');
    expect([await tokenizerOf('by-name'), await tokenizerOf('by-path')]).toEqual(Array(2).fill(await tokenizerOf('a-model'))); // biome-ignore format: one line
  });

  it('takes an explicit list of tokens, or a tokenizer.json with what lies beside it', async () => {
    expect((await init('nano', 'tokens.json', 'listed')).code).toBe(0);
    await using listed = await ModelFolder.open(path('listed'));
    const text = 'def f():\n    pass\n';
    expect(listed.tokenizer.decode(listed.tokenizer.encode(text))).toBe(text);
    expect((await init('nano', 'listed/tokenizer.json', 'copied')).code).toBe(0);
    await using copied = await ModelFolder.open(path('copied'));
    expect(copied.tokenizer.files).toEqual(listed.tokenizer.files);
    expect(copied.hasChat).toBe(true);
  });

  it('reads a config file, whose vocabulary stands, and writes the same bytes for the same seed', async () => {
    const config = join(golden, 'qwen2', 'config.json');
    expect((await init(config, 'bytes', 'a', '5')).code).toBe(0);
    expect((await init(config, 'bytes', 'b', '5')).code).toBe(0);
    const [a, b] = await Promise.all(['a', 'b'].map((name) => readFile(path(`${name}/model.safetensors`))));
    expect(a.equals(b)).toBe(true);
    await using model = await ModelFolder.open(path('a'));
    expect(model.config).toMatchObject({ architecture: 'Qwen2ForCausalLM', vocabSize: 320, tieEmbeddings: false });
    const small = JSON.stringify({ ...JSON.parse(await readFile(config, 'utf8')), vocab_size: 5 });
    await writeFile(path('small.json'), small);
    expect((await init(path('small.json'), 'tokens.json', 'c')).err).toContain('at most 5 tokens');
  });

  it.each([
    ['an existing folder', ['nano', 'tokens.json', '.'], 'does not exist yet'],
    ['an unknown preset', ['mikro', 'tokens.json', 'x'], 'a preset: nano, micro, found mikro'],
    ['other JSON', ['nano', 'number.json', 'x'], 'a .json list of tokens, or a tokenizer.json'],
    ['a missing file', ['nano', 'none.json', 'x'], 'no such file'],
    ['a text', ['nano', 'corpus.txt', 'x'], '"bytes", a .json list of tokens'],
    ['a seed that is none', ['nano', 'tokens.json', 'x', 'one'], 'a whole number'],
  ] as const)('refuses %s', async (_, [config, from, to, seed], message) => {
    const { code, out, err } = await init(config, from, to, seed);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });
});

it('writes sizes with their unit', () => {
  expect([0, 1023, 1024, 1536, 2 ** 30, 2 ** 52].map(formatBytes)).toEqual([
    '0 bytes',
    '1023 bytes',
    '1.0 KiB',
    '1.5 KiB',
    '1.0 GiB',
    '4096.0 TiB',
  ]);
});
