/**
 * Gradient fingerprints as a monitor, after GRIFT (Wang et al. 2026, arXiv 2604.16242): the gradient feature of a rollout as a unit vector.
 * The fingerprints of the run's last rollouts are clustered in two, and the sides of the pairs say which cluster is which: the two centres
 * begin as the means of the sides, which stay in them (docs/science.md, section 4). The score is the soft membership in the hacks' cluster.
 */
import { z } from 'zod';
import type { Features } from '../adapters/index.ts';
import { randomStream } from '../base/index.ts';
import { type DirectionPlacebo, directionPlacebos, shuffledSides } from '../gates/direction.ts';
import type { ArmState } from '../grpo/arm.ts';
import type { ArmTools } from '../grpo/arm-tools.ts';
import { cutKeys } from './cuts.ts';
import { directionKeys, placeboSeedKey } from './direction.ts';
import { heldOutClean, type PairRows, rowsOf } from './held-out.ts';
import { defineMonitor, type Monitor, type MonitorDefinition } from './monitor.ts';

const settings = z.strictObject({
  memoryRows: z
    .number()
    .int()
    .min(1)
    .max(1e6)
    .default(512)
    .describe('number of most recent rollouts whose fingerprints are clustered'),
  refreshEvery: directionKeys.refreshEvery.describe(
    'updates between readings of the pairs, whose sides name the clusters; 0: they are read once',
  ),
  placebo: z
    .enum(directionPlacebos)
    .default('none')
    .describe(
      'haar: two centres on a random axis, as far apart; reversed: the clusters change names; shuffled: the sides of half of the pairs are swapped',
    ),
  placeboSeed: placeboSeedKey,
});
type Settings = z.infer<typeof settings>;

export const fingerprintMonitor: MonitorDefinition = defineMonitor({
  kind: 'fingerprint',
  summary: 'gradient fingerprints in two clusters, which the sides of the pairs name',
  settings,
  former: settings.extend(cutKeys({ cut: 'fixed', threshold: 0.5 })),
  usualCut: { kind: 'fixed', threshold: 0.5 },
  scores: 'probabilities',
  gives: ['clean scores'],
  placebos: directionPlacebos.slice(1),
  costs: () => ['pairs', 'gradients'],
  uses: ['pairs', 'features'],
  abstains: false,
  label: ({ placebo, placeboSeed }) =>
    [
      ...(placebo === 'none' ? [] : [placebo]),
      'fingerprint',
      ...(placebo === 'none' || placeboSeed === null ? [] : [`draw ${placeboSeed}`]),
    ].join(' '),
  open: (own, tools) => openFingerprint(own, tools),
});

async function openFingerprint(own: Settings, { seed, pairs, policy, tokensPerPass }: ArmTools): Promise<Monitor> {
  const { pairFeatures } = await import('../grpo/pair-features.ts');
  const { memoryRows, refreshEvery, placebo, placeboSeed } = own;
  const width = policy.adapter.modules.length * policy.adapter.rank;
  const draw = placeboSeed ?? seed;
  let sides: PairRows = { hack: [], clean: [] };
  let memory: readonly Float32Array[] = [];
  const scoreBy = (from: PairRows): ((row: Float32Array) => number) => {
    const centres = placeboCentres(clusterCentres(from, memory), placebo, draw);
    return (row) => membership(row, centres);
  };
  return {
    sees: { features: { kind: 'gradient', granularity: 'rollout' }, text: false },
    async refresh(step, current) {
      if (sides.hack.length > 0 && (refreshEvery === 0 || step % refreshEvery !== 0)) return null;
      const { hack, clean } = await pairFeatures(current, pairs, { kind: 'gradient', tokensPerPass });
      const [high, low] = placebo === 'shuffled' ? shuffledSides(hack, clean, draw) : [hack, clean];
      sides = { hack: fingerprints(high), clean: fingerprints(low) };
      return null;
    },
    score: ({ features }) => {
      const rows = features === null ? [] : fingerprints(features);
      memory = [...memory, ...rows].slice(-memoryRows);
      return rows.map(scoreBy(sides));
    },
    cleanScores: () => heldOutClean(sides, scoreBy),
    save: () => ({
      json: null,
      tensors: new Map([
        ['hack', asTensor(sides.hack, width)],
        ['clean', asTensor(sides.clean, width)],
        ['memory', asTensor(memory, width)],
      ]),
    }),
    restore({ tensors }) {
      sides = { hack: asRows(tensors.get('hack'), width), clean: asRows(tensors.get('clean'), width) };
      memory = asRows(tensors.get('memory'), width);
    },
  };
}

