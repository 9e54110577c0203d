/** Faulty plugins: the error names the module's path, and nothing starts. Only an arm that asks for labels gets them. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveConfig, train } from '../../src/lab/index.ts';
import { loadParts, pluginRecords } from '../../src/lab/plugins.ts';
import { loadCheckpoint } from '../../src/run/checkpoint.ts';
import { RunDirectory, shippedRecipe } from '../../src/run/index.ts';
import { planExperiment, readExperiment } from '../../src/study/experiment.ts';
import { runPlan } from '../../src/study/run.ts';
import { LabWorker } from '../../src/study/worker.ts';
import { verifyLabelFlip } from '../../src/verify/index.ts';
import { gq } from '../run-gq.ts';
import { tinyModel } from '../smoke/lab.ts';
import { temporaryFolder } from './hand-made.ts';

const home = temporaryFolder();
/** A model of one layer: what is tested here does not depend on the model. */
const tiny = await tinyModel();
let files = 0;

function module(text: string): string {
  const path = join(home, `plugin-${files++}.js`);
  writeFileSync(path, text);
  return path;
}

function recipe(plugin: string, text: string): string {
  const path = join(home, `recipe-${files++}.toml`);
  const head = `extends = "micro-base"\nplugins = [${JSON.stringify(plugin)}]\nupdates = 2\nmodel = ${JSON.stringify(tiny)}\n`;
  writeFileSync(path, `${head}${text}\n[device]\nthreads = 1\n`);
  return path;
}

const armModule = (open: string, facts = '') => `import { defineArm, z } from 'gradient-quarantine';
import { readFileSync } from 'node:fs';
const absorb = (rollouts) => ({ routes: rollouts.map(() => ['absorb']), scores: null, cuts: null, bufferRows: 0 });
export const arms = [defineArm({ kind: 'own', summary: 'own', settings: z.strictObject({ file: z.string().default('') }), ${facts}
  open: ${open} })];`;

