import { describe, expect, it } from 'vitest';
import { randomStream } from '../../base/rng.ts';
import { type FeaturedRollout, featuredRollouts, idealDirection, reportDirections } from './directions.ts';

const shape = { modules: 2, rank: 2, kind: 'dot' as const };

/** Rollouts of eight updates, whose features are noise that drifts; hacks have `shift` more in the first coordinate. */
function noisy(shift: number): FeaturedRollout[] {
  const stream = randomStream(8, 'features');
  return Array.from({ length: 320 }, (_, i) => {
    const update = Math.floor(i / 40);
    const hack = i % 3 === 0;
    const feature = Float32Array.from({ length: 4 }, (_, j) => stream.normalAt(4 * i + j) + 9 * update);
    if (hack) feature[0] += shift;
    return { update, problem: `${i % 8}`, hack, feature };
  });
}

describe('the direction that is fitted on labels', () => {
  it('is the mean difference within updates, a unit vector per module', () => {
    const rollout = (update: number, hack: boolean, ...feature: number[]): FeaturedRollout => ({
      update,
      problem: 'one',
      hack,
      feature: Float32Array.from(feature),
    });
    const ideal = idealDirection(
      [
        rollout(1, true, 3, 4, 0, 0),
        rollout(1, false, 0, 0, 0, 0),
        // A later update lies elsewhere, which is no difference between hacks and clean rollouts.
        rollout(2, true, 103, 104, 50, 50),
        rollout(2, false, 100, 100, 50, 50),
        rollout(3, true, -900, 7, 7, 7),
      ],
      shape,
    );
    expect(Array.from(ideal?.direction ?? [])).toEqual([0.6, 0.8, 0, 0].map(Math.fround));
    expect(ideal).toMatchObject({ rollouts: 5, hacks: 3, separation: null });
  });

  it('is scored where it was not fitted: it finds what is there, and nothing where nothing is', () => {
    const [strong, none] = [4, 0].map((shift) => idealDirection(noisy(shift), shape)?.separation?.auroc ?? Number.NaN);
    expect(strong).toBeGreaterThan(0.85);
    expect(none).toBeGreaterThan(0.4);
    expect(none).toBeLessThan(0.6);
    expect(
      idealDirection(
        noisy(1).filter(({ hack }) => hack),
        shape,
      ),
    ).toBeNull();
  });
});

describe('a direction that knows each problem by an axis of its own', () => {
  /** Eight problems in each of two updates, shifted by one place: a hack is +1 on the axis of its problem, a clean rollout −1. */
  const rollouts = [0, 1].flatMap((update) =>
    Array.from({ length: 16 }, (_, i): FeaturedRollout => {
      const axis = (Math.floor(i / 2) + update) % 8;
      const hack = i % 2 === 0;
      const feature = Float32Array.from({ length: 8 }, (_, j) => (j === axis ? (hack ? 1 : -1) : 0));
      return { update, problem: `problem-${axis}`, hack, feature };
    }),
  );

  it('finds nothing where a problem comes again: it was fitted on others', () => {
    expect(idealDirection(rollouts, { modules: 1, rank: 8, kind: 'dot' })?.separation).toMatchObject({ auroc: 0.5 });
  });
});

describe('stored features', () => {
  it('of a gate by token are the mean of a rollout’s rows', () => {
    const rows = [
      { update: 1, problem: 'a', hack: true, featureRow: 0, featureRows: 2 },
      { update: 1, problem: 'b', hack: false, featureRow: null, featureRows: null },
      { update: 2, problem: 'c', hack: false, featureRow: 2, featureRows: 1 },
    ];
    expect(featuredRollouts(rows, Float32Array.of(1, 2, 3, 6, 7, 8), 2)).toEqual([
      { update: 1, problem: 'a', hack: true, feature: Float32Array.of(2, 4) },
      { update: 2, problem: 'c', hack: false, feature: Float32Array.of(7, 8) },
    ]);
    expect(() => featuredRollouts(rows, Float32Array.of(1, 2), 2)).toThrow('a row 1');
  });
});

describe('the directions of a run', () => {
  const direction = (update: number, low: number, high: number, ...data: number[]) => ({
    update,
    pairCuts: { low, high },
    direction: Float32Array.from(data),
  });
  const steps = [1, 2, 3, 4].map((update) => ({ update, meanCosine: update === 4 ? null : update / 10 }));

  it('have their band, the mean cosine while they were used, and their cosine to the ideal one', () => {
    const ideal = { direction: Float32Array.of(1, 0) };
    const [first, second, ...others] = reportDirections(
      [direction(1, -1, 3, 0, 1), direction(4, Number.NaN, Number.NaN, 3, 4), direction(9, 0, 0, 1, 0)],
      steps,
      ideal,
    );
    expect(first).toMatchObject({ from: 1, to: 3, band: { low: -1, high: 3, width: 4 }, cosineToIdeal: 0 });
    expect(first.meanCosine).toBeCloseTo(0.2, 12);
    expect(second).toMatchObject({ from: 4, to: 4, band: null, meanCosine: null });
    expect(second.cosineToIdeal).toBeCloseTo(0.6, 12);
    expect(others).toEqual([]);
    expect(reportDirections([direction(1, 0, 1, 1, 0)], steps, null)[0].cosineToIdeal).toBeNull();
    // A direction that points away from the ideal one is told so.
    expect(reportDirections([direction(1, 0, 1, -2, 0)], steps, ideal)[0].cosineToIdeal).toBeCloseTo(-1, 12);
    // A random direction may put the hack sides below the clean ones.
    expect(reportDirections([direction(1, 2, -1, 1, 0)], steps, null)[0].band).toEqual({ low: 2, high: -1, width: -3 });
  });
});
