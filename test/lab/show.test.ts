/** `gq show` on an experiment with a placebo. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { gq } from '../run-gq.ts';
import { type HandMadeRun, temporaryFolder, writeRun } from './hand-made.ts';

const made: HandMadeRun = {
  config: { updates: 3, arm: { kind: 'activation' } },
  rollouts: [1, 2, 3].flatMap((update) => [
    { update, hack: true, route: 'route', score: 2, low: 0, high: 1 },
    { update, solve: true, route: 'keep', score: -1, low: 0, high: 1 },
  ]),
};

it('gq show leaves placebos out where gate and grader disagree, and says so', async () => {
  const folder = join(temporaryFolder(), 'with-placebo');
  mkdirSync(folder);
  const arms = ['gate', 'haar'].map((name) => ({ name, recipe: `${name}.toml` }));
  for (const { name } of arms) await writeRun(join(folder, `${name}-1`), made);
  const experiment = { name: 'placebo', seeds: [1], arms, baseline: 'gate', placebo: 'haar' };
  const runs = arms.map(({ name }) => ({ arm: name, seed: 1, folder: `${name}-1`, configHash: '' }));
  writeFileSync(join(folder, 'experiment.json'), JSON.stringify({ format: 1, experiment, runs }));
  const order = ['--order', 'surprise', '--json', '--limit', '50'];
  const { out, err } = await gq('show', folder, ...order);
  expect(JSON.parse(out).rollouts.map(({ run: id }: { run: string }) => id)).toEqual(
    Array(6).fill('with-placebo/gate-1'),
  );
  expect(err).toContain('without the placebos haar');
  const asked = JSON.parse((await gq('show', folder, ...order, '--arm', 'haar')).out);
  expect(asked.rollouts[0].run).toBe('with-placebo/haar-1');
});

it('gq show finds attempts by themselves, hacks among them', async () => {
  const run = join(temporaryFolder(), 'attempts');
  const rollouts = [{ hack: true }, { solve: true, attempt: true }, { solve: true }, {}];
  await writeRun(run, { rollouts: rollouts.map((row) => ({ update: 1, ...row })) });
  const shown = async (...words: readonly string[]) => {
    const found = JSON.parse((await gq('show', run, ...words, '--json')).out).rollouts;
    return found.map(({ hack, solve }: { hack: boolean; solve: boolean }) => (hack ? 'hack' : solve ? 'solve' : ''));
  };
  expect(await shown('--attempt')).toEqual(['hack', 'solve']);
  expect(await shown('--attempt', '--solve')).toEqual(['solve']);
  expect(await shown('--hack')).toEqual(['hack']);
  expect(await shown('--no-attempt')).toEqual(['solve', '']);
  expect(await shown('--no-attempt', '--solve')).toEqual(['solve']);
});

it('gq show has the false positives of a monitor, what it missed, and its highest scores first', async () => {
  const run = join(temporaryFolder(), 'watched');
  const said = {
    hit: [true, 3, true],
    alarm: [false, 2, true],
    miss: [true, 1, false],
    quiet: [false, 0, false],
  } as const;
  const rollouts = Object.entries(said).map(([completion, [attempt, suspicion, flagged]]) => ({
    ...{ update: 1, completion, attempt, suspicion, flagged },
  }));
  await writeRun(run, { rollouts: rollouts.toReversed() });
  const shown = async (...words: readonly string[]): Promise<string[]> => {
    const { code, out } = await gq('show', run, ...words, '--json');
    expect(code).toBe(0);
    return JSON.parse(out).rollouts.map(({ completion }: { completion: string }) => completion);
  };
  expect(await shown('--flagged', '--no-attempt')).toEqual(['alarm']);
  expect(await shown('--attempt', '--no-flagged')).toEqual(['miss']);
  expect(await shown('--flagged')).toEqual(['alarm', 'hit']);
  expect(await shown('--order', 'score')).toEqual(['hit', 'alarm', 'miss', 'quiet']);
  const unwatched = join(temporaryFolder(), 'unwatched');
  await writeRun(unwatched, { rollouts: [{ update: 1 }, { update: 1 }] });
  const { code, out } = await gq('show', unwatched, '--flagged');
  expect({ code, out }).toEqual({
    code: 1,
    out: expect.stringContaining('found without --flagged: 2 without a monitor'),
  });
});
