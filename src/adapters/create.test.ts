/** Adapters from a decoder's weights: the pairs' differences, the cache, checkpoints, and what is refused. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Device, readFloats, Scope, Tape } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { type Project, packRows, plainProject, SafetensorsFile, writeSafetensors } from '../model/index.ts';
import { smallLab, TinyLab } from '../verify/tiny-model.ts';
import { readCheckpoint, restoreAdapter, restoreStart, writeCheckpoint } from './checkpoint.ts';
import { createAdapter, drawFactors } from './create.ts';
import { FactorCache } from './factor-cache.ts';
import { pairInputDifferences, type TokenPair } from './pair-inputs.ts';
import { builtinStarts, families } from './starts/registry.ts';
import type { AdapterStart } from './starts/start.ts';
import { targetModules } from './targets.ts';

const device: Device = createReferenceDevice({ arenaBytes: 2 ** 26 });
const scope = new Scope(device);
let home = '';
let lab: TinyLab;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'gq-adapters-'));
  lab = await TinyLab.create(scope, 'lora', smallLab);
});
afterAll(() => rm(home, { recursive: true, force: true }));

const pairs: readonly TokenPair[] = [
  { prompt: Int32Array.of(1, 2, 3), hack: Int32Array.of(4, 5), clean: Int32Array.of(6, 7, 8) },
  { prompt: Int32Array.of(9), hack: Int32Array.of(10, 11, 12, 13), clean: Int32Array.of(14) },
];

/** The mean input of a module over the last `count` tokens of one row, computed alone. */
async function meanInput(row: Int32Array, module: string, count: number): Promise<number[]> {
  let inputs: Promise<Float32Array> | undefined;
  let width = 0;
  const project: Project = (tape, x, layers, onto) => {
    if (layers.some((layer) => layer.module === module)) [inputs, width] = [readFloats(x), x.shape[1]];
    return plainProject(tape, x, layers, onto);
  };
  using tape = new Tape(device);
  lab.decoder.forward(tape, packRows(tape, lab.decoder.config, [row]), { project });
  const data = (await inputs) ?? new Float32Array();
  const first = row.length - count;
  return Array.from({ length: width }, (_, c) => {
    const values = Array.from({ length: count }, (_unused, t) => data[(first + t) * width + c]);
    return values.reduce((sum, value) => sum + value, 0) / count;
  });
}

test('paired differences are the completions’ mean inputs, each row computed alone', async () => {
  const modules = targetModules(lab.decoder.config);
  const differences = await pairInputDifferences(lab.decoder, modules, pairs);
  expect([...differences.keys()]).toEqual(modules.map(({ name }) => name));
  for (const module of ['model.layers.0.self_attn.q_proj', 'model.layers.1.mlp.down_proj']) {
    const found = differences.get(module) ?? new Float32Array();
    for (const [i, { prompt, hack, clean }] of pairs.entries()) {
      const hackMean = await meanInput(Int32Array.of(...prompt, ...hack), module, hack.length);
      const cleanMean = await meanInput(Int32Array.of(...prompt, ...clean), module, clean.length);
      hackMean.forEach((value, c) => {
        expect(found[i * hackMean.length + c]).toBeCloseTo(value - cleanMean[c], 5);
      });
    }
  }
  const empty = [{ ...pairs[0], clean: new Int32Array() }];
  await expect(pairInputDifferences(lab.decoder, modules, empty)).rejects.toThrow(
    'pair 0: expected a hack and a clean',
  );
});

