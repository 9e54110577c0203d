/** Faulty plugins: the error names the module's path, and nothing starts. Only an arm that asks for labels gets them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { resolveConfig, train } from '../../src/lab/index.ts';
import { loadParts, pluginRecords } from '../../src/lab/plugins.ts';
import { RunDirectory } from '../../src/run/index.ts';
import { verifyLabelFlip } from '../../src/verify/index.ts';
import { temporaryFolder } from './hand-made.ts';

const home = temporaryFolder();
let files = 0;

function module(text: string): string {
  const path = join(home, `plugin-${files++}.js`);
  writeFileSync(path, text);
  return path;
}

function recipe(plugin: string, text: string): string {
  const path = join(home, `recipe-${files++}.toml`);
  writeFileSync(path, `extends = "micro-base"\nplugins = [${JSON.stringify(plugin)}]\nupdates = 2\n${text}`);
  return path;
}

async function gq(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const streams = {
    stdout: { write: (text: string) => (out += text) },
    stderr: { write: (text: string) => (err += text) },
  };
  return { code: await runCli([...args], streams), out, err };
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
    expect(() => RunDirectory.open(out)).toThrow('no manifest.json');
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
    expect(refused.err).toContain('expected the plugins that the run began with');
    writeFileSync(path, text);
    expect(await gq('train', '--resume', out)).toMatchObject({ code: 0 });
  });

  it('the hash covers what it imports by relative paths', () => {
    const inner = module('export const a = 1;');
    const outer = module(`import { a } from './${inner.split('/').at(-1)}'; export const arms = [];`);
    const [{ hash }] = pluginRecords([outer]);
    writeFileSync(inner, 'export const a = 2;');
    expect(pluginRecords([outer])[0].hash).not.toBe(hash);
  });
});

describe('labels', () => {
  const short = ['--set', 'updates=1', '--set', 'sampling.promptsPerStep=4'];

  it('an arm that does not ask gets none; one that asks is stamped', async () => {
    const asking = `({}, { labels }) => { if (labels === null) throw new Error('no labels'); return { sees: { features: null, text: false },
      route: ({ rollouts }) => ({ ...absorb(rollouts), routes: rollouts.map(({ id }) => [labels(id).exploited ? 'route' : 'absorb']) }) }; }`;
    const silent = recipe(module(armModule(asking)), '[arm]\nkind = "own"\n');
    await expect(gq('train', silent, ...short, '--out', join(home, 'silent'))).resolves.toMatchObject({ code: 1 });
    const stamped = recipe(module(armModule(asking, 'usesLabels: true,')), '[arm]\nkind = "own"\n');
    expect(await gq('train', stamped, ...short, '--out', join(home, 'stamped'))).toMatchObject({ code: 0 });
    expect(RunDirectory.open(join(home, 'stamped')).readManifest().usesOracle).toBe(true);
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
    const { checks } = await verifyLabelFlip(config, { updates: 2, folder, onUpdate: parse });
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
