/** What must hold of every short run, whatever its arm and its config. */
import { expect } from 'vitest';
import type { TrainEvent } from '../../src/grpo/events.ts';
import type { LabRun } from './lab.ts';

export function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  if (ArrayBuffer.isView(value)) return Array.from(value as Float32Array);
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : [];
}

/** Expects finite numbers, expectations that hold, and that something was learned. */
export function expectSound({ events, steps, end, holds }: LabRun, updates: number): void {
  expect({ end, holds }).toEqual({ end: 'finished', holds: true });
  expect(steps).toHaveLength(updates);
  const plain = events.filter((event: TrainEvent) => event.kind !== 'rollouts');
  expect(numbersIn(plain).filter((value) => !Number.isFinite(value))).toEqual([]);
  expect(steps.some(({ gradientNorm }) => gradientNorm > 0)).toBe(true);
  for (const { zeroSignal, gradientNorm } of steps) if (gradientNorm === 0) expect(zeroSignal).not.toBeNull();
}
