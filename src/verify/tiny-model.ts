/** A tiny random model with an adapter, and rollouts whose losses add up, to check the adapters' invariants. */
import type { Adapter, Detach, Family, Route, StoredTensor, TokenPair } from '../adapters/index.ts';
import { createAdapter, pairInputDifferences, routeGroups, scaleGroups, targetModules } from '../adapters/index.ts';
import { type RandomStream, randomStream } from '../base/index.ts';
import type { BlockCoefficients, Device, Scope, Tensor } from '../engine/index.ts';
import { multiply, readFloats, sum, Tape } from '../engine/index.ts';
import type { DecoderConfig, Group, PackedGroups } from '../model/index.ts';
import { Decoder, initialTensors, modelPresets, packGroups, scoreGroups } from '../model/index.ts';

export const smallLab = {
  ...{ layers: 2, heads: 4, kvHeads: 2, headDim: 6, hiddenSize: 16, intermediateSize: 20, vocabSize: 29 },
  ...{ rank: 3, rollouts: 5, seed: 1 },
};
export type LabShape = Readonly<typeof smallLab>;

const labConfig = ({ rank: _rank, rollouts: _rollouts, seed: _seed, ...shape }: LabShape): DecoderConfig => ({
  ...{ ...modelPresets.nano, ...shape, maxPositions: 64 },
});

/** A decoder with larger weights than a fresh model has, so that every part of the adapter's change shows in the output. */
async function labDecoder(scope: Scope, config: DecoderConfig, seed: number): Promise<Decoder> {
  const weights = initialTensors(config, seed).map(({ name, shape }) => {
    const data = new Float32Array(shape.reduce((product, axis) => product * axis, 1));
    randomStream(seed, ['lab', name]).fillNormal(data, shape.length === 1 ? 0.1 : 1 / Math.sqrt(shape[1]));
    if (shape.length === 1) for (let i = 0; i < data.length; i++) data[i] += 1;
    return { name, shape, dtype: 'f32' as const, data };
  });
  return Decoder.load(scope, config, weights);
}

function drawTokens(stream: RandomStream, count: number, vocabulary: number): Int32Array {
  const tokens = new Int32Array(count);
  stream.fillIntegers(tokens, vocabulary);
  return tokens;
}

export type BlockGradients = { readonly deployed: Float32Array; readonly quarantine: Float32Array };

export class TinyLab {
  readonly shape: LabShape;
  readonly scope: Scope;
  readonly decoder: Decoder;
  readonly adapter: Adapter;
  readonly rollouts: readonly Group[];

  private constructor(shape: LabShape, scope: Scope, decoder: Decoder, adapter: Adapter, rollouts: readonly Group[]) {
    this.shape = shape;
    this.scope = scope;
    this.decoder = decoder;
    this.adapter = adapter;
    this.rollouts = rollouts;
  }

  static async create(scope: Scope, family: Family, shape: LabShape): Promise<TinyLab> {
    const { seed, rank, vocabSize } = shape;
    const config = labConfig(shape);
    const decoder = await labDecoder(scope, config, seed);
    const tokens = (name: string, row: number, count: number): Int32Array =>
      drawTokens(randomStream(seed, ['lab', name]).at(0, row), count, vocabSize);
    const pairs: TokenPair[] = Array.from({ length: 4 }, (_, i) => ({
      prompt: tokens('pair prompt', i, 3),
      hack: tokens('pair hack', i, 4),
      clean: tokens('pair clean', i, 4),
    }));
    const differences = await pairInputDifferences(decoder, targetModules(config), pairs);
    const adapter = await createAdapter(scope, decoder, { family, rank, seed, differences });
    const rollouts = Array.from({ length: shape.rollouts }, (_, row) => ({
      prompt: tokens('prompt', row % 2, 3 + (row % 2)),
      completions: [tokens('completion', row, 2 + ((row * 3) % 5))],
    }));
    return new TinyLab(shape, scope, decoder, adapter, rollouts);
  }

  get device(): Device {
    return this.scope.device;
  }

  get rows(): readonly number[] {
    return this.rollouts.map((_, row) => row);
  }

  everyRow(route: Route): Route[] {
    return this.rollouts.map(() => route);
  }

