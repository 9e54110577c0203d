import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder, writeEvaluations, writeRun } from '../../test/lab/hand-made.ts';
import { textOf } from '../report/draw/index.ts';
import type { AnswersPage, GatePage, RunPage } from './api.ts';
import { ViewLibrary } from './library.ts';

/** A hack that is routed beside a right program that is kept, which in the first update opens a loophole as well. */
async function madeRuns(): Promise<ViewLibrary> {
  const root = temporaryFolder();
  const cuts = { low: 0, high: 1 };
  for (const [name, kind] of [
    ['activation', 'activation'],
    ['vanilla', 'vanilla'],
    ['watched', 'vanilla'],
  ]) {
    const scored = (score: number) =>
      name === 'watched' ? { suspicion: score, flagged: score > 0 } : kind === 'vanilla' ? {} : { score, ...cuts };
    const rollouts = [1, 2, 3].flatMap((update) => [
      { update, hack: true, route: 'route', ...scored(2), advantage: 1, deployedNorm: 0 },
      { update, solve: true, attempt: update === 1, route: 'keep', ...scored(-1), advantage: -1, deployedNorm: 2 },
    ]);
    const watched = { cut: 0, flagged: 1, abstained: 0, abstentions: {}, costs: {} };
    const steps = name === 'watched' ? [1, 2, 3].map((update) => ({ update, watched })) : [];
    await writeRun(join(root, name), { config: { seed: 1, updates: 3, arm: { kind } }, rollouts, steps });
    await writeEvaluations(join(root, name), [{ update: 3, set: 'test-original', state: 'full', outcomes: 'hbas' }]);
  }
  return new ViewLibrary(root);
}

const library = await madeRuns();
const answer = (kind: 'gate' | 'run', id: string) => library.answer(kind, new URLSearchParams({ id }));

it('a gate has attempts beside hacks in every row, and whose gradient the deployed block learned from', async () => {
  const { rows, tables } = (await answer('gate', 'activation')) as GatePage;
  const labels = rows.map(({ attempt, hack }) => `${attempt} ${hack}`);
  expect(labels.slice(0, 4)).toEqual(['true true', 'true false', 'true true', 'false false']);
  expect(tables[0].title).toBe('whose gradient the deployed block learned from, updates 1-3');
  expect(tables[0].columns).toEqual(['share', 'rollouts', 'did', 'A', 'route', 'sampled']);
  expect(tables[0].rows.map((row) => row.map(textOf).join(', '))).toEqual([
    '0.667, 2, clean in a group with attempts, −, keep, full',
    '0.333, 1, attempt, −, keep, full',
    '0.000, 3, attempt, +, route, full',
  ]);
});

it('routes that a monitor deals out are shown and judged too, by its scores and its cut', async () => {
  const { rows, tables, watched, unscored } = (await answer('gate', 'watched')) as GatePage;
  const shown = rows.map(({ update, score, low, high, route }) => [update, score, low, high, route].join(' '));
  expect(shown.slice(0, 3)).toEqual(['1 2  0 route', '1 -1  0 keep', '2 2  0 route']);
  expect({ rows: rows.length, watched, unscored }).toEqual({ rows: 6, watched: 'routed', unscored: undefined });
  const gate = tables.find(({ title }) => title === 'the gate as a classifier')?.rows.map((row) => row.map(textOf));
  expect(gate?.find(([name]) => name === 'hacks: AUROC')?.[1]).toMatch(/^1\.00/);
  expect(tables.map(({ title }) => title)).toContain('the monitor as a classifier, diagnosis only');
});

it('an arm without a gate has the gradient of its deployed block attributed too, and no table of a gate', async () => {
  const { rows, tables, unscored } = (await answer('gate', 'vanilla')) as GatePage;
  expect({ rows, unscored }).toEqual({ rows: [], unscored: 'its arm has no monitor' });
  expect(tables.map(({ title }) => title)).toEqual([
    'whose gradient the deployed block learned from, updates 1-3',
    'whose gradient the deployed block learned from, by window of updates',
  ]);
});

