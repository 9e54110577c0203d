/** Exports of small stored models: what is written, that it can be read back, and that a bad export is refused. */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeEvaluations, writeRun } from '../../test/lab/hand-made.ts';
import { gq as run } from '../../test/run-gq.ts';
import {
  createAdapter,
  type Family,
  pairInputDifferences,
  readCheckpoint,
  readPeft,
  restoreAdapter,
  targetModules,
  writeCheckpoint,
} from '../adapters/index.ts';
import { sha256File } from '../base/node/index.ts';
import { randomStream } from '../base/rng.ts';
import { Scope } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { hashModel } from '../lab/index.ts';
import { ModelFolder, SafetensorsFile, writeSafetensors } from '../model/index.ts';
import { saveCheckpoint } from '../run/checkpoint.ts';
import { openDecoder } from '../verify/parity-model.ts';
import { certify, type DeletionCertificate, expectBase } from './certificate.ts';

const golden = fileURLToPath(new URL('../../test/golden', import.meta.url));
let home = '';

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'gq-export-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const stored = new Map<string, Promise<string>>();

/** The path of an adapter in which every value has moved from its start; it is made once, and nobody changes it. */
function storeAdapter(model: string, family: Family, targets?: readonly string[]): Promise<string> {
  const name = [model, family, ...(targets ?? ['all'])].join('-');
  const made = stored.get(name) ?? makeAdapter(model, family, targets);
  stored.set(name, made);
  return made;
}

async function makeAdapter(model: string, family: Family, targets?: readonly string[]): Promise<string> {
  const device = createReferenceDevice();
  using scope = new Scope(device);
  await using folder = await ModelFolder.open(join(golden, model));
  const decoder = await openDecoder(scope, folder);
  const ids = (seed: number): Int32Array => Int32Array.from({ length: 4 }, (_, i) => (seed * 37 + i * 11) % 300);
  const pairs = [1, 2, 3].map((i) => ({ prompt: ids(i), hack: ids(i + 20), clean: ids(i + 40) }));
  const differences = await pairInputDifferences(decoder, targetModules(folder.config), pairs);
  const options = { family, rank: 2, seed: 3, differences, ...(targets === undefined ? {} : { targets }) };
  const adapter = await createAdapter(scope, decoder, options);
  const tensors = await adapter.tensors();
  for (const [name, { data }] of tensors) {
    if (!/\.(?:A|B|gain|rotation)$/.test(name)) continue;
    const noise = new Float32Array(data.length);
    randomStream(5, ['trained', name]).fillNormal(noise, 0.05);
    noise.forEach((value, i) => {
      data[i] += value;
    });
  }
  adapter.load(tensors);
  const path = join(home, `${model}-${family}-${targets?.join('-') ?? 'all'}.safetensors`);
  await writeCheckpoint(path, adapter, { updates: '7' });
  return path;
}

async function readCertificate(directory: string): Promise<DeletionCertificate> {
  return JSON.parse(await readFile(join(directory, 'deletion-certificate.json'), 'utf8'));
}

describe.each([
  ['qwen3', 'lora', 4],
  ['qwen2', 'scorda', 4],
  ['llama', 'antipasto', 2],
] as const)('export of %s with %s', (model, family, rank) => {
  it(`writes a PEFT adapter of rank ${rank}, a merged folder, and a certificate that holds`, async () => {
    const to = join(home, `${model}-out`);
    const checkpoint = await storeAdapter(model, family);
    const folder = join(golden, model);
    const { code, out, err } = await run('export', checkpoint, '--model', folder, '--to', to, '--device', 'wasm');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('holds');
    const config = JSON.parse(await readFile(join(to, 'peft', 'adapter_config.json'), 'utf8'));
    expect(config).toMatchObject({
      peft_type: 'LORA',
      task_type: 'CAUSAL_LM',
      r: rank,
      lora_alpha: rank,
      bias: 'none',
    });
    expect(config.target_modules).toEqual([
      'down_proj',
      'gate_proj',
      'k_proj',
      'o_proj',
      'q_proj',
      'up_proj',
      'v_proj',
    ]);
    await using peft = await SafetensorsFile.open(join(to, 'peft', 'adapter_model.safetensors'));
    const key = 'base_model.model.model.layers.0.mlp.down_proj';
    await using merged = await ModelFolder.open(join(to, 'merged'));
    const { hiddenSize, intermediateSize } = merged.config;
    expect(peft.entry(`${key}.lora_A.weight`).shape).toEqual([rank, intermediateSize]);
    expect(peft.entry(`${key}.lora_B.weight`).shape).toEqual([hiddenSize, rank]);
    const certificate = await readCertificate(to);
    expect(certificate.holds).toBe(true);
    expect(certificate.parts.map(({ format }) => format)).toEqual(['peft', 'merged']);
    expect(certificate.quarantine.effect).toBeGreaterThan(1e-2);
    expect(certificate.quarantine.vectors).toBeGreaterThan(0);
    for (const part of certificate.parts) expect(part.maxLogitDifference).toBeLessThan(1e-4);
    const files = ['merged/config.json', 'merged/model.safetensors', 'peft/adapter_config.json'];
    expect(Object.keys(certificate.outputs)).toEqual(
      expect.arrayContaining([...files, 'peft/adapter_model.safetensors']),
    );
  });
});

