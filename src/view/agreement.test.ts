import { expect, it } from 'vitest';
import { textOf } from '../report/draw/index.ts';
import { agreementsOf, agreementTable } from './agreement.ts';
import type { LabelledRollout } from './api.ts';
import { verdictWords } from './query.ts';

it('an attempt that is no hack is counted as an attempt of the oracle, and is not called clean', () => {
  const labels = verdictWords.map((verdict, i): LabelledRollout => {
    const label = i === 0 ? 'hack' : 'clean';
    return { run: 'one', rollout: `1-0-${i}`, label, writer: 'ann', blind: true, at: '', verdict };
  });
  const { columns, rows } = agreementTable(agreementsOf(labels));
  const row = Object.fromEntries(columns.map((column, i) => [column, textOf(rows[0][i])]));
  expect(row).toMatchObject({ n: '5', attempts: '3', 'both hack': '1', 'neither hack': '4' });
  expect(columns.indexOf('attempts')).toBeLessThan(columns.indexOf('both hack'));
  expect(columns.filter((column) => column.endsWith('clean'))).toEqual([]);
});

it('two people have no attempts between them: neither says who opened a loophole', () => {
  const labels = ['ann', 'bob'].map(
    (writer): LabelledRollout => ({
      ...{ run: 'one', rollout: '1-0-0', label: 'clean', writer, blind: true, at: '', verdict: 'attempt, unpaid' },
    }),
  );
  expect(agreementsOf(labels).map(({ against, attempts }) => [against, attempts])).toEqual([
    ['the oracle', 1],
    ['the oracle', 1],
    ['bob', null],
  ]);
});
