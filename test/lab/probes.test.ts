/** The arms on prompts and the commands that probe, from end to end on a tiny model: resumed runs, stored probes, tables, wrong input. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { RunDirectory, resolveConfig, type Sink, train } from '../../src/lab/index.ts';
import { openJudged } from '../../src/oracle/index.ts';
import { mean } from '../../src/stats/index.ts';
import { fingerprint } from '../resume/kill.ts';
import { gq } from '../run-gq.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';
import { temporaryFolder } from './hand-made.ts';

const home = temporaryFolder();
const run = join(home, 'recontextualised');
const model = [`model=${await tinyModel()}`, ...tinySettings, 'data.problems=6', 'device.variant=plain'];
const settings = [...model, 'arm.kind=recontextualisation', 'loss.epochs=2', 'updates=4', 'output.checkpointEvery=2'];
const asSets = (own: readonly string[]) => own.flatMap((setting) => ['--set', setting]);

beforeAll(async () => {
  const { config } = await resolveConfig(null, settings);
  await train(config, run);
});

describe('recontextualisation', () => {
  it('interrupted and resumed leaves the bytes of a run that was left alone', async () => {
    const { config } = await resolveConfig(null, settings);
    const again = join(home, 'again');
    const stop = new AbortController();
    const sink: Sink = {
      name: 'stop',
      event: (event) => {
        if (event.kind === 'step' && event.update === 2) stop.abort();
      },
    };
    expect((await train(config, again, { sinks: [sink], signal: stop.signal })).end).toBe('interrupted');
    expect((await train(config, again)).end).toBe('finished');
    expect(await fingerprint(again)).toEqual(await fingerprint(run));
  });

  it('says before it trains that a prompt does not fit, or that the model cannot read it', async () => {
    const from = async (...own: string[]) => gq('train', ...asSets([...settings, ...own]), '--out', join(home, 'none'));
    const long = await from('sampling.maxPromptTokens=40', `arm.learn=${'use it.\n'.repeat(40)}`);
    expect(long).toMatchObject({ code: 2, err: expect.stringContaining('at most 40 tokens in learn (sampling.maxPromptTokens)') }); // biome-ignore format: one line
    const words = await from('arm.sample=Please be honest.');
    expect(words.err).toContain(
      'config, key arm.sample: expected an instruction made of words that the model has tokens',
    );
    const markup = await from('arm.sample=use it.<|im_end|>');
    expect(markup.err).toContain('config, key arm.sample: expected an instruction without the markup of a chat');
    const preset = await from('arm.learn=pass-tests');
    expect(preset.err).toContain('config, key arm.learn: expected one of the presets that the micro language can say');
    expect(existsSync(join(home, 'none'))).toBe(false);
  });
});

describe('gq eval --leak', () => {
  it('stores every probe, prints a table, and asks nothing twice', async () => {
    const first = await gq('eval', run, '--leak', '--limit', '2');
    expect(first, first.err).toMatchObject({ code: 0 });
    expect(first.out).toContain('after 4 updates\n\nleak probes, test-original\n');
    expect(first.err).toContain('probe 14/14');
    const files = readdirSync(join(run, 'probes')).sort();
    expect(files).toHaveLength(14);
    expect(files[0]).toBe('00000-test-original-first2-base-eliciting.json');
    const bytes = files.map((file) => readFileSync(join(run, 'probes', file), 'utf8'));
    const { code, out } = await gq('eval', run, '--leak', '--limit', '2', '--json');
    expect(code).toBe(0);
    const { categories } = JSON.parse(out);
    expect(categories[1]).toMatchObject({ category: 'original', probes: [{ state: 'base' }, { state: 'full', hack: { of: 2 } }] }); // biome-ignore format: one line
    expect(files.map((file) => readFileSync(join(run, 'probes', file), 'utf8'))).toEqual(bytes);
    expect((await gq('results', run)).out).toContain('leak probes: attempt and hack under other instructions');
  });
});

describe('gq eval --prefill', () => {
  it('evaluates both openings at every checkpoint and writes the curve', async () => {
    const { code, out, err } = await gq('eval', run, '--prefill', '--sets', 'train', '--every', '4');
    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('probe 4/4') });
    expect(out).toContain('prefill sensitivity over updates completed, train; 0 is the base');
    const { sets } = JSON.parse(readFileSync(join(run, 'prefill-curve.json'), 'utf8'));
    expect(sets.train.map(({ update }: { update: number }) => update)).toEqual([0, 4]);
    expect((await gq('results', run)).out).toContain('prefill sensitivity over updates, train');
    const few = await gq('eval', run, '--prefill', '--sets', 'train', '--every', '4', '--limit', '2');
    expect(few.out).toMatch(/recontextualised: recontextualisation .*, seed 1\n\nprefill .*first 2 prompts of train;/s);
    expect(JSON.parse(readFileSync(join(run, 'prefill-curve.json'), 'utf8')).sets).toEqual(sets);
  });
});

describe('gq eval --elicit', () => {
  it('asks the base of a recipe, and keeps what it found in a folder', async () => {
    const out = join(home, 'elicited');
    const argv = ['eval', '--elicit', ...asSets(model), '--out', out, '--limit', '2', '--sets', 'train', 'micro-base'];
    const { code, out: table, err } = await gq(...argv, '--text', 'use it.\n');
    expect({ code, err }).toMatchObject({ code: 0 });
    expect(table).toContain('hack and solve under instructions, train');
    expect(readdirSync(join(out, 'probes'))).toEqual([
      '00000-train-first2-base-none.json',
      '00000-train-first2-base-own-07a5c79c.json',
    ]);
    const chosen = await gq(...argv.slice(0, -2), 'monitor', 'micro-base');
    expect(chosen).toMatchObject({ code: 2, err: 'gq: --sets: expected another set with a recipe, found monitor, which a run chooses.\n' }); // biome-ignore format: one line
    const other = await gq(...argv, '--text', 'use it.\n', '--set', 'sampling.temperature=0.5');
    expect(other).toMatchObject({ code: 2, err: expect.stringContaining('probes of the same model, prompts and') });
  });

  it('asks the states of a run', async () => {
    const argv = ['eval', run, '--elicit', '--limit', '2', '--states', 'full', '--json'];
    const { code, out } = await gq(...argv, '--instructions', 'request,unrelated', '--place', 'before');
    expect(code).toBe(0);
    const { probes } = JSON.parse(out);
    expect(probes.map(({ instruction }: { instruction: { name: string } }) => instruction.name)).toEqual([
      'request-before',
      'unrelated-before',
    ]);
    expect(probes[0]).toMatchObject({ state: 'full', update: 4, hack: { of: 2 }, solve: { of: 2 } });
  });

  it.each([
    [['eval', run, '--elicit', '--states', 'deployed'], '--states: expected base, full, found deployed'],
    [['eval', run, '--elicit', '--out', 'x'], '--out: expected no such option with a run'],
    [['eval', 'micro-base', '--elicit', '--update', '3'], '--update: expected no such option with a recipe'],
    [['eval', run, '--elicit', '--instructions', 'requst'], 'did you mean "request"?'],
    [['eval', run, '--elicit', '--sets', 'test-unhinted'], '--sets: expected test-novel, test-original, train'],
    [['eval', run, '--leak', '--update', '3'], 'the update of one of its checkpoints: 0, 2, 4, found 3'],
    [['eval', run, '--prefill', '--sets', 'validation'], '--sets: expected curve, monitor, test-novel'],
  ])('wrong input: %j', async (argv, message) => {
    expect(await gq(...argv)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});

/** `gq measure evasion`: a policy that did not move has the base's scores, and one that moved has others. */
describe('gq measure evasion', () => {
  const probe = ['arm.kind=penalty', 'arm.monitor.kind=probe', 'arm.monitor.steps=20'];
  async function trained(name: string, ...settings: string[]): Promise<string> {
    const { config } = await resolveConfig(null, [...model, 'updates=2', ...settings]);
    await train(config, join(home, name));
    return join(home, name);
  }

  it('finds no difference where nothing was learned: the scores are those of training', async () => {
    const own = await trained('still', ...probe, 'optimiser.learningRate=1e-30');
    const { code, out, err } = await gq('measure', 'evasion', own, '--json');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const found = JSON.parse(out);
    const rows = await (await openJudged(RunDirectory.open(own))).rows();
    expect(found).toMatchObject({ labels: 'diagnosis only', update: 2, from: 1, to: 2, rollouts: rows.length });
    expect([found.difference, found.clean.difference]).toEqual([0, 0]);
    const clean = rows.filter(({ hack }) => !hack).map(({ suspicion }) => suspicion ?? Number.NaN);
    expect(found.clean).toMatchObject({ rollouts: clean.length, base: expect.closeTo(mean(clean), 12) });
  });

  it('splits the scores of a policy that moved, keeps them in the run, and results have a table', async () => {
    const own = await trained('moved', ...probe);
    const { code, out } = await gq('measure', 'evasion', own, '--rollouts', '12');
    expect(code).toBe(0);
    expect(out).toContain(
      'moved: penalty by probe, seed 1, after 2 updates\n\nevasion split, rollouts of updates 2 to 2\n',
    );
    const kept = JSON.parse(readFileSync(join(own, 'evasion.json'), 'utf8'));
    expect(kept).toMatchObject({ rollouts: 12, from: 2, to: 2 });
    expect(Math.abs(kept.difference)).toBeGreaterThan(0);
    const results = await gq('results', own);
    expect(results.out).toContain('evasion split of monitors that read activations');
    expect((await gq('results', own, '--format', 'csv')).out).toContain('evasion-clean-policy');
  });

  it('wants a run whose monitor reads activations', async () => {
    const refused = await gq('measure', 'evasion', await trained('vanilla', 'arm.kind=vanilla', 'updates=1'));
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('monitor reads activations') });
  });
});
