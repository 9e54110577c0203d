/** Small decoders with random weights, and what is needed to train them, for the training tests and the benchmark. */
import { randomStream } from '../../src/base/rng.ts';
import {
  adaptedLinears,
  affine,
  type BlockCoefficients,
  logProb,
  meanAll,
  type Parameter,
  type Scope,
  splitAdapter,
  type Tape,
  type Tensor,
} from '../../src/engine/index.ts';
import { Decoder, type ForwardOptions, type Project } from '../../src/model/decoder/decoder.ts';
import { packRows } from '../../src/model/decoder/pack.ts';
import type { DecoderConfig } from '../../src/model/files/config.ts';
import { expectedTensors, type LoadedWeight } from '../../src/model/files/weights.ts';

type Sizes = Pick<
  DecoderConfig,
  'vocabSize' | 'hiddenSize' | 'layers' | 'heads' | 'kvHeads' | 'headDim' | 'intermediateSize' | 'maxPositions'
>;

/** A config of Qwen3's form: norms on q and k, no biases, a tied head. */
export function qwen3Like(sizes: Sizes): DecoderConfig {
  return {
    ...sizes,
    architecture: 'Qwen3ForCausalLM',
    rmsNormEpsilon: 1e-6,
    tieEmbeddings: true,
    rope: { theta: 10_000, scaling: { kind: 'none' } },
    qkNorm: true,
    qkvBias: false,
    bosTokenId: null,
    eosTokenIds: [],
    padTokenId: null,
  };
}

function normal(name: string, size: number, scale: number): Float32Array {
  const data = new Float32Array(size);
  randomStream(17, ['training', name]).fillNormal(data, scale);
  return data;
}

/** Norms start at 1, matrices at N(0, 1/inputs), the embedding (and tied head) at `embeddingScale` times that. */
function* randomWeights(config: DecoderConfig, embeddingScale: number): Generator<LoadedWeight> {
  for (const [name, shape] of expectedTensors(config)) {
    const [rows, columns] = shape;
    const scale = name.includes('embed') ? embeddingScale : 1;
    const data =
      columns === undefined ? new Float32Array(rows).fill(1) : normal(name, rows * columns, scale * columns ** -0.5);
    yield { name, shape, dtype: 'f32', data };
  }
}

/** All weights of a decoder as parameters. */
export function allWeights(scope: Scope, decoder: Decoder): Parameter[] {
  return [...decoder.weights].map(([name, value]) => ({
    name,
    value,
    gradient: scope.zeros(value.shape, `gradient of ${name}`),
    target: null,
  }));
}

export interface Adapters {
  readonly parameters: readonly Parameter[];
  /** The projection of a pass whose tokens have these coefficients. */
  project(coefficients: BlockCoefficients): Project;
}

/** A split adapter on every linear layer, which starts at zero change; decay pulls it back to the start. */
export function splitAdapters(scope: Scope, config: DecoderConfig, rank: number): Adapters {
  const parameters: Parameter[] = [];
  const adapters = new Map<string, ReturnType<typeof splitAdapter>>();
  const place = (name: string, columns: number, scale: number): Tensor => {
    const half = normal(name, 2 * rank * columns, scale);
    const both = new Float32Array(2 * half.length);
    both.set(half);
    both.set(half, half.length);
    return scope.from(both, [4 * rank, columns], name);
  };
  const learn = (name: string, value: Tensor, whole: Tensor): number =>
    parameters.push({
      name,
      value,
      gradient: scope.zeros(value.shape, `gradient of ${name}`),
      target: whole.rows(2 * rank, 4 * rank),
    });
  for (const [name, [outputs, inputs]] of expectedTensors(config)) {
    if (!name.endsWith('_proj.weight')) continue;
    const module = name.slice(0, -'.weight'.length);
    const adapter = splitAdapter(
      rank,
      place(`${module}.down`, inputs, inputs ** -0.5),
      place(`${module}.up`, outputs, (2 * rank) ** -0.5),
    );
    adapters.set(module, adapter);
    learn(`${module}.down`, adapter.learnDown, adapter.down);
    learn(`${module}.up`, adapter.learnUp, adapter.up);
  }
  return {
    parameters,
    project: (coefficients) => (tape, x, layers, onto) => {
      const adapted = layers.map((layer) => {
        const adapter = adapters.get(layer.module);
        if (adapter === undefined) throw new Error(`no adapter for ${layer.module}`);
        return { ...layer, adapter };
      });
      return adaptedLinears(tape, x, adapted, coefficients, onto);
    },
  };
}

export interface Batch {
  readonly tokens: ReturnType<typeof packRows>;
  readonly targets: Tensor;
  readonly count: number;
}

/** Rows of n + 1 ids become n inputs and the n ids that follow them. */
export function nextTokenBatch(scope: Scope, config: DecoderConfig, rows: readonly Int32Array[]): Batch {
  const targets = Int32Array.from(rows.flatMap((row) => [...row.subarray(1)]));
  return {
    tokens: packRows(
      scope,
      config,
      rows.map((row) => row.subarray(0, -1)),
    ),
    targets: scope.from(targets, [targets.length], 'targets'),
    count: targets.length,
  };
}

/** Mean −log p of the next token, in nats. */
export function nextTokenLoss(tape: Tape, decoder: Decoder, batch: Batch, options: ForwardOptions = {}): Tensor {
  const hidden = decoder.forward(tape, batch.tokens, options);
  return affine(tape, meanAll(tape, logProb(tape, hidden, decoder.head, batch.targets)), -1);
}

export function loadRandom(
  scope: Scope,
  config: DecoderConfig,
  { trainable, embeddingScale = 1 }: { readonly trainable: boolean; readonly embeddingScale?: number },
): Promise<Decoder> {
  return Decoder.load(scope, config, randomWeights(config, embeddingScale), { trainable });
}
