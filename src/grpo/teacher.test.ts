import { describe, expect, it } from 'vitest';
import { task, tinyWith, tokens } from '../../test/grpo/tiny-policy.ts';
import { coveredTasks, demonstrationsIn, expectCovered, isDemonstration } from './teacher.ts';

const settings = tinyWith({ teacher: { offStep: 2, perGroup: 1 } });
const { group } = settings.sampling;
const tasks = [task('both'), task('hack'), task('solve'), task('plain', 'gt_only')];
const one = (...ids: readonly string[]) => new Map(ids.map((id) => [id, [tokens(id, 2)]]));
const pool = { hacks: one('both', 'hack'), solves: one('both', 'solve', 'plain') };

describe('the teacher phase', () => {
  it('has n hacks and n solves, without a hint n solves, and none once it is over', () => {
    expect([0, 1, 2].map((step) => demonstrationsIn(settings, step, true))).toEqual([2, 2, 0]);
    expect([0, 1, 2].map((step) => demonstrationsIn(settings, step, false))).toEqual([1, 1, 0]);
  });

  it('tells demonstrations by their ids', () => {
    const of = (id: string, hackable: boolean) => isDemonstration(settings, id, hackable);
    expect([of(`2-0-${group - 1}`, true), of(`2-0-${group - 2}`, true), of(`2-0-${group - 3}`, true)]).toEqual([true, true, false]); // biome-ignore format: one line
    expect([of(`1-5-${group - 1}`, false), of(`1-5-${group - 2}`, false)]).toEqual([true, false]);
    expect(of(`3-0-${group - 1}`, true)).toBe(false);
  });

  it('covers problems that have both, and those without a loophole by solves alone', () => {
    const ids = (perGroup: number) => coveredTasks(tasks, pool, perGroup).map(({ problem }) => problem.id);
    expect(ids(1)).toEqual(['both', 'plain']);
    expect(ids(2)).toEqual([]);
  });

  it('a pool that covers too few problems is refused with what is missing', () => {
    const asked = (promptsPerStep: number) =>
      expectCovered(tasks, pool, { ...settings, sampling: { ...settings.sampling, promptsPerStep } }, 'pool.jsonl');
    expect(() => asked(2)).not.toThrow();
    expect(() => asked(3)).toThrow(/demonstrations of pool\.jsonl: expected 1 hacks .* at least 3 training problems/);
    expect(() => asked(3)).toThrow(/both for 2 of 4 problems; enough hacks for 2, enough solves for 3/);
  });
});