  async disturb(name: string, blocks: 'both' | 'quarantine' = 'both', size = 0.3): Promise<void> {
    const { rank } = this.adapter;
    const tensors = new Map<string, StoredTensor>();
    for (const [key, { shape, data }] of await this.adapter.tensors()) {
      const learns = ['A', 'B', 'gain', 'rotation'].includes(key.split('.').at(-1) ?? '');
      const noise = new Float32Array(data.length);
      randomStream(this.shape.seed, ['disturb', name, key]).fillNormal(noise, size);
      const moved = data.map((value, i) =>
        learns && (blocks === 'both' || isQuarantine(key, shape, i, rank)) ? value + noise[i] : value,
      );
      tensors.set(key, { shape, data: moved });
    }
    this.adapter.load(tensors);
  }

  pack(scope: Scope, rollouts: readonly Group[] = this.rollouts): PackedGroups {
    return packGroups(scope, this.decoder.config, rollouts);
  }

  /** Log-probabilities with the quarantine at `scale`; null: in base state. */
  async score(scale: number | null, rollouts: readonly Group[] = this.rollouts): Promise<Float32Array> {
    return this.scoreWith((scope, packed) => (scale === null ? null : scaleAll(scope, packed, scale)), rollouts);
  }

  async scoreWith(
    coefficients: (scope: Scope, packed: PackedGroups) => BlockCoefficients | null,
    rollouts: readonly Group[] = this.rollouts,
  ): Promise<Float32Array> {
    using tape = new Tape(this.device);
    const packed = this.pack(tape, rollouts);
    const chosen = coefficients(tape, packed);
    const options = chosen === null ? {} : { project: this.adapter.project({ coefficients: chosen }) };
    return readFloats(scoreGroups(tape, this.decoder, packed, options));
  }

  /** The gradients of Σ weight · log π over the chosen rollouts. */
  async gradients(
    rows: readonly number[],
    coefficients: (scope: Scope, packed: PackedGroups) => BlockCoefficients,
  ): Promise<BlockGradients> {
    for (const { gradient } of this.adapter.parameters) this.device.kernels.fill(gradient, 0);
    const learn = new Map(this.adapter.parameters.map(({ value, gradient }) => [value, gradient]));
    using tape = new Tape(this.device, { learn });
    const packed = this.pack(
      tape,
      rows.map((row) => this.rollouts[row]),
    );
    const project = this.adapter.project({ coefficients: coefficients(tape, packed) });
    const logp = scoreGroups(tape, this.decoder, packed, { project });
    const weights = rows.flatMap((row) => [...this.#tokenWeights(row)]);
    const weight = tape.from(Float32Array.from(weights), [logp.size], 'token weights');
    tape.backward(sum(tape, multiply(tape, logp, weight)));
    return {
      deployed: await joined(this.adapter.blockGradients('deployed')),
      quarantine: await joined(this.adapter.blockGradients('quarantine')),
    };
  }

  #tokenWeights(row: number): Float32Array {
    const weights = new Float32Array(this.rollouts[row].completions[0].length);
    randomStream(this.shape.seed, ['lab', 'token weights']).at(0, row).fillNormal(weights);
    return weights;
  }
}

export const scaleAll = (scope: Scope, packed: PackedGroups, scale: number): BlockCoefficients =>
  scaleGroups(scope, packed, new Array<number>(packed.prompts.length).fill(scale));

export const routeAll =
  (routes: readonly Route[], detach: Detach) =>
  (scope: Scope, packed: PackedGroups): BlockCoefficients =>
    routeGroups(scope, packed, routes, detach);

/** Whether entry i belongs to the quarantine: rows of A, columns of B and entries of the gain from R on, and all of a rotation. */
function isQuarantine(key: string, shape: readonly number[], i: number, rank: number): boolean {
  const columns = shape[1] ?? 1;
  if (key.endsWith('.rotation')) return true;
  return key.endsWith('.B') ? i % columns >= rank : Math.floor(i / columns) >= rank;
}

async function joined(tensors: readonly Tensor[]): Promise<Float32Array> {
  const parts = await Promise.all(tensors.map(readFloats));
  return Float32Array.from(parts.flatMap((part) => [...part]));
}
