import { describe, expect, it } from 'vitest';
import type { Route } from '../adapters/index.ts';
import { findReadAsSampled } from './route-passes.ts';

describe('a pass that learns reads a rollout as it was sampled', () => {
  const of = (deployedScale: number, rows: readonly { sampled: 'full' | 'deployed'; routes: readonly Route[] }[]) =>
    findReadAsSampled(
      { deployedScale },
      rows.map(({ sampled }) => ({ sampled })),
      rows.map(({ routes }) => routes),
    );

  it('where the route has the quarantine in its forward as the sampler had it', () => {
    const rows = (['full', 'deployed'] as const).flatMap((sampled) =>
      (['keep', 'absorb', 'route'] as const).map((route) => ({ sampled, routes: [route] })),
    );
    expect(of(0, rows)).toEqual([false, true, true, true, false, false]);
    // Without a quarantine both states are one policy.
    expect(of(1, rows)).toEqual([false, true, true, false, true, true]);
  });

  it('with routes by token only in full state and without a kept token, for prompts are absorbed', () => {
    const rows = [
      { sampled: 'full', routes: ['absorb', 'route'] },
      { sampled: 'full', routes: ['absorb', 'keep'] },
      { sampled: 'deployed', routes: ['keep', 'keep'] },
      { sampled: 'deployed', routes: ['keep'] },
      { sampled: 'full', routes: [] },
    ] as const;
    expect(of(0, rows)).toEqual([true, false, false, false, true]);
  });
});
