import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tinyConfig } from '../../test/grpo/tiny-policy.ts';
import { loadRandom } from '../../test/training/model.ts';
import { createAdapter } from '../adapters/create.ts';
import type { TokenPair } from '../adapters/pair-inputs.ts';
import { randomStream } from '../base/rng.ts';
import { readFloats, Scope } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { Gate, type GateSettings, haarDirection } from '../gates/index.ts';
import { greedy } from '../model/decoder/generate.ts';
import { generatePairs } from './generated-pairs.ts';
import { leaveOneOut, type PairFeatures, pairFeatures, rebuildDirection } from './pair-features.ts';
import { type Policy, probeGradients, scoreRollouts } from './policy.ts';
import { policySampler } from './sampler.ts';

const settings: GateSettings = {
  calibration: 'quantile',
  score: 'dot',
  tail: 0.1,
  keepTail: null,
  halfLife: null,
  bufferRows: 64,
  warmupRows: 0,
  keepOnly: 'any',
  bufferTokens: null,
};
const kinds = ['activation', 'gradient'] as const;
const marker = 31;

function tokens(key: string, length: number): Int32Array {
  const ids = new Uint32Array(length);
  randomStream(5, ['pair', key]).fillIntegers(ids, marker);
  return Int32Array.from(ids);
}

/** Pairs whose hack sides repeat one token and whose clean sides repeat another, each side after a first token of its own. */
const pairs: TokenPair[] = Array.from({ length: 6 }, (_, i) => {
  const side = (key: string, token: number, length: number): Int32Array =>
    Int32Array.from([...tokens(`${key} ${i}`, 1), ...Array<number>(length).fill(token)]);
  return { prompt: tokens(`prompt ${i}`, 5), hack: side('hack', marker, 7 + i), clean: side('clean', marker - 1, 9) };
});
const swapped = pairs.map((pair, i) => (i === 2 ? { ...pair, hack: pair.clean, clean: pair.hack } : pair));

let scope: Scope;
let policy: Policy;
beforeAll(async () => {
  scope = new Scope(createReferenceDevice());
  const decoder = await loadRandom(scope, tinyConfig, { trainable: false });
  const adapter = await createAdapter(scope, decoder, { family: 'lora', rank: 3, seed: 1 });
  policy = { decoder, adapter, deployedScale: 0 };
});
afterAll(() => scope[Symbol.dispose]());

const featuresOf = (own: readonly TokenPair[], kind: (typeof kinds)[number], tokensPerPass = 1024, which = policy) =>
  pairFeatures(which, own, { kind, tokensPerPass });

function largestDifference(a: PairFeatures, b: PairFeatures): number {
  const apart = (x: Float32Array, y: Float32Array): number =>
    x.reduce((most, value, i) => Math.max(most, Math.abs(value - y[i])), 0);
  return Math.max(apart(a.hack.data, b.hack.data), apart(a.clean.data, b.clean.data));
}