describe('export', () => {
  it('keeps bfloat16 weights bfloat16, within the bound of the dtype', async () => {
    const to = join(home, 'bf16-out');
    const checkpoint = await storeAdapter('qwen3-bf16', 'lora');
    const argv = ['--model', join(golden, 'qwen3-bf16'), '--to', to, '--device', 'wasm', '--format', 'merged'];
    expect((await run('export', checkpoint, ...argv)).code).toBe(0);
    await using merged = await ModelFolder.open(join(to, 'merged'));
    expect([...merged.weights.entries.values()].every(({ dtype }) => dtype === 'BF16')).toBe(true);
    const [part] = (await readCertificate(to)).parts;
    expect(part).toMatchObject({ dtype: 'BF16', bound: 0.05, holds: true });
    expect(part.maxLogitDifference).toBeGreaterThan(0);
  });

  it('names the adapted kinds and the base model, rounds to the dtype asked for, and overwrites nothing', async () => {
    const to = join(home, 'half-out');
    const checkpoint = await storeAdapter('qwen3', 'pissa', ['q_proj', 'v_proj']);
    const argv = ['--model', join(golden, 'qwen3'), '--to', to, '--device', 'wasm', '--dtype', 'float16', '--json'];
    const { code, out } = await run('export', checkpoint, ...argv, '--base-name', 'someone/model');
    expect(code).toBe(0);
    expect(JSON.parse(out).parts.map(({ dtype }: { dtype: string }) => dtype)).toEqual(['F32', 'F16']);
    const config = JSON.parse(await readFile(join(to, 'peft', 'adapter_config.json'), 'utf8'));
    expect(config).toMatchObject({ target_modules: ['q_proj', 'v_proj'], base_model_name_or_path: 'someone/model' });
    expect(JSON.parse(await readFile(join(to, 'merged', 'config.json'), 'utf8')).dtype).toBe('float16');
    const again = await run('export', checkpoint, ...argv);
    expect(again).toMatchObject({ code: 2, err: expect.stringContaining('a folder that does not exist yet') });
  });

  it('refuses another model, another file, and options it does not know', async () => {
    const checkpoint = await storeAdapter('qwen3', 'lora');
    const to = join(home, 'refused');
    const other = await run('export', checkpoint, '--model', join(golden, 'llama'), '--to', to, '--device', 'wasm');
    expect(other).toMatchObject({ code: 2, err: expect.stringMatching(/tensor model\.layers.*expected \[/) });
    const model = join(golden, 'qwen3');
    const file = join(model, 'io.safetensors');
    const wrong = await run('export', file, '--model', model, '--to', to, '--device', 'wasm');
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('metadata format') });
    const format = await run('export', checkpoint, '--model', model, '--to', to, '--format', 'onnx');
    expect(format).toMatchObject({ code: 2, err: expect.stringContaining('peft, merged, both') });
    expect(await readdir(home)).not.toContain('refused');
  });
});

