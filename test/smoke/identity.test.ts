/** What a run began with is what it goes on with: every command that opens a run refuses inputs that have changed, before any work. */
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { targetModules } from '../../src/adapters/index.ts';
import { ModelFolder } from '../../src/model/index.ts';
import { planDisk, RunDirectory } from '../../src/run/index.ts';
import { gq } from '../run-gq.ts';
import { edit, factorsComputed, makeInputs, ownSettings, setting, trainPart } from './identity-lab.ts';

let home = '';
let recipe = '';
const at = (...names: readonly string[]): string => join(home, ...names);
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'gq-identity-'));
  recipe = await makeInputs(home);
  expect(await gq('train', recipe, ...setting(...ownSettings), '--out', at('whole'))).toMatchObject({ code: 0 });
  await trainPart(recipe, at('part'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** The commands that compute with a run's inputs; `verify science` says what is wrong and exits with 1. */
const commands = (): Readonly<Record<string, readonly string[]>> => ({
  resume: ['train', '--resume', at('part')],
  fork: ['train', '--fork', `${at('whole')}@2`, '--adapter-only', ...setting('updates=4'), '--out', at('forked')],
  eval: ['eval', at('whole'), '--limit', '1', '--sets', 'validation'],
  curve: ['eval', at('whole'), '--curve'],
  relearn: ['measure', 'relearn', at('whole'), '--updates', '1', '--out', at('relearned')],
  science: ['verify', 'science', at('whole')],
  export: ['export', at('whole'), '--to', at('exported')],
  replay: ['measure', 'replay', at('whole')],
  gate: ['measure', 'gate', at('whole')],
});
const computing = ['resume', 'fork', 'eval', 'curve', 'relearn', 'science'];
// All of them check all inputs by the same code; opening a run takes seconds, so not every pair is tried.

const changes: readonly [string, string, RegExp, (text: string) => string, readonly string[]][] = [
  [
    'problems',
    'problems.json',
    /problems|data hash .*FAIL/,
    (text) => text.replace('42]', '43]'),
    ['resume', 'eval', 'science'],
  ],
  [
    'loopholes',
    'partition.json',
    /environment\.partition|partition hash .*FAIL/,
    (text) =>
      text.replace('"add-3":"run_tests"', '"add-3":"sentinel"').replace('["run_tests"]', '["run_tests","sentinel"]'),
    ['fork', 'curve'],
  ],
  [
    'pairs',
    'pairs.md',
    /pairs|pairs hash .*FAIL/,
    (text) => text.replaceAll('multiply by 6', 'multiply by 7'),
    ['relearn', 'resume'],
  ],
  [
    'pool',
    'pool.jsonl',
    /teacher\.pool|pool hash .*FAIL/,
    (text) => text.slice(text.indexOf('\n') + 1),
    ['resume', 'fork', 'eval', 'science'],
  ],
  ['words of the model', 'model/generation_config.json', /model/, (text) => `${text.trimEnd()} \n`, ['eval', 'export']],
  [
    'plugin',
    'plugin.js',
    /plugins/,
    (text) => `${text}// changed\n`,
    ['resume', 'fork', 'eval', 'relearn', 'export', 'replay', 'gate'],
  ],
];

describe('an input that has changed since is refused', () => {
  it.each(changes)('%s', async (_, file, message, change, names) => {
    using _edited = edit(at('inputs', file), change);
    const before = [
      readdirSync(home),
      readdirSync(at('whole'), { recursive: true }),
      readdirSync(at('part'), { recursive: true }),
    ];
    for (const name of names) {
      const { code, out, err } = await gq(...commands()[name]);
      expect({ name, code }).toEqual({ name, code: name === 'science' ? 1 : 2 });
      expect(`${name}: ${name === 'science' ? out : err}`).toMatch(message);
      // The file is named; hashes would tell nobody what to restore.
      if (name !== 'science' && name !== 'export') expect(err).toContain(`other content in ${at('inputs')}`);
    }
    const after = [
      readdirSync(home),
      readdirSync(at('whole'), { recursive: true }),
      readdirSync(at('part'), { recursive: true }),
    ];
    expect(after).toEqual(before);
  });

  it('another base model under the same name', async () => {
    const weights = at('inputs', 'model', 'model.safetensors');
    const before = readFileSync(weights);
    const other = Buffer.from(before);
    other[other.length - 2] ^= 1;
    writeFileSync(weights, other);
    try {
      for (const name of [...computing, 'export']) {
        const { code, out, err } = await gq(...commands()[name]);
        expect({ name, code }).toEqual({ name, code: name === 'science' ? 1 : 2 });
        expect(name === 'science' ? out : err).toMatch(/model/);
      }
    } finally {
      writeFileSync(weights, before);
    }
  });

  it('a config that was changed in the manifest', async () => {
    using _edited = edit(at('whole', 'manifest.json'), (text) => text.replace('"seed": 1', '"seed": 2'));
    for (const [name, command] of Object.entries(commands()).filter(([, words]) => !words.includes(at('part')))) {
      const { code, out, err } = await gq(...command);
      expect({ name, code }).toEqual({ name, code: name === 'science' ? 1 : 2 });
      // A verification lists every damaged file, each on lines of its own.
      expect(`${name}: ${name === 'science' ? out.replace(/\s+/g, ' ') : err}`).toMatch(/manifest\.json: ?expected/);
    }
  });
});

describe('what did not change is accepted', () => {
  it('every command works with the inputs as they were, and computes no factors of a run again', async () => {
    const modules = RunDirectory.open(at('whole')).readManifest().features.modules.length;
    cpSync(at('part'), at('part-copy'), { recursive: true });
    for (const [name, command] of Object.entries(commands())) {
      const before = factorsComputed();
      const { code, out, err } = await gq(...command.map((word) => (word === at('part') ? at('part-copy') : word)));
      expect({ name, code: name === 'relearn' && out.includes('nothing to relearn') ? 0 : code, err }).toMatchObject({
        name,
        code: 0,
      });
      // Relearning begins two runs: one on the deployed model, which is another one, and one on the base.
      expect({ name, computed: factorsComputed() - before }).toEqual({
        name,
        computed: name === 'relearn' ? 2 * modules : 0,
      });
    }
    const initial = (run: string) => readFileSync(at(run, 'initial.safetensors'));
    expect(initial('forked').equals(initial('whole'))).toBe(true);
    for (const name of ['forked', 'exported', 'relearned']) rmSync(at(name), { recursive: true });
  });

  it('checkpoints are as large as planned, but for their headers', async () => {
    await using folder = await ModelFolder.open(at('inputs', 'model'));
    const { config } = RunDirectory.open(at('whole')).readManifest();
    const modules = targetModules(folder.config, config.adapter.targets);
    const one = { ...config, arm: { ...config.arm, bufferRows: 0 } };
    const plan = planDisk(one, { parametrisation: 'linear' }, modules);
    const dataBytes = (...path: readonly string[]): number => {
      const bytes = readFileSync(at('whole', ...path));
      return bytes.length - 8 - Number(bytes.readBigUInt64LE(0));
    };
    expect(readdirSync(at('whole', 'checkpoints'))).toHaveLength(plan.checkpoints);
    expect(dataBytes('initial.safetensors')).toBe(plan.initialBytes);
    expect(dataBytes('checkpoints', '00002', 'adapter.safetensors')).toBe(plan.adapterBytes);
    expect(existsSync(at('whole', 'checkpoints', '00002', 'trainer.safetensors'))).toBe(false);
    // The plan has a direction beside the rows of the buffer, which is not full after three updates; a row has a count beside it.
    const rowBytes = 4 * (modules.length * config.adapter.rank + 1);
    const rows = (dataBytes('checkpoints', '00003', 'trainer.safetensors') - plan.stateBytes) / rowBytes;
    expect(Number.isInteger(rows) && rows > 0 && rows <= 3 * 12).toBe(true);
  });

  it('a fork may name other inputs, but no other model', async () => {
    writeFileSync(
      at('inputs', 'other.jsonl'),
      readFileSync(at('inputs', 'pool.jsonl'), 'utf8').split('\n').slice(2).join('\n'),
    );
    const fork = ['train', '--fork', `${at('whole')}@3`, ...setting('updates=4')];
    const pool = setting(`teacher.pool=${at('inputs', 'other.jsonl')}`);
    expect(await gq(...fork, ...pool, '--out', at('other-pool'))).toMatchObject({ code: 0 });
    cpSync(at('inputs', 'model'), at('inputs', 'other-model'), { recursive: true });
    writeFileSync(at('inputs', 'other-model', 'generation_config.json'), '{"eos_token_id": 1}');
    const model = await gq(...fork, ...setting(`model=${at('inputs', 'other-model')}`), '--out', at('other-model'));
    expect(model).toMatchObject({
      code: 2,
      err: expect.stringContaining('the model (key model) that the run began with'),
    });
    expect(existsSync(at('other-model'))).toBe(false);
  });
});

describe('the manifest', () => {
  it('names every input by its absolute path, from the folder of the recipe that named it', () => {
    const { config, identity } = RunDirectory.open(at('whole')).readManifest();
    const paths = [
      config.model,
      config.data['path'],
      config.environment.partition,
      config.pairs.file,
      config.teacher.pool,
    ];
    expect(paths).toEqual(
      ['model', 'problems.json', 'partition.json', 'pairs.md', 'pool.jsonl'].map((name) => at('inputs', name)),
    );
    expect(identity.pool).toMatch(/^[0-9a-f]{64}$/);
    expect(identity.partition).toMatch(/^[0-9a-f]{64}$/);
  });

  it('a setting names a path from the working directory, and the parent of a fork is absolute too', async () => {
    const { out } = await gq(
      'config',
      ...setting(
        'model=./some/model',
        'arm.kind=steer',
        'pairs.file=hack',
        'teacher.pool=pool.jsonl',
        'teacher.offStep=1',
      ),
      '--json',
    );
    const { config } = JSON.parse(out);
    expect(config.model).toBe(join(process.cwd(), 'some/model'));
    expect(config.teacher.pool).toBe(join(process.cwd(), 'pool.jsonl'));
    expect(config.pairs.file).toBe('hack');
    expect(isAbsolute(JSON.parse((await gq('config', '--json')).out).config.model)).toBe(false);
  });

  it('an input that was moved is an error that names it', async () => {
    for (const name of ['model', 'partition.json', 'pairs.md', 'pool.jsonl', 'plugin.js']) {
      renameSync(at('inputs', name), at('inputs', `moved-${name}`));
      const { code, err } = await gq('train', '--resume', at('part'));
      renameSync(at('inputs', `moved-${name}`), at('inputs', name));
      expect({ name, code }).toEqual({ name, code: 2 });
      expect(err).toContain(at('inputs', name));
    }
  });

  it('says that labels were used when demonstrations were chosen by them', async () => {
    expect(RunDirectory.open(at('whole')).readManifest().usesOracle).toBe(true);
    const flip = await gq('verify', 'arm', recipe, ...setting(...ownSettings), '--updates', '2', '--json');
    const { checks, usesLabels } = JSON.parse(flip.out);
    expect(usesLabels).toBe(true);
    const bytes = checks.find((check: object) => JSON.stringify(check).includes('do not depend on labels'));
    expect(bytes).toMatchObject({ pass: false });
    const none = await gq(
      'verify',
      'arm',
      recipe,
      ...setting(...ownSettings, 'teacher.pool=null', 'teacher.offStep=0'),
      '--updates',
      '2',
      '--json',
    );
    expect(JSON.parse(none.out).usesLabels).toBe(false);
    expect(none.code).toBe(0);
  });
});

describe('the deletion certificate', () => {
  it('names its base and says that the run was trained on it', async () => {
    const { code, out } = await gq('export', at('whole'), '--to', at('certified'), '--json');
    expect(code).toBe(0);
    const { identity } = RunDirectory.open(at('whole')).readManifest();
    const base = { directory: at('inputs', 'model'), hash: identity.model, isTrainedOn: true };
    expect(JSON.parse(out).base).toEqual(base);
    expect(JSON.parse(readFileSync(at('certified', 'deletion-certificate.json'), 'utf8')).base).toEqual(base);
  });
});
