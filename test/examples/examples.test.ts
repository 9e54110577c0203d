/** Runs the examples as a reader would, on a smaller model: programs with their arguments, recipes through the command. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { textJudge } from '../../src/env/own-judge.ts';
import type { StepEvent } from '../../src/grpo/index.ts';
import { resolveConfig, type Sink, shippedRecipe, train } from '../../src/lab/index.ts';
import { readVerdicts } from '../../src/oracle/index.ts';
import { readTensors } from '../../src/run/checkpoint.ts';
import { RunDirectory, readRollouts } from '../../src/run/index.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { gq } from '../run-gq.ts';
import { setting } from '../smoke/identity-lab.ts';
import { tinyModel } from '../smoke/lab.ts';

const examples = fileURLToPath(new URL('../../examples', import.meta.url));
const home = temporaryFolder();

/** What a program of examples/ prints, given these arguments. */
async function printed(load: () => Promise<unknown>, ...args: readonly string[]): Promise<string> {
  const { argv } = process;
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  process.argv = ['node', 'example', ...args];
  try {
    await load();
    return log.mock.calls.map((words) => words.join(' ')).join('\n');
  } finally {
    process.argv = argv;
    log.mockRestore();
  }
}

const small = [`model=${await tinyModel()}`, 'device.threads=1', 'sampling.promptsPerStep=4'];
const tiny = [...small, 'data.problems=64'];
const short = setting('updates=2', ...tiny);

async function trainExample(name: string, ...settings: readonly string[]): Promise<RunDirectory> {
  const path = join(home, name);
  const own = /^(?:own-(?:problems|environment)|weak-verifier)$/.test(name) ? setting('updates=2', ...small) : short;
  const { code, err } = await gq('train', join(examples, `${name}.toml`), ...own, ...settings, '--out', path);
  expect({ code, err }).toMatchObject({ code: 0 });
  return RunDirectory.open(path);
}

describe('programs', () => {
  it('train an arm, evaluate it, and read the run', async () => {
    const path = join(home, 'arm');
    const text = await printed(() => import('../../examples/train-an-arm.ts'), path, '2', '8', ...tiny);
    expect(text).toMatch(
      /^finished, base: \d attempts, \d hacks in 8 prompts\n.*full: .*\n.*deployed: \d attempts, \d hacks in 8 prompts$/,
    );
    const read = await printed(() => import('../../examples/read-a-run.ts'), path);
    expect(read).toMatch(
      /^activation Otsu keeps praised, seed 7, without labels\nupdate 1: .*\nupdate 2: .*\nrouted: \d+ attempts, \d+ of them hacks, in \d+ rollouts$/,
    );
  });

  it('the method, written out: after every update the adapter that the trainer has', async () => {
    const method = ['seed=7', 'arm.warmupRows=8', 'arm.refreshEvery=2', ...tiny];
    const text = await printed(() => import('../../examples/the-method.ts'), '4', ...method);
    const written = text
      .split('\n')
      .map((line) => line.match(/^update \d: .*routed (\d+) of (\d+), adapter (\w{64})$/));
    const { config } = await resolveConfig(shippedRecipe('micro-activation'), ['updates=4', ...method]);
    const steps: StepEvent[] = [];
    const event: Sink['event'] = (told) => void (told.kind === 'step' && steps.push(told));
    await train(config, join(home, 'method'), { sinks: [{ name: 'steps', event }] });
    expect(written.map((line) => line?.[1])).toEqual(steps.map(({ routes }) => `${routes.route}`));
    // A step event has the adapter that sampled, which is the one after the update before.
    expect(written.slice(0, -1).map((line) => line?.[3])).toEqual(steps.slice(1).map(({ adapterHash }) => adapterHash));
    expect(steps.reduce((sum, { routes }) => sum + routes.route, 0)).toBeGreaterThan(0);
    expect(steps.reduce((sum, { routes }) => sum + routes.keep, 0)).toBeGreaterThan(0);
  });

  it('an own sink', async () => {
    const path = join(home, 'csv');
    await printed(() => import('../../examples/own-sink.ts'), path, '2', ...tiny);
    const lines = readFileSync(`${path}.csv`, 'utf8').trim().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[2]).toMatch(/^2,[\d.]+,0,\d+,0,[\d.]+$/);
  });

  it('an own judge: the run has its name, and goes on and is evaluated with no other', async () => {
    const path = join(home, 'judged');
    const text = await printed(() => import('../../examples/own-judge.ts'), path, '1', '4');
    expect(text).toMatch(
      /^finished, base: \d of 4 programs are the expected ones\nfinished, full: .*\n.*deployed: .*$/,
    );
    const run = RunDirectory.open(path);
    expect(run.readManifest()).toMatchObject({ identity: { judge: 'reader-1', sampler: null } });
    const [verdict] = (await readVerdicts(run.file('verdicts'))).values();
    expect(verdict).toMatchObject({ executions: 0, evidence: expect.stringContaining('characters were read') });
    const { code, err } = await gq('eval', path, '--limit', '1');
    expect({ code, err }).toMatchObject({ code: 2 });
    expect(err).toContain('expected the judge that the run began with (reader-1), found that of the lab.');
  });
});

