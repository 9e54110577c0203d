import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { evaluationRows, temporaryFolder } from '../../test/lab/hand-made.ts';
import { chooseMonitor } from './monitor.ts';
import { type EvaluationName, EvaluationStore } from './store.ts';

describe('stored evaluations', () => {
  it('are found by checkpoint, set, state and number of prompts, and by nothing less', async () => {
    const folder = temporaryFolder();
    const store = new EvaluationStore(folder);
    const name: EvaluationName = { update: 20, set: 'test-novel', state: 'scale-0.25', limit: null };
    const rows = evaluationRows({ ...name, outcomes: 'hs-' });
    expect(store.all()).toEqual([]);
    await store.save({ ...name, seed: 1, key: 'k', rows });
    await store.save({ ...name, limit: 2, seed: 1, key: 'k', rows: rows.slice(0, 2) });
    expect(readdirSync(join(folder, 'evaluations')).sort()).toEqual([
      '00020-test-novel-first2-scale-0.25.json',
      '00020-test-novel-scale-0.25.json',
    ]);
    expect(store.find(name)?.rows).toEqual(rows);
    expect(store.find({ ...name, limit: 2 })?.rows).toHaveLength(2);
    for (const other of [{ update: 10 }, { set: 'train' }, { state: 'trained' }, { limit: 3 }] as const) {
      expect(store.has({ ...name, ...other })).toBe(false);
      expect(store.find({ ...name, ...other })).toBeNull();
    }
    expect(store.all().map(({ rows: own }) => own.length)).toEqual([2, 3]);
  });

  it('keep the monitoring subset apart from evaluations', async () => {
    const store = new EvaluationStore(temporaryFolder());
    expect(store.monitor).toBeNull();
    const choice = chooseMonitor(evaluationRows({ update: 0, set: 'validation', state: 'base', outcomes: 's-s-' }), 1);
    await store.saveMonitor(choice);
    expect(store.monitor).toEqual(choice);
    expect(store.all()).toEqual([]);
  });
});
