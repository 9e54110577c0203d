import { afterEach, describe, expect, it, vi } from 'vitest';
import type { DecoderConfig } from '../model/index.ts';
import { resolveConfig } from './config.ts';
import { arenaOf, gpuOfRank, openRunDevice } from './device.ts';

describe('the GPU of a rank', () => {
  it('is the first for a process alone, and where no GPU answers', () => {
    expect(gpuOfRank(8, null)).toEqual({ ordinal: 0, sharedBy: 1 });
    expect(gpuOfRank(0, { localRank: 3, localSize: 4 })).toEqual({ ordinal: 0, sharedBy: 1 });
  });

  it('is its own where there are enough', () => {
    const places = [0, 1, 2, 3].map((localRank) => gpuOfRank(4, { localRank, localSize: 4 }));
    expect(places).toEqual([0, 1, 2, 3].map((ordinal) => ({ ordinal, sharedBy: 1 })));
  });

  it('is shared where there are too few: those that share one divide its memory', () => {
    expect([0, 1].map((localRank) => gpuOfRank(1, { localRank, localSize: 2 }))).toEqual([
      { ordinal: 0, sharedBy: 2 },
      { ordinal: 0, sharedBy: 2 },
    ]);
    expect([0, 1, 2].map((localRank) => gpuOfRank(2, { localRank, localSize: 3 }))).toEqual([
      { ordinal: 0, sharedBy: 2 },
      { ordinal: 1, sharedBy: 1 },
      { ordinal: 0, sharedBy: 2 },
    ]);
  });
});

describe('the memory of a device', () => {
  afterEach(() => void vi.unstubAllEnvs());

  it.each([
    ['of a model of 135 million weights, all that wasm can address', 30, [], 4096],
    ['of such a model, what the config says', 30, ['device.arenaMiB=128'], 128],
    ['of a smaller one, 1 GiB', 3, [], 1024],
  ])('%s', async (_what, layers, settings, mebibytes) => {
    const { config } = await resolveConfig('easy-smollm2-135m', ['device.kind=wasm', 'device.threads=1', ...settings]);
    const decoder: DecoderConfig = {
      ...{ architecture: 'LlamaForCausalLM', vocabSize: 49_152, layers, hiddenSize: 576, intermediateSize: 1536 },
      ...{ heads: 9, kvHeads: 3, headDim: 64, qkNorm: false, qkvBias: false, tieEmbeddings: true, maxPositions: 8192 },
      ...{ rmsNormEpsilon: 1e-5, rope: { theta: 1e5, scaling: { kind: 'none' } } },
      ...{ bosTokenId: null, eosTokenIds: [2], padTokenId: 2 },
    };
    const work = { tasks: () => Promise.resolve([]), work: 'training', show: () => undefined } as const;
    using device = await openRunDevice(config, { decoder, ...work });
    // Less what the device keeps for itself.
    expect(64 * Math.ceil(device.arena.capacity / 2 ** 26)).toBe(mebibytes);
  });

  it('is what the config says; else, on a GPU, what the process was given', () => {
    expect(arenaOf('cuda', null)).toBeNull();
    vi.stubEnv('GQ_GPU_MIB', '36450');
    expect(arenaOf('cuda', null)).toBe(36_450);
    expect(arenaOf('cuda', 512)).toBe(512);
    expect(arenaOf('wasm', null)).toBeNull();
    vi.stubEnv('GQ_GPU_MIB', 'half');
    expect(() => arenaOf('cuda', null)).toThrow('GQ_GPU_MIB: expected a whole number of MiB');
  });
});
