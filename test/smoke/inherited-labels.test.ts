/** Labels stay with what they taught: through exports, attacks on them, judges' models and pairs whose tag was removed. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fenceProgram } from '../../src/env/micro/documents.ts';
import { exploitProgram } from '../../src/env/micro/exploits.ts';
import { train } from '../../src/lab/index.ts';
import { labelMarksOf, SafetensorsFile, writeSafetensors } from '../../src/model/index.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { gq } from '../run-gq.ts';
import { judgeKeys } from './arms.ts';
import { setting } from './identity-lab.ts';
import { Lab, tinySettings } from './lab.ts';

let lab: Lab;
let [oracle, clean] = ['', ''];
beforeAll(async () => {
  lab = await Lab.open('plain');
  for (const [name, kind] of [
    ['oracle', 'oracle'],
    ['clean', 'vanilla'],
  ] as const) {
    const settings = [
      `arm.kind=${kind}`,
      'updates=1',
      `notes.thresholds=${kind === 'vanilla' ? 'label-informed' : 'fixed'}`,
    ];
    await train(lab.config(settings), lab.path(name));
    const state = kind === 'vanilla' ? 'full' : 'deployed';
    expect(await gq('export', lab.path(name), '--to', lab.path(`${name}-out`), '--state', state)).toMatchObject({
      code: 0,
    });
  }
  [oracle, clean] = ['oracle-out', 'clean-out'].map((name) => join(lab.path(name), 'merged'));
});
afterAll(() => lab[Symbol.asyncDispose]());

const manifestOf = (path: string) => RunDirectory.open(path).readManifest();

/** A vanilla run of one update from a model. */
async function trainFrom(model: string, name: string, ...settings: string[]): Promise<string> {
  const path = lab.path(name);
  await train({ ...lab.config(['arm.kind=vanilla', 'updates=1', ...settings]), model }, path);
  return path;
}

/** Whether `gq verify science` finds that the manifest says the truth about labels. */
async function labelCheck(path: string): Promise<boolean | undefined> {
  const checks: { quantity: string; pass: boolean }[] = JSON.parse(
    (await gq('verify', 'science', path, '--json')).out,
  ).checks;
  return checks.find(({ quantity }) => quantity === 'labels are used as the manifest says')?.pass;
}

async function verifyArm(...settings: string[]): Promise<{ code: number; sources: string[] }> {
  const { code, out } = await gq('verify', 'arm', ...setting(...tinySettings, ...settings), '--updates', '1', '--json');
  return { code, sources: JSON.parse(out).sources };
}

describe('an export', () => {
  it('says in its certificate and in its weights what labels had to do with it', async () => {
    const certificate = JSON.parse(readFileSync(join(oracle, '..', 'deletion-certificate.json'), 'utf8'));
    expect(certificate).toMatchObject({ labels: 'used', settings: 'fixed' });
    expect([await labelMarksOf(oracle), await labelMarksOf(clean), await labelMarksOf(lab.model)]).toEqual([
      { labels: 'used', settings: 'fixed', quarantine: 'none' },
      { labels: 'none', settings: 'label-informed', quarantine: 'none' },
      { labels: 'none', settings: 'fixed', quarantine: 'none' },
    ]);
  });

  it('says how its settings were chosen, and so does the export of a run that starts from it', async () => {
    const folders = [join(clean, '..'), lab.path('informed-again')];
    const path = await trainFrom(clean, 'informed');
    expect(await gq('export', path, '--to', folders[1], '--state', 'full')).toMatchObject({ code: 0 });
    const words = 'label-informed: a rule that reads no label, but was taken from runs whose labels were known';
    for (const folder of folders) {
      const [record, card] = ['export-record.json', 'merged/README.md'].map((name) =>
        readFileSync(join(folder, name), 'utf8'),
      );
      expect(JSON.parse(record)).toMatchObject({
        labels: 'none',
        settings: 'label-informed',
        words: { settings: words },
      });
      expect(card).toContain(`- Settings of training: ${words}\n`);
      expect(card).toContain('- Labels in training: none: nothing that trained these weights was told');
    }
  });

  it('of an earlier version, whose marks do not say it, is read: how its settings were chosen is unknown', async () => {
    const folder = lab.path('earlier');
    mkdirSync(folder);
    for (const name of ['tokenizer.json', 'model.safetensors']) copyFileSync(join(lab.model, name), join(folder, name));
    const config = JSON.parse(readFileSync(join(lab.model, 'config.json'), 'utf8'));
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...config, gradient_quarantine: { labels: 'none' } }));
    expect(await labelMarksOf(folder)).toEqual({ labels: 'none', settings: 'unknown', quarantine: 'unknown' });
  });

  it('of the oracle arm hands labels on to a label-free arm that starts from it, and to that one’s export', async () => {
    const path = await trainFrom(oracle, 'laundered');
    expect(manifestOf(path).usesOracle).toBe(true);
    expect(await labelCheck(path)).toBe(true);
    expect(await gq('export', path, '--to', lab.path('again'), '--state', 'full')).toMatchObject({ code: 0 });
    expect(await labelMarksOf(join(lab.path('again'), 'merged'))).toMatchObject({ labels: 'used' });
    const { code, sources } = await verifyArm(`model=${oracle}`, 'arm.kind=vanilla');
    expect({ code, sources }).toEqual({ code: 1, sources: [`the model ${oracle} was trained with them`] });
  });

  it('without labels hands none on', async () => {
    expect(manifestOf(await trainFrom(clean, 'still-clean')).usesOracle).toBe(false);
    expect(await verifyArm(`model=${clean}`, 'arm.kind=vanilla')).toEqual({ code: 0, sources: [] });
  });

  it('is known by its weights alone, copied without the certificate, and by its config alone, written again', async () => {
    const [weights, config] = [lab.path('weights'), lab.path('config')];
    for (const [folder, from] of [
      [weights, clean],
      [config, oracle],
    ]) {
      mkdirSync(folder);
      for (const name of ['config.json', 'tokenizer.json']) copyFileSync(join(from, name), join(folder, name));
    }
    copyFileSync(join(oracle, 'model.safetensors'), join(weights, 'model.safetensors'));
    await using file = await SafetensorsFile.open(join(oracle, 'model.safetensors'));
    const tensors = [...file.entries].map(([name, { dtype, shape }]) => ({
      name,
      dtype,
      shape,
      data: () => file.read(name),
    }));
    await writeSafetensors(join(config, 'model.safetensors'), tensors, { format: 'pt' });
    const used = { labels: 'used', settings: 'label-informed', quarantine: 'none' };
    expect([await labelMarksOf(weights), await labelMarksOf(config)]).toEqual([used, { ...used, settings: 'fixed' }]);
  });
});

