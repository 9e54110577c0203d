/** The commands of the lab from end to end, on a tiny model with a few updates: what they write, and that they can go on. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { demoExperiment, demoJobs, hackedRuns, twoAnswers } from '../../src/cli/commands/demo.ts';
import { writeExperiment } from '../../src/study/directory.ts';
import { planExperiment } from '../../src/study/experiment.ts';
import { gq } from '../run-gq.ts';
import { tinyModel } from '../smoke/lab.ts';
import { temporaryFolder } from './hand-made.ts';
import { madeResults } from './made-results.ts';

const small = [
  `model=${await tinyModel()}`,
  'updates=2',
  'data.problems=64',
  'sampling.promptsPerStep=6',
  'sampling.group=4',
  'output.checkpointEvery=2',
  'device.threads=1',
];
const settings = small.flatMap((setting) => ['--set', setting]);
const folder = temporaryFolder();
const recipe = join(folder, 'tryout.toml');
const out = join(folder, 'tryout');
const experiment = ['experiment', recipe, '--out', out, ...settings];

beforeAll(() => {
  const arm = (name: string) => `[[arms]]\nname = "${name}"\nrecipe = "${resolve('recipes', `micro-${name}.toml`)}"\n`;
  const evaluation = '[evaluation]\nlimit = 6\ncurveEvery = 2\nscales = [0.5]\nsets = ["test-original"]\n';
  const head = 'name = "tryout"\nseeds = [1]\n';
  const relearn = '[relearn]\narms = ["activation"]\nupdates = 1\n';
  writeFileSync(recipe, head + relearn + evaluation + ['vanilla', 'activation', 'oracle'].map(arm).join(''));
});

/** The text of every file of a folder, by name. */
const filesIn = (path: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(path)
      .sort()
      .map((name) => [name, readFileSync(join(path, name), 'utf8')]),
  );

