/** What bench/rates.ts writes of a study, from its files. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { countBegun } from '../../src/study/claim.ts';
import { temporaryFolder, writeEvaluations, writeRun } from '../lab/hand-made.ts';

const call = process.argv;
afterEach(() => {
  process.argv = call;
  vi.restoreAllMocks();
});

it('a row says when its run was begun, by which version and under which claim; none where none was stated', async () => {
  const study = temporaryFolder();
  for (const seed of [1, 2, 3]) {
    const folder = `vanilla-${seed}`;
    // The gate of the others scores the attempt above two of the three others.
    const scores = [1, 2, 4, 3].map((score) => ({ update: 1, score, low: 1, high: 2, attempt: score === 3 }));
    const rollouts = seed === 1 ? [{ update: 1 }] : scores;
    await writeRun(join(study, folder), { config: { seed, updates: 1 }, rollouts });
    await writeEvaluations(join(study, folder), [{ update: 1, set: 'test-original', state: 'full', outcomes: 'hs' }]);
  }
  // Of the last one the manifest and the evaluations alone were kept.
  rmSync(join(study, 'vanilla-3', 'rollouts.jsonl'));
  countBegun(study, { arm: 'vanilla', seed: 1, folder: 'vanilla-1' }, 'stated');
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  process.argv = [...call.slice(0, 2), study];
  await import('../../bench/rates.ts');
  const [names, ...rows] = lines.map((line) => line.split(','));
  const found = rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
  const { created, version } = JSON.parse(readFileSync(join(study, 'vanilla-1', 'manifest.json'), 'utf8'));
  expect(found).toMatchObject([
    { run: 'vanilla-1', attempts: '1', begun: created, version, claim: 'stated', auroc: '' },
    { run: 'vanilla-2', attempts: '1', claim: '', auroc: '0.6667' },
    { run: 'vanilla-3', attempts: '1', auroc: '' },
  ]);
});
