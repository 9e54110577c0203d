import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder, writeEvaluations, writeRun } from '../../../test/lab/hand-made.ts';
import { TerminalEmulator } from '../../../test/lab/terminal-emulator.ts';
import { gq } from '../../../test/run-gq.ts';
import { stampedJson } from '../../run/contents.ts';
import { runCli } from '../program.ts';

const root = temporaryFolder();
const name = `a-run-${'with-a-long-name-'.repeat(5)}1`;
beforeAll(async () => {
  const run = { config: { updates: 3 }, checkpoints: [0, 3], rollouts: [{ update: 3 }] };
  await writeRun(join(root, name), run);
  await writeRun(join(root, 'evaluated'), run);
  await writeEvaluations(join(root, 'evaluated'), [
    { update: 3, set: 'test-original', state: 'full', outcomes: 'hhhs' },
    { update: 3, set: 'test-novel', state: 'full', outcomes: 'ssss' },
    { update: 0, set: 'test-original', state: 'base', outcomes: 'ssss' },
  ]);
});

async function onTerminal(columns: number): Promise<{ out: TerminalEmulator; err: TerminalEmulator }> {
  const [out, err] = [new TerminalEmulator(columns), new TerminalEmulator(columns)];
  expect(await runCli(['runs', root], { stdout: out, stderr: err })).toBe(0);
  return { out, err };
}

describe('gq runs', () => {
  it('gives each run one line, with its whole name, where nobody has a window', async () => {
    const { out } = await gq('runs', root);
    expect(out).toMatch(new RegExp(`^${name} +vanilla +finished`, 'm'));
    expect((await onTerminal(80)).out.lines.every((line) => line.length <= 80)).toBe(true);
  });

  it('says nothing of its progress into a file, and leaves nothing of it on a terminal', async () => {
    expect((await gq('runs', root)).err).toBe('');
    expect((await onTerminal(80)).err.lines).toEqual([]);
  });

  it('shows the rates of a run that was evaluated and has no curve', async () => {
    const { out } = await gq('runs', root);
    expect(out).toMatch(/^evaluated +vanilla +finished +0\/3 +0\.75 +0\.75 +0\.25 /m);
    expect(out).toContain('test-original');
    const { runs } = JSON.parse((await gq('runs', root, '--json')).out);
    expect(runs.map(({ attempt }: { attempt: number | null }) => attempt)).toEqual([null, 0.75]);
  });

  it('gives no rate of hacks without that of attempts: a curve of an earlier version has none', async () => {
    const rate = { count: 8, of: 64, rate: 0.125, low: 0, high: 1 };
    const curve = { sets: { curve: [{ update: 3, state: 'full', hack: rate, solve: rate }] } };
    for (const run of [name, 'evaluated']) writeFileSync(join(root, run, 'eval-curve.json'), stampedJson(curve));
    const { runs } = JSON.parse((await gq('runs', root, '--json')).out);
    expect(runs).toMatchObject([
      { attempt: null, hack: null, solve: null, cleanSolve: null, update: 0 },
      { attempt: 0.75, hack: 0.75, solve: 0.25, cleanSolve: 0.25, update: 0 },
    ]);
  });
});

it('gq runs says what several runs have to say once, with their names', async () => {
  const home = temporaryFolder();
  const warning = `${JSON.stringify({ kind: 'warning', update: 3, message: 'no signal' })}\n`;
  for (const each of ['a', 'b', 'c']) {
    const run = await writeRun(join(home, each), { config: { updates: 3 }, checkpoints: [0, 3] });
    if (each !== 'b') appendFileSync(run.ledger('events'), warning);
  }
  expect((await gq('runs', home)).out).toMatch(/^a, c: .*no signal$/m);
});

it('gq diff names the keys that only one of two arms has in one line', async () => {
  const gate = join(root, 'gate');
  await writeRun(gate, { config: { updates: 3, arm: { kind: 'activation' } }, checkpoints: [0, 3] });
  const { out } = await gq('diff', join(root, 'evaluated'), gate);
  expect(out).toContain('  arm.kind ("vanilla" and "activation")\n');
  expect(out).toMatch(/^ {2}of the second alone: arm\.\w+, arm\.\w+/m);
  expect(out).not.toContain('absent');
  expect((await gq('diff', gate, join(root, 'evaluated'))).out).toContain('of the first alone: arm.');
});

it('gq diff has a table for each number of prompts that a set was evaluated on', async () => {
  const twice = join(root, 'twice');
  await writeRun(twice, { config: { updates: 3 }, checkpoints: [0, 3] });
  const once = { update: 3, set: 'test-original', state: 'full' } as const;
  await writeEvaluations(twice, [
    { ...once, outcomes: 'hhhs' },
    { ...once, outcomes: 'hs', limit: 2 },
  ]);
  const { out } = await gq('diff', twice, twice);
  const [, ...tables] = out.split(/^test-original, /m);
  expect(
    tables.map((table) => /^(\d+) prompts\n.*\nas trained\n.*attempt +(\S+)/.exec(table)?.slice(1)).sort(),
  ).toEqual([
    ['2', '1/2'],
    ['4', '3/4'],
  ]);
});

it('gq diff has the set of claims first, none that runs are watched or settings are chosen by, and whole cells in 80 columns however many prompts there are', async () => {
  const whole = join(root, 'whole');
  await writeRun(whole, { config: { updates: 3 }, checkpoints: [0, 3] });
  const outcomes = `${'h'.repeat(100)}${'s'.repeat(138)}`;
  const sets = ['test-novel', 'test-original'] as const;
  await writeEvaluations(
    whole,
    [...sets, 'curve' as const, 'monitor' as const, 'validation' as const].map((set) => ({
      update: 3,
      set,
      state: 'full',
      outcomes,
    })),
  );
  const { out } = await gq('diff', whole, whole);
  expect(out).not.toMatch(/curve|monitor|validation/);
  expect(out.match(/^test-.*/gm)).toEqual(['test-original, 238 prompts', 'test-novel, 238 prompts']);
  const rate = '100/238 0.42 [0.36, 0.48]';
  expect(out).toContain(`as trained\n  attempt      ${rate}  ${rate}  0 and 0\n`);
});

it('gq diff names the two runs that it wants where an experiment and its arms are named', async () => {
  const study = join(root, 'study');
  const runs = ['vanilla-1', 'random-1', 'gate-1'].map((folder) => join(study, folder));
  for (const run of runs) await writeRun(run, { checkpoints: [0, 3] });
  const arms = ['vanilla', 'random', 'gate'].map((arm) => ({ name: arm, recipe: `micro-${arm}.toml` }));
  const planned = arms.map(({ name: arm }) => ({ arm, seed: 1, folder: `${arm}-1`, configHash: '' }));
  const plan = { format: 1, experiment: { name: 'study', seeds: [1], arms }, runs: planned };
  writeFileSync(join(study, 'experiment.json'), JSON.stringify(plan));
  const told = async (...words: readonly string[]) => (await gq('diff', ...words)).err;
  expect(await told(study, 'vanilla', 'gate')).toContain(
    `expected two run folders, found an experiment and vanilla, gate. Write: gq diff ${runs[0]} ${runs[2]}\n`,
  );
  expect(await told(study, 'gate-1')).toContain(`Write: gq diff ${runs[2]} ${runs[0]}\n`);
  expect(await told(study)).toContain(`Write: gq diff ${runs[0]} ${runs[1]}\n`);
  expect(await told(runs[0])).toContain('expected two run folders, found 1.');
});
