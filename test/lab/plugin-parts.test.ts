/** Every kind of part that a plugin can have: members that are missing, misspelt or of another type, functions that throw, answers that mean nothing. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadParts } from '../../src/lab/plugins.ts';
import { gq } from '../run-gq.ts';
import { tinyModel } from '../smoke/lab.ts';
import { temporaryFolder } from './hand-made.ts';

const home = temporaryFolder();
let files = 0;

function module(text: string): string {
  const path = join(home, `plugin-${files++}.js`);
  writeFileSync(
    path,
    `import { defineArm, defineCut, defineLoophole, defineMonitor, defineProblemSource, defineRemedy, defineStart, z } from 'gradient-quarantine';\n${text}`,
  );
  return path;
}

const settings = 'settings: z.strictObject({})';
/** A part of each kind that is as it should be: its export, its helper and its members. */
const sound = {
  arms: ['defineArm', { kind: '"own"', summary: '"x"', settings: 'z.strictObject({})', open: '() => ({})' }],
  monitors: ['defineMonitor', { kind: '"own"', summary: '"x"', settings: 'z.strictObject({})', open: '() => ({})' }],
  cuts: [
    'defineCut',
    { kind: '"own-cut"', summary: '"x"', settings: 'z.strictObject({})', needs: '"scores"', find: '() => null' },
  ],
  remedies: ['defineRemedy', { kind: '"own"', summary: '"x"', settings: 'z.strictObject({})', act: '() => ({})' }],
  problemSources: [
    'defineProblemSource',
    { kind: '"own"', summary: '"x"', settings: 'z.strictObject({})', load: '() => []' },
  ],
  loopholes: ['defineLoophole', { name: '"own"', summary: '"x"', hint: '() => "a hint"', fires: '() => null' }],
  starts: [
    'defineStart',
    {
      name: '"own"',
      summary: '"x"',
      needsPairs: 'false',
      needsWeight: 'false',
      parametrisation: '"linear"',
      factors: '() => ({})',
    },
  ],
} as const;
type Export = keyof typeof sound;

const written = (members: Readonly<Record<string, string>>) =>
  `{ ${Object.entries(members)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')} }`;

function pluginOf(name: Export, change: (members: Record<string, string>) => void): string {
  const [helper, members] = sound[name];
  const changed: Record<string, string> = { ...members };
  change(changed);
  return module(`export const ${name} = [${helper}(${written(changed)})];`);
}

const exportNames = Object.keys(sound) as Export[];

describe.each(exportNames)('an own part among %s', (name) => {
  const needed = Object.keys(sound[name][1]);

  it('is taken as it should be', async () => {
    await expect(loadParts([pluginOf(name, () => undefined)])).resolves.toHaveProperty(name);
  });

  it.each(needed)('is refused without %s when the plugin is read', async (member) => {
    const path = pluginOf(name, (members) => delete members[member]);
    await expect(loadParts([path])).rejects.toThrow(new RegExp(`${path}.*${member}.*found nothing`));
  });

  it.each(needed)('is refused with a number as %s', async (member) => {
    const path = pluginOf(name, (members) => {
      members[member] = '5';
    });
    await expect(loadParts([path])).rejects.toThrow(new RegExp(`${path}.*${member}.*found 5`));
  });

  it('is refused with a member that nothing reads', async () => {
    const path = pluginOf(name, (members) => {
      members['sumary'] = '"x"';
    });
    await expect(loadParts([path])).rejects.toThrow(new RegExp(`${path}.*sumary.*did you mean summary`));
  });

  it('is refused without a part of the definition where no helper made it', async () => {
    const [, members] = sound[name];
    const path = module(`export const ${name} = [${written({ ...members, kind: '5', name: '5' })}];`);
    await expect(loadParts([path])).rejects.toThrow(path);
  });
});

describe('choices of a part that are none', () => {
  it.each<[Export, string, string]>([
    ['cuts', 'needs', '"score"'],
    ['monitors', 'scores', '"flag"'],
    ['monitors', 'gives', '["slope"]'],
    ['monitors', 'usualCut', '"fixed"'],
    ['monitors', 'abstains', '"no"'],
    ['remedies', 'needs', '"flag"'],
    ['remedies', 'quarantine', '"no"'],
    ['arms', 'quarantine', '"no"'],
    ['arms', 'usesLabels', '"no"'],
    ['arms', 'loopholes', '"opened"'],
    ['arms', 'uses', '["pair"]'],
    ['starts', 'needsPairs', '"no"'],
    ['starts', 'parametrisation', '"line"'],
    ['loopholes', 'bait', '/x/'],
    ['problemSources', 'isSound', '"no"'],
  ])('%s, %s = %s', async (name, member, value) => {
    const path = pluginOf(name, (members) => {
      members[member] = value;
    });
    await expect(loadParts([path])).rejects.toThrow(new RegExp(`${path}.*${member}`));
  });
});