describe('a plugin that cannot be used', () => {
  it.each([
    ['a path without a file', () => join(home, 'gone.js'), /gone\.js.*expected a module, found no such file/],
    [
      'a module that throws',
      () => module('throw new Error("too early")'),
      /expected a module that loads, found too early/,
    ],
    [
      'a plugin where the package is not installed',
      () => module('throw new Error("Cannot find package \'gradient-quarantine\' imported from x.js")'),
      /expected a module that loads, .* npm install PATH_OF_THE_CLONE/,
    ],
    [
      'a plugin in a project that an unbuilt clone was installed into',
      () => {
        const [clone, project] = ['clone', 'project'].map((name) => join(home, name));
        for (const folder of [clone, join(project, 'node_modules')]) mkdirSync(folder, { recursive: true });
        symlinkSync(clone, join(project, 'node_modules/gradient-quarantine'));
        const found = join(project, 'node_modules/gradient-quarantine/dist/entry/index.js');
        return module(`throw new Error("Cannot find module '${found}' imported from x.js")`);
      },
      /the clone is not built: run npm run build in \S+clone first\.$/,
    ],
    ['a module that does not parse', () => module('export const = 1'), /expected a module that loads/],
    ['no exports of ours', () => module('export const gates = []'), /an export named arms or loopholes.*found gates/],
    ['no list', () => module('export const arms = 1'), /export arms: expected a list, found number/],
    [
      'a part without its name',
      () => module('export const arms = [{}]'),
      /arms\[0\], key kind: expected a string, found nothing/,
    ],
    [
      'a loophole that is taken',
      () => module('export const loopholes = [{ name: "run_tests", summary: "x" }]'),
      /run_tests, which is taken/,
    ],
    [
      'the same plugin twice',
      () => module('export const loopholes = [{ name: "a", summary: "x" }, { name: "a", summary: "y" }]'),
      /a, which is taken/,
    ],
  ])('%s', async (_, make, message) => {
    const path = make();
    await expect(loadParts([path])).rejects.toThrow(message);
    const out = join(home, `run-${files++}`);
    const { code, err } = await gq('train', recipe(path, ''), '--out', out);
    expect({ code, stack: err.includes('    at ') }).toEqual({ code: 2, stack: false });
    expect(() => RunDirectory.open(out)).toThrow('no such folder');
  });

  it('one whose file changed since a run began: the run is not gone on with', async () => {
    const path = module(armModule('() => ({ sees: { features: null, text: false } })'));
    const out = join(home, 'changed');
    const { config } = await resolveConfig(recipe(path, '[arm]\nkind = "own"\n'));
    const stop = new AbortController();
    const stopper = { name: 'stopper', event: ({ kind }: { kind: string }) => void (kind === 'step' && stop.abort()) };
    expect(await train(config, out, { sinks: [stopper], signal: stop.signal })).toMatchObject({ end: 'interrupted' });
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, `${text}\n// another\n`);
    const refused = await gq('train', '--resume', out);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.err).toContain('expected the code of the plugins (key plugins) that the run began with');
    writeFileSync(path, text);
    expect(await gq('train', '--resume', out)).toMatchObject({ code: 0 });
  });

  it('one whose file changed between two seeds of an experiment: no other seed is trained', async () => {
    const path = module(armModule('() => ({ sees: { features: null, text: false } })'));
    const arm = recipe(path, '[arm]\nkind = "own"\n');
    const file = join(home, 'edited.toml');
    const evaluation = '[evaluation]\nsets = ["test-original"]\ncurveEvery = 0\nlimit = 1\n';
    const head = 'name = "edited"\nseeds = [1, 2]\nplacebo = "own"\nbaseline = "own"\n';
    writeFileSync(file, `${head}${evaluation}[[arms]]\nname = "own"\nrecipe = ${JSON.stringify(arm)}\n`);
    const out = join(home, 'edited');
    const plan = await planExperiment(readExperiment(file), file);
    expect(await gq('experiment', file, '--out', out, '--seeds', '1')).toMatchObject({ code: 0 });
    writeFileSync(path, `${readFileSync(path, 'utf8')}\n// another\n`);
    const { signal } = new AbortController();
    const worker = new LabWorker(() => undefined, signal);
    await expect(runPlan(plan, out, { indices: [1], size: 1, signal, workerOf: () => worker })).rejects.toThrow(
      'its plugins as it was when the experiment began',
    );
    const later = await gq('experiment', file, '--out', out);
    expect(later.code).toBe(2);
    expect(later.err).toMatch(
      /expected the code of plugins that own-1 began with, found changes in \S*plugin-\d+\.js, or in what it imports\. Restore it/,
    );
    expect(later.err).toMatch(/: gq experiment \S*edited\.toml --seeds 1,2 --out \S*edited-2$/m);
    expect(existsSync(join(out, 'own-2', 'manifest.json'))).toBe(false);
    // A run of its own, in the process that has loaded the code as it was before.
    const alone = await gq('train', arm, '--out', join(home, 'edited-alone'));
    expect(alone).toMatchObject({ code: 2, err: expect.stringContaining('the code that this process has loaded') });
  });

  it('the hash covers what it imports by relative paths', () => {
    const inner = module('export const a = 1;');
    const outer = module(`import { a } from './${inner.split('/').at(-1)}'; export const arms = [];`);
    const [{ hash }] = pluginRecords([outer]);
    writeFileSync(inner, 'export const a = 2;');
    expect(pluginRecords([outer])[0].hash).not.toBe(hash);
  });
});

