/**
 * The score of the activation gate as a monitor: a rollout's pooled activations against the direction from the pairs (docs/science.md,
 * section 4), which is built again on the current policy every few updates.
 */
import { z } from 'zod';
import type { Features } from '../adapters/index.ts';
import {
  buildDirection,
  type Direction,
  directionPlacebos,
  haarDirection,
  judgeDirection,
  scoreFeatures,
} from '../gates/index.ts';
import {
  type ArmTools,
  type NewDirection,
  type Policy,
  pairFeatures,
  placeboSeedKey,
  placeboWords,
  standardiseKey,
} from '../grpo/index.ts';
import { average } from '../stats/index.ts';
import { cutKeys, cutRule, cutWords } from './cut.ts';
import { heldOutClean, type PairRows, rowsOf } from './held-out.ts';
import { defineMonitor, type Monitor, type MonitorDefinition } from './monitor.ts';

const settings = z.strictObject({
  ...cutKeys({ cut: 'otsu', threshold: 0 }),
  placebo: z.enum(directionPlacebos).default('none').describe(placeboWords),
  placeboSeed: placeboSeedKey,
  score: z
    .enum(['dot', 'cosine'])
    .default('dot')
    .describe('how features meet the direction: by dot product or by cosine'),
  standardise: standardiseKey,
  refreshEvery: z
    .number()
    .int()
    .min(0)
    .max(1e7)
    .default(5)
    .describe('updates between rebuilds of the monitor; 0: it is built once'),
});

export const directionMonitor: MonitorDefinition = defineMonitor({
  kind: 'direction',
  summary: 'pooled activations against the direction from the pairs',
  settings,
  uses: ['pairs', 'features'],
  abstains: false,
  label: (own) => {
    const { placebo, placeboSeed } = own;
    const draw = placeboSeed === null ? '' : ` draw ${placeboSeed}`;
    return `${placebo === 'none' ? 'direction' : `${placebo} direction${draw}`}${cutWords(own, 'otsu')}`;
  },
  open: (own, tools) => openDirection(own, tools),
});

function openDirection(own: z.infer<typeof settings>, { seed, policy, pairs, tokensPerPass }: ArmTools): Monitor {
  const { score, standardise, refreshEvery, placebo, placeboSeed } = own;
  const { modules, rank } = policy.adapter;
  const drawn = placeboSeed ?? seed;
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
    buildDirection(asFeatures(from.hack), asFeatures(from.clean), { standardise, placebo, seed: drawn });

  async function rebuild(current: Policy): Promise<NewDirection> {
    const sides = await pairFeatures(current, pairs, { kind: 'activation', tokensPerPass });
    const from = { hack: rowsOf(sides.hack), clean: rowsOf(sides.clean) };
    direction = make(from);
    if (own.cut === 'fpr') clean = heldOutClean(from, (others) => scoreBy(make(others)));
    const [high, low] = [sides.hack, sides.clean].map((side) => scoreFeatures(side, direction, score));
    return {
      quality: judgeDirection(high, low),
      direction: direction.data,
      pairCuts: { low: average(low), high: average(high) },
    };
  }

  return {
    sees: { features: { kind: 'activation', granularity: 'rollout' }, text: false },
    cut: cutRule(own),
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
