import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { resolveBuiltin } from '../lab/index.ts';
import { listKeys } from './config-issues.ts';
import { configPage } from './config-page.ts';

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
    ['sampling.group=1', 'sampling.group: Too small: expected number to be >=2, found 1 (--set)'],
    ['sampling.temperature=hot', 'sampling.temperature: Invalid input: expected number, received string, found "hot"'],
    ['sampling.temperature=nan', 'sampling.temperature'],
    ['sampling=3', 'sampling: Invalid input: expected object, received number, found 3 (--set)'],
    [
      'environment.heldOutLoopholes=["run_tests"]',
      'key environment.heldOutLoopholes: expected loopholes that environment.loopholes',
    ],
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

  it('a fork changes what it is told to and keeps the rest, nulls too', () => {
    const { config } = resolveBuiltin(null, ['arm.kind=gradient', 'arm.tail=0.3', 'pairs.file=x.md']);
    const forked = resolveBuiltin(null, ['seed=9', 'pairs.file=null'], { config, source: 'run@4' });
    expect(forked.config).toEqual({ ...config, seed: 9, pairs: { ...config.pairs, file: null } });
    expect(forked.sources.get('arm.tail')).toBe('run@4');
    expect(parseRunConfig(JSON.parse(JSON.stringify(config)))).toEqual(config);
  });
});

describe('fuzzed configs', () => {
  const names = [
    ...new Set(listKeys().flatMap(({ path }) => path)),
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    '',
  ];
  const key = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...names) }, fc.string());
  const known = fc.constantFrom(...listKeys().map(({ path }) => path.join('.')));
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

  function resolves(recipePath: string | null, settings: readonly string[]): void {
    try {
      parseRunConfig(resolveBuiltin(recipePath, settings).config);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
    }
    expect(Object.keys(Object.prototype)).toEqual([]);
  }

  it('settings: a config or a UserError', () => {
    const settings = fc.array(fc.tuple(path, value), { maxLength: 4 });
    fc.assert(fc.property(settings, (all) => resolves(null, all.map(([at, what]) => `${at}=${what}`)))); // biome-ignore format: one line
  });

  it('recipes: a config or a UserError', () => {
    const line = fc.oneof(fc.tuple(path, value).map(([at, what]) => `${at} = ${what}`), fc.string(), path.map((at) => `[${at}]`)); // biome-ignore format: one line
    fc.assert(fc.property(fc.array(line, { maxLength: 5 }), (lines) => resolves(recipe('fuzz.toml', lines.join('\n')), []))); // biome-ignore format: one line
  });

  it('manifests: a config or a UserError', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.object({ key, maxDepth: 3 })), (raw) => {
        try {
          parseRunConfig(raw);
        } catch (error) {
          if (!(error instanceof UserError)) throw error;
        }
      }),
    );
  });
});

describe('recipes', () => {
  const folder = fileURLToPath(new URL('../../recipes', import.meta.url));
  // A file with arms is an experiment: a list of recipes, read by another schema.
  const isExperiment = (name: string) => /^\[\[arms\]\]/m.test(readFileSync(join(folder, name), 'utf8'));
  const files = readdirSync(folder).filter((name) => name.endsWith('.toml') && !isExperiment(name));
  const named = (prefix: string, arms: readonly string[]) => arms.map((arm) => `${prefix}-${arm}.toml`);

  it('there is one for every arm', () => {
    const micro = ['vanilla', 'absorb', 'activation', 'haar', 'mass-matched', 'gradient', 'oracle', 'no-loophole'];
    const qwen = ['vanilla', 'activation', 'gradient', 'haar'];
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
    if (kind === config.arm.kind) expect(sources.get('arm.kind')).toContain(name);
    if (kind === 'haar' || kind === 'mass-matched')
      expect(config.arm).toMatchObject({ kind: 'activation', placebo: kind });
    if (kind.startsWith('scorda')) expect(config).toMatchObject({ arm: { kind: 'absorb' }, adapter: { family: kind } });
  });
});

it('docs/config.md is what the schema says (gq config --reference > docs/config.md)', () => {
  const page = readFileSync(new URL('../../docs/config.md', import.meta.url), 'utf8');
  expect(page).toBe(configPage());
  for (const { path } of listKeys()) expect(page).toContain(`| \`${path.join('.')}\` |`);
  expect(page).not.toMatch(/\|\s+\|$/m);
});
