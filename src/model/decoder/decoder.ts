/**
 * One decoder for Qwen3, Qwen2 and Llama 3: embedding, then per layer
 *   x += o(attention(rope(norm q), rope(norm k), v)),  x += down(silu(gate) · up),  and a final norm.
 * Where it differs between architectures, the config says so (q/k norms, q/k/v biases, rope scaling, tied head).
 * Three arguments make it serve every purpose: `project` applies a linear layer (plain, or with an adapter), `keyValues`
 * says where new keys and values are stored, `layOut` which of a pass the queries see.
 */
import { ShapeError } from '../../base/index.ts';
import {
  attention,
  type BlockCoefficients,
  embedding,
  inverseFrequencies,
  type JointBlocks,
  type LinearWeights,
  linear,
  linears,
  type ProbedAdapter,
  reshape,
  rmsNorm,
  rotaryTable,
  Scope,
  type Segments,
  type SharedRows,
  type Store,
  swiglu,
  type Tape,
  type Tensor,
  turnHeads,
} from '../../engine/index.ts';
import type { DecoderConfig } from '../files/config.ts';
import type { LoadedWeight } from '../files/weights.ts';
import { JointStep } from './joint-step.ts';

/** T tokens of packed rows: their ids, their positions in their own rows, and what each may see. */
export interface TokenBatch {
  readonly ids: Tensor;
  readonly positions: Tensor;
  readonly segments: Segments;
}

/** A linear layer by its name, such as `model.layers.0.self_attn.q_proj`. */
export interface LinearModule extends LinearWeights {
  readonly module: string;
}

/** What a project that only applies split adapters consists of. Projects of equal kind have adapters of equal shapes for the same modules. */
export interface AdaptedProject {
  readonly kind: string;
  readonly coefficients: BlockCoefficients;
  readonly adapterOf: (module: string) => ProbedAdapter | undefined;
}

/** Applies linear layers that share their input x [T, C]. The output of a single layer is added to `onto`, where given. */
export interface Project {
  (tape: Tape, x: Tensor, layers: readonly LinearModule[], onto: Tensor | null): readonly Tensor[];
  /** Adapters by which the layers are applied, for steps that join layers (null: none, plainly). Projects that do more have no such thing. */
  readonly blocksOf?: (modules: readonly string[]) => JointBlocks | null | undefined;
  /** For batches of several lanes. Projects that do more have no such thing. */
  readonly adapted?: AdaptedProject;
}

/** Where a layer's new keys and values are stored, and whether queries see those of their own pass or all that are stored. */
export type KeyValues = (layer: number) => Store;

/** The tokens whose states after the last layer are wanted: beyond their keys and values, the others end before it. */
export interface WantedTokens {
  /** Their places in the batch, i32 [M]. */
  readonly rows: Tensor;
  /** What each of them sees. */
  readonly segments: Segments;
}

export interface ForwardOptions {
  readonly project?: Project;
  /** Makes the keys or values that queries see of those that were computed [T, K, D]; default: the same. */
  readonly layOut?: (computed: Tensor) => Tensor;
  readonly keyValues?: KeyValues;
  /** Default: all tokens. With a projection that knows the batch's tokens comes another for these. */
  readonly wanted?: WantedTokens & { readonly project?: Project };
  /** Which tokens are computed, and which beyond attention in the last layer; the others get what those have. Default: all. */
  readonly shared?: { readonly rows: SharedRows; readonly ends: SharedRows } | null;
  /** Which tokens are computed up to the first layer's queries, keys and values, which know no neighbours; default: as `shared` says. */
  readonly starts?: SharedRows | null;
}

export const plainProject: Project = Object.assign(
  (tape: Tape, x: Tensor, layers: readonly LinearModule[], onto: Tensor | null) => {
    if (onto === null) return linears(tape, x, layers);
    return layers.map(({ weight, bias }) => linear(tape, x, weight, bias, onto));
  },
  { blocksOf: () => null },
);

const same = (computed: Tensor): Tensor => computed;

function anglesOf(scope: Scope, { headDim, rope: { theta, scaling } }: DecoderConfig, maxPositions: number): Tensor {
  const rule = scaling.kind === 'none' ? null : scaling;
  return rotaryTable(scope, maxPositions, inverseFrequencies(headDim, theta, rule));
}