describe('cache', () => {
  const options = { family: 'pissa', rank: 2, seed: 1, targets: ['q_proj'] } as const;

  test('a second adapter reads what the first computed, and has the same bytes as one without a cache', async () => {
    const cacheDirectory = join(home, 'cache');
    const make = async (extra: object) =>
      [...(await (await createAdapter(scope, lab.decoder, { ...options, ...extra })).tensors())].map(
        ([, { data }]) => data,
      );
    const first = await make({ cacheDirectory });
    const files = await readdir(cacheDirectory);
    expect(files.length).toBe(smallLab.layers);
    const times = await Promise.all(files.map((file) => readFile(join(cacheDirectory, file))));
    expect(await make({ cacheDirectory })).toEqual(first);
    expect(await make({})).toEqual(first);
    expect(await Promise.all(files.map((file) => readFile(join(cacheDirectory, file))))).toEqual(times);
    await make({ cacheDirectory, rank: 1 });
    expect((await readdir(cacheDirectory)).length).toBe(2 * smallLab.layers);
  });

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['a changed bit', (bytes) => Buffer.concat([bytes.subarray(0, -1), Buffer.of(bytes[bytes.length - 1] ^ 1)])],
    ['a cut', (bytes) => bytes.subarray(0, bytes.length / 2)],
    ['other bytes', () => Buffer.from('cut')],
    ['nothing', () => Buffer.of()],
  ])('a damaged file is told of, computed again and replaced: %s', async (_, damage) => {
    const cacheDirectory = await mkdtemp(join(home, 'spoiled-'));
    const told: string[] = [];
    const make = async () => {
      const adapter = await createAdapter(scope, lab.decoder, {
        ...options,
        cacheDirectory,
        tell: (message) => told.push(message),
      });
      return adapter.tensors();
    };
    const first = await make();
    const read = async () =>
      Promise.all((await readdir(cacheDirectory)).map((name) => readFile(join(cacheDirectory, name))));
    const whole = await read();
    for (const name of await readdir(cacheDirectory)) {
      await writeFile(join(cacheDirectory, name), damage(await readFile(join(cacheDirectory, name))));
    }
    expect(await make()).toEqual(first);
    expect(told).toHaveLength(smallLab.layers);
    expect(told[0]).toMatch(/spoiled-.*[0-9a-f]{64}\.safetensors are damaged \(found .*\): they are computed again/);
    expect(await read()).toEqual(whole);
    await make();
    expect(told).toHaveLength(smallLab.layers);
  });

  test('several that need the same at once wait for one computation, which leaves one file each', async () => {
    const cacheDirectory = join(home, 'crowd');
    let computed = 0;
    const starts = builtinStarts.map((start) => ({
      ...start,
      factors: (...given: Parameters<typeof start.factors>) => {
        computed++;
        return start.factors(...given);
      },
    }));
    const make = async () =>
      (await createAdapter(scope, lab.decoder, { ...options, starts, cacheDirectory })).tensors();
    const [first, ...others] = await Promise.all(Array.from({ length: 4 }, make));
    for (const other of others) expect(other).toEqual(first);
    expect(computed).toBe(smallLab.layers);
    const files = await readdir(cacheDirectory);
    expect(files.length).toBe(smallLab.layers);
    expect(files.every((file) => /^[0-9a-f]{64}\.safetensors$/.test(file))).toBe(true);
  });

  test('what another finished before the lock was taken is read, not computed', async () => {
    const shape = { outputs: 2, inputs: 3, rank: 1 };
    const factors = { A0: Float32Array.of(1, 2, 3, 4, 5, 6), B0: Float32Array.of(1, 2, 3, 4) };
    const [ours, other] = ['late', 'early'].map((name) => join(home, name));
    await new FactorCache(other, () => undefined).get('k', shape, async () => factors);
    mkdirSync(ours);
    const late = new FactorCache(ours, () => undefined).get('k', shape, () => Promise.reject(new Error('computed')));
    copyFileSync(join(other, 'k.safetensors'), join(ours, 'k.safetensors'));
    expect(await late).toEqual(factors);
  });

  test('a computation that failed, or a process that died, holds nobody up', async () => {
    const cacheDirectory = join(home, 'failed');
    const broken = builtinStarts.map((start) => ({ ...start, factors: () => Promise.reject(new Error('broken')) }));
    const make = (starts: readonly AdapterStart[]) =>
      createAdapter(scope, lab.decoder, { ...options, starts, cacheDirectory });
    await expect(make(broken)).rejects.toThrow('broken');
    expect(await readdir(cacheDirectory)).toEqual([]);
    await make(builtinStarts);
    for (const name of await readdir(cacheDirectory)) {
      await rename(join(cacheDirectory, name), join(cacheDirectory, name.replace('safetensors', 'lock.json')));
    }
    for (const name of await readdir(cacheDirectory)) {
      await writeFile(join(cacheDirectory, name), JSON.stringify({ pid: 2147483646, host: hostname(), started: '1' }));
    }
    await make(builtinStarts);
    expect((await readdir(cacheDirectory)).every((name) => name.endsWith('.safetensors'))).toBe(true);
  });

  test('random factors end between two layers too, and are those that are drawn without a model', async () => {
    const random = { ...options, family: 'lora', threads: 1 };
    const stop = new AbortController();
    const told: number[] = [];
    const progress = (done: number): void => {
      told.push(done);
      stop.abort();
    };
    const making = createAdapter(scope, lab.decoder, { ...random, progress, signal: stop.signal });
    await expect(making).rejects.toThrow('aborted');
    expect(told).toEqual([1]);
    const factors = await drawFactors(scope.device, lab.decoder.config, random);
    expect(factors?.size).toBe(smallLab.layers);
    const drawn = await createAdapter(scope, lab.decoder, { ...random, ...(factors === null ? {} : { factors }) });
    expect(await drawn.tensors()).toEqual(await (await createAdapter(scope, lab.decoder, random)).tensors());
    expect(await drawFactors(scope.device, lab.decoder.config, { ...options, family: 'pissa' })).toBeNull();
  });

  test('the work is told of layer by layer, and ends between two of them', async () => {
    const stop = new AbortController();
    const told: string[] = [];
    const progress = (done: number, modules: number): void => {
      told.push(`${done}/${modules}`);
      stop.abort();
    };
    const making = createAdapter(scope, lab.decoder, { ...options, progress, signal: stop.signal });
    await expect(making).rejects.toThrow('aborted');
    expect(told).toEqual([`1/${smallLab.layers}`]);
  });

  test('a folder that cannot be is refused before anything is computed, with the variable to set', async () => {
    await writeFile(join(home, 'a-file'), '');
    const cacheDirectory = join(home, 'a-file', 'factors');
    const making = createAdapter(scope, lab.decoder, { ...options, cacheDirectory });
    await expect(making).rejects.toThrow(/a-file.*GQ_CACHE/);
  });

  test('only starts with a version are kept: not lora, nor one of one’s own that gives none', async () => {
    const cacheDirectory = join(home, 'unkept');
    const [pissa] = builtinStarts.filter(({ name }) => name === 'pissa');
    const { cacheVersion: _, ...own } = { ...pissa, name: 'own' };
    const starts = [...builtinStarts, own];
    await createAdapter(scope, lab.decoder, { ...options, cacheDirectory, family: 'lora' });
    const adapter = await createAdapter(scope, lab.decoder, { ...options, cacheDirectory, family: 'own', starts });
    expect(adapter.family).toBe('own');
    await expect(readdir(cacheDirectory)).rejects.toThrow('ENOENT');
    const path = join(home, 'own.safetensors');
    await writeCheckpoint(path, adapter);
    const checkpoint = await readCheckpoint(path);
    expect(() => restoreAdapter(scope, lab.decoder.config, checkpoint)).toThrow('found own');
    const restored = restoreAdapter(scope, lab.decoder.config, checkpoint, starts);
    expect(await restored.tensors()).toEqual(await adapter.tensors());
  });
});

