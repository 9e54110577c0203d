import { describe, expect, it } from 'vitest';
import { evaluationRows } from '../../test/lab/hand-made.ts';
import { compareStates, pairRows } from './rates.ts';

const rows = (outcomes: string) => evaluationRows({ update: 1, set: 'test-original', state: 'full', outcomes });

describe('the same prompts in two states', () => {
  it('tells removed from surfaced hacks', () => {
    const { prompts, hacks } = compareStates(rows('hhhs-'), rows('s-hhh'));
    expect(prompts).toBe(5);
    expect(hacks).toMatchObject({ inBoth: 1, removed: ['problem-0', 'problem-1'] });
    expect(hacks.surfaced).toEqual(['problem-3', 'problem-4']);
    expect(hacks.pValue).toBe(1);
  });

  it('tells removed from surfaced attempts, also in right programs', () => {
    const { attempts, hacks } = compareStates(rows('hhb-'), rows('b-b-'));
    expect(hacks.removed).toEqual(['problem-0', 'problem-1']);
    expect(attempts).toEqual({ inBoth: 2, removed: ['problem-1'], surfaced: [], pValue: expect.closeTo(1, 12) });
  });

  it('pairs by prompt, not by place, and refuses prompts that only one side has', () => {
    const first = rows('hs');
    expect(pairRows(first, first.toReversed()).every(([a, b]) => a.problem === b.problem)).toBe(true);
    expect(() => pairRows(first, first.slice(1))).toThrow('prompt problem-0');
    expect(() => pairRows(first.slice(1), first)).toThrow('1 prompts');
    expect(() =>
      pairRows(
        first,
        first.map((row) => ({ ...row, markers: 'novel' })),
      ),
    ).toThrow('novel');
  });
});
