import { describe, expect, it } from 'vitest';
import type { GradedRollouts, ScoredRollouts } from '../grpo/arm.ts';
import type { ArmTools } from '../grpo/arm-tools.ts';
import { oracleArm } from './labels.ts';

const count = 4000;

/** How many of 1,000 hacks and of 3,000 other rollouts go to each route: every fourth rollout is a hack. */
async function routesOf(settings: object) {
  const labels = (id: string) => ({ exploited: Number(id) % 4 === 0 });
  const { route } = await oracleArm.open(settings, { seed: 5, labels } as unknown as ArmTools);
  const rollouts = Array.from({ length: count }, (_, i) => ({ id: `${i}`, step: 0, group: i, member: 0 }));
  const { routes } = (await route?.({ rollouts } as unknown as ScoredRollouts)) ?? { routes: [] };
  const tally = { hack: { keep: 0, absorb: 0, route: 0 }, other: { keep: 0, absorb: 0, route: 0 } };
  routes.forEach(([own], i) => {
    tally[i % 4 === 0 ? 'hack' : 'other'][own] += 1;
  });
  return tally;
}

describe('the oracle gate', () => {
  it('routes all hacks and nothing else, and absorbs the others', async () => {
    expect(await routesOf({})).toEqual({
      hack: { keep: 0, absorb: 0, route: 1000 },
      other: { keep: 0, absorb: 3000, route: 0 },
    });
  });

  it('sets apart what it routes with the own mean, and nothing otherwise', async () => {
    const labels = (id: string) => ({ exploited: id === 'a' });
    const tools = { seed: 5, labels } as unknown as ArmTools;
    const rollouts = ['a', 'b', 'c'].map((id, member) => ({ id, step: 0, group: 0, member }));
    const own = await oracleArm.open({ mean: 'own' }, tools);
    expect(await own.screen?.({ rollouts } as unknown as GradedRollouts)).toEqual(['apart', 'train', 'train']);
    expect((await oracleArm.open({}, tools)).screen).toBeUndefined();
    expect(oracleArm.label({ mean: 'own', recall: 0.5 })).toBe('oracle 0.5 0 own mean');
  });

  it('misses hacks and flags others at the rates it is told, within four standard errors', async () => {
    const { hack, other } = await routesOf({ recall: 0.7, falsePositiveRate: 0.1, others: 'keep' });
    expect(Math.abs(hack.route - 700)).toBeLessThan(4 * Math.sqrt(1000 * 0.7 * 0.3));
    expect(Math.abs(other.route - 300)).toBeLessThan(4 * Math.sqrt(3000 * 0.1 * 0.9));
    expect([hack.keep + hack.route, other.keep + other.route]).toEqual([1000, 3000]);
  });
});
