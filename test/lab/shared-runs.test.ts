/** Two experiments with the same baseline: it is trained once, and the results of the second take it from the first. */
import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { sealRun } from '../../src/oracle/verdicts.ts';
import { sharedRuns, writeExperiment } from '../../src/study/directory.ts';
import { planExperiment, readExperiment } from '../../src/study/experiment.ts';
import { forgetFailure, noteFailure } from '../../src/study/failures.ts';
import type { ExperimentPage } from '../../src/view/api.ts';
import type { listCatalogue } from '../../src/view/catalogue.ts';
import { ViewLibrary } from '../../src/view/library.ts';
import { gq } from '../run-gq.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';
import { temporaryFolder, writeRun } from './hand-made.ts';

const home = temporaryFolder();
const [first, second] = [join(home, 'first'), join(home, 'second')];
const short = ['device.variant=plain', 'device.arenaMiB=256', 'updates=2'];
const settings = [`model=${await tinyModel()}`, ...tinySettings, ...short].flatMap((setting) => ['--set', setting]);

function recipeOf(name: string, ...arms: readonly string[]): string {
  const path = join(home, `${name}.toml`);
  const tables = arms.map((arm) => {
    const recipe = resolve('recipes', `micro-${arm.replace(/-again$/, '')}.toml`);
    return `[[arms]]\nname = "${arm}"\nrecipe = "${recipe}"\n`;
  });
  const evaluation = '[evaluation]\ncurveEvery = 0\nlimit = 2\nsets = ["test-original"]\n';
  writeFileSync(
    path,
    `name = "${name}"\nseeds = [1]\nbaseline = "${arms[0]}"\nplacebo = "${arms[0]}"\n${evaluation}${tables.join('')}`,
  );
  return path;
}

const begin = (name: string, ...words: readonly string[]) =>
  gq('experiment', join(home, `${name}.toml`), '--out', join(home, name), ...words, ...settings);

beforeAll(async () => {
  recipeOf('first', 'vanilla', 'absorb');
  recipeOf('second', 'vanilla-again', 'activation');
  const predicted =
    '[[predictions]]\nwhat = "Vanilla attempts in few."\narm = "vanilla-again"\nmetric = "attempt"\natMost = 0.9\ninSeeds = 1\n';
  appendFileSync(join(home, 'second.toml'), predicted);
  expect(await begin('first')).toMatchObject({ code: 0 });
});

it('the run of the same config and seed is not trained again, under whatever name', async () => {
  const dry = await begin('second', '--from', first, '--dry-run');
  expect(dry, dry.err).toMatchObject({ code: 0, out: expect.stringContaining('runs     1 of 1 left') });
  expect(existsSync(second)).toBe(false);
  const { code, err } = await begin('second', '--from', first);
  expect({ code, err }).toMatchObject({ code: 0 });
  expect(err).toContain(`vanilla-again-1 is ${join(first, 'vanilla-1')}: not trained again`);
  expect(readdirSync(second).filter((name) => name.endsWith('-1'))).toEqual(['activation-1']);
});

const armsOf = (out: string): string[] => [
  ...new Set<string>(JSON.parse(out).values.map(({ arm }: { arm: string }) => arm)),
];

