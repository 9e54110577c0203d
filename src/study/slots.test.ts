/** How the processes of an experiment are spread over the GPUs of a machine, here of stand-ins. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../test/lab/hand-made.ts';
import { findGpus, planSlots } from './slots.ts';

afterEach(() => void vi.unstubAllEnvs());

const eight = Array.from({ length: 8 }, (_, i) => ({ name: `${i}`, freeMiB: 100_000 }));
const namesOf = (slots: ReturnType<typeof planSlots>) => slots.map(({ environment }) => environment['CUDA_VISIBLE_DEVICES']); // biome-ignore format: one line

describe('processes on eight GPUs', () => {
  it('use all of them, one each, where nobody says how many', () => {
    const slots = planSlots(null, 1000, eight);
    expect(namesOf(slots)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
    expect(slots.every(({ memoryMiB, environment }) => memoryMiB === null && !('GQ_GPU_MIB' in environment))).toBe(
      true,
    );
  });

  it('share them evenly where there are more processes, and divide the memory of each GPU', () => {
    const slots = planSlots(20, 1000, eight);
    const counts = eight.map(({ name }) => namesOf(slots).filter((each) => each === name).length);
    expect(counts).toEqual([3, 3, 3, 3, 2, 2, 2, 2]);
    for (const { gpu, memoryMiB, environment } of slots) {
      const sharers = Number(gpu?.name) < 4 ? 3 : 2;
      expect(memoryMiB).toBe(Math.floor(90_000 / sharers));
      expect(environment['GQ_GPU_MIB']).toBe(`${memoryMiB}`);
    }
  });

  it('take those with the most free memory first; of few runs each has a GPU of its own', () => {
    const uneven = eight.map((gpu, i) => ({ ...gpu, freeMiB: i === 0 ? 10 : gpu.freeMiB + i }));
    expect(namesOf(planSlots(3, 1000, uneven))).toEqual(['7', '6', '5']);
    expect(namesOf(planSlots(null, 2, uneven))).toEqual(['7', '6']);
    expect(namesOf(planSlots(1, 1000, uneven))).toEqual(['7']);
  });

  it('divide the cores, and have no GPU where there is none', () => {
    vi.stubEnv('GQ_CORES', '16');
    expect(planSlots(4, 1000, [])).toEqual(Array(4).fill({ gpu: null, memoryMiB: null, environment: { GQ_CORES: '4' } })); // biome-ignore format: one line
    expect(planSlots(null, 1000, [])).toHaveLength(1);
    expect(planSlots(null, 1000, eight)[0].environment['GQ_CORES']).toBe('2');
  });
});

describe('the GPUs of a machine', () => {
  /** A stand-in for nvidia-smi that prints these lines. */
  function machine(...lines: readonly string[]): void {
    const bin = join(temporaryFolder(), 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'nvidia-smi'), `#!/bin/sh\ncat <<'E'\n${lines.join('\n')}\nE\n`, { mode: 0o755 });
    vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
  }

  it('are those that nvidia-smi names, with what is free', () => {
    vi.stubEnv('CUDA_VISIBLE_DEVICES', undefined);
    machine('0, GPU-aa, 80000', '1, GPU-bb, 40000', 'No devices were found');
    expect(findGpus()).toEqual([
      { name: '0', freeMiB: 80_000 },
      { name: '1', freeMiB: 40_000 },
    ]);
  });

  it('are those that this process was given', () => {
    vi.stubEnv('CUDA_VISIBLE_DEVICES', '1, GPU-aa,-1');
    machine('0, GPU-aa, 80000', '1, GPU-bb, 40000');
    expect(findGpus()).toEqual([
      { name: '1', freeMiB: 40_000 },
      { name: 'GPU-aa', freeMiB: 80_000 },
    ]);
  });
});
