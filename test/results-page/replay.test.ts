/** A sealed run is trained again by bench/replay.ts, and what differs is named. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { replay } from '../../bench/replay.ts';
import { groupBy } from '../../src/base/index.ts';
import { parseRunConfig, resolveBuiltin, train } from '../../src/lab/index.ts';
import { stampedJson } from '../../src/run/index.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { tinyModel, tinySettings } from '../smoke/lab.ts';
import { experimentOf, plain, Rates, root } from './rates.ts';

/** By the Node that the package brings: an older one does not run TypeScript. */
const node = join(root, 'node_modules/node/bin/node');

async function said(what: string) {
  const lines: string[] = [];
  const isSame = await replay(what, (line) => lines.push(line));
  return { isSame, text: lines.join('\n') };
}

it('a run directory is replayed to the same bytes, and another seal is told', async () => {
  const path = join(temporaryFolder(), 'vanilla-1');
  const settings = [...tinySettings, `model=${await tinyModel()}`, 'updates=2', 'seed=1', 'arm.kind=vanilla'];
  await train(await parseRunConfig(resolveBuiltin(null, settings).config), path);
  const same = await said(path);
  expect(same.text).toContain('replayed: the same bytes');
  expect(same.isSame).toBe(true);
  const { checksum: _checksum, ...seal } = JSON.parse(readFileSync(join(path, 'seal.json'), 'utf8'));
  const files = { ...seal.files, 'events.jsonl': '0'.repeat(64) };
  writeFileSync(join(path, 'seal.json'), stampedJson({ ...seal, files }));
  const other = await said(path);
  expect(other.text).toMatch(/DIFFERS {2}events/);
  expect(other.text).toMatch(/equal {4}rollouts/);
  expect(other.isSame).toBe(false);
});

it('a run that has no seal in the CSV is refused by its name, as the program that a reader calls', () => {
  const { stderr, status } = spawnSync(node, ['bench/replay.ts', 'atlas-c/vanilla-1'], { cwd: root, encoding: 'utf8' });
  expect(stderr).toContain('no seal of atlas-c/vanilla-1');
  expect(status).toBe(1);
});

it('every run of these studies has its seal, and the page says of how many', () => {
  const rows = gunzipSync(readFileSync(join(root, 'bench/results/atlas-seals.csv.gz'))).toString().trim().split('\n').slice(1); // biome-ignore format: one line
  const sealed = (study: string): number => rows.filter((row) => row.startsWith(`${study},`)).length;
  const whole = ['atlas-a', 'atlas-i', 'micro-claim', 'micro-baseline-placebos', 'micro-ablation-placebos'];
  expect(whole.map(sealed)).toEqual(whole.map((study) => Rates.of(study).runs));
  const ofWhole = whole.map(sealed).reduce((sum, count) => sum + count, 0);
  const page = readFileSync(join(root, 'docs/results.md'), 'utf8');
  expect(page).toContain(
    `all ${ofWhole.toLocaleString('en')} runs of A, I (and the ${sealed('atlas-i-again')} of it that were made again),`,
  );
  const parts = [
    'atlas-c',
    'atlas-d-parts',
    'atlas-e-1m',
    'atlas-e-2m',
    'atlas-e-8m',
    'atlas-e-27m',
    'atlas-e-27m-4e-4',
    'atlas-e-100m',
    'atlas-g',
  ];
  const [ofParts, madeOfParts] = [sealed, (study: string) => Rates.of(study).runs].map((count) =>
    parts.reduce((sum, study) => sum + count(study), 0).toLocaleString('en'),
  );
  expect(page).toContain(
    `${ofParts} of the ${madeOfParts} of C, D's parts, E and G, and ${sealed('atlas-f')} of the ${Rates.of('atlas-f').runs} of F`,
  );
  const unsealed = ['atlas-e-1m', 'atlas-e-27m'].map((study) => {
    const { runs } = Rates.of(study);
    return [runs - sealed(study), runs];
  });
  const [[small, runsOfSmall], [large, runsOfLarge]] = unsealed;
  expect(page).toContain(
    `No seals came back of ${small} of the ${runsOfSmall} runs of E at 1M, of ${large} of the ${runsOfLarge} of E at 27M at the rule's rate, and of ${Rates.of('atlas-c').runs - sealed('atlas-c')} of C (screen and filter, seeds 538 to 540).`,
  );
  const lost = rows.filter((row) => row.includes(',4172a003,')).map((row) => row.split(',')[0]);
  const [ofRivals, again] = ['atlas-i', 'atlas-i-again'].map((study) => lost.filter((one) => one === study).length);
  expect([ofRivals + again, page]).toEqual([
    lost.length,
    expect.stringContaining(`Commit 4172a003, of ${ofRivals} runs of I and ${again} that were made again, is not in`),
  ]);
  const others = [
    'base-1',
    'base-2',
    'base-3',
    'base-4',
    'base-5',
    'problems-2',
    'problems-3',
    'pairs-other',
    'pairs-second',
  ].map((name) => `atlas-l-${name}`);
  expect(others.map(sealed)).toEqual(others.map((study) => Rates.of(study).runs));
  expect(page).toContain(
    `all ${others.map(sealed).reduce((sum, count) => sum + count, 0)} of L, all ${sealed('atlas-draws')} of the draws, and ${sealed('atlas-c-27m')} of the ${Rates.of('atlas-c-27m').runs} of C at 27M`,
  );
  const all = [...whole, 'atlas-i-again', 'atlas-draws', 'atlas-f', 'atlas-c-27m', ...parts, ...others].map(sealed);
  expect(all.reduce((sum, count) => sum + count, 0)).toBe(rows.length);
});

it('every run with a seal is one that the recipe of its study states, so that it can be trained again', () => {
  const runs = gunzipSync(readFileSync(join(root, 'bench/results/atlas-seals.csv.gz'))).toString().trim().split('\n').slice(1).map((row) => row.split(',')); // biome-ignore format: one line
  const unknown = [...groupBy(runs, ([study]) => study)].flatMap(([study, ofStudy]) => {
    const stated = new Set(experimentOf(study).arms.map(({ name }) => name));
    return ofStudy.map(([, run]) => run).filter((run) => !stated.has(run.replace(/-\d+$/, '')));
  });
  expect(unknown).toEqual([]);
});

it('the page says how many runs of study A left the same rollouts', () => {
  const rows = gunzipSync(readFileSync(join(root, 'bench/results/atlas-seals.csv.gz')))
    .toString()
    .trim()
    .split('\n');
  const ofA = rows.map((row) => row.split(',')).filter(([study]) => study === 'atlas-a');
  const groups = [...groupBy(ofA, (row) => row[4]).values()].filter(({ length }) => length > 1);
  const penalties = groups.flat().filter(([, run]) => run.startsWith('penalty'));
  const page = plain(readFileSync(join(root, 'docs/results.md'), 'utf8'));
  expect(page).toContain(
    `${groups.flat().length} runs, ${penalties.length} of them of penalties, are in ${groups.length} groups that left the same rollouts`,
  );
});