it('results, runs, the claim and the viewer take it from the folder that has it, which the experiment knows, and say so', async () => {
  const { out, err } = await gq('results', second, '--json');
  expect(err).toContain(`taken from another folder: ${join(first, 'vanilla-1')}`);
  expect(err).not.toContain('not started yet');
  expect(armsOf(out)).toEqual(['vanilla-again', 'activation']);
  const runs = await gq('runs', second);
  expect(runs.out).toMatch(/second: 2 of 2 runs finished/);
  expect(runs.out).toMatch(/^ +vanilla-again-1 +vanilla-again +finished +2\/2/m);
  expect(runs.out.replaceAll(/\s+/g, ' ')).toContain(`second/vanilla-again-1: begun in ${first}`);
  const told = await gq('claim', second, '--json');
  expect(told.code, told.out).toBe(0);
  const { begun, missing } = JSON.parse(told.out);
  expect(missing).toEqual([]);
  expect(begun.find(({ arm }: { arm: string }) => arm === 'vanilla-again')).toMatchObject({ state: 'ended', sharedFrom: first }); // biome-ignore format: one line
  const { out: said } = await gq('claim', second);
  expect(said.replaceAll(/\s+/g, ' ')).toContain(`Begun in ${first}, before this was stated here: vanilla-again-1.`);
  expect(said).toMatch(/predicted: Vanilla attempts in few\.[\s\S]*met/);
  const library = new ViewLibrary(home);
  const page = (await library.answer('experiment', new URLSearchParams({ id: 'second' }))) as ExperimentPage;
  expect(page.words[0]).toContain(
    `2 begun, 1 of them in ${first}, before this was stated here, 2 ended. Stated and not begun: none.`,
  );
  expect(page.runs).toMatchObject([{ id: 'second/activation-1' }, { id: 'second/vanilla-again-1', status: 'not started', notice: 'Begun in ../first.' }]); // biome-ignore format: one line
});

it('the viewer tells of a run that failed after it was first looked at, and no more once it is tried again', async () => {
  const file = join(home, 'first.toml');
  const plan = await planExperiment(readExperiment(file), file);
  await writeExperiment(join(home, 'planned'), plan);
  const library = new ViewLibrary(join(home, 'planned'));
  const noticeOf = async (): Promise<unknown> => {
    const { runs } = (await library.answer('home', new URLSearchParams())) as ReturnType<typeof listCatalogue>;
    return runs.find(({ id }) => id === 'planned/absorb-1');
  };
  expect(await noticeOf()).toMatchObject({ status: 'not started', notice: '' });
  await noteFailure(join(home, 'planned', 'absorb-1'), 'the GPU fell off the bus\nsomewhere');
  expect(await noticeOf()).toMatchObject({ status: 'not started', notice: 'failed: the GPU fell off the bus' });
  forgetFailure(join(home, 'planned', 'absorb-1'));
  expect(await noticeOf()).toMatchObject({ status: 'not started', notice: '' });
});

it('a folder of shared runs that was moved is told by its name, and taken from where it is now', async () => {
  const moved = join(home, 'moved');
  renameSync(first, moved);
  try {
    const alone = await gq('results', second, '--json');
    expect(alone).toMatchObject({
      code: 1,
      err: expect.stringContaining(`left out: ${first}: the runs that it shared`),
    });
    expect(alone.err).toContain('not started yet in');
    expect(armsOf(alone.out)).toEqual(['activation']);
    const both = await gq('results', second, '--from', moved, '--json');
    expect(both).toMatchObject({ code: 0, err: expect.not.stringContaining('left out') });
    expect(armsOf(both.out)).toEqual(['vanilla-again', 'activation']);
    const claim = await gq('claim', second);
    expect(claim.code).toBe(1);
    expect(claim.out).toContain(`left out: ${first}`);
    expect(await gq('claim', second, '--from', moved)).toMatchObject({ code: 0, err: '' });
  } finally {
    renameSync(moved, first);
  }
});

it('a run of another seed is trained', async () => {
  recipeOf('third', 'vanilla');
  const { code, err } = await begin('third', '--from', first, '--seeds', '2');
  expect({ code, taken: err.includes('not trained again') }, err).toEqual({ code: 0, taken: false });
});

