/**
 * Preventative steering in reinforcement learning: v = E[h | hack] − E[h | clean] at the output of one layer, with its own length,
 * each response counted by the mean over its tokens; α v is added to that output at every token while the policy samples, scores and
 * learns, and never while it is evaluated. What the vector gives the policy, training need not write into its weights (Chen et al.
 * 2025, Persona Vectors, arXiv 2507.21509, section 5; in RL: shawnghu/small-rl, tools/modal_pps_extract.py). The pairs give v, in base state, so
 * that it is the same whenever a run is resumed. α and the layer come from a sweep of what steering elicits: `sweepSteering`.
 */
import { z } from 'zod';
import {
  addVector,
  changeOutputs,
  emptyVector,
  layerOutput,
  type OutputChange,
  writeRounded,
} from '../../adapters/layer-outputs.ts';
import { pairOutputDifferences, type TokenPair } from '../../adapters/pair-inputs.ts';
import { readWhen } from '../../base/index.ts';
import { Scope } from '../../engine/scope.ts';
import type { Tensor } from '../../engine/tensor.ts';
import type { Decoder, DecoderConfig } from '../../model/index.ts';
import { type Arm, type ArmDefinition, defineArm, seesNothing } from '../arm.ts';
import type { BaitCount } from '../arm-tools.ts';
import { type Policy, steerPolicy } from '../policy.ts';

const layerWords = 'a whole number from 0 to 10000';
/** A layer of the model in a config. Entries of a list are refused in these words. */
export const layerKey = z.number(layerWords).int(layerWords).min(0, layerWords).max(10_000, layerWords);

const settings = z.strictObject({
  layer: layerKey
    .nullable()
    .default(null)
    .describe('layer after which the vector is added, from 0; null: five ninths of the way up, which is 20 of 36')
    .meta(readWhen({ scale: { not: 0 } })),
  scale: z
    .number()
    .min(-1000)
    .max(1000)
    .default(2)
    .describe('α: how many times the mean difference hack − clean is added'),
});

export const steer: ArmDefinition = defineArm({
  kind: 'steer',
  summary: "the pairs' direction is added to a layer's output while training, and not after",
  quarantine: false,
  settings,
  uses: ['pairs'],
  label: ({ layer, scale }) => ['steer', ...(layer === null ? [] : [`layer ${layer}`]), `α ${scale}`].join(' '),
  open({ layer: named, scale }, { policy, pairs, tokensPerPass, scope, tell }): Arm {
    const { config } = policy.decoder;
    const layer = named ?? usualLayer(config);
    const { outputs } = layerOutput(config, layer, 'arm.layer');
    const vector = emptyVector(scope, outputs);
    return {
      sees: seesNothing,
      async prepare({ decoder }) {
        if (pairs.length === 0) return [];
        const mean = await steeringVector(decoder, layer, pairs, tokensPerPass);
        writeSteering(vector, mean, scale);
        await tell(
          `the output of layer ${layer} is steered by ${scale} v, |v| = ${Math.hypot(...mean).toPrecision(3)}`,
        );
        return [];
      },
      steer: steering(config, layer, vector),
    };
  },
});

/** The layer that is changed where a config names none. */
export function usualLayer({ layers }: Pick<DecoderConfig, 'layers'>): number {
  return Math.floor((5 * layers) / 9);
}

/** The mean over pairs of the mean output of a layer over the hack's tokens less that over the clean completion's, in base state. */
export async function steeringVector(
  decoder: Decoder,
  layer: number,
  pairs: readonly TokenPair[],
  tokensPerPass: number,
): Promise<Float32Array> {
  const module = layerOutput(decoder.config, layer, 'arm.layer');
  const rows =
    (await pairOutputDifferences(decoder, [module], pairs, tokensPerPass)).get(module.name) ?? new Float32Array();
  const mean = new Float32Array(module.outputs);
  for (let c = 0; c < mean.length; c++) {
    let sum = 0;
    for (let pair = 0; pair < pairs.length; pair++) sum += rows[pair * mean.length + c];
    mean[c] = sum / pairs.length;
  }
  return mean;
}

function writeSteering(vector: Tensor, mean: Float32Array, scale: number): void {
  writeRounded(
    vector,
    mean.map((value) => scale * value),
  );
}

function steering(config: DecoderConfig, layer: number, vector: Tensor): NonNullable<Arm['steer']> {
  const { name } = layerOutput(config, layer, 'arm.layer');
  const changes: ReadonlyMap<string, OutputChange> = new Map([[name, addVector(vector)]]);
  return (project) => changeOutputs(project, changes);
}

/** What one setting of the arm elicits; the first row of a sweep is the policy without steering, as scale 0. */
export interface SteeringCell extends BaitCount {
  readonly layer: number | null;
  readonly scale: number;
}

export interface SteeringSweep {
  readonly layers: readonly number[];
  readonly scales: readonly number[];
  readonly tokensPerPass: number;
}

/** Counts the bait that a policy takes under every layer and scale. `count` samples the policy that it is given. */
export async function sweepSteering(
  policy: Policy,
  pairs: readonly TokenPair[],
  { layers, scales, tokensPerPass }: SteeringSweep,
  count: (steered: Policy) => Promise<BaitCount>,
): Promise<SteeringCell[]> {
  const { decoder } = policy;
  const cells: SteeringCell[] = [{ layer: null, scale: 0, ...(await count(policy)) }];
  for (const layer of layers) {
    using scope = new Scope(decoder.head.device);
    const mean = await steeringVector(decoder, layer, pairs, tokensPerPass);
    const vector = emptyVector(scope, mean.length);
    for (const scale of scales) {
      writeSteering(vector, mean, scale);
      const steered = steerPolicy(policy, { steer: steering(decoder.config, layer, vector) });
      cells.push({ layer, scale, ...(await count(steered)) });
    }
  }
  return cells;
}
