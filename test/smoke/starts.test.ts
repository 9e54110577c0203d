/** Where a run may start, what a failed start leaves behind, and what happens when the folder of a run is touched from outside. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { trainRun } from '../../src/lab/index.ts';
import { RunDirectory } from '../../src/run/index.ts';
import { gq } from '../run-gq.ts';
import { setting } from './identity-lab.ts';
import { Lab, stoppedAfterFirst, tinySettings } from './lab.ts';

const gate = ['arm.kind=activation', 'arm.warmupRows=4', 'arm.tail=0.2', 'arm.refreshEvery=2'];
let lab: Lab;
let settings: string[];
const whole = (): string => lab.path('whole');
beforeAll(async () => {
  lab = await Lab.open();
  settings = setting(`model=${lab.model}`, ...tinySettings, 'updates=4', 'output.checkpointEvery=2');
  expect(await gq('train', ...settings, ...setting(...gate), '--out', whole())).toMatchObject({ code: 0 });
});
afterAll(() => lab[Symbol.asyncDispose]());

describe('a folder that is not empty is refused', () => {
  it('files of someone else are not touched', async () => {
    mkdirSync(lab.path('nonempty'));
    writeFileSync(lab.path('nonempty/events.jsonl'), 'hi\n');
    const { code, err } = await gq('train', ...settings, '--out', lab.path('nonempty'));
    expect({ code, err }).toMatchObject({
      code: 2,
      err: expect.stringMatching(/a new or empty folder, found events\.jsonl/),
    });
    expect(readdirSync(lab.path('nonempty'))).toEqual(['events.jsonl']);
    expect(readFileSync(lab.path('nonempty/events.jsonl'), 'utf8')).toBe('hi\n');
  });

  it('a run that lost its manifest lends its checkpoints to nobody', async () => {
    cpSync(whole(), lab.path('lost'), { recursive: true });
    rmSync(lab.path('lost/manifest.json'));
    const before = readdirSync(lab.path('lost'), { recursive: true });
    expect(await gq('train', ...settings, '--out', lab.path('lost'))).toMatchObject({ code: 2 });
    expect(readdirSync(lab.path('lost'), { recursive: true })).toEqual(before);
  });

  it('an empty folder, and what a killed start leaves, are accepted', async () => {
    mkdirSync(lab.path('begun/checkpoints'), { recursive: true });
    for (const name of ['events.jsonl', 'verdicts.jsonl', 'features.f32']) writeFileSync(lab.path(`begun/${name}`), '');
    writeFileSync(lab.path('begun/manifest.json.1f-2.tmp'), '{"for');
    const one = setting('updates=1');
    expect(await gq('train', ...settings, ...one, '--out', lab.path('begun'))).toMatchObject({ code: 0 });
  });
});

it('a finished run is given a step that makes its deletion last by a fork, and is attacked with it', async () => {
  const lasting = setting('lasting.kind=undo', 'lasting.steps=2', 'lasting.batches=1');
  const [forked, once] = [lab.path('lasting'), lab.path('lasting-at-once')];
  expect(await gq('train', '--fork', `${whole()}@4`, ...lasting, '--out', forked)).toMatchObject({ code: 0 });
  expect(await gq('train', ...settings, ...setting(...gate), ...lasting, '--out', once)).toMatchObject({ code: 0 });
  const adapters = [forked, once].map((path) => {
    const run = RunDirectory.open(path);
    expect(run.listCheckpoints().at(-1)).toBe(6);
    return readFileSync(join(run.checkpoint(6), 'adapter.safetensors'));
  });
  expect(adapters[0].equals(adapters[1])).toBe(true);
  const before = readFileSync(join(RunDirectory.open(whole()).checkpoint(4), 'adapter.safetensors'));
  expect(adapters[0].equals(before)).toBe(false);
  await gq('measure', 'relearn', forked, '--updates', '1');
  const attack = RunDirectory.open(join(forked, 'relearn', 'attack')).readManifest();
  expect([attack.config.arm.kind, attack.config.lasting, attack.config.updates]).toEqual(['vanilla', undefined, 1]);
});

describe('a start that fails leaves nothing behind', () => {
  it.each<[string, () => string[], RegExp]>([
    ['a checkpoint that the parent has not', () => ['--fork', `${whole()}@3`], /its checkpoints \(0, 2, 4\), found 3/],
    ['a parent that is none', () => ['--fork', `${lab.path('nowhere')}@0`], /found no such folder/],
    [
      'another rank than the parent',
      () => ['--fork', `${whole()}@4`, ...setting('updates=6', 'adapter.rank=4')],
      /the adapter of the parent/,
    ],
    [
      'a checkpoint without its state',
      () => ['--fork', `${whole()}@2`],
      /the state is in checkpoint 4.*--adapter-only/,
    ],
    [
      'fewer updates than the parent had',
      () => ['--fork', `${whole()}@4`, ...setting('updates=3')],
      /updates of more than 4/,
    ],
    ['as many updates as the parent had', () => ['--fork', `${whole()}@4`], /updates of more than 4/],
    ['an adapter alone, but no fork', () => [...settings, '--adapter-only'], /--adapter-only: expected --fork/],
    [
      'no such model',
      () => [...settings, ...setting('model=nowhere')],
      /^gq: open the model .*nowhere: expected a model folder/,
    ],
    [
      'no such problems',
      () => setting(`model=${lab.model}`, 'data.kind=file', 'data.path=gone.jsonl'),
      /^gq: config, key data\.path: expected a file of problems, found no such file: .*gone\.jsonl\. Check/,
    ],
    [
      'several inputs that are not there',
      () => setting('data.kind=file', 'data.path=a.jsonl', 'data.testPath=b.jsonl', 'model=org/none'),
      /^gq: inputs of the run: .*found 3 missing: .*data\.path: .*a\.jsonl; .*data\.testPath: .*b\.jsonl; model org\/none: .*\. Check the path: (?!.*Check the path).* gq model fetch org\/none$/m,
    ],
    [
      'pairs that the micro model cannot read',
      () => [...settings, ...setting('model=micro', 'arm.kind=activation', 'pairs.file=hack')],
      /pair ".*": encode with .*name a model folder/,
    ],
    [
      'no such pool',
      () => [...settings, ...setting('teacher.pool=gone.jsonl', 'teacher.offStep=1')],
      /teacher\.pool.*gone\.jsonl/,
    ],
    ['no such partition', () => [...settings, ...setting('environment.partition=gone.json')], /gone\.json/],
    ['prompts that are too long', () => [...settings, ...setting('sampling.maxPromptTokens=2')], /maxPromptTokens/],
    [
      'prompts that leave no room in the model’s context',
      () => [...settings, ...setting('sampling.maxNewTokens=230')],
      /prompt of problem .*: expected at most \d+ tokens \(the model's context/,
    ],
  ])('%s', async (_, args, message) => {
    const { code, err } = await gq('train', ...args(), '--out', lab.path('outer/inner/failed'));
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringMatching(message) });
    expect(existsSync(lab.path('outer'))).toBe(false);
  });

  it('relearning into a folder of one name, which with its model inside looks like a name on the hub', async () => {
    const usual = process.cwd();
    process.chdir(lab.path('.'));
    const { err } = await gq('measure', 'relearn', whole(), '--updates', '1', '--out', 'again');
    process.chdir(usual);
    expect(err).not.toContain('gq: ');
    expect(existsSync(lab.path('again/attack/rollouts.parquet'))).toBe(true);
  });

  it('no GPU', async () => {
    const { code } = await gq('train', ...settings, '--device', 'cuda', '--out', lab.path('outer/failed'));
    expect(code).not.toBe(0);
    expect(existsSync(lab.path('outer'))).toBe(false);
  });

  it('a folder that was there before stays, empty', async () => {
    mkdirSync(lab.path('mine'));
    expect(await gq('train', '--fork', `${whole()}@3`, '--out', lab.path('mine'))).toMatchObject({ code: 2 });
    expect(readdirSync(lab.path('mine'))).toEqual([]);
  });
});

describe('arguments are checked before anything is trained', () => {
  it('gq measure relearn: a comparison that does not fit, a run that is not over, a folder of another run', async () => {
    const out = lab.path('relearned');
    const other = await gq('measure', 'relearn', whole(), '--vanilla', whole(), '--out', out);
    expect(other).toMatchObject({
      code: 2,
      err: expect.stringContaining('found other values: arm.kind ("vanilla" and "activation")'),
    });
    const path = lab.path('begun-only');
    await trainRun(lab.config([...gate, 'updates=4']), RunDirectory.create(path), stoppedAfterFirst());
    const begun = await gq('measure', 'relearn', path, '--out', out);
    expect(begun).toMatchObject({
      code: 2,
      err: expect.stringContaining('a finished run, found one that stopped after 1 of 4 updates'),
    });
    expect(existsSync(out)).toBe(false);
    mkdirSync(`${out}/deployed`, { recursive: true });
    cpSync(lab.model, `${out}/deployed`, { recursive: true });
    const taken = await gq('measure', 'relearn', whole(), '--updates', '1', '--out', out);
    expect(taken).toMatchObject({ code: 2, err: expect.stringContaining('the deployed model of this run') });
    expect(readdirSync(out)).toEqual(['deployed']);
  });

  it('gq eval: an update without a checkpoint', async () => {
    const { code, err } = await gq('eval', whole(), '--update', '3');
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('one of its checkpoints: 0, 2, 4') });
    expect(existsSync(`${whole()}/evaluations`)).toBe(false);
  });
});

describe('a run whose folder goes away while it trains', () => {
  it('stops at the next write, with an error that says so', async () => {
    const path = lab.path('deleted');
    let [isGone, updatesAfter] = [false, 0];
    const training = trainRun(lab.config(['updates=50']), RunDirectory.create(path), {
      sinks: [
        {
          name: 'vandal',
          event({ kind }) {
            if (kind !== 'step') return;
            if (isGone) updatesAfter++;
            // The first checkpoint is written beside the first updates: its own error would come before the one tested here.
            else if (existsSync(`${path}/checkpoints/00000`)) {
              rmSync(path, { recursive: true, force: true });
              isGone = true;
            }
          },
        },
      ],
    });
    await expect(training).rejects.toThrow(/the folder of the run as it was.*found that it was deleted/);
    expect([isGone, updatesAfter]).toEqual([true, 0]);
    expect(existsSync(path)).toBe(false);
  });
});

describe('what is missing or cut is not read as nothing', () => {
  const damaged = (name: string, damage: (path: string) => void): string => {
    const path = lab.path(`damaged-${name}`);
    rmSync(path, { recursive: true, force: true });
    cpSync(whole(), path, { recursive: true });
    damage(path);
    return path;
  };

  it.each([
    ['features.f32', ['measure replay', 'measure gate', 'verify science']],
    ['directions.f32', ['measure replay']],
    ['rollouts.parquet', ['measure replay', 'measure gate', 'measure traces']],
    ['verdicts.parquet', ['measure gate', 'measure traces']],
    ['events.jsonl', ['results', 'verify science']],
    ['seal.json', ['measure replay', 'measure gate', 'measure traces']],
  ])('%s of a finished run', async (name, readers) => {
    for (const [how, damage] of Object.entries({
      missing: (path: string) => rmSync(path),
      empty: (path: string) => truncateSync(path, 0),
      cut: (path: string) => truncateSync(path, 100),
    })) {
      const path = damaged('sealed', (run) => damage(`${run}/${name}`));
      for (const reader of readers) {
        const { code, out, err } = await gq(...reader.split(' '), path);
        // Verifying answers no, with all that is wrong; who needs the file stops at it.
        expect({ how, reader, code }).toEqual({ how, reader, code: reader === 'verify science' ? 1 : 2 });
        expect(`${out}${err}`).toContain(name === 'seal.json' && how === 'missing' ? 'seal.json' : name);
      }
    }
  });

  it('a run that is not over: its features were cut', async () => {
    const path = lab.path('unfinished');
    const config = lab.config([...gate, 'updates=4']);
    await trainRun(config, RunDirectory.create(path), stoppedAfterFirst());
    expect((await gq('measure', 'replay', path)).err).not.toContain('features.f32');
    for (const length of [100, 4, 0]) {
      truncateSync(`${path}/features.f32`, length);
      const { code, err } = await gq('measure', 'replay', path);
      expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('features.f32') });
    }
  });
});
