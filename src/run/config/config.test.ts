import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { UserError } from '../../base/errors.ts';
import { runCli } from '../../cli/program.ts';
import { builtinParts, parseRunConfig, resolveBuiltin, resolveConfig } from '../../lab/index.ts';
import { rawConfig, readConfig } from './config.ts';
import { listKeys } from './issues.ts';
import { outlineConfig } from './outline.ts';
import { configPage } from './page.ts';
import type { ConfigParts } from './parts.ts';

let home = '';
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'gq-config-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

function recipe(name: string, text: string): string {
  const path = join(home, name);
  writeFileSync(path, text);
  return path;
}

describe('errors name the key, where it came from, and the nearest valid one', () => {
  it.each([
    ['sampling.grup=3', 'unknown key sampling.grup (--set), did you mean sampling.group?'],
    ['smapling.group=3', 'unknown key smapling (--set), did you mean sampling?'],
    ['rank=3', 'unknown key rank (--set), did you mean adapter.rank?'],
    ['arm.tail=0.2', 'unknown key arm.tail (--set), only arm.kind activation or gradient has it'],
    ['arm.kind=activaton', 'found "activaton" (--set), did you mean "activation"?'],
    ['adapter.family=scord', 'found "scord" (--set), did you mean "scorda"?'],
    ['sampling.group=1', 'sampling.group: expected a whole number from 2 to 65536, found 1 (--set)'],
    ['sampling.temperature=hot', 'sampling.temperature: expected a number of at least 0, found "hot"'],
    ['sampling.temperature=nan', 'sampling.temperature'],
    ['sampling=3', 'sampling: expected a table of keys, found 3 (--set)'],
    [
      'environment.heldOutLoopholes=["run_tests"]',
      'key environment.heldOutLoopholes: expected loopholes that environment.loopholes',
    ],
    ['output.tokensPerPass=64', 'output.tokensPerPass (--set), did you mean compute.tokensPerPass?'],
    ['output.recompute=true', 'output.recompute (--set), did you mean compute.recompute?'],
    ['output.readEvery=3', 'output.readEvery (--set), did you mean compute.readEvery?'],
    ['output.rowStep=3', 'output.rowStep (--set), did you mean compute.rowStep?'],
    ['output.keepState=none', 'output.keepState: expected newest, all, found "none" (--set)'],
    ['adapter.family=lora-frozen', 'found "lora-frozen" (--set), did you mean "lora-frozen-b"?'],
    ['loss.deviationFloor=-1', 'loss.deviationFloor: expected a number of at least 0, found -1 (--set)'],
    ['loss.deviationFloor=0.1', 'it is read with loss.kind = "classic", found 0.1 (--set) with loss.kind = "dr"'],
    ['plugins=[3]', 'key plugins.0: expected text, found 3'],
    ['environment.loopholes=["sentinel", "sentinel"]', 'environment.loopholes: expected different loopholes'],
    ['environment.heldOutLoopholes=["sentinel", "sentinel"]', 'heldOutLoopholes: expected different loopholes'],
    ['nonsense', '--set: expected key.path=value, found nonsense'],
    ['=3', '--set: expected key.path=value'],
    ['__proto__.polluted=1', 'unknown key __proto__'],
    ['sampling.__proto__.polluted=1', 'unknown key sampling.__proto__'],
    ['constructor.prototype.polluted=1', 'unknown key constructor'],
  ])('%s', (setting, message) => {
    expect(() => resolveBuiltin(null, [setting])).toThrow(UserError);
    expect(() => resolveBuiltin(null, [setting])).toThrow(message);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('retain-heal of an arm without a quarantine', () => {
    expect(() => resolveBuiltin(null, ['safety.healSteps=3'])).toThrow('key safety.healSteps: expected 0 for an arm');
  });

  it.each([
    [['teacher.makeProblems=8', 'teacher.pool=x', 'teacher.offStep=1'], '0 for a run whose teacher.pool names a pool'],
    [['teacher.makeProblems=8'], '0 for a run without a teacher phase'],
    [['teacher.makeProblems=7', 'teacher.offStep=1'], 'at least sampling.promptsPerStep (8)'],
    [['teacher.makeProblems=8', 'teacher.offStep=1', 'teacher.perGroup=5'], 'at most half of sampling.group (8)'],
    [['teacher.makeSamples=0'], 'teacher.makeSamples'],
    [['teacher.offStep=2'], 'teacher.offStep: expected 0 for a run without demonstrations, found 2'],
    [['teacher.pool=x', 'teacher.offStep=2', 'teacher.perGroup=0'], 'teacher.perGroup: expected at least 1'],
    [['pairs.generated=8', 'pairs.leastGenerated=9'], 'key pairs.leastGenerated: expected at most pairs.generated (8)'],
    [['pairs.allowHeldOut=1'], 'key pairs.allowHeldOut'],
  ])('the teacher and the pairs: %j', (settings, message) => {
    expect(() => resolveBuiltin(null, settings)).toThrow(message);
  });

  it.each([
    ['steer', 'layer', '-1', 'a whole number from 0 to 10000'],
    ['steer', 'scale', '"much"', 'a number'],
    ['ablate', 'layers', '[1.5]', 'a whole number'],
    ['ablate', 'rank', '0', 'a whole number from 1'],
    ['ablate', 'placebo', 'haar', 'none, random'],
    ['gradient-regularisation', 'gamma', '-1', 'a number from 0 to 1000000'],
    ['gradient-regularisation', 'epsilon', '0', 'a number above 0'],
    ['gradient-regularisation', 'clip', '0', 'a number above 0'],
    ['inoculation-adapter', 'demonstrations', 'rollouts', 'pairs, pool'],
    ['inoculation-adapter', 'epochs', '0', 'a whole number from 1'],
    ['inoculation-adapter', 'learningRate', '0', 'a number above 0'],
    ['inoculation-adapter', 'batch', '0', 'a whole number from 1'],
    ['inoculation-adapter', 'warmupSteps', '-1', 'a whole number from 0'],
    ['inoculation-adapter', 'leastRate', '2', 'a number from 0 to 1'],
    ['inoculation-adapter', 'elicitPrompts', '0', 'a whole number from 1'],
    ['inoculation-adapter', 'placebo', 'mass-matched', 'none, random'],
  ])('of the arm %s, key %s: %s', (kind, key, value, expected) => {
    const settings = [`arm.kind=${kind}`, `arm.${key}=${value}`];
    expect(() => resolveBuiltin(null, settings)).toThrow(UserError);
    expect(() => resolveBuiltin(null, settings)).toThrow(`arm.${key}`);
    expect(() => resolveBuiltin(null, settings)).toThrow(`expected ${expected}`);
  });

  it('a pool with more demonstrations than places', () => {
    const settings = ['teacher.pool=x', 'teacher.perGroup=5', 'sampling.group=8'];
    expect(() => resolveBuiltin(null, settings)).toThrow(
      'key teacher.perGroup: expected at most half of sampling.group (8)',
    );
  });

  it('recipes that cannot be read, parsed, or that go in a circle', () => {
    expect(() => resolveBuiltin(join(home, 'none.toml'))).toThrow(/read recipe .*none\.toml: expected a readable file/);
    expect(() => resolveBuiltin(recipe('bad.toml', 'a = = 1'))).toThrow(/bad\.toml: expected TOML/);
    const first = recipe('first.toml', 'extends = "second.toml"');
    recipe('second.toml', 'extends = "first.toml"');
    expect(() => resolveBuiltin(first)).toThrow('do not extend each other in a circle');
    expect(() => resolveBuiltin(recipe('odd.toml', 'extends = 3'))).toThrow('key extends: expected a path, found 3');
    expect(() => resolveBuiltin(recipe('typo.toml', '[sampling]\ngrup = 3'))).toThrow(
      /sampling\.grup \(.*typo\.toml\)/,
    );
  });
});

it('a model of a judge may have a name on the hub, as the policy may', () => {
  const judge = ['arm.kind=zero', 'arm.monitor.kind=judge'];
  const modelOf = (name: string) =>
    resolveBuiltin(null, [...judge, `model=${name}`, `arm.monitor.model=${name}`]).config as unknown as {
      model: string;
      arm: { monitor: { model: string } };
    };
  for (const name of ['Org/Model', './org/model']) {
    const { model, arm } = modelOf(name);
    expect(arm.monitor.model).toBe(model);
  }
});

describe('sources', () => {
  it('recipes extend, settings win, and every value knows where it came from', () => {
    const base = recipe('base.toml', 'updates = 7\n[arm]\nkind = "activation"\ntail = 0.2\n[sampling]\ngroup = 4\n');
    const path = recipe('child.toml', 'extends = "base.toml"\n[arm]\nplacebo = "haar"\n[sampling]\nminP = 0.1\n');
    const { config, sources } = resolveBuiltin(path, [
      'sampling.group=6',
      'teacher.pool=null',
      'notes.why=because = it is',
    ]);
    expect(config).toMatchObject({ updates: 7, arm: { kind: 'activation', tail: 0.2, placebo: 'haar' } });
    expect(config.sampling).toMatchObject({ group: 6, minP: 0.1 });
    expect(config.notes.why).toBe('because = it is');
    const source = (key: string) => sources.get(key);
    expect([source('updates'), source('arm.placebo'), source('sampling.group')]).toEqual([base, path, '--set']);
    expect(source('loss.clip')).toBe('default');
  });

  it('another kind starts the table anew; no kind is the usual one', () => {
    const base = recipe('gated.toml', '[arm]\nkind = "activation"\ntail = 0.2\n');
    expect(resolveBuiltin(base, ['arm.kind=absorb']).config.arm).toEqual({ kind: 'absorb' });
    expect(resolveBuiltin(null, ['data.problems=5']).config.data).toMatchObject({ kind: 'micro', problems: 5 });
  });

  it('the hash is of the values, not of their source or order', () => {
    const one = resolveBuiltin(null, ['seed=3', 'updates=5']).hash;
    expect(resolveBuiltin(recipe('same.toml', 'updates = 5\nseed = 3'), []).hash).toBe(one);
    expect(resolveBuiltin(null, ['seed=4', 'updates=5']).hash).not.toBe(one);
  });

  it('a config that does not name the interpreter, split moments or anchors has the hash that it had before there were any', () => {
    expect(JSON.stringify(resolveBuiltin(null, []).config)).not.toMatch(/interpreter|splitMoments|anchorWeight/);
    expect(resolveBuiltin(null, ['environment.interpreter=true']).hash).not.toBe(resolveBuiltin(null, []).hash);
  });

  it('a fork changes what it is told to and keeps the rest, nulls too', async () => {
    const { config } = resolveBuiltin(null, ['arm.kind=gradient', 'arm.tail=0.3', 'pairs.file=x.md']);
    const forked = await resolveConfig(null, ['seed=9', 'pairs.file=null'], { config, source: 'run@4' });
    expect(forked.config).toEqual({ ...config, seed: 9, pairs: { ...config.pairs, file: null } });
    expect(forked.sources.get('arm.tail')).toBe('run@4');
    expect(await parseRunConfig(JSON.parse(JSON.stringify(config)))).toEqual(config);
  });
});

describe('fuzzed configs', () => {
  const names = [
    ...new Set(listKeys(builtinParts).flatMap(({ path }) => path)),
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    '',
  ];
  const key = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...names) }, fc.string());
  const known = fc.constantFrom(...listKeys(builtinParts).map(({ path }) => path.join('.')));
  const path = fc.oneof(
    known,
    fc.array(key, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.')),
  );
  const value = fc.oneof(
    fc.string(),
    fc.constantFrom(
      '-1',
      '0',
      '1e308',
      'nan',
      'inf',
      'true',
      '[]',
      '{}',
      '[[]]',
      '""',
      '1979-05-27',
      "'",
      '{a.b=1}',
      'null',
    ),
    fc.double().map(String),
    fc.json(),
  );

  async function orUserError<T>(make: () => T | Promise<T>): Promise<T | null> {
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      return null;
    }
  }

  /** A valid config can be stored and outlined; an invalid one has an outline only if it merely lacks keys. */
  async function resolves(recipePath: string | null, settings: readonly string[]): Promise<void> {
    const resolved = await orUserError(() => resolveConfig(recipePath, settings));
    const outline = await orUserError(() => outlineConfig(readConfig(recipePath, settings), builtinParts));
    if (resolved === null) expect(outline?.hash ?? null).toBeNull();
    else {
      expect(await parseRunConfig(resolved.config)).toEqual(resolved.config);
      expect(outline).toMatchObject({ hash: resolved.hash, missing: [] });
    }
    expect(Object.keys(Object.prototype)).toEqual([]);
  }

  it('a kind at the top that is a table', () => resolves(null, ['kind.seed=0', 'seed=5e-324']));

  it('a kind that is a table, beside an unknown key', () => resolves(null, ['kind.seed=', '.seed={}']));

  it('settings: a config or a UserError', async () => {
    const settings = fc.array(fc.tuple(path, value), { maxLength: 4 });
    await fc.assert(fc.asyncProperty(settings, (all) => resolves(null, all.map(([at, what]) => `${at}=${what}`)))); // biome-ignore format: one line
  });

  it('recipes: a config or a UserError', async () => {
    const line = fc.oneof(fc.tuple(path, value).map(([at, what]) => `${at} = ${what}`), fc.string(), path.map((at) => `[${at}]`)); // biome-ignore format: one line
    await fc.assert(fc.asyncProperty(fc.array(line, { maxLength: 5 }), (lines) => resolves(recipe('fuzz.toml', lines.join('\n')), []))); // biome-ignore format: one line
  });

  it('manifests: a config or a UserError', async () => {
    const stored = fc.oneof(fc.jsonValue(), fc.object({ key, maxDepth: 3 }));
    await fc.assert(fc.asyncProperty(stored, async (raw) => void (await orUserError(() => parseRunConfig(raw)))));
  });
});

