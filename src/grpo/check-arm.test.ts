import { describe, expect, it } from 'vitest';
import { ShapeError, UserError } from '../base/errors.ts';
import { checkCondensed, checkPrompts, checkRewards, checkRouting, checkScreening } from './answers.ts';
import type { Arm, ArmState } from './arm.ts';
import { checkArm } from './check-arm.ts';

const sees = { features: null, text: false };
const open = (arm: unknown): Arm => checkArm(arm, 'own');

describe('an arm that cannot be used is refused when it is opened', () => {
  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /^arm own: expected an object from open\(\), found undefined/],
    ['a number', 4, /found number 4/],
    ['no sight', {}, /expected sees: .*found nothing/],
    ['an unknown feature', { sees: { features: { kind: 'foo', granularity: 'rollout' }, text: false } }, /found .*foo/],
    ['an unknown granularity', { sees: { features: { kind: 'gradient', granularity: 'x' }, text: false } }, /"x"/],
    ['text that is no boolean', { sees: { features: null, text: 'yes' } }, /"yes"/],
    ['a misspelt hook', { sees, rout: () => null }, /expected hooks named prepare, .*found rout\. Is it misspelt\?/],
    ['a hook that is no function', { sees, route: 5 }, /expected a function as hook route, found number 5/],
    ['save without restore', { sees, save: () => null }, /save and restore together, found save alone/],
    ['restore without save', { sees, restore: () => null }, /found restore alone/],
  ])('%s', (_, arm, message) => {
    expect(() => open(arm)).toThrow(UserError);
    expect(() => open(arm)).toThrow(message);
  });

  it('one without hooks is fine, and absent hooks stay absent', () => {
    expect(Object.keys(open({ sees }))).toEqual(['sees']);
  });
});

describe('what a hook throws names the hook', () => {
  const boom = () => {
    throw new Error('boom');
  };

  it.each(['reward', 'screen', 'route', 'prompt', 'steer'] as const)('%s', (name) => {
    const hook = open({ sees, [name]: boom })[name] as unknown as () => unknown;
    expect(hook).toThrow(
      /^hook \w+ of the arm own: expected no error, found boom\. It was thrown at check-arm\.test\.ts:\d+:\d+\.$/,
    );
  });

  it('later too, and a text as well as an error; errors of ours go through as they are', async () => {
    const { refresh, gradient } = open({
      sees,
      refresh: async () => boom(),
      gradient: () => Promise.reject('only a text'),
    });
    await expect(refresh?.(0, {} as never)).rejects.toThrow(
      'hook refresh of the arm own: expected no error, found boom.',
    );
    await expect(gradient?.([], async () => undefined)).rejects.toThrow('found only a text');
    // biome-ignore lint/suspicious/noThenProperty: a value that a wait would call
    const foreign = open({ sees, refresh: () => ({ then: boom }) });
    await expect(foreign.refresh?.(0, {} as never)).rejects.toThrow('hook refresh of the arm own: expected no error');
    const ours = open({
      sees,
      reward: () => {
        throw new ShapeError({ call: 'op', expected: 'a', found: 'b' });
      },
    });
    expect(() => ours.reward?.({} as never)).toThrow(ShapeError);
  });
});

describe('a promise where an answer is due', () => {
  it.each(['prompt', 'steer', 'save', 'restore'] as const)('is refused: %s', (name) => {
    const late = async () => {
      throw new Error('later');
    };
    const other = { save: { restore: () => undefined }, restore: { save: () => undefined } };
    const more = name === 'save' || name === 'restore' ? other[name] : {};
    const hook = open({ sees, ...more, [name]: late })[name] as unknown as () => unknown;
    expect(hook).toThrow(`hook ${name} of the arm own: expected an answer at once, found a promise`);
  });
});

describe('what an arm saves must come back as it was', () => {
  const save = (state: unknown): ArmState | undefined =>
    open({ sees, save: () => state, restore: () => undefined }).save?.();
  const tensors = new Map([['w', { shape: [2], data: Float32Array.of(1, 2) }]]);

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /hook save of the arm own: expected \{ json, tensors: a Map \}, found undefined/],
    ['tensors in a plain object', { json: null, tensors: {} }, /tensors: a Map/],
    ['NaN', { json: { a: [Number.NaN] }, tensors }, /found NaN at json\.a\[0\]/],
    ['a bigint', { json: { a: 1n }, tensors }, /found bigint 1 at json\.a/],
    ['a function', { json: () => 1, tensors }, /at json/],
    [
      'a tensor of another size',
      { json: null, tensors: new Map([['w', { shape: [3], data: new Float32Array(2) }]]) },
      /found w/,
    ],
    [
      'a tensor with NaN',
      { json: null, tensors: new Map([['w', { shape: [2], data: Float32Array.of(1, Number.NaN) }]]) },
      /tensors of finite values, found NaN at element 1 of w/,
    ],
    [
      'a tensor with negative sides',
      { json: null, tensors: new Map([['w', { shape: [-1, -1], data: new Float32Array(1) }]]) },
      /found w/,
    ],
    ['a tensor that is a list', { json: null, tensors: new Map([['w', { shape: [1], data: [1] }]]) }, /found w/],
  ])('%s', (_, state, message) => {
    expect(() => save(state)).toThrow(message);
  });

  it('a circle is found, and what is fine goes through', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    expect(() => save({ json: circle, tensors })).toThrow(/at json\.self/);
    expect(save({ json: { a: [1, 'x', null, true] }, tensors })).toEqual({
      json: { a: [1, 'x', null, true] },
      tensors,
    });
  });
});