function upload(scope: Scope, { name, shape, dtype, data }: LoadedWeight): Tensor {
  const { device } = scope;
  const tensor = scope.empty(shape, name, device.floats[0]);
  if (tensor.dtype === dtype) device.write(tensor, data);
  else {
    using staging = new Scope(device);
    device.kernels.copy(tensor, staging.from(data, shape, name, dtype));
  }
  device.freeze(tensor);
  return tensor;
}

/** The weights of a layer, in the order in which they are applied. */
interface LayerWeights {
  readonly attentionNorm: Tensor;
  readonly queryKeyValue: readonly LinearModule[];
  /** Norms of the heads of queries and keys; null where the architecture has none. */
  readonly headNorms: { readonly q: Tensor; readonly k: Tensor } | null;
  readonly output: readonly LinearModule[];
  readonly mlpNorm: Tensor;
  readonly gateUp: readonly LinearModule[];
  readonly down: readonly LinearModule[];
}

export class Decoder {
  readonly config: DecoderConfig;
  readonly #weights: ReadonlyMap<string, Tensor>;
  readonly #rotaryTable: Tensor;
  /** Weights of the layers, looked up once. */
  readonly #layers: LayerWeights[] = [];

  constructor(config: DecoderConfig, weights: ReadonlyMap<string, Tensor>, rotaryAngles: Tensor) {
    this.config = config;
    this.#weights = weights;
    this.#rotaryTable = rotaryAngles;
  }

  /**
   * Uploads weights as they arrive; they live in `scope`. They are converted to the first of the device's floats and frozen,
   * unless they are `trainable`.
   */
  static async load(
    scope: Scope,
    config: DecoderConfig,
    source: AsyncIterable<LoadedWeight> | Iterable<LoadedWeight>,
    { trainable = false, maxPositions = config.maxPositions }: { trainable?: boolean; maxPositions?: number } = {},
  ): Promise<Decoder> {
    const weights = new Map<string, Tensor>();
    for await (const { name, shape, dtype, data } of source) {
      weights.set(name, trainable ? scope.from(data, shape, name, dtype) : upload(scope, { name, shape, dtype, data }));
    }
    return new Decoder({ ...config, maxPositions }, weights, anglesOf(scope, config, maxPositions));
  }