describe.each(kinds)('%s features of pairs', (kind) => {
  it('have a row for each side, the same however they are batched, and swap with the sides', async () => {
    const all = await featuresOf(pairs, kind);
    const width = policy.adapter.modules.length * 3;
    for (const side of [all.hack, all.clean]) {
      expect(side).toMatchObject({ rows: 6, modules: policy.adapter.modules.length, rank: 3 });
      expect(side.data).toHaveLength(6 * width);
      expect(side.data.every(Number.isFinite)).toBe(true);
    }
    expect(largestDifference(all, await featuresOf(pairs, kind, 1))).toBeLessThan(1e-5);
    const [{ prompt, hack }] = pairs;
    const alone = [{ group: 0, prompt, tokens: hack }];
    const [row] =
      kind === 'gradient'
        ? await probeGradients(policy, alone, 'rollout', 1024)
        : (await scoreRollouts(policy, alone, () => 0, { tokensPerPass: 1024, pool: 'rollout' })).features;
    row.forEach((value, i) => {
      expect(value).toBeCloseTo(all.hack.data[i], 5);
    });
    expect(row.some((value, i) => Math.abs(value - all.clean.data[i]) > 1e-3)).toBe(true);
    const turned = await featuresOf(swapped, kind);
    expect(turned.hack.data.slice(2 * width, 3 * width)).toEqual(all.clean.data.slice(2 * width, 3 * width));
    expect(turned.hack.data.slice(0, width)).toEqual(all.hack.data.slice(0, width));
  });

  it('do not see the quarantine', async () => {
    const before = await featuresOf(pairs, kind);
    const { parameters, rank } = policy.adapter;
    const restore: (() => void)[] = [];
    for (const { value } of parameters) {
      const data = await readFloats(value);
      const columns = data.length / (2 * rank);
      const moved = data.map((x, i) => (i >= rank * columns ? x + 0.3 : x));
      value.device.write(value, moved);
      restore.push(() => value.device.write(value, data));
    }
    expect(largestDifference(before, await featuresOf(pairs, kind))).toBe(0);
    if (kind === 'activation') {
      const vanilla = await featuresOf(pairs, kind, 1024, { ...policy, deployedScale: 1 });
      expect(largestDifference(before, vanilla)).toBeGreaterThan(1e-3);
    }
    for (const undo of restore) undo();
  });

  it('give a direction that separates pairs with one axis, and name the pair that is the wrong way round', async () => {
    const { modules, rank } = policy.adapter;
    const gate = new Gate(settings, haarDirection(modules.length, rank, 3));
    const random = gate.direction;
    const options = { kind, standardise: false, tokensPerPass: 1024, seed: 3 };
    const placebo = await rebuildDirection(policy, pairs, gate, { ...options, placebo: 'haar' });
    expect(gate.direction).toEqual(random);
    const built = await rebuildDirection(policy, pairs, gate, { ...options, placebo: 'none' });
    expect(gate.direction).not.toEqual(random);
    expect(built.quality).toEqual({ pairedAccuracy: 1, auroc: 1, wrongPairs: [] });
    expect(built).toMatchObject({ direction: gate.direction.data, pairCuts: gate.pairCuts });
    expect(placebo.direction).toEqual(random.data);
    expect(placebo.quality.auroc).toBeLessThan(1);
    const wrong = await rebuildDirection(policy, swapped, gate, { ...options, placebo: 'none' });
    expect(wrong.quality.wrongPairs).toEqual([2]);
    const standardised = await rebuildDirection(policy, pairs, gate, {
      ...options,
      standardise: true,
      placebo: 'none',
    });
    expect(standardised.quality.pairedAccuracy).toBe(1);
  });

  it('leave one out: pairs that agree predict each other, pairs that do not, do not', async () => {
    const options = { standardise: false, score: 'dot' } as const;
    expect(leaveOneOut(await featuresOf(pairs, kind), options)).toEqual({ pairedAccuracy: 1, wrongPairs: [] });
    expect(leaveOneOut(await featuresOf(swapped, kind), options).wrongPairs).toContain(2);
    const opposed = await featuresOf([pairs[0], { ...pairs[0], hack: pairs[0].clean, clean: pairs[0].hack }], kind);
    expect(leaveOneOut(opposed, options)).toEqual({ pairedAccuracy: 0, wrongPairs: [0, 1] });
    await expect(featuresOf([], kind)).rejects.toThrow('at least one pair');
    expect(() => leaveOneOut({ hack: { ...opposed.hack, rows: 1 }, clean: opposed.clean }, options)).toThrow(
      'two pairs',
    );
  });
});

describe('pairs that the policy writes', () => {
  const sampler = (pace = { readEvery: 1, rowStep: 1 }) => policySampler(policy, { ...pace, tokensPerPass: 1024 });
  const sampling = { ...greedy, temperature: 1, maxNewTokens: 6, stopTokens: [0] };
  const prompts = pairs.map(({ prompt, clean }) => ({ hack: Int32Array.from([...prompt, ...clean]), clean: prompt }));

  it('are a function of the seed, one per problem, both sides under the prompt without a hint', async () => {
    const first = await generatePairs(sampler(), prompts, { seed: 1, sampling });
    expect(first).toHaveLength(6);
    expect(first.map(({ prompt }) => prompt)).toEqual(prompts.map(({ clean }) => clean));
    for (const { hack, clean } of first) {
      for (const side of [hack, clean]) {
        expect(side.length).toBeGreaterThan(0);
        expect(side.length).toBeLessThanOrEqual(6);
      }
    }
    expect(await generatePairs(sampler({ readEvery: 3, rowStep: 2 }), prompts, { seed: 1, sampling })).toEqual(first);
    expect(await generatePairs(sampler(), prompts, { seed: 2, sampling })).not.toEqual(first);
    expect((await generatePairs(sampler(), prompts.slice(0, 2), { seed: 1, sampling }))[1]).toEqual(first[1]);
    expect((await featuresOf(first, 'gradient')).hack.rows).toBe(6);
  });
});
