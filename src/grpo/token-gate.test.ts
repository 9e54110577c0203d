/** The gate by token in whole updates: the scale of its features, its band, its memory, and going on from a saved state. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { furthest, TinyLab } from '../../test/grpo/tiny-lab.ts';
import { task, tinyVocabulary, tinyWith, tokens } from '../../test/grpo/tiny-policy.ts';
import { gradientFeatures } from '../adapters/features.ts';
import type { TokenPair } from '../adapters/pair-inputs.ts';
import { AdamW, Scope } from '../engine/index.ts';
import { Gate, haarDirection, scoreRows } from '../gates/index.ts';
import {
  blindMonitors,
  builtinCuts,
  builtinRemedies,
  gateSettings,
  gateSettingsOf,
  watchedArms,
} from '../monitors/index.ts';
import { Shards } from '../parallel/index.ts';
import { average } from '../stats/index.ts';
import type { Arm, ArmDefinition, GradedRollouts } from './arm.ts';
import type { ArmTools } from './arm-tools.ts';
import { cutPasses, packPass } from './batches.ts';
import { openArm } from './open-arm.ts';
import { rebuildDirection } from './pair-features.ts';
import { probeGradients, scoreRollouts } from './policy.ts';
import { policySampler } from './sampler.ts';
import { Trainer, type TrainerState } from './train.ts';

let lab: TinyLab;
beforeAll(async () => {
  lab = await TinyLab.open();
});
afterAll(() => lab[Symbol.dispose]());

const arms = watchedArms({ monitors: blindMonitors, cuts: builtinCuts, remedies: builtinRemedies });
const kinds = ['activation', 'gradient'] as const;
const pairs: TokenPair[] = Array.from({ length: 3 }, (_, i) => ({
  prompt: tokens(`prompt ${i}`, 4),
  hack: tokens(`hack ${i}`, 5 + i),
  clean: tokens(`clean ${i}`, 7),
}));
const pairSides = pairs.flatMap(({ prompt, hack, clean }, group) => [
  { group, prompt, tokens: hack },
  { group, prompt, tokens: clean },
]);

function toolsOf(): ArmTools {
  return {
    seed: 1,
    policy: lab.policy,
    tokensPerPass: 64,
    pairs,
    demonstrations: { pool: [], pairs: [] },
    scope: new Scope(lab.policy.decoder.head.device),
    countBait: async () => ({ took: 0, of: 0 }),
    soundReward: async () => 0,
    tell: async () => undefined,
    writePairs: async () => pairs,
    tokenize: () => new Int32Array(1),
    instruct: () => () => new Int32Array(1),
    labels: null,
    openModel: () => Promise.reject(new Error('no other model')),
    folder: null,
    labelled: null,
  };
}
const openGate = (kind: (typeof kinds)[number], settings: Readonly<Record<string, unknown>> = {}) =>
  openArm(
    arms.find((arm) => arm.kind === kind) as ArmDefinition,
    { granularity: 'token', bufferTokens: 3, warmupRows: 2, ...settings },
    toolsOf(),
  );

function gateKeys(kind: (typeof kinds)[number]) {
  const keys = gateSettingsOf({ kind, ...{ granularity: 'token' } });
  if (keys === null) throw new Error('no gate');
  return keys;
}

/** The rows of each side of the pairs, a row per token. */
const tokenRows = async (kind: (typeof kinds)[number]) =>
  kind === 'gradient'
    ? probeGradients(lab.policy, pairSides, 'token', 512)
    : (await scoreRollouts(lab.policy, pairSides, () => 0, { tokensPerPass: 512, pool: 'token' })).features;

