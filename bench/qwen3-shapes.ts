/** Models of Qwen3's shapes with random weights, made in seconds. */
import type { TargetModule } from '../src/adapters/index.ts';
import { LinearAdapter } from '../src/adapters/linear-adapter.ts';
import { randomStream } from '../src/base/rng.ts';
import type { Scope } from '../src/engine/index.ts';
import type { DecoderConfig, LoadedWeight } from '../src/model/index.ts';
import { expectedTensors } from '../src/model/index.ts';

const common = {
  architecture: 'Qwen3ForCausalLM',
  headDim: 128,
  kvHeads: 8,
  vocabSize: 151_936,
  rmsNormEpsilon: 1e-6,
  tieEmbeddings: true,
  maxPositions: 4096,
  rope: { theta: 1_000_000, scaling: { kind: 'none' } },
  qkNorm: true,
  qkvBias: false,
  bosTokenId: null,
  eosTokenIds: [151_645],
  padTokenId: 151_643,
} as const;

export const qwen3Shapes: Readonly<Record<string, DecoderConfig>> = {
  '4b': { ...common, layers: 36, heads: 32, hiddenSize: 2560, intermediateSize: 9728 },
  '0.6b': { ...common, layers: 28, heads: 16, hiddenSize: 1024, intermediateSize: 3072 },
  '1.7b': { ...common, layers: 28, heads: 16, hiddenSize: 2048, intermediateSize: 6144 },
  '8b': { ...common, layers: 36, heads: 32, hiddenSize: 4096, intermediateSize: 12_288, tieEmbeddings: false },
  // This shape is for a first look on a machine without a GPU.
  tiny: { ...common, layers: 2, heads: 4, kvHeads: 2, headDim: 32, hiddenSize: 64, intermediateSize: 128 },
};

const poolSize = 2 ** 26;

function makePool(): Uint16Array {
  const pool = new Uint16Array(poolSize);
  let state = 12345;
  for (let i = 0; i < pool.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    // ±(0.016 … 0.031): sign, a fixed exponent, seven random bits.
    pool[i] = ((state >>> 16) & 0x8000) | 0x3c80 | (state >>> 25);
  }
  return pool;
}

export interface RandomTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: () => Uint16Array;
}

/** Norms of one, matrices cut from one pool of random bf16 numbers, each from a place of its own. */
export function randomTensors(config: DecoderConfig): RandomTensor[] {
  const pool = makePool();
  return [...expectedTensors(config)].map(([name, shape], index) => ({
    name,
    shape,
    data: () => {
      const data = new Uint16Array(shape.reduce((product, axis) => product * axis, 1));
      if (shape.length === 1) return data.fill(0x3f80);
      let at = (index * 1_000_003) % poolSize;
      for (let done = 0; done < data.length; ) {
        const part = pool.subarray(at, Math.min(poolSize, at + data.length - done));
        data.set(part, done);
        done += part.length;
        at = (at + part.length) % poolSize;
      }
      return data;
    },
  }));
}

export function* randomWeights(config: DecoderConfig): Generator<LoadedWeight> {
  for (const { name, shape, data } of randomTensors(config)) yield { name, shape, dtype: 'bf16', data: data() };
}

/** A LoRA adapter at a start that takes a second to make: the same uniform numbers for every module. */
export function randomAdapter(scope: Scope, rank: number, modules: readonly TargetModule[]): LinearAdapter {
  const pool = new Float32Array(2 ** 20);
  randomStream(1, 'adapter').fillUniform(pool, -1, 1);
  const cut = (size: number, scale: number): Float32Array => {
    const out = new Float32Array(size);
    for (let i = 0; i < size; i++) out[i] = scale * pool[i % pool.length];
    return out;
  };
  return new LinearAdapter(scope, 'lora', rank, modules, ({ inputs, outputs }) => ({
    A0: cut(2 * rank * inputs, inputs ** -0.5),
    B0: cut(outputs * 2 * rank, (2 * rank) ** -0.5),
  }));
}
