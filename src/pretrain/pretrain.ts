/**
 * Next-token training of a whole decoder from documents, from scratch: how the micro base model is made. Every weight
 * learns; the loss is the mean NLL of the completions' tokens. An async generator: reporting and saving are for the caller.
 * In bf16 the model computes with rounded copies of its weights; the weights themselves, their gradients and AdamW's moments
 * stay float32, so that steps smaller than the rounding add up.
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
  /** Documents that go through the model together, which decides its memory; default: all of a step. */
  readonly documentsPerPass?: number;
  /** Number format of what the model computes with; default: f32. */
  readonly precision?: 'bf16' | 'f32';
}

/** A model that learns: its weights in float32, and the decoder that computes with them or with copies of them. */
export interface Trainee {
  readonly weights: ReadonlyMap<string, Tensor>;
  readonly decoder: Decoder;
}

export interface PretrainProgress {
  /** Number of steps completed. */
  readonly step: number;
  /** Number of documents learned from, those of the step in progress included. */
  readonly documents: number;
  /** NLL per token of the step's documents, before its update; null while the step is in progress. */
  readonly loss: number | null;
}

/** A model that begins with these weights; it lives in the scope. */
export async function openTrainee(
  scope: Scope,
  config: DecoderConfig,
  source: AsyncIterable<LoadedWeight> | Iterable<LoadedWeight>,
  precision: 'bf16' | 'f32' = 'f32',
): Promise<Trainee> {
  const exact = await Decoder.load(scope, config, source, { trainable: true });
  const { weights } = exact;
  if (precision === 'f32') return { weights, decoder: exact };
  const copies = [...weights].map(
    ([name, { shape }]) => [name, scope.empty(shape, `${name} in bf16`, 'bf16')] as const,
  );
  const trainee = { weights, decoder: exact.withWeights(new Map(copies)) };
  roundWeights(trainee);
  return trainee;
}

/** Makes the copies of the weights anew, where the decoder computes with copies. */
function roundWeights({ weights, decoder }: Trainee): void {
  const { kernels } = decoder.head.device;
  for (const [name, weight] of weights) {
    const copy = decoder.weight(name);
    if (copy !== weight) kernels.copy(copy, weight);
  }
}

/** The weights of a fresh model. */
export async function* initialWeights(config: DecoderConfig, seed: number): AsyncGenerator<LoadedWeight> {
  for (const { name, shape, data } of initialTensors(config, seed)) {
    const values = await data();
    if (values instanceof Float32Array) yield { name, shape, dtype: 'f32', data: values };
    await letSignalsIn();
  }
}

/** Gives the thread back for a moment: a signal is heard only then, and pieces of work follow one another without one. */
export function letSignalsIn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Yields after every pass. A caller that stops between the passes of a step leaves the weights as the step before it made them. */
export async function* pretrain(
  trainee: Trainee,
  documents: Iterator<Group>,
  settings: PretrainSettings,
): AsyncGenerator<PretrainProgress> {
  const { decoder, weights } = trainee;
  using scope = new Scope(decoder.head.device);
  const optimisers = [true, false].map((matrices) => optimiserOf(scope, weights, matrices));
  const parameters = optimisers.flatMap((optimiser) => optimiser.parameters);
  const learn = new Map(parameters.map(({ name, gradient }) => [decoder.weight(name), gradient]));
  const { documentsPerStep, documentsPerPass = documentsPerStep } = settings;
  let next = settings.steps > 0 ? take(documents, documentsPerStep) : [];
  for (let step = 0; step < settings.steps; step++) {
    const groups = next;
    const scored = groups.reduce((sum, { completions }) => sum + completions[0].length, 0);
    for (const optimiser of optimisers) optimiser.zeroGradients();
    let loss = 0;
    for (let start = 0; start < groups.length; start += documentsPerPass) {
      if (start > 0) yield { step, documents: step * documentsPerStep + start, loss: null };
      const share = backward(decoder, groups.slice(start, start + documentsPerPass), scored, learn);
      // The documents of the next step are drawn while the device computes.
      const isLast = start + documentsPerPass >= groups.length;
      if (isLast && step + 1 < settings.steps) next = take(documents, documentsPerStep);
      loss += await share;
    }
    const learningRate = settings.learningRate * warmupCosine(step, settings.warmupSteps, settings.steps, 0.02);
    optimisers.forEach((optimiser, i) => {
      const decay = i === 0 ? settings.weightDecay : 0;
      optimiser.update(step + 1, { learningRate, beta1: 0.9, beta2: 0.98, epsilon: 1e-8, decay, maxNorm: 1 });
    });
    roundWeights(trainee);
    yield { step: step + 1, documents: (step + 1) * documentsPerStep, loss };
  }
}

function take(documents: Iterator<Group>, count: number): readonly Group[] {
  return Array.from({ length: count }, () => {
    const { done, value } = documents.next();
    if (done) throw new RangeError('pretrain: there are fewer documents than its steps need');
    return value;
  });
}

/** Queues the gradients of a pass, which are added; resolves to its share of the step's loss, whose documents have `scored` tokens to predict. */
function backward(
  decoder: Decoder,
  groups: readonly Group[],
  scored: number,
  learn: ReadonlyMap<Tensor, Tensor>,
): Promise<number> {
  using tape = new Tape(decoder.head.device, { learn });
  const logp = scoreGroups(tape, decoder, packGroups(tape, decoder.config, groups));
  const weights = new Float32Array(logp.size).fill(1 / scored);
  const loss = affine(tape, sum(tape, multiply(tape, logp, tape.from(weights, [logp.size], 'token weights'))), -1);
  tape.backward(loss);
  return readFloats(loss).then(([share]) => share);
}

function optimiserOf(scope: Scope, weights: Trainee['weights'], matrices: boolean): AdamW {
  const chosen = [...weights].filter(([, { shape }]) => shape.length > 1 === matrices);
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
