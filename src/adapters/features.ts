/**
 * What a gate may look at, per rollout and module (docs/science.md, section 4), in deployed state:
 *   activation feature: the completion-token mean of A[:R] x;
 *   gradient feature: ∂(mean completion NLL)/∂c, where c is a vector of ones that multiplies A[:R] x over the rollout's tokens.
 * Per token: A[:R] x of the token, and ∂(summed completion NLL)/∂c, where c multiplies A[:R] x of that token alone.
 */
import { ShapeError } from '../base/index.ts';
import { affine, type BottleneckProbe, multiply, readFloats, Scope, sum, Tape, type Tensor } from '../engine/index.ts';
import type { Decoder, PackedGroups, Span } from '../model/index.ts';
import { scoreGroups } from '../model/index.ts';
import type { Adapter } from './adapter.ts';
import { scaleGroups } from './passes.ts';

/** Features [rows, modules, R], row major. */
export interface Features {
  readonly rows: number;
  readonly modules: number;
  readonly rank: number;
  readonly data: Float32Array;
}

/** Sums A[:R] x over each completion while a forward pass runs; `read` divides by the lengths. */
export class ActivationPooling {
  readonly #adapter: Adapter;
  readonly #spans: readonly Span[];
  readonly #ranges: Tensor;
  readonly #sums = new Map<string, Tensor>();
  readonly #scope: Scope;
  readonly #laid: Tensor | null;

  /** One row of features per span of the layout: a completion, or a single token. `laid`: the computed token at each of its places. */
  constructor(scope: Scope, adapter: Adapter, spans: readonly Span[], laid: Tensor | null = null) {
    this.#scope = scope;
    this.#adapter = adapter;
    this.#spans = spans;
    this.#laid = laid;
    this.#ranges = rangesOf(scope, spans);
  }

  probe(module: string): BottleneckProbe {
    return {
      forward: (h) => {
        const { kernels } = this.#scope.device;
        using scope = new Scope(this.#scope.device);
        const pooled = this.#scope.empty([this.#spans.length, this.#adapter.rank], `pooled ${module}`);
        let rows = h;
        if (this.#laid !== null) {
          rows = scope.empty([this.#laid.size, h.shape[1]], 'bottleneck of the layout', h.dtype);
          kernels.gatherRows(rows, h, this.#laid);
        }
        kernels.segmentSum(pooled, rows, this.#ranges);
        this.#sums.set(module, pooled);
      },
    };
  }

  async read(): Promise<Features> {
    const lengths = this.#spans.map(({ start, end }) => Math.max(1, end - start));
    return gather(this.#adapter, this.#spans.length, async (module) => {
      const sums = await readFloats(lookup(this.#sums, module));
      return sums.map((value, i) => value / lengths[Math.floor(i / this.#adapter.rank)]);
    });
  }
}

/** One span per rollout, from its first prompt token to its last completion token. */
export function wholeRollouts({ prompts, completions }: PackedGroups): Span[] {
  return prompts.map(({ start }, row) => ({ start, end: completions[row].end }));
}

export interface GradientFeatureOptions {
  /** What shares a c; by default each rollout, its prompt included. */
  readonly spans?: readonly Span[];
  /** What a token's negative log-likelihood is divided by: the length of its completion, or nothing. */
  readonly divisor?: 'length' | 'none';
  readonly recompute?: boolean;
}

/** One row of features per span of c. Each rollout must be a group of its own: a shared prompt's gradient cannot be told apart. */
export async function gradientFeatures(
  scope: Scope,
  decoder: Decoder,
  adapter: Adapter,
  packed: PackedGroups,
  { spans = wholeRollouts(packed), divisor = 'length', recompute = false }: GradientFeatureOptions = {},
): Promise<Features> {
  const rows = spans.length;
  const ranges = rangesOf(scope, spans);
  const shape = [rows, adapter.rank];
  const ones = new Map(adapter.modules.map(({ name }) => [name, onesOf(scope, shape)]));
  const gradients = new Map(adapter.modules.map(({ name }) => [name, scope.zeros(shape, `gradient feature ${name}`)]));
  const learn = new Map(adapter.modules.map(({ name }) => [lookup(ones, name), lookup(gradients, name)]));

  using tape = new Tape(scope.device, { learn, recompute });
  const coefficients = scaleGroups(
    scope,
    packed,
    packed.prompts.map(() => 0),
  );
  const probe = (module: string): BottleneckProbe => ({ scale: { ones: lookup(ones, module), ranges } });
  const logp = scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients, probe }) });
  const weights = new Float32Array(logp.size);
  for (const { start, end } of packed.scored) {
    weights.fill(divisor === 'length' ? 1 / Math.max(1, end - start) : 1, start, end);
  }
  const nll = affine(tape, sum(tape, multiply(tape, logp, tape.from(weights, [logp.size], 'token weights'))), -1);
  tape.backward(nll);
  return gather(adapter, rows, (module) => readFloats(lookup(gradients, module)));
}

function rangesOf(scope: Scope, spans: readonly Span[]): Tensor {
  return scope.from(
    Int32Array.from(spans.flatMap(({ start, end }) => [start, end])),
    [spans.length, 2],
    'token ranges',
  );
}

function onesOf(scope: Scope, shape: readonly number[]): Tensor {
  const tensor = scope.empty(shape, 'ones');
  scope.device.kernels.fill(tensor, 1);
  return tensor;
}

function lookup(table: ReadonlyMap<string, Tensor>, module: string): Tensor {
  const tensor = table.get(module);
  if (tensor === undefined) {
    throw new ShapeError({
      call: 'features',
      expected: `module ${module} in the pass`,
      found: 'none',
      fix: 'Run the forward pass first.',
    });
  }
  return tensor;
}

async function gather(
  { modules, rank }: Adapter,
  rows: number,
  read: (module: string) => Promise<Float32Array>,
): Promise<Features> {
  const data = new Float32Array(rows * modules.length * rank);
  // All are asked for before the first is waited for: a read has the contents as of its call.
  const all = await Promise.all(modules.map(({ name }) => read(name)));
  for (const [m, values] of all.entries()) {
    for (let row = 0; row < rows; row++) {
      data.set(values.subarray(row * rank, (row + 1) * rank), (row * modules.length + m) * rank);
    }
  }
  return { rows, modules: modules.length, rank, data };
}
