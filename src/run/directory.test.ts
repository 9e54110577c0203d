import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rollouts as makeRollouts } from '../../test/grpo/tiny-policy.ts';
import { UserError } from '../base/index.ts';
import type { RolloutRecord } from '../grpo/events.ts';
import { resolveBuiltin } from '../lab/index.ts';
import { writeSeal } from './checksums.ts';
import { rolloutColumns } from './columns/index.ts';
import { rolloutRow, stampedJson } from './contents.ts';
import { RunDirectory } from './directory.ts';
import { FileSink } from './file-sink.ts';
import { type Manifest, runFormat } from './manifest.ts';
import { readDirections, readEvents, readRollouts, sealTable } from './read.ts';

let home = '';
let count = 0;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'gq-run-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const { config, hash } = resolveBuiltin(null);
const manifest: Manifest = {
  format: runFormat,
  name: 'test',
  config,
  version: '0',
  node: 'v0',
  command: [],
  created: '2020-01-01T00:00:00.000Z',
  identity: {
    ...{ config: hash, plugins: '', model: '', problems: '', dataFiles: {} },
    ...{ partition: null, pairs: null, pool: null, armModels: {}, armRuns: {}, judge: null, sampler: null },
  },
  problems: { train: { used: 0, leftOut: [] }, validation: { used: 0, leftOut: [] }, test: { used: 0, leftOut: [] } },
  heldOutPairs: [],
  generatedPairs: null,
  arm: 'vanilla',
  usesOracle: false,
  armSees: [],
  hasQuarantine: false,
  plugins: [],
  device: 'reference',
  features: { modules: ['a', 'b'], rank: 2 },
  parent: null,
};

const fileOptions = { storeFeatures: true, storeTokens: true, featureBytes: 16, promptText: () => 'prompt' };

async function makeRun(): Promise<RunDirectory> {
  const run = RunDirectory.create(join(home, `run-${count++}`));
  await run.writeManifest(manifest);
  run.cutTo();
  return run;
}