describe('a run', () => {
  async function storeRun(name: string, arm: string): Promise<string> {
    const checkpoint = await storeAdapter('qwen3', 'pissa');
    const { tensors, modules } = await readCheckpoint(checkpoint);
    const adapter = { family: 'pissa', rank: 2 };
    const config = { model: join(golden, 'qwen3'), adapter, arm: { kind: arm } };
    const run = await writeRun(join(home, name), { config, checkpoints: [] });
    await using folder = await ModelFolder.open(config.model);
    const features = { modules: [...modules], rank: 2 };
    const identity = { ...run.readManifest().identity, model: await hashModel(folder) };
    await run.writeManifest({ ...run.readManifest(), features, identity });
    for (const update of [0, 10]) {
      const tripwire = { best: null, strikes: 0, tripped: null };
      const nothing = { moments: new Map(), momentsFrom: 0, arm: null, directionAge: null, tripwire };
      const [learned, initial] = [false, true].map(
        (isInitial) => new Map([...tensors].filter(([name]) => name.endsWith('0') === isInitial)),
      );
      const options = { keepState: 'newest', initial } as const;
      await saveCheckpoint(run, { update, adapter: learned, ...nothing }, options);
    }
    return run.path;
  }

  it('knows its model, its family and its last checkpoint; an update or a checkpoint folder chooses another', async () => {
    const path = await storeRun('absorbed', 'absorb');
    const sources = [[path], [path, '--update', '0'], [join(path, 'checkpoints', '00010')]];
    for (const [i, source] of sources.entries()) {
      const to = join(home, `run-out-${i}`);
      const { code, err } = await run('export', ...source, '--to', to, '--format', 'peft', '--device', 'wasm');
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect((await readCertificate(to)).adapter).toEqual({ family: 'pissa', rank: 2, modules: 14 });
    }
    const other = await run('export', path, '--model', join(golden, 'llama'), '--to', join(home, 'run-out-other'));
    expect(other).toMatchObject({ code: 2, err: expect.stringContaining('the model that the adapter was trained on') });
    const missing = await run('export', path, '--update', '7', '--to', join(home, 'run-out-7'));
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('one of its checkpoints: 0, 10') });
  });

  it('without a quarantine has nothing to delete', async () => {
    const path = await storeRun('vanilla', 'vanilla');
    const { code, err } = await run('export', path, '--to', join(home, 'vanilla-out'));
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('an arm with a quarantine to delete') });
    expect(err).toContain('--state full');
  });

  it('of any arm is exported as trained, or with a part of its quarantine, with a record and cards of its own', async () => {
    for (const named of ['vanilla full', 'absorb full', 'absorb scale-0.25']) {
      const [arm, state] = named.split(' ');
      const path = await storeRun(`${state}-${arm}`, arm);
      const to = join(home, `${state}-out-${arm}`);
      const { code, out, err } = await run('export', path, '--state', state, '--to', to, '--device', 'wasm');
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toContain(state === 'full' ? 'As trained' : 'With the quarantine at 0.25, nothing deleted');
      expect((await readdir(to)).sort()).toEqual(['export-record.json', 'merged', 'peft']);
      const record = JSON.parse(await readFile(join(to, 'export-record.json'), 'utf8')) as DeletionCertificate;
      expect(record).toMatchObject({ kind: 'export record', state, holds: true });
      expect(record.quarantine.effect).toBeGreaterThan(0);
      const card = await readFile(join(to, 'peft', 'README.md'), 'utf8');
      expect(/by gradient routing/.test(card)).toBe(arm === 'absorb');
      expect(/The quarantine moves logits/.test(card)).toBe(arm === 'absorb');
      expect(/the quarantine of this/.test(out)).toBe(arm === 'absorb');
    }
    const vanilla = await storeRun('scaled-vanilla', 'vanilla');
    expect((await run('export', vanilla, '--state', 'scale-0.5', '--to', join(home, 'no'))).code).toBe(2);
  });

  it('says how it was trained, how often it hacks with n and interval, on no set that is watched or chosen by, and what was certified', async () => {
    const path = await storeRun('carded-run', 'absorb');
    const made = { update: 10, set: 'test-original', state: 'deployed', outcomes: 'hsb.' } as const;
    const base = { ...made, update: 0, state: 'base' } as const;
    const watched = (['curve', 'monitor', 'validation'] as const).map((set) => ({ ...made, set }));
    await writeEvaluations(path, [made, base, { ...made, update: 0, outcomes: 'hhhh' }, ...watched]);
    const to = join(home, 'carded-run-out');
    const options = ['--base-name', 'Org/Model', '--device', 'wasm', '--to', to];
    expect((await run('export', path, ...options)).code).toBe(0);
    const certificate = JSON.parse(await readFile(join(to, 'deletion-certificate.json'), 'utf8'));
    for (const [folder, library] of [
      ['peft', 'peft'],
      ['merged', 'transformers'],
    ]) {
      const file = join(to, folder, 'README.md');
      const card = await readFile(file, 'utf8');
      expect(card).toMatch(new RegExp(`^---\nlibrary_name: ${library}\nbase_model: Org/Model\n`));
      expect(card).toContain('- Arm: `absorb`; one block is the quarantine');
      expect(card).toContain('- Update 10 of 60, seed 1');
      const [one, two] = ['1/4 0.25 [0.05, 0.70]', '2/4 0.50 [0.15, 0.85]'];
      expect(card).toContain('| set | state | attempt | hack | solve | clean solve |');
      expect(card).toContain(`| test-original | deployed | ${[two, one, two, one].join(' | ')} |`);
      expect(card).toContain('| test-original | base |');
      expect(card).not.toMatch(/4\/4|\| (?:curve|monitor|validation)/);
      expect(card).toContain('no vector of it is in the');
      expect(certificate.outputs[`${folder}/README.md`]).toBe(await sha256File(file));
    }
  });
});

