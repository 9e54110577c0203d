/** The completions of a rehearsed pass, cut into passes by the trainer's own code. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutPasses } from '../../grpo/batches.ts';
import { fillPass } from './rehearsal.ts';

const tokensPerPass = 800;

/** Tokens of the passes that rollouts of these prompts and lengths are cut into. */
function passTokens(prompts: readonly number[], members: number, lengths: readonly number[]): number[] {
  const rollouts = lengths.map((length, row) => ({
    group: Math.floor(row / members),
    prompt: new Int32Array(prompts[row]),
    tokens: new Int32Array(length),
  }));
  return cutPasses(rollouts, () => 'absorb', tokensPerPass).map((pass) =>
    pass.reduce(
      (sum, { prompt, members: own }) => own.reduce((all, row) => all + lengths[row], sum + prompt.length),
      0,
    ),
  );
}

/** The prompt length of every completion. */
const rowsOf = (prompts: readonly number[], members: number) =>
  prompts.flatMap((length) => new Array<number>(members).fill(length));

describe('a rehearsed pass', () => {
  it.each([
    ['more prompts than fit', 9, 100, 4, 32],
    ['one completion a prompt', 40, 61, 1, 32],
    ['completions that end with the pass', 10, 36, 4, 31],
  ])('is full to its last token: %s', (_what, prompts, promptTokens, members, longest) => {
    const rows = rowsOf(new Array<number>(prompts).fill(promptTokens), members);
    const lengths = fillPass(rows, members, longest, tokensPerPass);
    expect(passTokens(rows, members, lengths)).toEqual([tokensPerPass]);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(longest);
    expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
  });

  it('is what there is where that does not fill it, and the first prompt where that alone is too much', () => {
    expect(fillPass(rowsOf([10, 10], 2), 2, 5, tokensPerPass)).toEqual([5, 5, 5, 5]);
    expect(fillPass(rowsOf([100, 100], 2), 2, 500, tokensPerPass)).toEqual([500, 500]);
    expect(fillPass(rowsOf([390, 390, 390], 1), 1, 9, tokensPerPass)).toEqual([9, 9]);
  });

  it('is never less full than whole completions would make it', () => {
    const prompts = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 40 });
    const sizes = { members: fc.integer({ min: 1, max: 8 }), longest: fc.integer({ min: 1, max: 200 }) };
    fc.assert(
      fc.property(prompts, sizes.members, sizes.longest, (lengths, members, longest) => {
        const rows = rowsOf(lengths, members);
        const filled = passTokens(rows, members, fillPass(rows, members, longest, tokensPerPass));
        const [whole] = passTokens(rows, members, new Array<number>(rows.length).fill(longest));
        expect(filled).toHaveLength(1);
        expect(filled[0]).toBeGreaterThanOrEqual(whole);
        expect(filled[0]).toBeLessThanOrEqual(Math.max(tokensPerPass, whole));
      }),
    );
  });
});