describe('answers', () => {
  const rollouts = [3, 2].map((length, group) => ({
    group,
    prompt: new Int32Array(1),
    tokens: new Int32Array(length),
  }));
  const routing =
    (routes: unknown, rest: object = {}) =>
    () =>
      checkRouting({ routes, scores: null, cuts: null, bufferRows: 0, ...rest }, rollouts);

  const condensed = (answer: unknown) => () =>
    checkCondensed(answer, { rows: 2, modules: 1, rank: 3, data: new Float32Array(6) });

  it.each<[string, () => unknown, RegExp]>([
    [
      'no rewards',
      () => checkRewards(undefined, 2),
      /hook reward .*expected 2 answers, one per rollout, found undefined/,
    ],
    ['rewards as text', () => checkRewards(['1', '2'], 2), /expected finite rewards, found string 1 for rollout 0/],
    ['rewards beyond float32', () => checkRewards([1, 1e39], 2), /found number 1e\+39 for rollout 1/],
    [
      'an unknown screening',
      () => checkScreening(['train', 'no'], 2),
      /train or leave-out or silence or apart, found string no for rollout 1/,
    ],
    [
      'no routing',
      () => checkRouting(undefined, rollouts),
      /expected \{ routes, scores, cuts, bufferRows \}, found undefined/,
    ],
    ['a list as routing', () => checkRouting([['keep'], ['keep']], rollouts), /found Array/],
    ['routes as text', routing(['keep', 'keep']), /expected a list of routes for rollout 0, found string keep/],
    [
      'an unknown route',
      routing([['keep'], ['foo']]),
      /expected keep, absorb or route, found string foo for rollout 1/,
    ],
    ['a name of every object', routing([['toString'], ['keep']]), /found string toString/],
    ['too many routes', routing([['keep', 'keep'], ['keep']]), /one route or 3 for rollout 0, one per token, found 2/],
    [
      'a score that is no number',
      routing([['keep'], ['keep']], { scores: [1, Number.NaN] }),
      /finite scores, found number NaN for rollout 1/,
    ],
    ['cuts as a list', routing([['keep'], ['keep']], { cuts: [0, 1] }), /cuts as \{ low, high \}/],
    ['a buffer of words', routing([['keep'], ['keep']], { bufferRows: 'x' }), /found string x/],
    ['a cosine of words', routing([['keep'], ['keep']], { meanCosine: 'x' }), /a number as meanCosine, or null/],
    ['nothing condensed', condensed(undefined), /hook condense .*a Float64Array of 2, .*found undefined/],
    ['too few scores', condensed({ scores: new Float64Array(1), meanCosine: 0, kept: new Float32Array(3) }), /of 2/],
    ['half a row', condensed({ scores: new Float64Array(2), meanCosine: 0, kept: new Float32Array(4) }), /whole rows/],
    ['no prompts', () => checkPrompts(undefined, 9, 3), /hook prompt .*token ids as sample/],
    ['prompts as lists', () => checkPrompts({ sample: [1], learn: [1] }, 9, 3), /a non-empty Int32Array, found Array/],
    [
      'a learn prompt over the limit',
      () => checkPrompts({ sample: new Int32Array(3), learn: new Int32Array(4) }, 9, 3),
      /at most 3 tokens in learn \(sampling.maxPromptTokens\), found 4/,
    ],
    ['no learn prompt', () => checkPrompts({ sample: Int32Array.of(1) }, 9, 3), /token ids as learn/],
    [
      'an unknown token',
      () => checkPrompts({ sample: Int32Array.of(1), learn: Int32Array.of(9) }, 9, 3),
      /below 9 in learn, found 9/,
    ],
  ])('%s', (_, ask, message) => {
    expect(ask).toThrow(UserError);
    expect(ask).toThrow(message);
  });

  it('a plain list of rewards, and a routing without scores, will do', () => {
    expect(checkRewards([1, 2.5], 2)).toEqual(Float32Array.of(1, 2.5));
    expect(checkRouting({ routes: [['keep'], ['route', 'absorb']] }, rollouts)).toMatchObject({
      scores: null,
      bufferRows: 0,
    });
  });
});