/** The features of each side's completion alone, its prompt left out, as those of a rollout are scaled. */
async function pooledRows(kind: (typeof kinds)[number]): Promise<Float32Array[]> {
  const { decoder, adapter } = lab.policy;
  if (kind === 'activation') {
    return (await scoreRollouts(lab.policy, pairSides, () => 0, { tokensPerPass: 512, pool: 'rollout' })).features;
  }
  using scope = new Scope(decoder.head.device);
  const [pass] = cutPasses(pairSides, () => 0, 512, false);
  const { packed, members } = packPass(scope, decoder.config, pairSides, pass);
  expect(members).toEqual([...pairSides.keys()]);
  const { data } = await gradientFeatures(scope, decoder, adapter, packed, { spans: packed.completions });
  const width = adapter.modules.length * adapter.rank;
  return pairSides.map((_, i) => data.slice(i * width, (i + 1) * width));
}

/** The sum of the rows, each divided by `divisor`. */
function sumRows(rows: Float32Array, width: number, divisor: number): number[] {
  return Array.from({ length: width }, (_, i) =>
    Array.from({ length: rows.length / width }, (_, t) => rows[t * width + i]).reduce((sum, x) => sum + x / divisor, 0),
  );
}

describe.each(kinds)('%s features of tokens', (kind) => {
  it('are at the scale of a token: divided by the length they sum to those of the completion', async () => {
    const width = lab.policy.adapter.modules.length * lab.policy.adapter.rank;
    const [rows, pooled] = [await tokenRows(kind), await pooledRows(kind)];
    pairSides.forEach(({ tokens: own }, i) => {
      expect(rows[i]).toHaveLength(own.length * width);
      const summed = sumRows(rows[i], width, own.length);
      expect(furthest(summed, pooled[i])).toBeLessThan(1e-5);
      expect(furthest(summed, new Float32Array(width))).toBeGreaterThan(1e-3);
    });
  });

  it.each(['dot', 'cosine'] as const)('and so is the band of the pairs: %s', async (score) => {
    const { modules, rank } = lab.policy.adapter;
    const settings = { ...gateSettings(gateKeys(kind)), score, calibration: 'pairs' } as const;
    const gate = new Gate(settings, haarDirection(modules.length, rank, 3));
    const options = { kind, standardise: false, placebo: 'none', seed: 3, tokensPerPass: 64 } as const;
    const { pairCuts, direction } = await rebuildDirection(lab.policy, pairs, gate, options);
    const means = (await tokenRows(kind)).map((rows) => average(scoreRows(rows, direction).map((row) => row[score])));
    expect(pairCuts?.high).toBeCloseTo(average([0, 2, 4].map((i) => means[i])), 5);
    expect(pairCuts?.low).toBeCloseTo(average([1, 3, 5].map((i) => means[i])), 5);
    expect(gate.pairCuts).toEqual(pairCuts);
  });

  it('are never in memory for a whole update: what is left of a rollout are its scores and a few rows of its own', async () => {
    const arm = await openGate(kind);
    await arm.refresh?.(0, lab.policy);
    const most: number[] = [];
    const condense: NonNullable<typeof arm.condense> = (rows) => {
      most.push(rows.rows);
      return arm.condense?.(rows) ?? { scores: new Float64Array(), meanCosine: 0, kept: new Float32Array() };
    };
    const { outcome } = await lab.step({ ...arm, condense }, { changes: { compute: { tokensPerPass: 16 } } });
    const { adapter } = lab.policy;
    const width = adapter.modules.length * adapter.rank;
    const lengths = outcome.trained.map((i) => outcome.rollouts[i].tokens.length);
    expect(most.toSorted()).toEqual(lengths.toSorted());
    expect(Math.max(...lengths)).toBeGreaterThan(3);
    outcome.features.forEach((kept, i) => {
      expect(kept).toHaveLength(Math.min(3, lengths[i]) * width);
      // A view would hold on to the rows of the whole pass.
      expect(kept.buffer.byteLength).toBe(kept.byteLength);
      expect(outcome.condensed?.[i].scores).toHaveLength(lengths[i]);
    });
    expect(outcome.routing.bufferRows).toBe(lengths.length);
    expect(outcome.routing.routes.map(({ length }) => length)).toEqual(lengths);
    expect(Math.abs(outcome.routing.meanCosine ?? Number.NaN)).toBeLessThan(1);
  });

  it('are condensed alike where another hook needs them before the advantages', async () => {
    const steps = [];
    for (const hooks of [{}, { screen: ({ rollouts }: GradedRollouts) => rollouts.map(() => 'train' as const) }]) {
      const arm = await openGate(kind);
      await arm.refresh?.(0, lab.policy);
      steps.push(await lab.step({ ...arm, ...hooks }));
    }
    const [late, early] = steps;
    expect({ ...early.outcome, screening: null }).toEqual(late.outcome);
    expect(early.values).toEqual(late.values);
  });

  it.each(['token', 'rollout'])('compare the others among themselves with the own mean, by %s', async (granularity) => {
    // The second group teaches nothing, and must not move the cuts.
    const rewards = [3, 0, 1, 0, 2, 2, 2, 2];
    const settings = { granularity, calibration: 'otsu', warmupRows: 0, bufferTokens: 64 };
    const take = async (mean: 'group' | 'own') => {
      const arm = await openGate(kind, { ...settings, mean });
      await arm.refresh?.(0, lab.policy);
      return (await lab.step(arm, { rewards })).outcome;
    };
    const [plain, own] = [await take('group'), await take('own')];
    expect(plain.screening).toBeNull();
    expect(own.routing).toEqual(plain.routing);
    const apart = own.trained.filter((i) => own.screening?.[i] === 'apart');
    expect(apart.length).toBeGreaterThan(0);
    expect(apart.length).toBeLessThan(4);
    const others = own.trained.filter((i) => !apart.includes(i)).map((i) => rewards[i]);
    const expected = own.trained.map((i) => rewards[i] - (apart.includes(i) ? 1 : average(others)));
    expect(furthest(own.advantages.slice(0, 4), expected)).toBeLessThan(1e-6);
    if (granularity === 'rollout') {
      expect(apart).toEqual([0, 1, 2, 3].filter((i) => own.routing.routes[i][0] === 'route'));
    }
  });

  it('let a run that was stopped in the middle go on to the same bytes', async () => {
    const begin = await lab.policy.adapter.tensors();
    const settings = { halfLife: 8, bufferRows: 12, refreshEvery: 3, calibration: 'otsu', keepOnly: 'praised' };
    const run = async (until: number, from: TrainerState | null): Promise<TrainerState> => {
      if (from === null) lab.policy.adapter.load(begin);
      using optimiser = new AdamW(lab.policy.adapter.parameters);
      const trainer = trainerOf(await openGate(kind, settings), optimiser, 4);
      if (from !== null) trainer.restore(from);
      for await (const event of trainer.train()) if (event.kind === 'step' && event.update === until) break;
      return await trainer.state();
    };
    const whole = await run(4, null);
    expect(await run(4, await run(2, null))).toEqual(whole);
    expect(whole.arm?.tensors.get('buffer')?.shape[0]).toBeGreaterThan(12);
    lab.policy.adapter.load(begin);
  });
});

function trainerOf(arm: Arm, optimiser: AdamW, updates: number): Trainer {
  const settings = tinyWith({ updates, optimiser: { learningRate: 1e-3 } });
  const { policy } = lab;
  const context = {
    policy,
    optimiser,
    arm,
    sampler: policySampler(policy, settings.compute),
    tasks: ['a', 'b'].map((id) => task(id)),
    grader: { grade: async (rollouts: readonly unknown[]) => Float32Array.from(rollouts, (_, i) => i % 3) },
    settings,
    stopTokens: [0],
    vocabulary: tinyVocabulary,
    pool: null,
    shards: Shards.alone,
    decode: () => '',
    showPrompt: () => '',
    enter: () => {},
  };
  return new Trainer({ context, tripwireSet: [], heal: null });
}

describe('the buffer of a gate by token', () => {
  it('that would not fit is refused before the first update', async () => {
    await expect(openGate('activation', { bufferRows: 1e7, bufferTokens: 1000 })).rejects.toThrow(
      /key bufferRows of the gate: expected a buffer of at most 2 GiB.* Lower bufferRows to \d+ or less/,
    );
  });
});
