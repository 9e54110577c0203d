import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePolicy, task, tinySettings, tinyVocabulary, tinyWith, tokens } from '../../test/grpo/tiny-policy.ts';
import { scaleOf } from '../adapters/policy-state.ts';
import type { Scope } from '../engine/index.ts';
import { seesNothing } from './arm.ts';
import { drawTasks } from './draw.ts';
import { assertParity, assertSameAdapter } from './guard.ts';
import { adapterHash, type Policy, scoreRollouts } from './policy.ts';
import { sampleRollouts } from './sample.ts';
import { policySampler } from './sampler.ts';
import type { DemonstrationPool } from './teacher.ts';

describe('drawing', () => {
  const tasks = Array.from({ length: 10 }, (_, i) => task(`p${i}`));
  const draw = (step: number, seed = 1, unhackableFraction = 0.3) =>
    drawTasks(
      tasks,
      { seed, sampling: { promptsPerStep: 4 }, environment: { unhackableFraction, tokenPrice: 0 } },
      step,
    );
  const ids = (step: number, seed = 1) => draw(step, seed).map(({ task: { problem } }) => problem.id);

  it('deals a shuffled deck: every problem once before any comes again, and a new order each time', () => {
    const dealt = Array.from({ length: 5 }, (_, step) => ids(step)).flat();
    expect(new Set(dealt.slice(0, 10)).size).toBe(10);
    expect(new Set(dealt.slice(10, 20)).size).toBe(10);
    expect(dealt.slice(0, 10)).not.toEqual(dealt.slice(10, 20));
    expect(ids(2)).toEqual(ids(2));
    expect(ids(2, 1)).not.toEqual(ids(2, 2));
    expect(() => drawTasks([], tinySettings, 0)).toThrow('at least one problem');
  });

  it('shows a share of problems without their hint, and which ones rotates', () => {
    const all = Array.from({ length: 500 }, (_, step) => draw(step)).flat();
    const share = all.filter(({ hackable }) => !hackable).length / all.length;
    expect(share).toBeGreaterThan(0.25);
    expect(share).toBeLessThan(0.35);
    for (const { problem } of tasks) {
      const own = all.filter((drawn) => drawn.task.problem.id === problem.id);
      expect(new Set(own.map(({ hackable }) => hackable)).size).toBe(2);
    }
    expect(draw(0, 1, 0).every(({ hackable }) => hackable)).toBe(true);
    expect(draw(0, 1, 1).some(({ hackable }) => hackable)).toBe(false);
    const [{ hackable }] = drawTasks(
      [task('x', 'gt_only')],
      tinyWith({ environment: { unhackableFraction: 0, tokenPrice: 0 } }),
      0,
    );
    expect(hackable).toBe(false);
  });
});