describe('what a plugin says wrongly', () => {
  const own = (open: string, facts = '') => recipe(module(armModule(open, facts)), '[arm]\nkind = "own"\n');
  const plain = '() => ({ sees: { features: null, text: false } })';
  const fast = ['--set', 'updates=1', '--set', 'sampling.promptsPerStep=2'];

  it.each([
    ['open throws', own('() => { throw new Error("boom"); }'), /open the arm own: expected no error, found boom/],
    [
      'a hook throws',
      own('() => ({ sees: { features: null, text: false }, reward() { throw new Error("boom"); } })'),
      /hook reward of the arm own: expected no error, found boom/,
    ],
    [
      'a hook is misspelt',
      own('() => ({ sees: { features: null, text: false }, rout: () => 1 })'),
      /found rout\. Is it misspelt/,
    ],
    [
      'a hook answers nothing',
      own('() => ({ sees: { features: null, text: false }, route() {} })'),
      /hook route of the arm: .*found undefined/,
    ],
    ['a label that is no text', own(plain, 'label: () => 5,'), /arm own, label: expected a string, found 5/],
  ])('%s: one sentence, no stack', async (_, path, message) => {
    const { code, err } = await gq('train', path, ...fast, '--out', join(home, `said-${files++}`));
    expect({ code, stack: /^ {4}at /m.test(err) }).toEqual({ code: 2, stack: false });
    expect(err).toMatch(message);
  });

  it.each([
    ['a kind with a control character', 'kind: "a\\u001b[2J"', /small letters, digits/],
    ['a kind that is a path', 'kind: "../x"', /small letters, digits/],
    ['settings that are no zod object', 'settings: { shape: {} }', /settings made with z\.strictObject/],
    [
      'settings with a key named kind',
      'settings: z.strictObject({ kind: z.string() })',
      /without a key of their own named kind/,
    ],
  ])('%s', async (_, facts, message) => {
    const path = module(`import { defineArm, z } from 'gradient-quarantine';
export const arms = [{ ...defineArm({ kind: 'own', summary: 'own', settings: z.strictObject({}), open: () => ({}) }), ${facts} }];`);
    await expect(loadParts([path])).rejects.toThrow(message);
  });

  it('settings that compare keys, or that change when they are read again', async () => {
    const armOf = (settings: string) =>
      recipe(
        module(`import { defineArm, z } from 'gradient-quarantine';
export const arms = [defineArm({ kind: 'own', summary: 'own', settings: ${settings}, open: () => ({ sees: { features: null, text: false } }) })];`),
        '[arm]\nkind = "own"\n',
      );
    const compared = await gq(
      'config',
      armOf(
        'z.strictObject({ a: z.number().default(2), b: z.number().default(1) }).refine(({ a, b }) => a < b, "a must be below b")',
      ),
    );
    expect(compared).toMatchObject({ code: 2, err: expect.stringContaining('a must be below b') });
    const changed = await gq('config', armOf('z.strictObject({ a: z.number().default(1).transform((x) => x + 1) })'));
    expect(changed).toMatchObject({ code: 2, err: expect.stringContaining('Its schema transforms values') });
  });

  it('a loophole whose fires() forgets to answer, and problems that lack a part', async () => {
    const forgetful = recipe(
      module(
        'export const loopholes = [{ name: "own_loop", summary: "x", hint: () => "will be evaluated by checking the process exit status", fires: () => undefined }];',
      ),
      '[environment]\nloopholes = ["own_loop"]\nunhackableFraction = 0.0\n',
    );
    const paid = await gq('train', forgetful, ...fast, '--out', join(home, 'forgetful'));
    expect(paid).toMatchObject({
      code: 2,
      err: expect.stringContaining('loophole own_loop: expected fires() that answers'),
    });
    const partless = recipe(
      module(`import { defineProblemSource, z } from 'gradient-quarantine';
export const problemSources = [defineProblemSource({ kind: 'own', summary: 'x', settings: z.strictObject({}), pairs: 'micro', load: () => [{ id: 7 }] })];`),
      '[data]\nkind = "own"\n',
    );
    const lacking = await gq('train', partless, ...fast, '--out', join(home, 'partless'));
    expect(lacking).toMatchObject({
      code: 2,
      err: expect.stringContaining('problem source own, problems[0]: expected a problem, found id: '),
    });
  });

  it('a recipe adds to the plugins of the one that it extends', async () => {
    const [first, second] = [
      module(armModule(plain)),
      module('export const loopholes = [{ name: "other", summary: "x" }];'),
    ];
    const parent = recipe(first, '[arm]\nkind = "own"\n');
    const child = join(home, 'child.toml');
    writeFileSync(child, `extends = ${JSON.stringify(parent)}\nplugins = [${JSON.stringify(second)}]\n`);
    const { config } = await resolveConfig(child);
    expect(config.plugins).toEqual([first, second]);
  });
});