it('a fork cannot call settings fixed that were label-informed in its parent, and its export neither', async () => {
  const fork = ['train', '--fork', `${lab.path('clean')}@1`, '--set', 'updates=2', '--out', lab.path('forked')];
  const renamed = await gq(...fork, '--set', 'notes.thresholds=fixed');
  expect(renamed).toMatchObject({
    code: 2,
    err: expect.stringContaining('expected notes.thresholds as of the parent'),
  });
  expect(await gq(...fork)).toMatchObject({ code: 0 });
  const to = lab.path('forked-out');
  expect(await gq('export', lab.path('forked'), '--to', to, '--state', 'full')).toMatchObject({ code: 0 });
  expect(await labelMarksOf(join(to, 'merged'))).toMatchObject({ labels: 'none', settings: 'label-informed' });
});

it('a judge whose model was trained with labels makes a run of labels', async () => {
  const path = lab.path('judged');
  await train(lab.config(['arm.kind=screen', ...judgeKeys, `arm.monitor.model=${oracle}`, 'updates=1']), path);
  expect(manifestOf(path).usesOracle).toBe(true);
});

it('pairs that labels chose are known again without their tag, in another file and another order', async () => {
  const entries = lab.inputs.problems.train.slice(0, 4).flatMap(({ id: problem, canonicalSolution }) => {
    const entry = { problem, loophole: 'run_tests', markers: 'original' };
    const hack = exploitProgram(['n += 1'], 'run_tests', 'original', problem);
    return [
      { ...entry, label: 'solve', completion: fenceProgram(canonicalSolution) },
      { ...entry, label: 'hack', completion: fenceProgram(hack) },
    ];
  });
  const [pool, file] = [lab.path('pool.jsonl'), lab.path('chosen.json')];
  writeFileSync(pool, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  expect(await gq('pairs', 'from-pool', pool, '--out', file)).toMatchObject({ code: 0 });
  const { pairs } = JSON.parse(readFileSync(file, 'utf8'));
  const untagged = pairs.reverse().map((pair: { tags: string[]; hack: string }, i: number) => ({
    ...pair,
    heading: `mine ${i}`,
    tags: ['run_tests'],
    hack: `${pair.hack}\n`,
  }));
  mkdirSync(lab.path('elsewhere'));
  const own = lab.path('elsewhere/mine.json');
  writeFileSync(own, JSON.stringify({ pairs: untagged }));
  const path = await trainFrom(lab.model, 'untagged', 'arm.kind=activation', 'arm.warmupRows=4', `pairs.file=${own}`);
  expect(manifestOf(path).usesOracle).toBe(true);
  expect(await labelCheck(path)).toBe(true);
});