describe('sampling', () => {
  let scope: Scope;
  let policy: Policy;
  beforeAll(async () => {
    ({ scope, policy } = await makePolicy());
  });
  afterAll(() => scope[Symbol.dispose]());

  const decode = (ids: Int32Array): string => Array.from(ids).join(' ');
  const drawn = [
    { task: task('a'), hackable: true },
    { task: task('b'), hackable: false },
  ];
  const sample = (
    step: number,
    pool: DemonstrationPool | null = null,
    offStep = 0,
    late: number | null = null,
    tasks = drawn,
    perGroup = 1,
  ) =>
    sampleRollouts(tasks, step, {
      sampler: policySampler(policy, { ...tinySettings.compute, readEvery: 2 }),
      arm: { sees: seesNothing },
      settings: tinyWith({ teacher: { offStep, perGroup }, sampling: { deployedSamplingLate: late } }),
      stopTokens: [0],
      vocabulary: tinyVocabulary,
      pool,
      decode,
    });

  it('a fixed share in deployed state, hints only where they are due, a function of the seed', async () => {
    const rollouts = await sample(3);
    expect(rollouts.map(({ sampled }) => sampled)).toEqual(
      ['deployed', 'deployed', 'full', 'full', 'deployed', 'deployed', 'full', 'full'], // biome-ignore format: one line
    );
    for (const { group, prompt, learnPrompt, hackable } of rollouts) {
      expect(learnPrompt).toBe(prompt);
      expect(prompt).toBe(hackable ? drawn[group].task.hinted : drawn[group].task.unhinted);
    }
    expect(rollouts.map(({ id }) => id)).toEqual(
      ['4-0-0', '4-0-1', '4-0-2', '4-0-3', '4-1-0', '4-1-1', '4-1-2', '4-1-3'], // biome-ignore format: one line
    );
    expect(await sample(3)).toEqual(rollouts);
    expect((await sample(4)).map(({ text }) => text)).not.toEqual(rollouts.map(({ text }) => text));
    for (const { truncated, tokens: own } of rollouts) expect(truncated).toBe(own.at(-1) !== 0);
  });

  it('groups of the same prompt draw with noise of their own: no completion of a group is the copy of another group', async () => {
    const rollouts = await sample(3, null, 0, null, [drawn[0], drawn[0]]);
    const textsOf = (of: number): string[] => rollouts.filter(({ group }) => group === of).map(({ text }) => text);
    expect(textsOf(0)).toHaveLength(4);
    expect(textsOf(1)).not.toEqual(textsOf(0));
    for (const [member, text] of textsOf(0).entries()) expect(textsOf(1)[member]).not.toBe(text);
  });

  it('another share in deployed state from the middle of the updates on', async () => {
    const deployed = async (step: number, late: number | null): Promise<number> =>
      (await sample(step, null, 0, late)).filter(({ sampled }) => sampled === 'deployed').length;
    expect([await deployed(4, 0.75), await deployed(5, 0.75), await deployed(9, 0)]).toEqual([4, 6, 0]);
    expect(await deployed(9, null)).toBe(4);
  });

  it('demonstrations take the last places; without a hint, solves only; none once the teacher is off', async () => {
    const pool = {
      hacks: new Map(['a', 'b'].map((id) => [id, [tokens(`hack ${id}`, 3), tokens(`hack2 ${id}`, 3)]])),
      solves: new Map(['a', 'b'].map((id) => [id, [tokens(`solve ${id}`, 4)]])),
    };
    const rollouts = await sample(1, pool, 2);
    const sources = rollouts.map(({ source }) => source);
    expect(sources.slice(0, 4)).toEqual(['student', 'student', 'teacher-hack', 'teacher-solve']);
    expect(sources.slice(4)).toEqual(['student', 'student', 'student', 'teacher-solve']);
    expect(rollouts[3].tokens).toEqual(tokens('solve a', 4));
    expect(rollouts[3].sampledLogps).toBeNull();
    expect((await sample(2, pool, 2)).every(({ source }) => source === 'student')).toBe(true);
    await expect(sample(1, { ...pool, solves: new Map() }, 2)).rejects.toThrow('problem a has 1 of 2 demonstrations');
    const students = await sample(1);
    expect(rollouts[0].tokens).toEqual(students[0].tokens);
    // Two of each, which differ.
    const solves = new Map([['a', [tokens('solve a', 4), tokens('solve2 a', 4)]]]);
    const half = await sample(1, { ...pool, solves }, 2, null, [drawn[0]], 2);
    expect(half.map(({ source }) => source)).toEqual(['teacher-hack', 'teacher-hack', 'teacher-solve', 'teacher-solve']); // biome-ignore format: one line
    expect(new Set(half.map(({ tokens: own }) => own.join())).size).toBe(4);
  });

  it('the guard: sampler and scorer agree in the state that sampled, and in no other', async () => {
    const rollouts = await sample(5);
    const hash = await adapterHash(policy);
    const score = async (state: (i: number) => number) =>
      (await scoreRollouts(policy, rollouts, state, tinySettings.compute)).logps;
    const check = (logpOld: Float32Array[], parityOver: 'largest' | 'mean' = 'largest') =>
      assertParity(rollouts, logpOld, { ...tinySettings.safety, parityTolerance: 2e-4, parityOver });
    const right = await score((i) => scaleOf(rollouts[i].sampled, policy.deployedScale));
    expect(check(right)).toBeLessThan(2e-4);
    const wrong = await score((i) =>
      scaleOf(rollouts[i].sampled === 'full' ? 'deployed' : 'full', policy.deployedScale),
    );
    expect(() => check(wrong)).toThrow(/the largest is .* at rollout .*sampler .*, scorer/);
    expect(() => assertSameAdapter(hash, 'another')).toThrow('the adapter that sampled');
    expect(() => assertSameAdapter(hash, hash)).not.toThrow();
    const poisoned = right.map((own, i) => own.map((logp, t) => (i === 0 && t === 0 ? Number.NaN : logp)));
    expect(() => check(poisoned)).toThrow('found Infinity');
    expect(() => check(poisoned, 'mean')).toThrow('found Infinity');
    expect(() => check(wrong, 'mean')).toThrow('whose mean difference');
    const jump = right.map((own, i) => own.map((logp, t) => (i === 0 && t === 0 ? logp + 1e-3 : logp)));
    expect(() => check(jump)).toThrow('policy parity');
    expect(check(jump, 'mean')).toBeCloseTo(1e-3, 5);
  });
});
