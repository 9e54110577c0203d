import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { evaluationRows, temporaryFolder } from '../../test/lab/hand-made.ts';
import { UserError } from '../base/errors.ts';
import { stampedJson } from '../run/index.ts';
import { chooseCurveSet } from './curve.ts';
import { type EvaluationName, EvaluationStore } from './store.ts';

describe('stored evaluations', () => {
  it('are found by checkpoint, set, state and number of prompts, and by nothing less', async () => {
    const folder = temporaryFolder();
    const store = new EvaluationStore(folder);
    const name: EvaluationName = { update: 20, set: 'test-novel', state: 'scale-0.25', limit: null };
    const rows = evaluationRows({ ...name, outcomes: 'hs-' });
    expect(store.all()).toEqual([]);
    await store.save({ ...name, seed: 1, key: 'k', problems: null, rows });
    await store.save({ ...name, limit: 2, seed: 1, key: 'k', problems: null, rows: rows.slice(0, 2) });
    expect(readdirSync(join(folder, 'evaluations')).sort()).toEqual([
      '00020-test-novel-first2-scale-0.25.json',
      '00020-test-novel-scale-0.25.json',
    ]);
    expect(store.find(name)?.rows).toEqual(rows);
    expect(store.find({ ...name, limit: 2 })?.rows).toHaveLength(2);
    for (const other of [{ update: 10 }, { set: 'train' }, { state: 'full' }, { limit: 3 }] as const) {
      expect(store.has({ ...name, ...other })).toBe(false);
      expect(store.find({ ...name, ...other })).toBeNull();
    }
    expect(store.all().map(({ rows: own }) => own.length)).toEqual([2, 3]);
  });

  it('keep the curve set apart from evaluations', async () => {
    const store = new EvaluationStore(temporaryFolder());
    expect(store.curveChoice()).toBeNull();
    const choice = chooseCurveSet(evaluationRows({ update: 0, set: 'validation', state: 'base', outcomes: 's-s-' }), 1);
    await store.saveCurveChoice(choice);
    expect(store.curveChoice()).toEqual(choice);
    expect(store.all()).toEqual([]);
  });

  describe('that were damaged, or that something else wrote, are refused with file and key', async () => {
    const folder = temporaryFolder();
    const store = new EvaluationStore(folder);
    const name: EvaluationName = { update: 3, set: 'train', state: 'full', limit: null };
    await store.save({ ...name, seed: 1, key: 'k', problems: null, rows: evaluationRows({ ...name, outcomes: 'hs' }) });
    const path = join(folder, 'evaluations', '00003-train-full.json');
    const whole = readFileSync(path, 'utf8');
    const { checksum: _checksum, ...good } = JSON.parse(whole);
    const [row] = good.rows;

    it.each([
      ['half a file', whole.slice(0, 40), /as JSON/],
      ['a foreign file', '[1, 2]', /the whole value/],
      ['no rows', { ...good, rows: [] }, /key rows:/],
      ['a row that is no verdict', { ...good, rows: [row, { ...row, hack: 'yes' }] }, /key rows\.1\.hack/],
      ['a row without its prompt', { ...good, rows: [{ ...row, prompt: undefined }] }, /rows\.0\.prompt/],
      ['a key too many', { ...good, rows: [{ ...row, mode: 'x' }] }, /rows\.0: .*mode/],
      ['an unknown set', { ...good, set: 'exam' }, /key set/],
      ['an unknown state', { ...good, state: 'scale-2' }, /key state/],
      ['another evaluation than its name says', stampedJson({ ...good, update: 4 }), /00004-train-full\.json/],
      ['a solve that was none', whole.replace('"solve": false', '"solve": true'), /its checksum does not fit/],
      ['a file without its checksum', JSON.stringify(good), /found no checksum/],
      ['white space too many', `${whole}\n`, /as it was written/],
    ])('%s', (_, content, message) => {
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
      for (const read of [() => store.find(name), () => store.all()]) {
        expect(read).toThrow(UserError);
        expect(read).toThrow(message);
        expect(read).toThrow(path);
        expect(read).toThrow(`gq eval ${folder}`);
      }
    });

    it('and read again when they are whole', () => {
      writeFileSync(path, whole);
      expect(store.find(name)?.rows).toHaveLength(2);
      renameSync(path, join(folder, 'evaluations', '00003-train-deployed.json'));
      expect(() => store.find({ ...name, state: 'deployed' })).toThrow('the evaluation that the file name says');
    });

    it('a choice of prompts too', () => {
      writeFileSync(join(folder, 'evaluations', 'curve.json'), '{"pool": 4, "poolSolved": 2, "solved": 1}');
      expect(() => store.curveChoice()).toThrow(/curve\.json: .*key ids/);
    });
  });
});