describe('recipes', () => {
  const folder = fileURLToPath(new URL('../../../recipes', import.meta.url));
  // A file with arms is an experiment, one with steps a study: these have other schemas.
  const isExperiment = (name: string) => /^\[\[(?:arms|steps)\]\]/m.test(readFileSync(join(folder, name), 'utf8'));
  const files = readdirSync(folder).filter((name) => name.endsWith('.toml') && !isExperiment(name));
  const named = (prefix: string, arms: readonly string[]) => arms.map((arm) => `${prefix}-${arm}.toml`);

  it('there is one for every arm', () => {
    const micro = ['vanilla', 'absorb', 'activation', 'haar', 'mass-matched', 'gradient', 'oracle', 'no-loophole'];
    const qwen = ['vanilla', 'symmetric', 'gradient', 'haar'];
    const expected = [
      ...named('micro', [...micro, 'scorda', 'scorda-reversed']),
      ...named('qwen3-4b-fast', qwen),
      ...named('qwen3-4b-full', qwen),
    ];
    expect(files).toEqual(expect.arrayContaining(expected));
  });

  it.each(files)('%s parses, and says what it is for', (name) => {
    const needed = name.startsWith('qwen') ? ['data.path=problems.jsonl', 'model=folder'] : [];
    const { config, sources } = resolveBuiltin(join(folder, name), needed);
    expect(readFileSync(join(folder, name), 'utf8')).toMatch(/^# \S/);
    const arm = /-(?:fast|full)-(\w+)|^micro-([\w-]+)/.exec(name.replace('.toml', ''));
    const kind = arm?.[1] ?? arm?.[2] ?? '';
    if (kind === config.arm.kind || kind === 'symmetric') expect(sources.get('arm.kind')).toContain(name);
    if (kind === 'haar' || kind === 'mass-matched')
      expect(config.arm).toMatchObject({ kind: 'activation', placebo: kind });
    if (kind.startsWith('scorda')) expect(config).toMatchObject({ arm: { kind: 'absorb' }, adapter: { family: kind } });
  });
});

describe('an outline', () => {
  const fileRecipe = () =>
    recipe('file.toml', 'updates = 7\n[data]\nkind = "file"\n[teacher]\npool = "x"\noffStep = 1\n');
  const outline = (path: string | null, settings: readonly string[] = [], parts: ConfigParts = builtinParts) =>
    outlineConfig(readConfig(path, settings), parts);

  it('of a config that a run could start from is that config, key by key', () => {
    const set = ['seed=3', 'arm.kind=activation', 'arm.keepTail=null', 'lasting.kind=none', 'sampler.url=null'];
    const { config, hash, sources } = resolveBuiltin(null, set);
    const { keys, meaning, ...rest } = outline(null, set);
    expect(rest).toEqual({ missing: [], hash });
    const kind = { monitor: { kind: 'direction' }, remedy: { kind: 'route' } };
    expect(meaning).toMatchObject({ ...kind, cut: { keepTail: 0.1 } });
    expect(outline(null, []).meaning).toBeNull();
    for (const { path, value, source } of keys) {
      const own = path.split('.').reduce<unknown>((table, key) => (table as Record<string, unknown>)[key], config);
      expect([path, value, source]).toEqual([path, own ?? null, sources.get(path) ?? 'default']);
    }
    const left = keys.map(({ path }) => path).filter((path) => !sources.has(path));
    const optional = ['environment.interpreter', 'loss.anchorWeight', 'optimiser.splitMoments'];
    expect([left, keys.length - optional.length]).toEqual([optional, sources.size]);
  });

  it('shows what must be given, and everything else as it would be', () => {
    const path = fileRecipe();
    const { keys, missing, hash } = outline(path, ['seed=3']);
    expect([missing, hash]).toEqual([['data.path'], null]);
    expect(keys.find((key) => key.path === 'data.path')).toEqual({ path: 'data.path', source: 'must be given' });
    const given = outline(path, ['seed=3', 'data.path=p.jsonl']);
    expect(given).toMatchObject({ missing: [], hash: resolveBuiltin(path, ['seed=3', 'data.path=p.jsonl']).hash });
    const others = (all: typeof keys) => all.filter((key) => key.path !== 'data.path');
    expect(others(keys)).toEqual(others(given.keys));
    expect(keys.length).toBeGreaterThan(60);
  });

  it.each([
    [['updates=0'], 'updates: expected a whole number from 1 to 10000000, found 0 (--set)'],
    [['sampling.grup=3'], 'unknown key sampling.grup (--set), did you mean sampling.group?'],
    [['data.path=3'], 'data.path: expected text, found 3 (--set)'],
    [['data.testPath=3'], 'data.testPath: expected text or null, found 3 (--set)'],
    [['data.validationPath=true'], 'data.validationPath: expected text or null, found true (--set)'],
    [['environment.partitionSeed=-1'], 'environment.partitionSeed: expected a whole number'],
    [['environment.partitionBy=file'], 'environment.partitionBy: expected all, split, found "file"'],
    [['environment.partitionSeed=one'], 'environment.partitionSeed: expected a whole number'],
    [['data.kind=fille'], 'did you mean "file"?'],
    [['environment.heldOutLoopholes=["run_tests"]'], 'loopholes that environment.loopholes does not name'],
    [['teacher.perGroup=5'], 'at most half of sampling.group (8)'],
    [['safety.healSteps=3'], 'expected 0 for an arm that deploys everything it trains, found 3 with arm vanilla'],
  ])('a wrong value is an error also where keys are missing: %j', (settings, message) => {
    expect(() => outline(fileRecipe(), settings)).toThrow(UserError);
    expect(() => outline(fileRecipe(), settings)).toThrow(message);
  });

  it('knows the keys of parts that are not ours: required, optional, and of one name in two kinds', () => {
    const level = (usual: number) => z.number().nullable().default(usual);
    const settings = z.strictObject({
      level: level(5),
      sharpness: z.enum(['low', 'high']),
      hint: z.string().optional(),
    });
    const own = { kind: 'own', summary: 'of a test', settings, quarantine: () => true };
    const other = { ...own, kind: 'other', settings: z.strictObject({ level: level(7) }) };
    const parts: ConfigParts = { ...builtinParts, arms: [...builtinParts.arms, own, other] };
    const arm = (...set: string[]) => {
      const { keys, missing } = outline(null, set, parts);
      return { missing, arm: keys.filter(({ path }) => path.startsWith('arm.')).map((key) => key.value) };
    };
    expect(arm('arm.kind=own', 'arm.level=null')).toEqual({
      missing: ['arm.sharpness'],
      arm: ['own', null, undefined, null],
    });
    expect(arm('arm.kind=own', 'arm.sharpness=low')).toEqual({ missing: [], arm: ['own', 5, 'low', null] });
    expect(arm('arm.kind=other')).toEqual({ missing: [], arm: ['other', 7] });
    expect(outlineConfig(rawConfig({ arm: { kind: 'own' }, data: { kind: 'file' } }), parts).missing).toEqual([
      'data.path',
      'arm.sharpness',
    ]);
    expect(configPage(parts)).toContain('| `arm.sharpness` | low or high | none: must be given |');
    // One name, five arms: a row for each.
    const takes = ['none or random', 'none or random', 'none, random or shrunk', 'none or chance'];
    expect(configPage(builtinParts).match(/^\| `arm\.placebo` \| [^|]*/gm)).toEqual(
      [...takes, 'none, haar, reversed, shuffled or mass-matched'].map((words) => `| \`arm.placebo\` | ${words} `),
    );
  });

  it('is what gq config prints, and no failure', async () => {
    const path = fileURLToPath(new URL('../../../recipes/qwen3-4b-fast.toml', import.meta.url));
    let [out, err] = ['', ''];
    const streams = {
      stdout: { write: (text: string) => (out += text) },
      stderr: { write: (text: string) => (err += text) },
    };
    expect(await runCli(['config', path], streams)).toBe(0);
    expect(err).toBe('');
    expect(out).toMatch(/^data\.path +- +must be given$/m);
    expect(out).toMatch(/^compute\.recompute +true +qwen3-4b-fast$/m);
    expect(out.trimEnd().split('\n').at(-1)).toBe('must be given before a run can start: data.path');
  });
});

it('docs/config.md is what the schema says (gq config --reference > docs/config.md)', () => {
  const page = readFileSync(new URL('../../../docs/config.md', import.meta.url), 'utf8');
  expect(page).toBe(configPage(builtinParts));
  for (const { path } of listKeys(builtinParts)) expect(page).toContain(`| \`${path.join('.')}\` |`);
  expect(page).not.toMatch(/\|\s+\|$/m);
});