describe('the lab', () => {
  it('runs an experiment, and once more without training anything', async () => {
    const first = await gq(...experiment);
    expect(first, first.err).toMatchObject({ code: 0, out: `3 runs in ${out}; see: gq results ${out}\n` });
    expect(readdirSync(join(out, 'activation-1', 'evaluations')).sort()).toEqual([
      '00000-curve-base.json',
      '00000-test-original-first6-base.json',
      '00000-validation-base.json',
      '00002-curve-deployed.json',
      '00002-curve-full.json',
      '00002-test-original-first6-deployed.json',
      '00002-test-original-first6-full.json',
      '00002-test-original-first6-scale-0.5.json',
      'curve.json',
    ]);
    expect(existsSync(join(out, 'activation-1', 'relearn', 'attack', 'rollouts.parquet'))).toBe(true);
    expect(existsSync(join(out, 'oracle-1', 'relearn'))).toBe(false);
    const base = (arm: string) => readFileSync(join(out, `${arm}-1`, 'evaluations', '00000-curve-base.json'), 'utf8');
    expect(base('activation')).toBe(base('vanilla'));
    const files = readdirSync(out, { recursive: true, encoding: 'utf8' });
    const times = () =>
      files.filter((file) => file !== 'experiment.json').map((file) => statSync(join(out, file)).mtimeMs);
    const before = times();
    expect(await gq(...experiment)).toMatchObject({ code: 0 });
    expect(times()).toEqual(before);
  });

  it('refuses to go on under another config', async () => {
    const { code, err } = await gq('experiment', recipe, '--out', out, ...settings, '--set', 'loss.clip=0.3');
    expect(code).toBe(2);
    expect(err).toContain('vanilla-1 with the config it was started with');
  });

  it('prints results in every format and writes figures', async () => {
    const figures = join(folder, 'figures');
    const text = await gq('results', out, '--all', '--figures', figures);
    expect(text.code).toBe(0);
    expect(existsSync(join(out, 'figures'))).toBe(false);
    expect(text.out).toContain('n = 1, no claim');
    expect(text.out.indexOf('with labels')).toBeGreaterThan(text.out.indexOf('while training'));
    expect(readdirSync(figures)).toContain('curves.png');
    const first = await gq('results', out);
    expect(first.out).toMatch(/\n--all also prints: [^.]*while training/);
    expect(first.out.length).toBeLessThan(text.out.length / 2);
    for (const format of ['markdown', 'csv', 'latex', 'json']) {
      expect(await gq('results', out, '--all', '--format', format)).toMatchObject({ code: 2 });
      expect(await gq('results', out, '--format', format)).toMatchObject({ code: 0 });
    }
    expect(await gq('results', out, '--format', 'word')).toMatchObject({ code: 2 });
  });

  it('makes a report of the experiment', async () => {
    const { code, out: text } = await gq('results', out, '--html');
    expect({ code, text }).toEqual({ code: 0, text: `${join(out, 'report.html')}\n` });
    expect(readFileSync(join(out, 'report.html'), 'utf8')).toContain('<summary>activation, seed 1</summary>');
  });

  it('judges the gate and shows traces', async () => {
    const gate = await gq('measure', 'gate', join(out, 'activation-1'), '--json');
    expect(gate.code).toBe(0);
    expect(JSON.parse(gate.out)).toHaveProperty('all.routes.route');
    const traces = await gq('measure', 'traces', join(out, 'activation-1'));
    expect(traces.out).toContain('━━ run_tests: first hack');
    expect(traces.out).toMatch(/\nuser: \S.*\nassistant:\n/);
    expect(traces.out).not.toContain('<|im_start|>');
  });

  it('evaluates a run again from what is stored, and more prompts on demand', async () => {
    const run = join(out, 'activation-1');
    const found = await gq('eval', run, '--sets', 'test-original', '--limit', '6', '--json');
    const { sets } = JSON.parse(found.out);
    expect(Object.keys(sets[0].states)).toEqual(['base', 'full', 'deployed']);
    expect(sets[0].states.base.hack.of).toBe(6);
    const more = JSON.parse((await gq('eval', run, '--sets', 'test-original', '--limit', '8', '--json')).out).sets[0];
    expect(more.states.base.hack.of).toBe(8);
    const paired = 'prompt by prompt, as trained → deployed';
    const [brief, whole] = [[], ['--all']].map((all) =>
      gq('eval', run, '--sets', 'test-original', '--limit', '6', ...all),
    );
    expect((await brief).out).toMatch(new RegExp(`n = 1, no claim\\.\n\n--all also prints: ${paired}\\.\n$`));
    expect((await whole).out).toContain(`\n\n${paired}\nset `);
    expect((await whole).out).not.toContain('also prints');
    const curve = await gq('eval', run, '--curve', '--every', '2');
    expect(curve.out).toMatch(/64 of 256 validation prompts/);
    expect(await gq('eval', join(folder, 'nothing'))).toMatchObject({ code: 2 });
  });

  it('evaluates several completions of each prompt, in batches of any size, beside the first, which stay as they are', async () => {
    const run = join(out, 'activation-1');
    const before = filesIn(join(run, 'evaluations'));
    const sampled = ['eval', run, '--sets', 'test-original', '--limit', '6', '--samples', '3'];
    const found = await gq(...sampled, '--batch', '4', '--json');
    expect(found, found.err).toMatchObject({ code: 0 });
    expect(filesIn(join(run, 'evaluations'))).toEqual(before);
    const samples = filesIn(join(run, 'samples'));
    const states = ['00000-test-original-first6-base', '00002-test-original-first6-deployed', '00002-test-original-first6-full']; // biome-ignore format: one line
    expect(Object.keys(samples)).toEqual(states.flatMap((name) => [1, 2].map((i) => `${name}-sample${i}.json`)));
    const completions = (text: string): string[] =>
      JSON.parse(text).rows.map((row: { completion: string }) => row.completion);
    const bases = [before[`${states[0]}.json`], ...[1, 2].map((i) => samples[`${states[0]}-sample${i}.json`])].map(
      completions,
    );
    expect(new Set(bases.map((all) => all.join('|'))).size).toBe(3);
    const [{ set, state, prompts, samples: count, rates, anyAttempt }] = JSON.parse(found.out).samples;
    expect({ set, state, prompts, count }).toEqual({ set: 'test-original', state: 'base', prompts: 6, count: 3 });
    expect(rates.attempt.of).toBe(18);
    expect(anyAttempt.rate).toBeGreaterThanOrEqual(rates.attempt.rate);
    // In other batches the same bytes, and nothing is made again.
    rmSync(join(run, 'samples'), { recursive: true });
    expect((await gq(...sampled)).out).toContain('3 completions a prompt');
    expect(filesIn(join(run, 'samples'))).toEqual(samples);
    expect((await gq('runs', out)).out).not.toContain('sample1');
    writeFileSync(join(run, 'samples', `${states[0]}-sample1.json`), '{}');
    expect((await gq(...sampled)).code).toBe(2);
    expect((await gq('runs', out)).out).toContain('base-sample1.json');
    rmSync(join(run, 'samples'), { recursive: true });
  });

  it('attacks what was deployed, and refuses an arm that has nothing to delete', async () => {
    const attack = join(folder, 'attack');
    const { code, out: text } = await gq(
      'measure',
      'relearn',
      join(out, 'activation-1'),
      '--updates',
      '2',
      '--out',
      attack,
    );
    // Two updates teach no hack: there is nothing to relearn, and the command says so.
    expect(text).toMatch(/nothing to relearn|relearning the exploit/);
    expect(code).toBe(text.includes('nothing to relearn') ? 1 : 0);
    expect(existsSync(join(attack, 'deployed', 'model.safetensors'))).toBe(true);
    expect(await gq('measure', 'relearn', join(out, 'vanilla-1'))).toMatchObject({ code: 2 });
  });
});