describe('directories', () => {
  it('are made once, opened when they hold a run, and refuse another format', async () => {
    const run = await makeRun();
    expect(() => RunDirectory.create(run.path)).toThrow(`--resume ${run.path}`);
    expect(RunDirectory.open(run.path).readManifest()).toEqual(manifest);
    expect(() => RunDirectory.open(home)).toThrow('no manifest.json');
    writeFileSync(run.file('manifest.json'), JSON.stringify({ ...manifest, format: 5 }));
    expect(() => run.readManifest()).toThrow('expected a run of format 4, found format 5');
    writeFileSync(run.file('manifest.json'), JSON.stringify({ ...manifest, format: 2, version: '0.2.0' }));
    for (const reading of [() => RunDirectory.open(run.path), () => run.readManifest()]) {
      expect(reading).toThrow(
        /format 4, found format 2, written by gradient-quarantine 0\.2\.0\. Since format 3 a run stores the initial values of its adapter once/,
      );
    }
    const old = { ...manifest, format: 1, version: '0.1.0', config: { environment: { modes: [] } } };
    writeFileSync(run.file('manifest.json'), JSON.stringify(old));
    for (const reading of [() => RunDirectory.open(run.path), () => run.readManifest()]) {
      expect(reading).toThrow(UserError);
      expect(reading).toThrow(
        /manifest\.json: expected a run of format 4, found format 1, written by gradient-quarantine 0\.1\.0\. .*read this run with gradient-quarantine 0\.1\.x, or train it again/,
      );
    }
  });

  it('of format 3 is read by the names of today', async () => {
    const run = await makeRun();
    const { identity, ...others } = manifest;
    const { config: configHash, model: modelHash, problems: dataHash, pairs: pairsHash, ...more } = identity;
    const { pool: poolHash, partition: partitionHash, plugins: _plugins, ...same } = more;
    const hashes = { configHash, modelHash, dataHash, pairsHash, poolHash, partitionHash };
    const before = { ...others, ...hashes, ...same, format: 3 };
    const plugins = [{ path: '/own.ts', hash: 'a' }, { path: '/two.ts', hash: 'b' }]; // biome-ignore format: one line
    writeFileSync(run.file('manifest.json'), stampedJson({ ...before, plugins, modelHash: 'm', poolHash: 'p' }));
    expect(run.readManifest()).toEqual({
      ...manifest,
      plugins,
      identity: { ...identity, model: 'm', pool: 'p', plugins: 'a b' },
    });
    // Earlier ones of this format did not note the models and runs of the arm.
    const { armModels: _models, armRuns: _runs, ...without } = before;
    writeFileSync(run.file('manifest.json'), stampedJson(without));
    expect(run.readManifest().identity).toEqual({ ...identity, armRuns: null });
  });

  it.each([
    ['torn', (text: string) => text.slice(0, -20), /manifest\.json: expected the manifest of a run, as JSON, found/],
    ['of another program', () => '{"name": "left-pad"}', /manifest\.json: .* found key format: /],
    [
      'without a key',
      (text: string) => text.replace('"model": ""', '"hash": ""'),
      /manifest\.json: .*key identity\.model: /,
    ],
    ['with another type', (text: string) => text.replace('"rank": 2', '"rank": "2"'), /: .*key features\.rank: /],
    ['with an unknown key in its config', (text: string) => text.replace('"seed"', '"sead"'), /key config: .*sead/],
  ])('a manifest %s is refused by file and key', async (_, damage, message) => {
    const run = await makeRun();
    const path = run.file('manifest.json');
    writeFileSync(path, damage(readFileSync(path, 'utf8')));
    expect(() => run.readManifest()).toThrow(UserError);
    expect(() => run.readManifest()).toThrow(message);
  });

  it('the lock: one holder at a time; a dead one does not block, another host’s does', async () => {
    const run = await makeRun();
    {
      using _held = run.lock();
      expect(() => run.lock()).toThrow(`found process ${process.pid} on ${hostname()}`);
    }
    expect(existsSync(run.file('lock.json'))).toBe(false);
    const dead = spawn(process.execPath, ['-e', '']);
    await new Promise((resolve) => dead.on('close', resolve));
    const hold = (holder: object) => writeFileSync(run.file('lock.json'), JSON.stringify(holder));
    hold({ pid: dead.pid, host: hostname(), started: '1' });
    run.lock()[Symbol.dispose]();
    // This process is alive but did not take the lock: its number was used again.
    hold({ pid: process.ppid, host: hostname(), started: '1' });
    run.lock()[Symbol.dispose]();
    hold({ pid: dead.pid, host: 'elsewhere', started: '1' });
    expect(() => run.lock()).toThrow('on elsewhere');
    hold({ pid: 'one' });
    expect(() => run.lock()).toThrow(/lock\.json: .* found key pid: .*key host: .*delete this file/);
  });

  it('a start that finds another process at work removes nothing of it', () => {
    const run = RunDirectory.create(join(home, `run-${count++}`));
    const other = RunDirectory.create(run.path);
    using _held = run.lock();
    expect(() => RunDirectory.create(run.path)).toThrow('no other process trains');
    expect(() => other.lock()).toThrow('no other process trains');
    other.removeStart();
    expect(readdirSync(run.path).sort()).toEqual(['checkpoints', 'lock.json']);
  });

  it('a start between its folder and its lock survives another one that fails and removes what it made', () => {
    const first = RunDirectory.create(join(home, `outer-${count++}`, 'run'));
    const second = RunDirectory.create(first.path);
    first.removeStart();
    expect(existsSync(first.path)).toBe(false);
    using _lock = second.lock();
    expect(readdirSync(second.path).sort()).toEqual(['checkpoints', 'lock.json']);
    first.removeStart();
    expect(readdirSync(second.path).sort()).toEqual(['checkpoints', 'lock.json']);
  });

  it('without a folder of checkpoints has none if it recorded nothing yet, and is damaged otherwise', async () => {
    const run = await makeRun();
    rmSync(run.file('checkpoints'), { recursive: true });
    expect(run.listCheckpoints()).toEqual([]);
    writeFileSync(run.ledger('events'), '{}\n');
    expect(() => run.listCheckpoints()).toThrow(/checkpoints: expected the folder of checkpoints, found none/);
    rmSync(run.ledger('events'));
    writeFileSync(run.file('rollouts.parquet'), '');
    expect(() => run.listCheckpoints()).toThrow(/checkpoints: expected the folder of checkpoints, found none/);
  });
});

