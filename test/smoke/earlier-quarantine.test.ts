/** A quarantine that nothing deleted stays with the weights: what is trained on them cannot be certified as without one. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeCheckpoint } from '../../src/adapters/index.ts';
import { openLab, train } from '../../src/lab/index.ts';
import { labelMarksOf, SafetensorsFile } from '../../src/model/index.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { gq } from '../run-gq.ts';
import { Lab } from './lab.ts';

let lab: Lab;
let first = '';
const kept = 'the base carries the quarantine of an earlier run, which nothing deleted';

beforeAll(async () => {
  lab = await Lab.open('plain');
  first = await trainFrom(lab.model, 'first', 'oracle');
});
afterAll(() => lab[Symbol.asyncDispose]());

async function trainFrom(model: string, name: string, kind: 'oracle' | 'vanilla'): Promise<string> {
  const path = lab.path(name);
  await train({ ...lab.config([`arm.kind=${kind}`, 'updates=1']), model }, path);
  return path;
}

/** The merged model of a run, in a folder of this name; it is made once. */
async function merged(path: string, name: string, state: string, ...options: string[]): Promise<string> {
  const to = lab.path(name);
  if (!existsSync(to)) {
    const made = await gq('export', path, '--to', to, '--state', state, ...options);
    expect({ code: made.code, err: made.err }).toEqual({ code: 0, err: '' });
  }
  return join(to, 'merged');
}

const asTrained = (): Promise<string> => merged(first, 'first-full', 'full');
const earlierOf = (path: string) => RunDirectory.open(path).readManifest().earlierQuarantine;

/** What a call says of a deployed export that must be refused, in words and as JSON. */
async function refused(source: string, ...options: string[]) {
  const to = lab.path('refused');
  const text = await gq('export', source, '--to', to, ...options);
  const json = await gq('export', source, '--to', to, '--json', ...options);
  expect([text.code, json.code, existsSync(to)]).toEqual([1, 1, false]);
  expect(text.out).toContain('Nothing was written.');
  expect(text.out).not.toContain('is deleted');
  return { text: text.out, certificate: JSON.parse(json.out) };
}

describe('weights that were exported', () => {
  it('as trained, or with some of the quarantine, say that it is in them: file, config, record and card', async () => {
    for (const model of [await asTrained(), await merged(first, 'first-half', 'scale-0.5')]) {
      expect(await labelMarksOf(model)).toMatchObject({ quarantine: 'kept' });
      expect(JSON.parse(readFileSync(join(model, 'config.json'), 'utf8'))).toMatchObject({
        gradient_quarantine: { quarantine: 'kept' },
      });
      for (const file of [join(model, 'model.safetensors'), join(model, '..', 'peft', 'adapter_model.safetensors')]) {
        await using weights = await SafetensorsFile.open(file);
        expect(weights.metadata).toMatchObject({ 'gradient-quarantine.quarantine': 'kept' });
      }
      const record = JSON.parse(readFileSync(join(model, '..', 'export-record.json'), 'utf8'));
      expect(record).toMatchObject({ quarantine: { mark: 'kept' }, findings: [], holds: true });
      expect(readFileSync(join(model, 'README.md'), 'utf8')).toContain('- Quarantine in these weights: kept: ');
    }
  });

  it('as deployed have none, and neither has what is trained on them', async () => {
    const model = await merged(first, 'first-deployed', 'deployed');
    expect(await labelMarksOf(model)).toMatchObject({ quarantine: 'none' });
    const again = await trainFrom(model, 'on-deployed', 'oracle');
    expect(readFileSync(join(again, 'manifest.json'), 'utf8')).not.toContain('earlierQuarantine');
    const certificate = join(await merged(again, 'on-deployed-out', 'deployed'), '..', 'deletion-certificate.json');
    expect(JSON.parse(readFileSync(certificate, 'utf8'))).toMatchObject({
      quarantine: { mark: 'none' },
      findings: [],
      holds: true,
    });
  });
});

