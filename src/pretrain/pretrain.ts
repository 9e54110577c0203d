/**
 * Next-token training of a whole decoder from documents, from scratch: how the micro base model is made. Every weight
 * learns; the loss is the mean NLL of the completions' tokens. An async generator: reporting and saving are for the caller.
 */
import {
  AdamW,
  affine,
  multiply,
  type Parameter,
  readFloats,
  Scope,
  sum,
  Tape,
  type Tensor,
  warmupCosine,
} from '../engine/index.ts';
import type { DecoderConfig, LoadedWeight } from '../model/index.ts';
import { Decoder, type Group, initialTensors, packGroups, scoreGroups } from '../model/index.ts';

export interface PretrainSettings {
  readonly seed: number;
  readonly steps: number;
  readonly documentsPerStep: number;
  readonly learningRate: number;
  readonly warmupSteps: number;
  /** Decoupled weight decay, of matrices only. */
  readonly weightDecay: number;
}

export interface PretrainProgress {
  /** Number of steps completed. */
  readonly step: number;
  /** NLL per token of the step's documents, before its update. */
  readonly loss: number;
  readonly tokens: number;
}

/** A fresh trainable decoder in the scope. */
export async function freshDecoder(scope: Scope, config: DecoderConfig, seed: number): Promise<Decoder> {
  return Decoder.load(scope, config, initialWeights(config, seed), { trainable: true });
}

async function* initialWeights(config: DecoderConfig, seed: number): AsyncGenerator<LoadedWeight> {
  for (const { name, shape, data } of initialTensors(config, seed)) {
    const values = await data();
    if (values instanceof Float32Array) yield { name, shape, dtype: 'f32', data: values };
  }
}

export async function* pretrain(
  decoder: Decoder,
  documentOf: (index: number) => Group,
  settings: PretrainSettings,
): AsyncGenerator<PretrainProgress> {
  using scope = new Scope(decoder.head.device);
  const optimisers = [true, false].map((matrices) => optimiserOf(scope, decoder, matrices));
  const learn = new Map(optimisers.flatMap((optimiser) => [...optimiser.learn]));
  for (let step = 0; step < settings.steps; step++) {
    const groups = Array.from({ length: settings.documentsPerStep }, (_, i) =>
      documentOf(step * settings.documentsPerStep + i),
    );
    for (const optimiser of optimisers) optimiser.zeroGradients();
    const { loss, tokens } = await backward(decoder, groups, learn);
    const learningRate = settings.learningRate * warmupCosine(step, settings.warmupSteps, settings.steps, 0.02);
    optimisers.forEach((optimiser, i) => {
      const decay = i === 0 ? settings.weightDecay : 0;
      optimiser.update(step + 1, { learningRate, beta1: 0.9, beta2: 0.98, epsilon: 1e-8, decay, maxNorm: 1 });
    });
    yield { step: step + 1, loss, tokens };
  }
}

async function backward(
  decoder: Decoder,
  groups: readonly Group[],
  learn: ReadonlyMap<Tensor, Tensor>,
): Promise<{ loss: number; tokens: number }> {
  using tape = new Tape(decoder.head.device, { learn });
  const packed = packGroups(tape, decoder.config, groups);
  const logp = scoreGroups(tape, decoder, packed);
  const weights = new Float32Array(logp.size).fill(1 / logp.size);
  const loss = affine(tape, sum(tape, multiply(tape, logp, tape.from(weights, [logp.size], 'token weights'))), -1);
  tape.backward(loss);
  return { loss: (await readFloats(loss))[0], tokens: packed.tokens };
}

function optimiserOf(scope: Scope, decoder: Decoder, matrices: boolean): AdamW {
  const chosen = [...decoder.weights].filter(([, { shape }]) => shape.length > 1 === matrices);
  const optimiser = new AdamW(
    chosen.map(
      ([name, value]): Parameter => ({
        name,
        value,
        gradient: scope.zeros(value.shape, `gradient of ${name}`),
        target: null,
      }),
    ),
  );
  scope.defer(() => optimiser[Symbol.dispose]());
  return optimiser;
}