describe('ledger rows', () => {
  const [rollout] = makeRollouts(1, 2);
  const record: RolloutRecord = {
    rollout: { ...rollout, text: 'déjà "vu"\n\u2028' },
    reward: 3.5,
    suspicion: null,
    flagged: null,
    learnedReward: null,
    screening: null,
    advantage: Math.fround(0.1),
    trained: true,
    score: -1 / 3,
    tokenScores: null,
    cuts: { low: -1, high: 2 },
    route: 'absorb',
    routes: ['absorb'],
    logps: Float32Array.of(-1, -2),
    ratio: 1,
    k3: 0,
    norms: { deployed: 0.25, quarantine: 0 },
    features: Float32Array.of(1, 2, 3, 4),
  };
  const notes = { update: 1, prompt: 'p', featureRow: 0, featureRows: 1, storeTokens: true };

  it('hold what the record holds; tokens only when asked; routes by token as letters', () => {
    const row = rolloutRow(record, notes);
    expect(row).toMatchObject({ id: rollout.id, low: -1, high: 2, route: 'absorb', meanLogp: -1.5, featureRow: 0 });
    expect(row).toMatchObject({ deployedNorm: 0.25, quarantineNorm: 0, tokenLogps: [-1, -2], tokenRoutes: null });
    expect(row.tokenIds).toEqual(Array.from(rollout.tokens));
    expect(Object.keys(row)).toEqual(Object.keys(rolloutColumns));
    const skipped = { ...record, trained: false, score: null, cuts: null, route: null, routes: null, logps: null };
    const bare = rolloutRow({ ...skipped, norms: null, ratio: null, k3: null }, { ...notes, storeTokens: false });
    expect(bare).toMatchObject({
      score: null,
      low: null,
      route: null,
      meanLogp: null,
      tokenIds: null,
      tokenLogps: null,
    });
    expect(rolloutRow({ ...record, routes: ['keep', 'absorb', 'route'] }, notes).tokenRoutes).toBe('kar');
  });

  it('are the same read from lines and from Parquet, which has the same bytes each time', async () => {
    const rows = Array.from({ length: 5000 }, (_, i) =>
      rolloutRow(
        { ...record, score: i % 3 === 0 ? null : i / 7 },
        { ...notes, update: i, featureRow: i % 2 ? i : null },
      ),
    );
    const bytes: Buffer[] = [];
    for (let time = 0; time < 2; time++) {
      const run = await makeRun();
      writeFileSync(run.ledger('rollouts'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
      const collect = async () => {
        const found = [];
        for await (const row of readRollouts(run)) found.push(row);
        return found;
      };
      expect(await collect()).toEqual(rows);
      await sealTable(run.file('rollouts'), rolloutColumns);
      await writeSeal(run.path, null);
      rmSync(run.ledger('rollouts'));
      expect(await collect()).toEqual(rows);
      bytes.push(readFileSync(run.file('rollouts.parquet')));
    }
    expect(bytes[1].equals(bytes[0])).toBe(true);
  });

  it('directions are stored with their update and the scores of the pairs', async () => {
    const run = await makeRun();
    const direction = Float32Array.of(0.6, 0.8, 1, 0);
    const files = new FileSink(run, fileOptions);
    files.event({ kind: 'direction', update: 1, direction, pairCuts: { low: -2, high: 3 } }, {});
    files.event({ kind: 'direction', update: 6, direction, pairCuts: { low: 0.5, high: 1 } }, {});
    files.close();
    expect(await readDirections(run)).toEqual([
      { update: 1, pairCuts: { low: -2, high: 3 }, direction },
      { update: 6, pairCuts: { low: 0.5, high: 1 }, direction },
    ]);
  });

  it('the files of a run: rows of features are counted over several openings; infos are not kept, warnings are', async () => {
    const run = await makeRun();
    const earlier = [
      { kind: 'warning', update: 0, name: 'problems-left-out', message: 'problem 7 is left out' },
    ] as const;
    for (const update of [1, 2]) {
      const files = new FileSink(run, update === 1 ? { ...fileOptions, earlier } : fileOptions);
      files.event({ kind: 'info', update, name: 'memory-plan', message: 'fits' }, {});
      const wide = { ...record, features: new Float32Array(8) };
      files.event({ kind: 'rollouts', update, records: [record, wide, record] }, {});
      files.flush();
      files.close();
    }
    const rows = [];
    for await (const row of readRollouts(run)) rows.push(row);
    expect(rows.map(({ featureRow }) => featureRow)).toEqual([0, null, 1, 2, null, 3]);
    expect(rows[0]).toMatchObject({ update: 1, prompt: 'prompt' });
    const events = [];
    for await (const event of readEvents(run)) events.push(event);
    expect(events).toEqual(earlier);
  });

  it.each([
    ['{"kind":"step","update":1}\n{"kind":"mode"}\n', /events\.jsonl, line 2: expected an event, found key kind: /],
    ['{"kind":"stop","update":1,"reason":"tired","detail":""}\n', /line 1: .*key reason: /],
    ['3\n', /line 1: expected an event, found the whole value: /],
  ])('an event that is none is refused by line and key: %j', async (text, message) => {
    const run = await makeRun();
    writeFileSync(run.ledger('events'), text);
    const reading = async () => {
      for await (const event of readEvents(run)) expect(event.kind).toBe('step');
    };
    await expect(reading()).rejects.toThrow(message);
    await expect(reading()).rejects.toThrow(UserError);
  });
});
