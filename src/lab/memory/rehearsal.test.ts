/** The completions of a rehearsed pass, cut into passes by the trainer's own code. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutPasses } from '../../grpo/batches.ts';
import { fillPass, longestCompletions, longestTasks } from './rehearsal.ts';

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

/** As many completions of one length as there are prompts. */
const all = (rows: readonly number[], length: number) => rows.map(() => length);

describe('a rehearsed pass', () => {
  it.each([
    ['more prompts than fit', 9, 100, 4, 32],
    ['one completion a prompt', 40, 61, 1, 32],
    ['completions that end with the pass', 10, 36, 4, 31],
  ])('is full to its last token: %s', (_what, prompts, promptTokens, members, longest) => {
    const rows = rowsOf(new Array<number>(prompts).fill(promptTokens), members);
    const lengths = fillPass(rows, members, all(rows, longest), tokensPerPass);
    expect(passTokens(rows, members, lengths)).toEqual([tokensPerPass]);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(longest);
    expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
  });

  it('is what there is where that does not fill it, and the first prompt where that alone is too much', () => {
    expect(fillPass(rowsOf([10, 10], 2), 2, [5, 5, 5, 5], tokensPerPass)).toEqual([5, 5, 5, 5]);
    expect(fillPass(rowsOf([100, 100], 2), 2, [500, 500, 500, 500], tokensPerPass)).toEqual([500, 500]);
    expect(fillPass(rowsOf([390, 390, 390], 1), 1, [9, 9, 9], tokensPerPass)).toEqual([9, 9]);
  });

  it('cuts the longest completions to the room that the prompts leave, and no others', () => {
    expect(fillPass(rowsOf([100, 100], 3), 3, [24, 24, 400, 24, 24, 300], tokensPerPass)).toEqual([24, 24, 252, 24, 24, 252]); // biome-ignore format: one line
  });

  it('is never less full than whole completions of any lengths would make it, the longest first', () => {
    const groups = fc.integer({ min: 1, max: 8 }).chain((members) => {
      const prompt = fc.integer({ min: 1, max: 400 });
      const completions = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: members, maxLength: members });
      const drawn = fc.array(fc.record({ prompt, completions }), { minLength: 1, maxLength: 40 });
      return drawn.map((each) => ({ members, drawn: each }));
    });
    fc.assert(
      fc.property(groups, ({ members, drawn }) => {
        const rows = rowsOf(
          drawn.map(({ prompt }) => prompt),
          members,
        );
        const longest = drawn.flatMap(({ completions }) => completions);
        const filled = passTokens(rows, members, fillPass(rows, members, longest, tokensPerPass));
        const [whole] = passTokens(rows, members, longest);
        expect(filled).toHaveLength(1);
        expect(filled[0]).toBeGreaterThanOrEqual(whole);
        expect(filled[0]).toBeLessThanOrEqual(Math.max(tokensPerPass, whole));
      }),
    );
  });
});

describe('the longest prompts of an update', () => {
  it('differ and are of the vocabulary, where there are more prompts than it has tokens', () => {
    const task = { hinted: new Int32Array(6), unhinted: new Int32Array(9) };
    const prompts = longestTasks([task], 1000, 9).map(({ hinted }) => hinted);
    expect(new Set(prompts.map((tokens) => tokens.join(' '))).size).toBe(1000);
    expect(prompts.every((tokens) => tokens.length === 9 && tokens.every((token) => token < 9))).toBe(true);
  });
});

describe('the most tokens of the completions of an update', () => {
  const sampling = { group: 4, promptsPerStep: 2, maxNewTokens: 24 };
  const known = (lengths: Record<string, readonly number[]>) =>
    new Map(Object.entries(lengths).map(([id, own]) => [id, own.map((length) => new Int32Array(length))]));
  const pool = { solves: known({ a: [90, 10], b: [70] }), hacks: known({ a: [40], b: [60, 50], c: [30] }) };
  const longestOf = (teacher: { offStep: number; perGroup: number }, of: typeof pool | null = pool) =>
    longestCompletions({ sampling, teacher } as Parameters<typeof longestCompletions>[0], of);

  it('are those of the policy, and a solve and a hack in every group, where a problem may come twice', () => {
    expect(longestOf({ offStep: 1, perGroup: 1 })).toEqual([24, 24, 60, 90, 24, 24, 60, 90]);
  });

  it('count a second demonstration of a kind as the second of its problem', () => {
    expect(longestOf({ offStep: 1, perGroup: 2 })).toEqual([50, 60, 24, 90, 50, 60, 24, 90]);
  });

  it('are those of the policy alone where no demonstration is shown', () => {
    const none = new Array<number>(8).fill(24);
    expect(longestOf({ offStep: 0, perGroup: 1 })).toEqual(none);
    expect(longestOf({ offStep: 1, perGroup: 1 }, null)).toEqual(none);
  });
});