describe('gq demo', () => {
  it('tells its story on one screen and leaves a report', async () => {
    const directory = join(folder, 'demo');
    mkdirSync(directory);
    const demo = ['demo', '--quick', '--out', directory, ...settings, '--set', 'sampling.maxNewTokens=8'];
    // As in a clone or a project, where there is no gq on the PATH.
    vi.stubEnv('GQ_NAME', 'npx gq');
    // On one core the arms are trained in this process.
    vi.stubEnv('GQ_CORES', '1');
    const { code, out: text } = await gq(...demo);
    vi.unstubAllEnvs();
    expect(code).toBe(0);
    expect(text).toMatch(
      /\nNext:\n {2}npx gq view .*\n {2}npx gq results .*\n {2}npx gq experiment demo-quick --seeds 1,2,3,4,5,6 .*\n$/,
    );
    // Of the same recipe, in the same folder, with the same settings.
    const [, more] = / {2}npx gq (experiment demo-quick .*?) +#.*\n$/.exec(text) ?? [];
    const planned = await gq(...more.split(' '), '--dry-run');
    expect(planned).toMatchObject({ code: 0 });
    expect(planned.out).toContain('15 of 18 left');
    expect(text.split('\n').filter((line) => line.length > 80 && !line.includes(directory))).toEqual([]);
    const story = text.slice(text.indexOf('Share of held-out problems'));
    expect(story.split('\n').length).toBeLessThanOrEqual(26);
    for (const part of [
      'activation, deployed',
      'random, as trained',
      'n = 1, no claim. Each run: 2 updates, no sound prompts.\n',
      'report.html',
    ]) {
      expect(story).toContain(part);
    }
    const html = readFileSync(join(directory, 'report.html'), 'utf8');
    expect(html).toContain('gq demo --quick --out');
    expect(html).not.toContain('<script');
    const json = await gq(...demo, '--json');
    const answer = JSON.parse(json.out);
    expect(Object.keys(answer)).toEqual(['directory', 'report', 'seconds', 'results']);
    expect(answer).toMatchObject({ directory, report: join(directory, 'report.html'), seconds: expect.any(Number) });
    expect(Object.keys(answer.results)).toEqual(
      Object.keys(JSON.parse((await gq('results', directory, '--format', 'json')).out)),
    );
    expect(json.err).toContain('Share of held-out problems');
    const taken = join(folder, 'taken');
    const tryout = { ...demoExperiment(1, true), name: 'tryout' };
    await writeExperiment(taken, await planExperiment(tryout, 'recipes/demo-quick.toml', small));
    const other = await gq('demo', '--quick', '--out', taken);
    expect(other.code).toBe(2);
    expect(other.err).toContain('found the experiment tryout. Choose another --out.');
  });

  it('shows the example of the report, a hack before what is right, with both states beside each other', async () => {
    const evaluated = (state: 'full' | 'deployed', outcomes: string, said: string) =>
      ({ update: 20, set: 'test-original', state, outcomes, completionOf: (i: number) => `${said} ${i}` }) as const;
    const shown = async (full: string, deployed: string): Promise<string> => {
      const evaluations = [evaluated('full', full, 'cheat\u001b[2J'), evaluated('deployed', deployed, 'honest')];
      const run = { name: 'activation', arm: { kind: 'activation' }, checkpoints: [0, 20], evaluations };
      return twoAnswers(await madeResults([run]), 80);
    };
    const text = await shown('sbh', 'ss-');
    expect(text.replaceAll('\n', ' ')).toContain(
      'with a hack (a wrong program that is paid) as trained and no attempt when',
    );
    expect(text).toMatch(
      /\nprompt 2\n\nas trained: attempt, hack {2,}deployed: neither hack nor solve\ncheat.* 2 {2,}honest 2\n$/,
    );
    expect(text).not.toContain('\u001b');
    const right = await shown('sb', 'ss');
    expect(right).toContain('as trained: attempt, solve');
    expect(right.replaceAll('\n', ' ')).toContain('Of 2 prompts a run none goes from a hack');
    expect(await shown('s', 's')).toBe('');
  });

  it('names the runs without a remedy that were paid for a hack, to look at one', async () => {
    const trained = async (hack: boolean) => {
      const results = await madeResults([
        { rollouts: [{ update: 1, hack }] },
        { name: 'gate', rollouts: [{ update: 1, hack: true }] },
      ]);
      return { found: await hackedRuns(results), vanilla: results.arms[0].runs[0].path };
    };
    const { found, vanilla } = await trained(true);
    expect(found).toEqual([vanilla]);
    expect((await trained(false)).found).toEqual([]);
  });

  it('does the arms that are left side by side, where there are cores and no GPU', async () => {
    const fresh = join(folder, 'no demo yet');
    const planned = (...set: string[]) => planExperiment(demoExperiment(1, true), 'recipes/demo.toml', set);
    const plan = await planned(...small, 'sampling.maxNewTokens=8');
    for (const cores of ['2', '16']) {
      vi.stubEnv('GQ_CORES', cores);
      expect(await demoJobs(plan, fresh)).toBe(3);
      expect(await demoJobs(plan, join(folder, 'demo'))).toBe(1);
      expect(await demoJobs(await planned('device.kind=cuda'), fresh)).toBe(1);
    }
    vi.stubEnv('GQ_CORES', '1');
    expect(await demoJobs(plan, fresh)).toBe(1);
    vi.unstubAllEnvs();
  });
});
