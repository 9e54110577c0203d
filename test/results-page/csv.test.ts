/** What bench/rates.ts writes of a study, from its files, and how predictions about relearning are judged by it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { relearnFolders } from '../../src/measure/index.ts';
import { sealRun } from '../../src/oracle/index.ts';
import { countBegun } from '../../src/study/claim.ts';
import { temporaryFolder, writeEvaluations, writeRun } from '../lab/hand-made.ts';
import { Rates, readPredictions } from './rates.ts';

const call = process.argv;
afterEach(() => {
  process.argv = call;
  vi.restoreAllMocks();
});

it('a row says when its run was begun, by which version and under which claim, and what its rollouts tell', async () => {
  const study = temporaryFolder();
  /** Ten updates of four rollouts; all attempt, and hack, from this update on. */
  const rising = (from: number) =>
    Array.from({ length: 40 }, (_, i) => ({ update: 1 + Math.floor(i / 4), hack: 1 + Math.floor(i / 4) >= from }));
  // The monitor scores the attempt above two of the three others of an update, and in the last quarter above none.
  const watched = [1, 2, 3, 4].flatMap((update) =>
    [1, 2, 4, 3].map((suspicion) => ({ update, suspicion, flagged: false, attempt: suspicion === (update < 4 ? 3 : 1) })),
  );
  const gated = [1, 2, 4, 3].map((score) => ({ update: 1, score, low: 1, high: 2, attempt: score === 3 }));
  const runs = { 'vanilla-1': rising(4), 'vanilla-2': gated, 'vanilla-3': gated, 'attacked-1': watched };
  for (const [folder, rollouts] of Object.entries(runs)) {
    const config = { seed: Number(folder.at(-1)), updates: folder === 'attacked-1' ? 4 : 10 };
    await writeRun(join(study, folder), { config, rollouts });
    await writeEvaluations(join(study, folder), [
      { update: 2, set: 'test-original', state: 'full', outcomes: 'h-' },
      { update: 2, set: 'curve', state: 'full', outcomes: '--' },
      { update: 4, set: 'test-original', state: 'full', outcomes: 'hs' },
      { update: 4, set: 'curve', state: 'full', outcomes: '-a' },
    ]);
  }
  const { attack } = relearnFolders(join(study, 'attacked-1'));
  await sealRun(await writeRun(attack, { config: { seed: 1, updates: 10 }, rollouts: rising(20) }));
  // Of this one the manifest and the evaluations alone were kept.
  rmSync(join(study, 'vanilla-3', 'rollouts.jsonl'));
  countBegun(study, { arm: 'vanilla', seed: 1, folder: 'vanilla-1' }, 'stated');
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  process.argv = [...call.slice(0, 2), study];
  await import('../../bench/rates.ts');
  const [names, ...rows] = lines.map((line) => line.split(','));
  const found = rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
  const { created, version } = JSON.parse(readFileSync(join(study, 'vanilla-1', 'manifest.json'), 'utf8'));
  expect(found.filter(({ set }) => set === 'test-original')).toMatchObject([
    { run: 'attacked-1', auroc: '0.5000', aurocByQuarter: '0.6667 0.6667 0.6667 0.0000', relearnBase: '5', relearn: '>10' },
    { run: 'vanilla-1', update: '4', attempts: '1', begun: created, version, claim: 'stated', auroc: '', relearn: '' },
    { run: 'vanilla-2', attempts: '1', claim: '', auroc: '0.6667', aurocByQuarter: '' },
    { run: 'vanilla-3', attempts: '1', auroc: '', relearnBase: '' },
  ]);
  const curve = found.filter(({ run, set }) => run === 'vanilla-1' && set === 'curve');
  expect(curve.map(({ update, attempts }) => `${update}: ${attempts}`)).toEqual(['2: 0', '4: 1']);
}); // biome-ignore format: rows

it('an attack that never succeeds counts with all its updates, and a seed whose base never gets there is missing', () => {
  const csv = join(temporaryFolder(), 'attacks.csv');
  const updates = { 'collapse-1': ['18', '>100'], 'collapse-2': ['20', '21'], 'collapse-3': ['>100', '30'], 'collapse-4': ['', ''], 'own-mean-1': ['18', '17'], 'own-mean-2': ['20', '21'], 'own-mean-3': ['19', '40'] };
  const rows = Object.entries(updates).flatMap(([run, cells]) => ['full', 'deployed'].map((state) => [run, 'test-original', state, ...cells].join()));
  writeFileSync(csv, ['run,set,state,relearnBase,relearn', ...rows].join('\n'));
  const rates = new Rates(csv);
  expect([...rates.relearnBySeed('collapse')]).toEqual([[1, 82], [2, 1]]);
  const [alone, collapse, compared] = readPredictions('atlas-k').filter(({ arm, reference, metric }) => metric === 'relearn' && (arm === 'own-mean' || (arm === 'collapse' && (reference ?? 'own-mean') === 'own-mean')));
  const judged = rates.judge([alone, collapse, compared].map((one) => ({ ...one, inSeeds: 2 })), 3);
  expect(judged.map(({ reached, n, verdict }) => [reached, n, verdict])).toEqual([[2, 3, 'met'], [2, 2, 'met'], [1, 2, 'open']]);
}); // biome-ignore format: rows
