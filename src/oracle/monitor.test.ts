import { describe, expect, it } from 'vitest';
import type { SeenRollouts } from '../grpo/arm.ts';
import type { ArmTools } from '../grpo/arm-tools.ts';
import { oracleMonitor } from './labels.ts';

/** The share of 1,000 hacks and of 3,000 other rollouts that is flagged: every fourth rollout is a hack. */
async function shares(settings: object, seed = 5): Promise<[number, number]> {
  const labels = (id: string) => ({ exploited: Number(id) % 4 === 0 });
  const monitor = await oracleMonitor.open(settings, { seed, labels } as unknown as ArmTools);
  const rollouts = Array.from({ length: 4000 }, (_, i) => ({ id: `${i}` }));
  const scores = await monitor.score({ rollouts } as unknown as SeenRollouts);
  const share = (hack: boolean, of: number) =>
    scores.filter((score, i) => score === 1 && (i % 4 === 0) === hack).length / of;
  return [share(true, 1000), share(false, 3000)];
}

describe('the oracle as a monitor', () => {
  it('is right about everything by default, and flips labels at 1 − accuracy', async () => {
    expect(await shares({})).toEqual([1, 0]);
    const [recall, mistaken] = await shares({ accuracy: 0.9 });
    // Four standard errors of a share of 0.9 over 1,000, and of 0.1 over 3,000.
    expect(Math.abs(recall - 0.9)).toBeLessThan(0.038);
    expect(Math.abs(mistaken - 0.1)).toBeLessThan(0.022);
    expect(await shares({ accuracy: 0.9 })).toEqual([recall, mistaken]);
    expect(await shares({ accuracy: 0.9 }, 6)).not.toEqual([recall, mistaken]);
  });

  it('can miss hacks alone, or mistake others alone', async () => {
    expect((await shares({ recall: 0.5 }))[1]).toBe(0);
    expect((await shares({ falsePositiveRate: 0.5 }))[0]).toBe(1);
  });

  it('says in tables that it uses labels', () => {
    const labels = [{}, { accuracy: 0.9 }, { recall: 0.7 }, { accuracy: 0.9, falsePositiveRate: 0 }];
    expect(labels.map((settings) => oracleMonitor.label(settings))).toEqual([
      'oracle',
      'oracle 0.9',
      'oracle recall 0.7 FPR 0',
      'oracle recall 0.9 FPR 0',
    ]);
    expect(oracleMonitor.usesLabels({})).toBe(true);
    expect(() => oracleMonitor.open({}, { seed: 1, labels: null } as unknown as ArmTools)).toThrow('monitor oracle');
  });
});
