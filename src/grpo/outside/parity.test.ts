/** The guard's arithmetic: whose log-probabilities a server tells, whatever its rounding. */
import { describe, expect, it } from 'vitest';
import { randomStream } from '../../base/index.ts';
import { compareLogps, expectParity, faultOf, followsOther } from './parity.ts';

const tokens = 400;
const noise = (name: string, scale: number): Float32Array => {
  const values = new Float32Array(tokens);
  randomStream(1, name).fillNormal(values, scale);
  return values;
};
const add = (one: Float32Array, other: Float32Array): Float32Array => one.map((value, i) => value + other[i]);

describe('whose log-probabilities they are', () => {
  const own = noise('own', 1);
  it.each([1e-6, 1e-3, 1e-2, 0.1])('is told at a rounding of %f from a difference six times as long', (rounding) => {
    for (let draw = 0; draw < 20; draw++) {
      // Over all tokens the difference is 0.5 times the rounding at each of them: |d| = 10 σ.
      const other = add(own, noise(`other ${draw}`, rounding / 2));
      const rounded = noise(`rounding ${draw}`, rounding);
      expect(followsOther([add(own, rounded)], [own], [other])).toBe(false);
      expect(followsOther([add(other, rounded)], [own], [other])).toBe(true);
    }
  });

  it('is not told where the difference drowns in the rounding, or is none', () => {
    const other = add(own, noise('near', 1e-4));
    for (let draw = 0; draw < 20; draw++) {
      expect(followsOther([add(other, noise(`rounding ${draw}`, 0.05))], [own], [other])).toBe(false);
    }
    expect(followsOther([own], [own], [own])).toBe(false);
  });
});

it('the mean over tokens and the largest are bounded, and what is no number is beyond every bound', () => {
  const own = [Float32Array.of(-1, -2, -3)];
  expect(compareLogps([[-1, -2, -3.5]], own)).toEqual({ meanLogRatio: 0.5 / 3, largestLogRatio: 0.5 });
  expect(() => expectParity({ meanLogRatio: 0.04, largestLogRatio: 2.9 }, 0.05)).not.toThrow();
  expect(() => expectParity({ meanLogRatio: 0.06, largestLogRatio: 0.1 }, 0.05)).toThrow(/0\.0600 on average/);
  expect(() => expectParity({ meanLogRatio: 0.01, largestLogRatio: 3.1 }, 0.05)).toThrow(/3\.10 at most/);
  expect(() => expectParity(compareLogps([[Number.NaN, -2, -3]], own), 0.05)).toThrow(/NaN/);
});

it('a completion has its prompt, and ends where it says', () => {
  const rules = { vocabulary: 10, decode: (ids: Int32Array) => [...ids].filter((id) => id !== 9).join('') };
  const settings = { maxNewTokens: 3, stopTokens: [9] };
  const told = { tokens: [1, 9], logps: [-1, -1], text: '1', finish: 'stop', prompt: [4] };
  const fault = (change: Partial<typeof told>) =>
    faultOf({ ...told, ...change }, { prompt: Int32Array.of(4) }, settings, rules);
  expect(fault({})).toBe(null);
  expect(fault({ tokens: [1, 2, 3], logps: [-1, -1, -1], text: '123\ufffd', finish: 'length' })).toBe(null);
  expect(fault({ prompt: [5] })).toMatch(/another prompt/);
  expect(fault({ finish: 'length' })).toMatch(/with an end token that says it ended by "length"/);
  expect(fault({ tokens: [9, 1], text: '1' })).toMatch(/tokens after the end token at 0/);
  expect(fault({ tokens: [1, 2], text: '12', finish: 'length' })).toMatch(/2 tokens and no end/);
  expect(fault({ tokens: [1, 0.5] })).toMatch(/token 0.5/);
  expect(fault({ logps: [-1, 2] })).toMatch(/a log-probability of 2/);
});