describe('what the functions of a part answer, and what they throw', () => {
  let tiny = '';
  beforeAll(async () => {
    tiny = await tinyModel();
  });

  /** A run whose arm is made of a monitor, a cut and a remedy, of which a plugin has those that are given. */
  async function trained(text: string, tables: { monitor?: string; cut?: string; remedy?: string }) {
    const { monitor = 'kind = "regex"\npattern = "def"', cut = 'kind = "fixed"', remedy = 'kind = "penalty"' } = tables;
    const recipe = join(home, `recipe-${files++}.toml`);
    const [path] = [module(text)];
    writeFileSync(
      recipe,
      `extends = "micro-base"\nplugins = [${JSON.stringify(path)}]\nupdates = 2\nmodel = ${JSON.stringify(tiny)}
[arm]\nkind = "watched"\n[arm.monitor]\n${monitor}\n[arm.cut]\n${cut}\n[arm.remedy]\n${remedy}\n[device]\nthreads = 1\n[sampling]\npromptsPerStep = 2\n`,
    );
    const answer = await gq('train', recipe, '--out', join(home, `run-${files++}`));
    return { ...answer, path, recipe };
  }
  const cut = (members: string) =>
    `export const cuts = [defineCut({ kind: 'own-cut', summary: 'x', needs: 'nothing', ${settings}, ${members} })];`;
  const ownCut = { cut: 'kind = "own-cut"' };

  it.each([
    ['a word', '() => "x"', '"x"'],
    ['a number', '() => 0.5', '0.5'],
    ['a cut that is no number', '() => ({ high: NaN })', 'NaN'],
    ['a low side above the high one', '() => ({ high: 1, low: 2 })', '"low":2'],
    ['a promise', 'async () => null', 'a promise'],
    ['nothing', '() => undefined', 'nothing'],
    ['a misspelt side', '() => ({ hight: 1, high: 1 })', 'hight'],
  ])('a cut whose find answers %s', async (_, find, found) => {
    const { code, err, path } = await trained(cut(`find: ${find}`), ownCut);
    expect({ code, stack: /^ {4}at /m.test(err) }).toEqual({ code: 2, stack: false });
    expect(err).toContain(`plugin ${path}, cut own-cut, find`);
    expect(err).toContain(found);
  });

  it.each([
    ['throws', '() => { throw new Error("boom"); }', 'boom'],
    ['answers no text', '() => 5', '5'],
    ['answers two lines', '() => "a\\nb"', 'a\\nb'],
  ])('words of a cut that %s: one sentence, for every command that reads the config', async (_, words, found) => {
    const { code, err, recipe } = await trained(cut(`words: ${words}, find: () => null`), ownCut);
    expect({ code, stack: /^ {4}at /m.test(err) }).toEqual({ code: 2, stack: false });
    expect(err).toContain('cut own-cut, words: expected');
    expect(err).toContain(found);
    const shown = await gq('config', recipe);
    expect({ code: shown.code, err: shown.err }).toEqual({ code: 2, err });
  });

  it.each([
    ['words that throw', 'words() { throw new Error("boom"); }, act: () => ({})', 'words'],
    ['an act that answers a list', 'act: () => []', 'act'],
    ['an act with a misspelt hook', 'act: () => ({ rewards: () => [] })', 'rewards'],
    ['an act with a hook that is a number', 'act: () => ({ reward: 5 })', 'reward'],
  ])('a remedy: %s', async (_, members, named) => {
    const text = `export const remedies = [defineRemedy({ kind: 'own-remedy', summary: 'x', ${settings}, ${members} })];`;
    const { code, err, path } = await trained(text, { remedy: 'kind = "own-remedy"' });
    expect({ code, stack: /^ {4}at /m.test(err) }).toEqual({ code: 2, stack: false });
    expect(err).toContain(`plugin ${path}, remedy own-remedy`);
    expect(err).toContain(named);
  });

  it.each([
    ['a label that throws', 'label() { throw new Error("boom"); }', 'label'],
    ['costs that nobody knows', 'costs: () => ["money"]', 'costs'],
    ['models that are no list', 'models: () => "base"', 'models'],
    ['labels: neither yes nor no', 'usesLabels: () => "no"', 'usesLabels'],
  ])('a monitor: %s', async (_, members, named) => {
    const text = `export const monitors = [defineMonitor({ kind: 'own-monitor', summary: 'x', ${settings}, ${members},
  open: () => ({ sees: { features: null, text: true }, score: ({ rollouts }) => rollouts.map(() => 0), cut: { kind: 'fixed', value: 1 } }) })];`;
    const { err, code, path, recipe } = await trained(text, { monitor: 'kind = "own-monitor"' });
    const shown = named === 'costs' ? await gq('config', recipe) : { code, err };
    expect({ code: shown.code, stack: /^ {4}at /m.test(shown.err) }).toEqual({ code: 2, stack: false });
    expect(shown.err).toContain(`plugin ${path}, monitor own-monitor, ${named}`);
  });
});

describe('a part', () => {
  it('whose member cannot be read is refused in a sentence', async () => {
    const path = module(`export const arms = [{ get kind() { throw new Error('planted'); } }];`);
    await expect(loadParts([path])).rejects.toThrow(
      `plugin ${path}: expected parts whose members can be read, found planted.`,
    );
  });

  it.each(['cuts', 'remedies'] as const)(
    'among %s with words that are nothing is refused when they are asked for',
    async (name) => {
      const path = pluginOf(name, (members) => {
        members['words'] = '() => undefined';
      });
      const part = (await loadParts([path]))[name].at(-1);
      expect(() => part?.words({}, false)).toThrow(/words: expected a string, found nothing/);
    },
  );

  it('with an exploit that is null is refused when it is asked for', async () => {
    const path = pluginOf('loopholes', (members) => {
      members['exploit'] = '() => null';
    });
    const loophole = (await loadParts([path])).loopholes.at(-1);
    expect(() => loophole?.exploit?.({ body: [], marker: '', write: () => '' })).toThrow(
      /exploit: expected a string, found null/,
    );
  });

  it('with a misspelt key in its answer is told the keys', async () => {
    const path = pluginOf('cuts', (members) => {
      members['find'] = '() => ({ high: 1, hihg: 3 })';
    });
    const cut = (await loadParts([path])).cuts.at(-1);
    expect(() => cut?.find({}, { scores: new Float64Array(0), clean: () => [] })).toThrow(
      /find: expected keys named high, low, found hihg, did you mean high\?/,
    );
  });
});
