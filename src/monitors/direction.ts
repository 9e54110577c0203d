/**
 * The direction from the pairs as a monitor (docs/science.md, section 4): the features of a rollout, or of a token, against it. It is built
 * again on the current policy every few updates. Where the cut remembers features, the gate of src/gates scores by the same direction
 * (gates.ts).
 */
import { z } from 'zod';
import type { Features } from '../adapters/index.ts';
import { readWhen } from '../base/index.ts';
import {
  buildDirection,
  type Direction,
  directionPlacebos,
  haarDirection,
  judgeDirection,
  scoreFeatures,
} from '../gates/direction.ts';
import type { NewDirection } from '../grpo/arm.ts';
import type { ArmTools } from '../grpo/arm-tools.ts';
import type { Policy } from '../grpo/policy.ts';
import { average } from '../stats/index.ts';
import { cutKeys } from './cuts.ts';
import { heldOutClean, type PairRows, rowsOf } from './held-out.ts';
import { defineMonitor, type Monitor, type MonitorDefinition, type MonitorNeeds } from './monitor.ts';

export const placeboWords: string =
  'haar: a random direction; reversed: the direction of the pairs, turned around; shuffled: that of the same pairs with the sides of half of them swapped';
export const placeboSeedKey: z.ZodDefault<z.ZodNullable<z.ZodNumber>> = z
  .number()
  .int()
  .min(0)
  .nullable()
  .default(null)
  .describe("seed of the placebo's draw; null: the seed of the run")
  .meta(readWhen({ placebo: ['haar', 'shuffled', 'mass-matched'] }));

/** The keys that a direction has wherever it scores. */
export const directionKeys = {
  placeboSeed: placeboSeedKey,
  score: z
    .enum(['dot', 'cosine'])
    .default('dot')
    .describe('how features meet the direction: by dot product or by cosine'),
  standardise: z
    .boolean()
    .default(false)
    .describe('divide the mean difference by its standard error, clamped to ±3')
    .meta(readWhen({ placebo: { not: 'haar' } })),
  refreshEvery: z
    .number()
    .int()
    .min(0)
    .max(1e7)
    .default(5)
    .describe('updates between rebuilds of the direction; 0: it is built once'),
};

/** Those that it has beside in a table [monitor], and in an arm with a gate. */
export const gateDirectionKeys = {
  granularity: z
    .enum(['rollout', 'token'])
    .default('rollout')
    .describe('what gets a score, and a route, of its own: a rollout or a token'),
  orthogonalTo: z
    .enum(['none', 'solve'])
    .default('none')
    .describe(
      'solve: what the direction shares with the mean feature of the clean sides of the pairs is removed from it',
    ),
  generatedPairs: z.boolean().default(false).describe('use pairs that the policy writes once, under two framings'),
};

const placebo = z.enum(directionPlacebos).default('none').describe(placeboWords);

export const directionSettings = z
  .strictObject({
    features: z
      .enum(['activation', 'gradient'])
      .default('activation')
      .describe('what meets the direction: pooled activations, or gradients of the mean log-likelihood'),
    placebo,
    ...directionKeys,
    ...gateDirectionKeys,
  })
  .superRefine(({ orthogonalTo, placebo: own }, context) => {
    if (orthogonalTo === 'none' || own !== 'haar') return;
    const message = 'expected "none" for a random direction, which does not come from pairs, found "solve"';
    context.addIssue({ code: 'custom', path: ['orthogonalTo'], message });
  });
export type DirectionSettings = z.infer<typeof directionSettings>;

export const directionMonitor: MonitorDefinition = defineMonitor({
  kind: 'direction',
  summary: 'features against the direction from the pairs',
  settings: directionSettings,
  former: z.strictObject({ ...cutKeys({ cut: 'otsu', threshold: 0 }), placebo, ...directionKeys }),
  usualCut: { kind: 'otsu' },
  gives: ['clean scores', 'direction'],
  placebos: directionPlacebos.slice(1),
  costs: ({ features }) => ['pairs', features === 'gradient' ? 'gradients' : 'readings'],
  uses: ['pairs', 'features'],
  abstains: false,
  label: (own) =>
    [
      ...(own.placebo === 'none' ? [] : [own.placebo]),
      ...(own.features === 'gradient' ? ['gradient'] : []),
      'direction',
      ...(own.placebo === 'none' || own.placeboSeed === null ? [] : [`draw ${own.placeboSeed}`]),
      ...(own.orthogonalTo === 'solve' ? ['orthogonal to solve'] : []),
      ...(own.granularity === 'token' ? ['by token'] : []),
    ].join(' '),
  open: (own, tools, needs) => openDirection(own, tools, needs),
});

/** The pairs that a direction is built from. */
export const pairsOf = ({ generatedPairs }: DirectionSettings, tools: ArmTools) =>
  generatedPairs ? tools.writePairs() : tools.pairs;

async function openDirection(own: DirectionSettings, tools: ArmTools, needs: MonitorNeeds): Promise<Monitor> {
  const { pairFeatures } = await import('../grpo/pair-features.ts');
  const { seed, policy, tokensPerPass } = tools;
  const { features: kind, score, standardise, orthogonalTo, refreshEvery, placebo, placeboSeed } = own;
  const { modules, rank } = policy.adapter;
  const drawn = placeboSeed ?? seed;
  const pairs = await pairsOf(own, tools);
  let direction: Direction = haarDirection(modules.length, rank, drawn);
  let clean: Float64Array = new Float64Array();
  let built = false;
  const asFeatures = (rows: readonly Float32Array[]): Features => ({
    rows: rows.length,
    modules: modules.length,
    rank,
    data: Float32Array.from(rows.flatMap((row) => Array.from(row))),
  });
  const scoreBy = (made: Direction) => (row: Float32Array) => scoreFeatures(asFeatures([row]), made, score)[0];
  const make = (from: PairRows) =>
    buildDirection(asFeatures(from.hack), asFeatures(from.clean), { standardise, orthogonalTo, placebo, seed: drawn });

  async function rebuild(current: Policy): Promise<NewDirection> {
    const sides = await pairFeatures(current, pairs, { kind, tokensPerPass });
    const from = { hack: rowsOf(sides.hack), clean: rowsOf(sides.clean) };
    direction = make(from);
    if (needs.cleanScores) clean = heldOutClean(from, (others) => scoreBy(make(others)));
    const [high, low] = [sides.hack, sides.clean].map((side) => scoreFeatures(side, direction, score));
    return {
      quality: judgeDirection(high, low),
      direction: direction.data,
      pairCuts: { low: average(low), high: average(high) },
    };
  }

  return {
    sees: { features: { kind, granularity: 'rollout' }, text: false },
    async refresh(step, current) {
      const due = !built || (refreshEvery > 0 && step % refreshEvery === 0);
      built = true;
      return due ? rebuild(current) : null;
    },
    score: ({ features }) => (features === null ? [] : Array.from(scoreFeatures(features, direction, score))),
    cleanScores: () => clean,
    save: () => ({
      json: { built },
      tensors: new Map([
        ['direction', { shape: [direction.data.length], data: direction.data }],
        ['clean', { shape: [clean.length], data: Float32Array.from(clean) }],
      ]),
    }),
    restore({ json, tensors }) {
      built = (json as { readonly built?: boolean } | null)?.built === true;
      direction = { ...direction, data: tensors.get('direction')?.data ?? direction.data };
      clean = Float64Array.from(tensors.get('clean')?.data ?? []);
    },
  };
}