/** The rows as unit vectors; a row of zeros stays one. */
export function fingerprints(features: Features): Float32Array[] {
  return rowsOf(features).map((row) => {
    const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));
    return row.map((value) => value / (length || 1));
  });
}

interface Centres {
  readonly hack: Float64Array;
  readonly clean: Float64Array;
}

/** Rounds of the clustering at most; it ends as soon as no rollout changes its cluster. */
const mostRounds = 100;

/** Two means (Lloyd) that begin at the sides of the pairs; each rollout belongs to the nearer one, a side always to its own. */
export function clusterCentres({ hack, clean }: PairRows, rollouts: readonly Float32Array[]): Centres {
  let centres: Centres = { hack: meanOf(hack), clean: meanOf(clean) };
  let flags: readonly boolean[] = [];
  for (let round = 0; round < mostRounds; round++) {
    const nearer = rollouts.map((row) => membership(row, centres) > 0.5);
    if (round > 0 && nearer.every((flag, i) => flag === flags[i])) break;
    flags = nearer;
    centres = {
      hack: meanOf([...hack, ...rollouts.filter((_, i) => flags[i])]),
      clean: meanOf([...clean, ...rollouts.filter((_, i) => !flags[i])]),
    };
  }
  return centres;
}

/** The softmax of the negated squared distances: above one half for what is nearer to the hacks' centre. */
export function membership(row: Float32Array, { hack, clean }: Centres): number {
  return 1 / (1 + Math.exp(squaredDistance(row, hack) - squaredDistance(row, clean)));
}

/** `haar`: the middle and the distance of the centres stay, their axis is drawn by the seed. */
export function placeboCentres(centres: Centres, placebo: DirectionPlacebo, seed: number): Centres {
  const { hack, clean } = centres;
  if (placebo === 'reversed') return { hack: clean, clean: hack };
  if (placebo !== 'haar') return centres;
  const axis = new Float32Array(hack.length);
  randomStream(seed, 'haar fingerprint').fillNormal(axis);
  const half =
    Math.sqrt(squaredDistance(hack, clean)) / 2 / Math.sqrt(squaredDistance(axis, new Float64Array(axis.length)));
  const at = (side: 1 | -1) => hack.map((value, i) => (value + clean[i]) / 2 + side * half * axis[i]);
  return { hack: at(1), clean: at(-1) };
}

function meanOf(rows: readonly Float32Array[]): Float64Array {
  const mean = new Float64Array(rows[0].length);
  for (const row of rows) for (let i = 0; i < mean.length; i++) mean[i] += row[i] / rows.length;
  return mean;
}

function squaredDistance(row: Float32Array | Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < other.length; i++) sum += (row[i] - other[i]) ** 2;
  return sum;
}

function asTensor(rows: readonly Float32Array[], width: number) {
  const data = new Float32Array(rows.length * width);
  rows.forEach((row, i) => {
    data.set(row, i * width);
  });
  return { shape: [rows.length, width], data };
}

function asRows(tensor: ReturnType<ArmState['tensors']['get']>, width: number): Float32Array[] {
  const data = tensor?.data ?? new Float32Array();
  return Array.from({ length: data.length / width }, (_, i) => data.slice(i * width, (i + 1) * width));
}
