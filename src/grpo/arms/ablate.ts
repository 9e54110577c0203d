/**
 * Concept ablation fine-tuning (Casademunt et al. 2025, arXiv 2507.16795; cadentj/caft, training/interventions.py): h ← h − Q Qᵀ h after chosen
 * layers, while the policy samples, scores and learns, and never while it is evaluated: what training cannot see it cannot use. The
 * columns of Q are the leading right singular vectors of the pairs' differences hack − clean at the layer's output, in base state,
 * so that they are the same whenever a run is resumed. The control has as many random orthonormal directions.
 */
import { z } from 'zod';
import { leadingSvd, toMatrix } from '../../adapters/basis.ts';
import {
  changeOutputs,
  emptyDirections,
  layerOutput,
  type OutputChange,
  removeDirections,
  writeDirections,
} from '../../adapters/layer-outputs.ts';
import { type PairDifferences, pairOutputDifferences } from '../../adapters/pair-inputs.ts';
import type { TargetModule } from '../../adapters/targets.ts';
import { randomStream, UserError } from '../../base/index.ts';
import { type Arm, type ArmDefinition, defineArm, seesNothing } from '../arm.ts';
import { layerKey, usualLayer } from './steer.ts';

const settings = z.strictObject({
  layers: z
    .array(layerKey)
    .max(1000)
    .default([])
    .describe('layers after which the directions are removed, from 0; empty: the usual layer of arm.kind = "steer"'),
  rank: z.number().int().min(1).max(1024).default(1).describe('how many directions are removed after each layer'),
  placebo: z
    .enum(['none', 'random'])
    .default('none')
    .describe('random: as many random directions, which know nothing of the pairs'),
});

export const ablate: ArmDefinition = defineArm({
  kind: 'ablate',
  summary: "the pairs' directions are removed from layers' outputs while training, and not after",
  quarantine: false,
  settings,
  uses: ({ placebo }) => (placebo === 'none' ? ['pairs'] : []),
  label: ({ layers, rank, placebo }) =>
    [
      placebo === 'none' ? 'ablate' : 'ablate random',
      ...(layers.length === 0 ? [] : [`layers ${layers.join(' ')}`]),
      ...(rank === 1 ? [] : [`rank ${rank}`]),
    ].join(' '),
  open({ layers, rank, placebo }, { seed, policy, pairs, tokensPerPass, scope, tell }): Arm {
    const { config } = policy.decoder;
    const chosen = [...new Set(layers.length === 0 ? [usualLayer(config)] : layers)];
    const modules = chosen.map((layer) => layerOutput(config, layer, 'arm.layers'));
    const removed = new Map(modules.map(({ name, outputs }) => [name, emptyDirections(scope, rank, outputs)]));
    const changes = new Map([...removed].map(([name, own]): [string, OutputChange] => [name, removeDirections(own)]));
    return {
      sees: seesNothing,
      async prepare({ decoder }) {
        if (pairs.length === 0) return [];
        const rows =
          placebo === 'random'
            ? randomRows(modules, rank, seed)
            : pairRows(await pairOutputDifferences(decoder, modules, pairs, tokensPerPass), modules, rank);
        for (const [name, own] of removed) writeDirections(own, rows.get(name) ?? new Float32Array());
        const which = `${placebo === 'random' ? 'random ' : ''}direction${rank === 1 ? '' : 's'}`;
        const where = chosen.length === 1 ? `layer ${chosen[0]}` : `each of the layers ${chosen.join(', ')}`;
        await tell(`${rank} ${which} ${rank === 1 ? 'is' : 'are'} removed after ${where}`);
        return [];
      },
      steer: (project) => changeOutputs(project, changes),
    };
  },
});

type Rows = ReadonlyMap<string, Float32Array>;

function pairRows(differences: PairDifferences, modules: readonly TargetModule[], rank: number): Rows {
  return new Map(
    modules.map(({ name, outputs }) => {
      const rows = differences.get(name) ?? new Float32Array();
      return [name, leadingDirections(rows, rows.length / outputs, outputs, rank)];
    }),
  );
}

/** The leading right singular vectors of rows [count, size], as rows. Differences that span fewer directions are refused. */
export function leadingDirections(rows: Float32Array, count: number, size: number, rank: number): Float32Array {
  const { S, V } = leadingSvd(toMatrix(rows, count, size), rank);
  const spanned = S.filter((value) => value > 1e-6 * S[0]).length;
  if (spanned < rank) {
    throw new UserError({
      call: 'config, key arm.rank',
      expected: 'at most as many directions as the differences of the pairs span',
      found: `${rank} of ${spanned}`,
      fix: `Set arm.rank to ${Math.max(1, spanned)} or less, or use more pairs.`,
    });
  }
  return Float32Array.from(V.to1DArray());
}

/** Random orthonormal rows for each module. */
function randomRows(modules: readonly TargetModule[], rank: number, seed: number): Rows {
  return new Map(
    modules.map(({ name, outputs }) => {
      const noise = new Float32Array(rank * outputs);
      randomStream(seed, ['ablate', name]).fillNormal(noise, 1);
      return [name, leadingDirections(noise, rank, outputs, rank)];
    }),
  );
}