describe('a run on a base that carries the quarantine of an earlier run', () => {
  it('says so when it begins, and no certificate calls what it deploys free of it', async () => {
    const path = await trainFrom(await asTrained(), 'second', 'oracle');
    expect(earlierOf(path)).toBe('kept');
    const events = readFileSync(join(path, 'events.jsonl'), 'utf8');
    expect(events).toMatch(/"name":"earlier-quarantine".*carries the quarantine of an earlier run/);
    const { text, certificate } = await refused(path);
    expect(text).toContain(`is left out, but ${kept}.`);
    expect(certificate).toMatchObject({
      kind: 'deletion certificate',
      quarantine: { mark: 'kept' },
      findings: [kept],
      holds: false,
    });
    expect(certificate.parts.map(({ holds }: { holds: boolean }) => holds)).toEqual([true, true]);
  });

  it('is known by the marks of the base to a file of tensors, which knows no run', async () => {
    const tensors = lab.path('adapter.safetensors');
    {
      await using opened = await openLab({ run: RunDirectory.open(first) });
      await writeCheckpoint(tensors, (await opened.at(1)).adapter);
    }
    const { certificate } = await refused(tensors, '--model', await asTrained(), '--labels', 'used');
    expect(certificate).toMatchObject({ findings: [kept], base: { isTrainedOn: false }, holds: false });
    const whole = await merged(tensors, 'file-full', 'full', '--model', lab.model);
    expect(await labelMarksOf(whole)).toMatchObject({ quarantine: 'unknown' });
  });

  it('hands it on without a quarantine of its own', async () => {
    const path = await trainFrom(await asTrained(), 'vanilla', 'vanilla');
    expect(earlierOf(path)).toBe('kept');
    const model = await merged(path, 'vanilla-out', 'full');
    expect(await labelMarksOf(model)).toMatchObject({ quarantine: 'kept' });
    expect(earlierOf(await trainFrom(model, 'third', 'oracle'))).toBe('kept');
  });

  it('is unknown where an earlier version exported the base, which counts as yes', async () => {
    const model = lab.path('earlier');
    mkdirSync(model);
    for (const name of ['tokenizer.json', 'model.safetensors']) copyFileSync(join(lab.model, name), join(model, name));
    const config = JSON.parse(readFileSync(join(lab.model, 'config.json'), 'utf8'));
    const marks = { labels: 'none', settings: 'fixed' };
    writeFileSync(join(model, 'config.json'), JSON.stringify({ ...config, gradient_quarantine: marks }));
    const path = await trainFrom(model, 'on-earlier', 'oracle');
    expect(earlierOf(path)).toBe('unknown');
    expect((await refused(path)).text).toContain(
      'whether the base carries the quarantine of an earlier run is not known',
    );
  });
});

describe('a fork', () => {
  const fork = async (name: string, ...settings: string[]): Promise<string> => {
    const set = ['updates=2', ...settings].flatMap((each) => ['--set', each]);
    const path = lab.path(name);
    expect(await gq('train', '--fork', `${first}@1`, ...set, '--out', path)).toMatchObject({ code: 0 });
    return path;
  };

  it('that has no quarantine keeps that of its parent', async () => {
    const path = await fork('fork-vanilla', 'arm.kind=vanilla');
    expect(earlierOf(path)).toBe('kept');
    const model = await merged(path, 'fork-vanilla-out', 'full');
    expect(await labelMarksOf(model)).toMatchObject({ quarantine: 'kept' });
  });

  it('that has one deletes that of its parent with its own', async () => {
    const path = await fork('fork-oracle');
    expect(earlierOf(path)).toBeUndefined();
    expect(await labelMarksOf(await merged(path, 'fork-oracle-out', 'deployed'))).toMatchObject({ quarantine: 'none' });
  });
});