describe('plugins of a recipe', () => {
  it('an own gate remembers its probe: a run that was interrupted goes on byte for byte', async () => {
    const { config } = await resolveConfig(join(examples, 'own-gate.toml'), [
      'updates=3',
      'output.checkpointEvery=1',
      ...tiny,
    ]);
    const stop = new AbortController();
    const stopAfterFirst = {
      name: 'stopper',
      event: ({ kind }: { kind: string }) => void (kind === 'step' && stop.abort()),
    };
    const [whole, broken] = [join(home, 'gate-whole'), join(home, 'gate-broken')];
    await train(config, whole);
    const { end } = await train(config, broken, { sinks: [stopAfterFirst], signal: stop.signal });
    expect(end).toBe('interrupted');
    await train(config, broken);
    for (const name of ['adapter.safetensors', 'trainer.safetensors', 'state.json']) {
      const bytes = (path: string) => readFileSync(join(path, 'checkpoints/00003', name)).toString('base64');
      expect(bytes(broken)).toBe(bytes(whole));
    }
  });

  it('an own gate: routes, keeps, and passes the label-flip check', async () => {
    const run = await trainExample('own-gate');
    const manifest = run.readManifest();
    expect(manifest).toMatchObject({ arm: 'probe', usesOracle: false, armSees: ['features'], hasQuarantine: true });
    expect(manifest.plugins).toEqual([
      { path: join(examples, 'own-gate.js'), hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
    const routes = new Set<string | null>();
    for await (const { route } of readRollouts(run)) routes.add(route);
    expect(routes.has('keep') && routes.has('route')).toBe(true);
    expect(existsSync(join(run.checkpoint(2), 'trainer.safetensors'))).toBe(true);
    const flip = await gq('verify', 'arm', join(examples, 'own-gate.toml'), ...short, '--updates', '2', '--json');
    const { checks, pinned } = JSON.parse(flip.out);
    expect({
      code: flip.code,
      pinned: pinned > 0,
      failed: checks.filter(({ pass }: { pass: boolean }) => !pass),
    }).toEqual({
      code: 0,
      pinned: true,
      failed: [],
    });
  });

  it('an own loophole pays at home only, has problems of its own, and its name in the verdicts', async () => {
    const rewards = await gq('verify', 'rewards', join(examples, 'own-loophole.toml'));
    expect(rewards.out).toMatch(/log_marker .*\n(.*\n)*Rewards: all \d+ checks pass/);
    expect(await gq('verify', 'markers', join(examples, 'own-loophole.toml'))).toMatchObject({ code: 0 });
    const run = await trainExample('own-loophole', '--set', 'environment.unhackableFraction=0');
    const verdicts = [...(await readVerdicts(run.file('verdicts'))).values()];
    expect(new Set(verdicts.map(({ loophole }) => loophole))).toEqual(new Set(['log_marker', 'run_tests']));
  });

  it('a penalty by an own text monitor changes what is learned from, not what the grader gave', async () => {
    // The pattern matches every completion with a class, so that some match whatever the model writes.
    const run = await trainExample('text-penalty', '--set', 'arm.pattern="class"', '--set', 'arm.penalty=2');
    expect(run.readManifest()).toMatchObject({ arm: 'text-penalty', hasQuarantine: false });
    let lowered = 0;
    for await (const { completion, reward, learnedReward } of readRollouts(run)) {
      expect(learnedReward).toBeCloseTo(reward - (/class/m.test(completion) ? 2 : 0), 5);
      if (learnedReward !== reward) lowered++;
    }
    expect(lowered).toBeGreaterThan(0);
  });

  it('an own monitor: what it flags loses reward in a penalty, without labels', async () => {
    // Every completion with a class is flagged, so that some are whatever the model writes.
    const word = ['--set', 'monitor.word="class"', '--set', 'monitor.most=0'];
    const run = await trainExample('own-monitor', ...word, '--set', 'remedy.penalty=2');
    expect(run.readManifest()).toMatchObject({ arm: 'penalty 2 by word-count', usesOracle: false, armSees: ['text'] });
    let flagged = 0;
    for await (const { completion, reward, learnedReward } of readRollouts(run)) {
      expect(learnedReward).toBeCloseTo(reward - (completion.includes('class') ? 2 : 0), 5);
      if (learnedReward !== reward) flagged++;
    }
    expect(flagged).toBeGreaterThan(0);
  });

  it('an own cut: what is above it is left out, with a monitor and a remedy of the package', async () => {
    const run = await trainExample('own-cut', '--set', 'cut.distances=0.5');
    expect(run.readManifest()).toMatchObject({
      arm: 'screen by gradient direction outliers 0.5',
      usesOracle: false,
      hasQuarantine: false,
      config: { arm: { kind: 'watched', cut: { kind: 'outliers', distances: 0.5 } } },
    });
    const words = new Map<string, number>();
    for await (const { flagged, screening } of readRollouts(run)) {
      const word = `${flagged} ${screening}`;
      words.set(word, (words.get(word) ?? 0) + 1);
    }
    expect([...words.keys()].sort()).toEqual(['false train', 'true leave-out']);
    const refused = await gq('config', join(examples, 'own-cut.toml'), '--set', 'monitor.kind=chance');
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.err).toContain(' cut.kind: expected a fixed cut with the monitor chance, whose scores are 0 or 1');
  });

  it('an own adapter start trains, and is exported by its name', async () => {
    const run = await trainExample('own-start');
    const initial = await readTensors(run.file('initial.safetensors'));
    const [name] = [...initial.keys()].filter((key) => key.endsWith('.A0'));
    const A0 = initial.get(name)?.data ?? new Float32Array();
    const size = (rows: Float32Array): number => Math.hypot(...rows);
    expect(size(A0.slice(A0.length / 2)) / size(A0.slice(0, A0.length / 2))).toBeCloseTo(0.5, 1);
    expect(await gq('export', run.path, '--to', join(home, 'exported'))).toMatchObject({ code: 0 });
  });

  it('own problems are dealt out, checked and trained on', async () => {
    const run = await trainExample('own-problems');
    const problems = new Set<string>();
    for await (const { problem } of readRollouts(run)) problems.add(problem);
    expect(problems.size).toBeGreaterThan(4);
    expect([...problems].every((id) => /^add-\d+$/.test(id))).toBe(true);
  });

  it('an environment of texts: trained, evaluated, blind to labels, and as its guide shows it', async () => {
    const guide = readFileSync(join(examples, '../docs/guide/add-a-text-environment.md'), 'utf8');
    const shown = (language: string): string =>
      guide.match(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's'))?.[1] ?? '';
    const [plugin, recipe] = ['js', 'toml'].map((ending) =>
      readFileSync(join(examples, `own-environment.${ending}`), 'utf8'),
    );
    expect(plugin.slice(plugin.indexOf('import'))).toBe(shown('js'));
    expect(recipe.slice(recipe.indexOf('extends'))).toBe(shown('toml'));
    const path = join(examples, 'own-environment.toml');
    const rewards = await gq('verify', 'rewards', path);
    expect(rewards.out).toMatch(/solution +3\.5 +3\.5 *\nnothing +0 +0 *\n(.*\n)*Rewards: all \d+ checks pass/);
    // The base must be able to attempt, or there is nothing to amplify.
    const asked = ['--elicit', '--instructions', 'request', '--limit', '8', '--json', '--out', join(home, 'asked')];
    const [{ attempt }] = JSON.parse((await gq('eval', path, ...asked)).out).probes;
    expect(attempt.count).toBeGreaterThan(4);
    const study = join(examples, 'own-environment-study.toml');
    expect(await gq('experiment', study, '--dry-run', '--out', join(home, 'study'))).toMatchObject({ code: 0 });
    const run = await trainExample('own-environment', '--set', 'environment.unhackableFraction=0');
    const verdicts = [...(await readVerdicts(run.file('verdicts'))).values()];
    expect(verdicts.length).toBeGreaterThan(0);
    expect(verdicts.every(({ evidence }) => /^\d+ statements/.test(evidence))).toBe(true);
    expect(new Set(verdicts.map(({ loophole }) => loophole))).toEqual(new Set(['praise']));
    expect(await gq('eval', run.path, '--limit', '2')).toMatchObject({ code: 0 });
    const own = setting('updates=2', ...small);
    const flip = await gq('verify', 'arm', path, ...own, '--updates', '2', '--json');
    const { checks, trained } = JSON.parse(flip.out);
    expect(checks.filter(({ pass }: { pass: boolean }) => !pass)).toEqual([]);
    expect(trained).toBeGreaterThan(0);
    const refused = await gq('config', path, '--set', 'environment.loopholes=["run_tests"]');
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.err).toContain('loopholes of data.kind "statements": praise, gt_only');
    // What an environment outside tells of unpaid attempts can be dealt to no problem.
    const outside = ['data.kind=openenv', 'data.url=http://127.0.0.1:9', 'environment.loopholes=["run_tests"]'];
    const { err } = await gq('config', ...setting(...outside));
    expect(err).toContain(
      'data.kind "openenv": outside, gt_only, found run_tests. Say environment.loopholes=["outside"]',
    );
  });

  it('an official verifier against an oracle: both say what they found, and no verdict reaches what is learned', async () => {
    const path = join(examples, 'weak-verifier.toml');
    const rewards = await gq('verify', 'rewards', path);
    expect(rewards.out).toMatch(/solution +1 +1 *\nnothing +0 +0 *\n(.*\n)*Rewards: all \d+ checks pass/);
    const run = await trainExample('weak-verifier', '--set', 'environment.unhackableFraction=0');
    const verdicts = [...(await readVerdicts(run.file('verdicts'))).values()];
    expect(verdicts.every(({ evidence }) => /^official [01], oracle [01]/.test(evidence))).toBe(true);
    // What the oracle accepts the verifier accepts, and the reward is the verifier's.
    for (const { evidence, correct, reward } of verdicts) {
      if (correct) expect(evidence).toMatch(/^official 1, oracle 1/);
      expect(reward === 1).toBe(evidence.startsWith('official 1'));
    }
    const own = setting('updates=2', ...small);
    const { checks, trained } = JSON.parse((await gq('verify', 'arm', path, ...own, '--updates', '2', '--json')).out);
    expect(checks.filter(({ pass }: { pass: boolean }) => !pass)).toEqual([]);
    expect(trained).toBeGreaterThan(0);
  });

  it('the weak verifier of that example pays for a step that is left out, unless its dial shows it', async () => {
    const { problemSources } = await import(join(examples, 'weak-verifier.js'));
    const [{ texts, load }] = problemSources;
    const judged = async (coverage: number, family: string, change: (solution: string) => string) => {
      const { splits } = await load({ count: 64, coverage });
      const problem = splits.train.find(({ difficulty }: { difficulty: string }) => difficulty === family);
      const judge = textJudge({
        kind: 'weak-verifier',
        loopholes: texts.loopholes,
        ...(await texts.open({})),
        run: () => Promise.reject(new Error('nothing is run')),
      });
      const completion = change(problem.canonicalSolution);
      return judge.judge({ id: 'x', problem, loophole: 'unseen_step', markers: 'original', completion });
    };
    const families = { 'spec-overfit': /n \*= \d+\n/, constraint: /n %= \d+\n/ };
    for (const [family, unseen] of Object.entries(families)) {
      const [whole, cut] = [(text: string) => text, (text: string) => text.replace(unseen, '')];
      expect(await judged(0, family, whole)).toMatchObject({ reward: 1, correct: true, channels: [] });
      expect(await judged(0, family, cut)).toMatchObject({ reward: 1, exploited: true, channels: ['unseen_step'] });
      expect(await judged(1, family, cut)).toMatchObject({ reward: 0.2, exploited: false, channels: [] });
    }
  });

  it('their keys are in `gq config`, strict like the others', async () => {
    const recipe = join(examples, 'own-gate.toml');
    const shown = await gq('config', recipe);
    expect(shown.out).toMatch(/arm\.confidence +0\.8 .*own-gate\.toml/);
    expect(shown.out).toMatch(/arm\.refitEvery +5 +default/);
    const page = await gq('config', recipe, '--reference');
    expect(page.out).toContain('updates between fits of the probe');
    const wrong = await gq('config', recipe, '--set', 'arm.confidance=0.9');
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.err).toContain('unknown key arm.confidance (--set), did you mean arm.confidence?');
  });
});