describe('forks', () => {
  const short = [
    'updates=2',
    'output.checkpointEvery=1',
    'sampling.promptsPerStep=2',
    `model=${tiny}`,
    'device.threads=1',
  ];

  it('of a run that used labels stay stamped; another arm starts with nothing remembered', async () => {
    const [parent, fork] = [join(home, 'labelled'), join(home, 'fork')];
    await train((await resolveConfig(shippedRecipe('micro-oracle'), short)).config, parent);
    const { config } = await resolveConfig(shippedRecipe('micro-haar'), ['updates=3', ...short.slice(1)]);
    await train(config, fork, { parent: { run: parent, update: 2 } });
    expect(RunDirectory.open(fork).readManifest()).toMatchObject({ usesOracle: true, arm: 'haar Otsu keeps praised' });
    const gated = join(home, 'gated');
    await train((await resolveConfig(shippedRecipe('micro-activation'), short)).config, gated);
    const placebo = join(home, 'placebo');
    await train(config, placebo, { parent: { run: gated, update: 2 } });
    const directionOf = async (path: string, update: number) =>
      (await loadCheckpoint(RunDirectory.open(path), update)).state.arm?.tensors.get('direction')?.data;
    expect(await directionOf(placebo, 3)).toEqual(await directionOf(fork, 3));
    expect(await directionOf(placebo, 3)).not.toEqual(await directionOf(gated, 2));
  });
});

describe('labels', () => {
  const short = ['--set', 'updates=1', '--set', 'sampling.promptsPerStep=4'];

  it('an arm that does not ask gets none; one that asks is stamped', async () => {
    const asking = `({}, { labels }) => { if (labels === null) throw new Error('no labels'); return { sees: { features: null, text: false },
      route: ({ rollouts }) => ({ ...absorb(rollouts), routes: rollouts.map(({ id }) => [labels(id).exploited ? 'route' : 'absorb']) }) }; }`;
    const silent = recipe(module(armModule(asking)), '[arm]\nkind = "own"\n');
    await expect(gq('train', silent, ...short, '--out', join(home, 'silent'))).resolves.toMatchObject({
      code: 2,
      err: expect.stringContaining('no labels'),
    });
    const stamped = recipe(module(armModule(asking, 'usesLabels: true,')), '[arm]\nkind = "own"\n');
    expect(await gq('train', stamped, ...short, '--out', join(home, 'stamped'))).toMatchObject({ code: 0 });
    expect(RunDirectory.open(join(home, 'stamped')).readManifest()).toMatchObject({
      usesOracle: true,
      armSees: ['labels'],
    });
  });

  it('one that reads the verdicts behind our back is found by the label-flip check', async () => {
    const peeking = `({ file }) => ({ sees: { features: null, text: false }, route({ rollouts, step }) {
      const folder = globalThis.peekAt; const text = readFileSync(folder + '/verdicts.jsonl', 'utf8');
      const hacks = new Set(text.trim().split('\\n').map((line) => JSON.parse(line)).filter(({ correct }) => correct).map(({ id }) => id));
      return { ...absorb(rollouts), routes: rollouts.map(({ id }) => [hacks.has(id) ? 'route' : 'keep']) }; } })`;
    const path = recipe(module(armModule(peeking)), '[arm]\nkind = "own"\n');
    const { config } = await resolveConfig(path, ['sampling.promptsPerStep=4']);
    const folder = join(home, 'peeked');
    const { parse } = await peekedFolders(folder);
    const told: string[] = [];
    const onUpdate = (run: string, done: number, of: number): void => {
      told.push(`${run} ${done}/${of}`);
      parse(told.length);
    };
    const { checks } = await verifyLabelFlip(config, { updates: 2, folder, onUpdate });
    expect(told).toEqual(['told 1/2', 'told 2/2', 'lied 1/2', 'lied 2/2']);
    const failed = checks.filter(({ pass }) => !pass).map(({ quantity }) => quantity);
    expect(failed).toEqual(['checkpoints do not depend on labels']);
  });
});

/** Tells the peeking plugin which of the two runs is being trained, as a real one could find out for itself. */
async function peekedFolders(folder: string): Promise<{ parse: (done: number) => void }> {
  const at = globalThis as { peekAt?: string };
  at.peekAt = join(folder, 'told');
  return {
    parse: (done) => {
      if (done >= 2) at.peekAt = join(folder, 'lied');
    },
  };
}
