import { afterEach, describe, expect, it, vi } from 'vitest';
import { arenaOf, gpuOfRank } from './device.ts';

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
