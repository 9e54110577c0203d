import { describe, expect, it } from 'vitest';
import { randomStream } from '../base/index.ts';
import { cohenKappa } from './agreement.ts';
import { countConfusion } from './classification.ts';

const table = (truePositives: number, falsePositives: number, falseNegatives: number, trueNegatives: number) => ({
  truePositives,
  falsePositives,
  falseNegatives,
  trueNegatives,
});

describe("Cohen's kappa", () => {
  it('is what is left of agreement when chance is taken away', () => {
    // 35 of 50 agree; yes is said 25 and 30 times, so chance agrees on half.
    const found = cohenKappa(table(20, 5, 10, 15));
    expect(found).toMatchObject({ kappa: expect.closeTo(0.4, 12), observed: 0.7, expected: 0.5, n: 50 });
    expect(cohenKappa(table(25, 25, 25, 25))?.kappa).toBeCloseTo(0, 12);
    expect(cohenKappa(table(0, 10, 10, 0))?.kappa).toBe(-1);
  });

  it('has an interval with a width where raters agree on everything, and none where there is nothing to agree on', () => {
    const few = cohenKappa(table(3, 0, 0, 3));
    expect(few).toMatchObject({ kappa: 1, high: 1 });
    expect(few?.low).toBeLessThan(0.3);
    expect(cohenKappa(table(0, 0, 0, 0))).toBeNull();
    expect(cohenKappa(table(7, 0, 0, 0))).toBeNull();
  });

  it('covers the true kappa about as often as it says', () => {
    // Both raters see the truth, a fair coin, and err in one of ten: they agree on 0.82, chance on 0.5.
    const truth = (0.82 - 0.5) / 0.5;
    const random = randomStream(5, 'test');
    let drawn = 0;
    const chance = (p: number): boolean => random.uniformAt(drawn++) < p;
    const rounds = 400;
    let covered = 0;
    for (let round = 0; round < rounds; round++) {
      const coins = Array.from({ length: 60 }, () => chance(0.5));
      const rate = () => coins.map((coin) => coin !== chance(0.1));
      const found = cohenKappa(countConfusion(rate(), rate()));
      if (found !== null && found.low <= truth && truth <= found.high) covered++;
    }
    expect(covered / rounds).toBeGreaterThan(0.92);
    expect(covered / rounds).toBeLessThan(0.99);
  });
});
