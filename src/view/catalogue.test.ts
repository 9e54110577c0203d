import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder, writeEvaluations, writeRun } from '../../test/lab/hand-made.ts';
import { stampedJson } from '../run/index.ts';
import { findEntries, listCatalogue, listRun } from './catalogue.ts';

it('a listed run has attempts and clean solves at every point of its curve; a curve without them says so', async () => {
  const root = temporaryFolder();
  const path = join(root, 'run');
  await writeRun(path, { config: { seed: 1, updates: 3, arm: { kind: 'vanilla' } } });
  const rates = { hack: { rate: 0.25 }, solve: { rate: 0.5 } };
  const points = [
    { update: 0, state: 'base', ...rates },
    { update: 3, state: 'full', attempt: { rate: 0.75 }, cleanSolve: { rate: 0.125 }, ...rates },
  ];
  writeFileSync(join(path, 'eval-curve.json'), stampedJson({ sets: { curve: points } }));
  const [entry] = findEntries(root);
  expect(listRun(entry).curve).toEqual([
    { update: 0, attempt: null, hack: 0.25, solve: 0.5, cleanSolve: null },
    { update: 3, attempt: 0.75, hack: 0.25, solve: 0.5, cleanSolve: 0.125 },
  ]);
});

it('a run is listed whatever its folder is called; a name that is no text is said', async () => {
  const root = temporaryFolder();
  const config = { seed: 1, updates: 3, arm: { kind: 'vanilla' } };
  for (const name of ['...', '.hidden', '~', 'no text']) await writeRun(join(root, name), { config });
  await writeRun(join(root, '.git', 'inside'), { config });
  renameSync(join(root, 'no text'), Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe])]));
  const listed = findEntries(root).map(listRun);
  const known = (id: string) => ({ id, status: 'finished', notice: '' });
  const notice = 'The name of its folder is no UTF-8 text: rename the folder.';
  expect(listed.map(({ id, status, notice }) => ({ id, status, notice }))).toEqual([
    ...['...', '.hidden', '~'].map(known),
    { id: '\ufffd\ufffd', status: 'damaged', notice },
  ]);
});

it('a listed run without a curve has the rates of its evaluation, as deployed and on most prompts', async () => {
  const root = temporaryFolder();
  const path = join(root, 'run');
  await writeRun(path, { config: { updates: 3, arm: { kind: 'activation' } }, checkpoints: [0, 3] });
  const [entry] = findEntries(root);
  expect(listRun(entry).rates).toBeNull();
  const set = 'test-original';
  await writeEvaluations(path, [
    { update: 3, set, state: 'full', outcomes: 'hhhs' },
    { update: 3, set, state: 'deployed', outcomes: 'h-ss' },
  ]);
  const rates = { attempt: 0.25, hack: 0.25, solve: 0.5, cleanSolve: 0.5 };
  expect(listRun(entry).rates).toEqual(rates);
  expect(listRun({ ...entry, experiment: 'study' }).rates, 'its page has them').toBeNull();
});

it('a run that stopped tells the updates that were made from those that are saved', async () => {
  const root = temporaryFolder();
  const run = { config: { updates: 40 }, finished: false, steps: [{ update: 5 }] };
  for (const [name, checkpoints] of Object.entries({ early: [0], saved: [0, 5] }))
    await writeRun(join(root, name), { ...run, checkpoints });
  expect(findEntries(root).map((entry) => listRun(entry).notice)).toEqual([
    'Stopped: 5 of 40 updates made, 0 saved.',
    'Stopped after update 5 of 40.',
  ]);
});

it('placebos of an experiment are its own and those of its arms', () => {
  const root = temporaryFolder();
  const arms = [
    { name: 'gate', recipe: 'gate.toml', placebos: ['haar', 'dealt'] },
    ...['haar', 'dealt', 'shuffled'].map((name) => ({ name, recipe: `${name}.toml` })),
  ];
  const experiment = { name: 'claim', seeds: [1], placebo: 'shuffled', arms };
  writeFileSync(join(root, 'experiment.json'), JSON.stringify({ format: 1, experiment, runs: [] }));
  expect(listCatalogue(root).experiments.map(({ placebos }) => placebos)).toEqual([['shuffled', 'haar', 'dealt']]);
});