  /** The same weights for longer rows, or for shorter ones; the table of angles lives in `scope`. */
  withPositions(scope: Scope, maxPositions: number): Decoder {
    return new Decoder({ ...this.config, maxPositions }, this.#weights, anglesOf(scope, this.config, maxPositions));
  }

  /** The same decoder with other tensors in place of all its weights, by the same names. */
  withWeights(weights: ReadonlyMap<string, Tensor>): Decoder {
    return new Decoder(this.config, weights, this.#rotaryTable);
  }

  weight(name: string): Tensor {
    const tensor = this.#weights.get(name);
    if (tensor === undefined) throw new ShapeError({ call: 'decoder weight', expected: name, found: 'no such tensor' });
    return tensor;
  }

  get weights(): ReadonlyMap<string, Tensor> {
    return this.#weights;
  }

  /** The output head [V, C]: the embedding table itself when tied. */
  get head(): Tensor {
    return this.weight(this.config.tieEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight');
  }

  /** Final hidden states [T, C] of all tokens, or of those that are wanted, normed: what the head multiplies. */
  forward(tape: Tape, batch: TokenBatch, options: ForwardOptions = {}): Tensor {
    const x = embedding(tape, this.weight('model.embed_tokens.weight'), batch.ids);
    const { project = plainProject, keyValues, wanted } = options;
    const canJoin = tape.device.kernels.jointFits !== undefined && wanted === undefined;
    if (keyValues === undefined || !canJoin) return this.#passLayers(tape, x, batch, options);
    const step = new JointStep(this, this.#rotaryTable, tape, batch, project, keyValues);
    return step.fits ? step.run(x) : this.#passLayers(tape, x, batch, options);
  }

  #passLayers(tape: Tape, embedded: Tensor, batch: TokenBatch, options: ForwardOptions): Tensor {
    const { shared = null } = options;
    let x = embedded;
    for (let layer = 0; layer < this.config.layers; layer++) {
      const input = x;
      const isLast = layer === this.config.layers - 1;
      const wanted = isLast ? options.wanted : undefined;
      const queue = () => this.#layer(tape, layer, input, batch, options, wanted, isLast ? shared?.ends : shared?.rows);
      x = tape.section(() => tape.share(shared?.rows ?? null, queue));
      tape.drop(input);
    }
    const hidden = rmsNorm(tape, x, this.weight('model.norm.weight'), this.config.rmsNormEpsilon);
    tape.drop(x);
    return hidden;
  }

  #layerWeights(layer: number): LayerWeights {
    const { qkNorm, qkvBias } = this.config;
    const at = `model.layers.${layer}`;
    const weight = (name: string): Tensor => this.weight(`${at}.${name}.weight`);
    const modules = (names: readonly string[], biased = false): LinearModule[] =>
      names.map((name) => {
        const bias = biased ? this.weight(`${at}.${name}.bias`) : null;
        return { module: `${at}.${name}`, weight: weight(name), bias };
      });
    return {
      attentionNorm: weight('input_layernorm'),
      queryKeyValue: modules(['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'], qkvBias),
      headNorms: qkNorm ? { q: weight('self_attn.q_norm'), k: weight('self_attn.k_norm') } : null,
      output: modules(['self_attn.o_proj']),
      mlpNorm: weight('post_attention_layernorm'),
      gateUp: modules(['mlp.gate_proj', 'mlp.up_proj']),
      down: modules(['mlp.down_proj']),
    };
  }

  #layer(
    tape: Tape,
    layer: number,
    x: Tensor,
    batch: TokenBatch,
    options: ForwardOptions,
    wanted: ForwardOptions['wanted'],
    sharedEnds: SharedRows | undefined,
  ): Tensor {
    const { project = plainProject, keyValues, layOut = same } = options;
    const store = keyValues?.(layer) ?? null;
    const { heads, kvHeads, headDim, rmsNormEpsilon } = this.config;
    const [tokens] = x.shape;
    this.#layers[layer] ??= this.#layerWeights(layer);
    const { attentionNorm, queryKeyValue, headNorms, output, mlpNorm, gateUp, down } = this.#layers[layer];
    const toHeads = (input: Tensor, count: number): Tensor => reshape(tape, input, [tokens, count, headDim]);
    const norms = headNorms === null ? null : { ...headNorms, epsilon: rmsNormEpsilon };
    const turns = { positions: batch.positions, table: this.#rotaryTable, norms };

    const begin = () => project(tape, rmsNorm(tape, x, attentionNorm, rmsNormEpsilon), queryKeyValue, null);
    const starts = layer === 0 ? (options.starts ?? null) : null;
    const [queries, ownKeys, ownValues] = starts === null ? begin() : tape.share(starts, begin);
    const news = { q: toHeads(queries, heads), k: toHeads(ownKeys, kvHeads), v: toHeads(ownValues, kvHeads) };
    const { q, k, v } = turnHeads(tape, news, turns, store);
    const ends =
      wanted === undefined ? { x, q, ...batch, project } : { ...pickRows(tape, x, q, wanted), project, ...wanted };
    const attended = attention(tape, ends.q, layOut(k), layOut(v), ends.segments);
    const flat = reshape(tape, attended, [ends.x.shape[0], heads * headDim]);
    return tape.share(sharedEnds ?? null, () => {
      const [afterAttention] = ends.project(tape, flat, output, ends.x);
      const mlpInput = rmsNorm(tape, afterAttention, mlpNorm, rmsNormEpsilon);
      const [gate, up] = ends.project(tape, mlpInput, gateUp, null);
      return ends.project(tape, swiglu(tape, gate, up), down, afterAttention)[0];
    });
  }
}

/** The residual and the queries of the tokens that are wanted. */
function pickRows(tape: Tape, x: Tensor, q: Tensor, { rows }: WantedTokens): { x: Tensor; q: Tensor } {
  const [tokens, heads, headDim] = q.shape;
  const queries = embedding(tape, reshape(tape, q, [tokens, heads * headDim]), rows);
  return { x: embedding(tape, x, rows), q: reshape(tape, queries, [rows.size, heads, headDim]) };
}