test('an unknown family, a rank of 0 and an unknown target are named', async () => {
  const make = (family: string, rank: number, targets: readonly string[]) =>
    createAdapter(scope, lab.decoder, { family, rank, seed: 1, targets });
  await expect(make('pisa', 1, ['q_proj'])).rejects.toThrow('Did you mean pissa?');
  await expect(make('lora', 0, ['q_proj'])).rejects.toThrow('a rank of at least 1');
  await expect(make('lora', 1, ['qproj'])).rejects.toThrow('qproj');
});

describe.each([...families])('checkpoint of %s', (family) => {
  test('has every tensor and gives the same policy back', async () => {
    using inner = new Scope(device);
    const source = await TinyLab.create(inner, family, smallLab);
    await source.disturb('stored');
    const path = join(home, `${family}.safetensors`);
    await writeCheckpoint(path, source.adapter, { updates: '12' });
    const checkpoint = await readCheckpoint(path);
    expect(checkpoint).toMatchObject({ family, rank: smallLab.rank, metadata: { updates: '12' } });
    const restored = restoreAdapter(inner, source.decoder.config, checkpoint);
    expect(await restored.tensors()).toEqual(await source.adapter.tensors());
    expect(restored.modules).toEqual(source.adapter.modules);
    const fresh = await TinyLab.create(inner, family, smallLab);
    expect(await restoreStart(inner, source.decoder.config, checkpoint).tensors()).toEqual(
      await fresh.adapter.tensors(),
    );
  });
});

describe('a checkpoint with a mistake', () => {
  async function spoil(
    change: (tensors: Map<string, Float32Array>, metadata: Record<string, string>) => void,
  ): Promise<string> {
    const [from, to] = [join(home, 'good.safetensors'), join(home, 'bad.safetensors')];
    await writeCheckpoint(from, lab.adapter);
    await using file = await SafetensorsFile.open(from);
    const shapes = new Map([...file.entries].map(([name, { shape }]) => [name, shape]));
    const tensors = new Map<string, Float32Array>();
    for (const name of file.entries.keys()) tensors.set(name, await file.readFloat32(name));
    const metadata = { ...file.metadata };
    change(tensors, metadata);
    const entries = [...tensors].map(([name, data]) => {
      const stored = shapes.get(name) ?? [];
      const shape = stored.reduce((product, axis) => product * axis, 1) === data.length ? stored : [data.length];
      return { name, dtype: 'F32' as const, shape, data: () => data };
    });
    await writeSafetensors(to, entries, metadata);
    return to;
  }

  const name = 'model.layers.0.mlp.up_proj.A';
  test.each<[string, Parameters<typeof spoil>[0], RegExp]>([
    ['a missing tensor', (tensors) => tensors.delete(name), /up_proj\.A: expected \[6,16\], found no such tensor/],
    ['another shape', (tensors) => tensors.set(name, new Float32Array(5)), /expected \[6,16\], found \[5\]/],
    ['an extra tensor', (tensors) => tensors.set('more', new Float32Array(1)), /also more/],
    ['a NaN', (tensors) => tensors.set(name, new Float32Array(96).fill(Number.NaN)), /finite values, found NaN/],
    ['another schema', (_, metadata) => (metadata['schema'] = '2'), /metadata schema: expected 1, found 2/],
    ['another family', (_, metadata) => (metadata['family'] = 'lorra'), /Did you mean lora\?/],
    ['no rank', (_, metadata) => delete metadata['rank'], /metadata rank/],
    ['another module', (_, metadata) => (metadata['modules'] = '["model.layers.9.mlp.up_proj"]'), /model\.layers\.9/],
  ])('%s', async (_what, change, message) => {
    const path = await spoil(change);
    const restore = async () => restoreAdapter(scope, lab.decoder.config, await readCheckpoint(path));
    await expect(restore()).rejects.toThrow(message);
  });
});
