/** Easy tasks: every solution passes its tests in the sandbox, wrong ones fail, splits are apart, and the seed decides the rest. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Sandbox } from '../sandbox/sandbox.ts';
import { SandboxJudge } from '../sandbox-judge.ts';
import { checkSoundness } from '../soundness.ts';
import { easySource } from './easy.ts';
import { easyFamilies, easyTasks } from './easy-tasks.ts';
import { statementOf } from './overlap.ts';
import { dealOut } from './splits.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await Sandbox.start({ workers: 2 });
});
afterAll(() => sandbox.close());

describe('easy tasks', () => {
  it('are test problems three times in sixteen and validation problems once, by the hash of the id', () => {
    const { train, validation, test } = dealOut(easyTasks(1, 4096));
    const shares = [train, validation, test].map(({ length }) => (16 * length) / 4096);
    for (const [i, share] of [12, 1, 3].entries()) expect(Math.abs(shares[i] - share)).toBeLessThan(0.5);
  });

  const tasks = easyTasks(1, 390);

  it('are of every family, about equally often', () => {
    const counts = easyFamilies.map(({ name }) => tasks.filter(({ id }) => id.startsWith(`easy-${name}-`)).length);
    expect(Math.min(...counts)).toBeGreaterThan(15);
    expect(counts.reduce((sum, count) => sum + count)).toBe(390);
  });

  it('are solved by their own solutions, as Python runs them', async () => {
    const { sound, unsound } = await checkSoundness(tasks, new SandboxJudge(sandbox));
    expect(unsound).toEqual([]);
    expect(sound).toHaveLength(390);
  });

  it('are not solved by the solution of another task, and not by a constant', async () => {
    const judge = new SandboxJudge(sandbox);
    for (const [i, problem] of tasks.slice(0, 26).entries()) {
      const other = tasks[i + 26].canonicalSolution;
      const constant = problem.canonicalSolution.replace(/^ {8}[\s\S]*/m, '        return 7\n');
      for (const program of [other, constant]) {
        const completion = `\`\`\`python\n${program}\`\`\``;
        const submission = { id: 'one', problem, loophole: 'gt_only', markers: 'original', completion } as const;
        expect((await judge.judge(submission)).correct, `${problem.id}: ${program}`).toBe(false);
      }
    }
  });

  it('are the same for the same seed, in another order for another, and the first of more are the same', () => {
    const ids = (seed: number, count: number) => easyTasks(seed, count).map(({ id }) => id);
    expect(ids(1, 64)).toEqual(tasks.slice(0, 64).map(({ id }) => id));
    expect(ids(2, 64)).not.toEqual(ids(1, 64));
  });

  it('stand in one split each, and no statement in two', async () => {
    const { splits } = await easySource.load({ problems: 1024, seed: 1 });
    const { train, validation, test } = splits;
    expect([train, validation, test].map(({ length }) => length > 40)).toEqual([true, true, true]);
    const statements = [...train, ...validation, ...test].map(statementOf);
    expect(new Set(statements).size).toBe(1024);
  });

  it('have a bound, which is told', () => {
    expect(() => easyTasks(1, 100_000)).toThrow(/config, key data\.problems: expected at most \d{4,} easy tasks/);
  });
});