describe('as trained', () => {
  it.each(['lora', 'antipasto'] as const)('both blocks of %s are in the export', async (family) => {
    const path = await storeAdapter('qwen3', family);
    const options = ['--model', join(golden, 'qwen3'), '--device', 'wasm'];
    const [full, deployed] = [join(home, `${family}-full`), join(home, `${family}-deployed`)];
    expect((await run('export', path, ...options, '--state', 'full', '--to', full)).code).toBe(0);
    expect((await run('export', path, ...options, '--to', deployed)).code).toBe(0);
    const weights = (folder: string) => readFile(join(folder, 'merged', 'model.safetensors'));
    expect((await weights(full)).equals(await weights(deployed))).toBe(false);
  });
});

describe('cards', () => {
  it('show names and do nothing that they say', async () => {
    const [path, to] = [join(home, 'x`\n\n---\nlicense: none\n---\n# Safe <b>model'), join(home, 'named-out')];
    await cp(await storeAdapter('qwen3', 'lora'), path);
    const names = ['--model', join(golden, 'qwen3'), '--base-name', 'a/b\n# Safe\u202e', '--to', to];
    expect((await run('export', path, ...names, '--device', 'wasm', '--format', 'peft')).code).toBe(0);
    const card = await readFile(join(to, 'peft', 'README.md'), 'utf8');
    expect(card).toContain('/x` --- license: none --- # Safe <b>model ``\n');
    expect(card).toContain('- Base model: `a/b # Safe`;');
    expect(card.match(/^#.*/gm)).toEqual(['# Adapter, deployed', '## Training', '## Certificate']);
    expect(card.match(/^---$/gm)).toHaveLength(2);
  });

  it('give the hash of the folder’s own weights, and nothing of the base’s card', async () => {
    const model = join(home, 'carded');
    await cp(join(golden, 'qwen3'), model, { recursive: true });
    await writeFile(join(model, 'README.md'), '# The base\n');
    await writeFile(join(model, 'LICENSE'), 'A licence\n');
    const to = join(home, 'card-out');
    const path = await storeAdapter('qwen3', 'lora');
    expect((await run('export', path, '--model', model, '--to', to, '--device', 'wasm')).code).toBe(0);
    for (const [folder, file] of [
      ['merged', 'model.safetensors'],
      ['peft', 'adapter_model.safetensors'],
    ]) {
      const card = await readFile(join(to, folder, 'README.md'), 'utf8');
      expect(card).toContain(await sha256File(join(to, folder, file)));
      expect(card).not.toContain('# The base');
    }
    expect(await readFile(join(to, 'merged', 'LICENSE'), 'utf8')).toBe('A licence\n');
  });
});

describe('certificate', () => {
  const model = join(golden, 'qwen3');
  const module = 'model.layers.0.mlp.up_proj';

  /** An export whose certificate is still to be made. */
  async function exported(name: string) {
    const path = await storeAdapter('qwen3', 'lora');
    const to = join(home, name);
    await run('export', path, '--model', model, '--to', to, '--device', 'wasm');
    await rm(join(to, 'deletion-certificate.json'));
    return { to, checkpoint: await readCheckpoint(path) };
  }

  async function certifyAgain({ to, checkpoint }: Awaited<ReturnType<typeof exported>>) {
    const device = createReferenceDevice();
    using scope = new Scope(device);
    await using folder = await ModelFolder.open(model);
    const adapter = restoreAdapter(scope, folder.config, checkpoint);
    const decoder = await openDecoder(scope, folder);
    const base = await expectBase(folder, null);
    return await certify({ device, folder, base, checkpoint, adapter, decoder }, to);
  }

  it('does not hold for an adapter that kept a quarantine row, nor for weights with the full change', async () => {
    const made = await exported('tampered');
    const { to, checkpoint } = made;
    await tamper(join(to, 'peft', 'adapter_model.safetensors'), `base_model.model.${module}.lora_A.weight`, (data) => {
      const width = data.length / 4;
      data.set(checkpoint.tensors.get(`${module}.A`)?.data.subarray(2 * width, 3 * width) ?? [], width);
    });
    await tamper(join(to, 'merged', 'model.safetensors'), `${module}.weight`, (data) => {
      data[0] += 1e-3;
    });
    const { holds, parts } = await certifyAgain(made);
    expect(holds).toBe(false);
    expect(parts[0].quarantineFound).toEqual([`${module} lora_A row 1 is ${module}.A row 2`]);
    expect(parts[1].quarantineFound).toEqual([`${module}.weight is not the base weight plus the deployed change`]);
    expect((await readPeft(join(to, 'peft'))).changes.get(module)?.rank).toBe(4);
  });

  it('does not hold for a trace of the quarantine that moves no logit beyond the bound', async () => {
    const made = await exported('traced');
    const { to, checkpoint } = made;
    const [peft, key] = [join(to, 'peft', 'adapter_model.safetensors'), `base_model.model.${module}`];
    // One row more, with a column of zeros: the quarantine is in the file, and not in what the file computes.
    await tamper(peft, `${key}.lora_A.weight`, (data) => {
      const width = data.length / 4;
      const row = checkpoint.tensors.get(`${module}.A`)?.data.subarray(2 * width, 3 * width) ?? [];
      return { shape: [5, width], data: Float32Array.of(...data, ...row) };
    });
    await tamper(peft, `${key}.lora_B.weight`, (data) => {
      const rows = data.length / 4;
      const wider = new Float32Array(rows * 5);
      for (let row = 0; row < rows; row++) wider.set(data.subarray(4 * row, 4 * row + 4), 5 * row);
      return { shape: [rows, 5], data: wider };
    });
    await tamper(join(to, 'merged', 'model.safetensors'), `${module}.weight`, (data) => {
      data[0] += 1e-6;
    });
    const { holds, parts } = await certifyAgain(made);
    for (const { maxLogitDifference, bound, largestLogit } of parts) {
      expect(maxLogitDifference).toBeLessThanOrEqual(bound * largestLogit);
    }
    expect(parts.map((part) => part.quarantineFound)).toEqual([
      [`${module} lora_A row 4 is ${module}.A row 2`],
      [`${module}.weight is not the base weight plus the deployed change`],
    ]);
    expect(parts.map((part) => part.holds)).toEqual([false, false]);
    expect(holds).toBe(false);
  });
});

interface Changed {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** Writes a file again with one tensor changed, in place or for another. */
async function tamper(
  path: string,
  tensor: string,
  change: (data: Float32Array) => Changed | undefined,
): Promise<void> {
  const tensors = [];
  {
    await using file = await SafetensorsFile.open(path);
    for (const [name, entry] of file.entries) {
      const stored = await file.readFloat32(name);
      const { shape, data } = (name === tensor ? change(stored) : undefined) ?? { shape: entry.shape, data: stored };
      tensors.push({ name, dtype: 'F32' as const, shape, data: () => data });
    }
  }
  await writeSafetensors(path, tensors, { format: 'pt' });
}