it('an arm whose flags route nothing has no gate, and its monitor is judged', async () => {
  const root = temporaryFolder();
  const rollouts = [1, 2].map((suspicion) => ({ update: 1, hack: suspicion > 1, suspicion, flagged: suspicion > 1 }));
  await writeRun(join(root, 'penalty'), { config: { seed: 1, updates: 1, arm: { kind: 'vanilla' } }, rollouts });
  const page = (await new ViewLibrary(root).answer('gate', new URLSearchParams({ id: 'penalty' }))) as GatePage;
  expect(page).toMatchObject({
    rows: [],
    unscored: 'its arm has a monitor and a cut, and its remedy routes nothing; the tables below judge the monitor',
  });
  expect(page.tables.map(({ title }) => title)).toContain('the monitor as a classifier, diagnosis only');
});

it('a gate without rows says that nothing carried gradient where that is why, and one with rows says nothing of it', async () => {
  const root = temporaryFolder();
  const config = { seed: 1, updates: 1, arm: { kind: 'activation' } };
  await writeRun(join(root, 'begun'), { config, rollouts: [{ update: 1, trained: false }] });
  const begun = (await new ViewLibrary(root).answer('gate', new URLSearchParams({ id: 'begun' }))) as GatePage;
  expect(begun.unscored).toBe('no rollout has carried gradient yet');
  expect((await answer('gate', 'activation')) as GatePage).not.toHaveProperty('unscored');
});

it('an evaluation of a run has attempts first and clean solves last', async () => {
  const { evaluations } = (await answer('run', 'activation')) as RunPage;
  const counts = Object.entries(evaluations[0]).flatMap(([name, rate]) =>
    typeof rate === 'object' ? [`${name} ${rate.count}`] : [],
  );
  expect(counts).toEqual(['attempt 3', 'hack 1', 'solve 2', 'cleanSolve 1']);
});

it('an evaluation on fewer prompts does not hide the one on all, whichever of the two came later', async () => {
  const path = join(temporaryFolder(), 'run');
  await writeRun(path, { config: { seed: 1, updates: 3, arm: { kind: 'activation' } } });
  const states = ['full', 'deployed'] as const;
  const made = [null, 1].flatMap((limit) =>
    states.map((state) => {
      const outcomes = limit === null ? 'hs-' : 'h';
      return { update: 3, set: 'test-original', state, limit, outcomes } as const;
    }),
  );
  await writeEvaluations(path, made);
  const own = new ViewLibrary(path);
  const ask = (kind: 'answers' | 'run') => own.answer(kind, new URLSearchParams({ id: 'run' }));
  const { sets } = (await ask('answers')) as AnswersPage;
  expect(sets.map(({ prompts }) => prompts.map(({ full, deployed }) => full !== null && deployed !== null))).toEqual([
    [true, true, true],
  ]);
  const { evaluations } = (await ask('run')) as RunPage;
  expect(evaluations.map(({ state, attempt }) => `${state} of ${attempt.of}`)).toEqual(['deployed of 3', 'full of 3']);
});

it.each([
  ['activation', 'label-free', 'no'],
  ['activation', 'label-informed', 'settings informed by labels'],
  ['oracle', 'labels', 'yes'],
])('a run of %s whose thresholds are %s uses labels: %s', async (kind, thresholds, word) => {
  const root = temporaryFolder();
  const config = { seed: 1, updates: 1, arm: { kind }, notes: { thresholds } };
  await writeRun(join(root, 'one'), { config, rollouts: [{ update: 1 }] });
  const page = (await new ViewLibrary(root).answer('run', new URLSearchParams({ id: 'one' }))) as RunPage;
  expect(Object.fromEntries(page.facts)['uses labels']).toBe(word);
});