it('a shared run gets the evaluations and the attack that the later experiment asks for', async () => {
  const path = recipeOf('wider', 'vanilla', 'activation');
  const asked = '[evaluation]\ncurveEvery = 0\nlimit = 3\nscales = [0.5]\n';
  const attack = '[relearn]\narms = ["activation"]\nupdates = 1\n';
  writeFileSync(path, readFileSync(path, 'utf8').replace('[evaluation]\ncurveEvery = 0\nlimit = 2\n', attack + asked));
  const { code, err } = await begin('wider', '--from', first, '--from', second);
  expect({ code, trained: readdirSync(join(home, 'wider')).filter((name) => name.endsWith('-1')) }, err).toEqual({
    ...{ code: 0, trained: [] },
  });
  const run = join(second, 'activation-1');
  const evaluated = readdirSync(join(run, 'evaluations'));
  expect(evaluated.filter((name) => name.includes('0.5'))).toHaveLength(1);
  expect(existsSync(join(run, 'relearn', 'attack', 'seal.json'))).toBe(true);
  const found = await gq('results', join(home, 'wider'), '--all');
  expect(found.code, found.err).toBe(0);
  expect(found.out).toContain('3 prompts a run');
  expect((await begin('wider', '--from', first, '--from', second)).err).not.toContain('evaluations');
});

it('a run that is not finished, or whose plugins may have changed, is trained', async () => {
  const folder = temporaryFolder();
  const shared = () => [...sharedRuns([folder]).values()];
  const [plain, plugged] = [await writeRun(join(folder, 'a'), {}), await writeRun(join(folder, 'b'), {})];
  await plugged.writeManifest({ ...plugged.readManifest(), plugins: [{ path: 'own.mjs', hash: 'h' }] });
  expect(shared()).toEqual([]);
  await sealRun(plugged);
  expect(shared()).toEqual([]);
  await sealRun(plain);
  expect(shared()).toEqual([plain.path]);
});

it('one command evaluates every run of an experiment', async () => {
  const folder = join(home, 'first');
  const { code, out, err } = await gq('eval', folder, '--curve', '--sets', 'test-original', '--json');
  expect(code, err).toBe(0);
  expect(err).toContain(`${join(folder, 'absorb-1')}, 2 of 2`);
  const { experiment, runs } = JSON.parse(out);
  expect(experiment).toBe(folder);
  const pointsOf = (points: { update: number; state: string }[]) => points.map(({ update, state }) => `${update} ${state}`).sort(); // biome-ignore format: one line
  expect(runs.map(({ run, points }: { run: string; points: [] }) => [run, pointsOf(points)])).toEqual([
    [join(folder, 'vanilla-1'), ['0 base', '2 full']],
    [join(folder, 'absorb-1'), ['0 base', '2 deployed', '2 full']],
  ]);
  const final = await gq('eval', folder, '--sets', 'test-original', '--limit', '2');
  expect(final.out).toMatch(/vanilla-1: .*after 2 updates[\s\S]*absorb-1: .*after 2 updates/);
});

it('the runs of an experiment are evaluated on one device, each as by itself', async () => {
  const alone = join(home, 'alone');
  cpSync(first, alone, { recursive: true });
  const { Memory } = WebAssembly;
  let memories = 0;
  WebAssembly.Memory = class extends Memory {
    constructor(descriptor: WebAssembly.MemoryDescriptor) {
      super(descriptor);
      memories++;
    }
  };
  const asked = ['--sets', 'train', '--limit', '2'];
  const evaluated = async (path: string): Promise<number> => {
    memories = 0;
    expect(await gq('eval', path, ...asked)).toMatchObject({ code: 0 });
    return memories;
  };
  try {
    const runs = ['vanilla-1', 'absorb-1'];
    const together = await evaluated(first);
    const apart = [await evaluated(join(alone, runs[0])), await evaluated(join(alone, runs[1]))];
    expect([together, apart]).toEqual([1, [1, 1]]);
    const answers = (folder: string): string[] => runs.flatMap((run) => trainAnswers(join(folder, run, 'evaluations')));
    expect(answers(first)).toHaveLength(5);
    expect(answers(first)).toEqual(answers(alone));
  } finally {
    WebAssembly.Memory = Memory;
  }
});

function trainAnswers(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.includes('-train-'));
  return names
    .sort()
    .map((name) => `${name} ${JSON.stringify(JSON.parse(readFileSync(join(folder, name), 'utf8')).rows)}`);
}
