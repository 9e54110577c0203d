import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateMicroProblems } from './micro/problems.ts';
import type { ProgramProblem } from './problem.ts';
import { Sandbox } from './sandbox/sandbox.ts';
import { SandboxJudge } from './sandbox-judge.ts';
import { checkProblems } from './soundness.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await Sandbox.start({ workers: 2 });
});
afterAll(() => sandbox.close());

const [problem] = generateMicroProblems({ seed: 2, split: 'train', count: 1 });

test('a canonical solution that passes sets the budget; others are named by line with the reason', async () => {
  const variants: readonly Partial<ProgramProblem>[] = [
    { canonicalSolution: problem.canonicalSolution.replace('return n', 'return n + 1') },
    { cpuSeconds: null },
    { canonicalSolution: `"""\`\`\`"""\n${problem.canonicalSolution}` },
    { setupCode: 'raise ValueError' },
  ];
  const loaded = variants.map((variant, index) => ({
    problem: { ...problem, ...variant, id: `p${index}` },
    record: { line: index + 1, text: '', value: null },
  }));
  const refused = [{ id: 'unread', line: 9, reason: 'no tests' }];
  const { sound, unsound } = await checkProblems({ loaded, refused }, new SandboxJudge(sandbox));
  expect(sound.map(({ id, cpuSeconds }) => [id, cpuSeconds])).toEqual([['p1', 1]]);
  expect(unsound.map(({ line }) => line)).toEqual([1, 3, 4, 9]);
  expect(unsound[0].reason).toBe('the canonical solution fails its own tests: wrong, test 1: wrong value');
  expect(unsound[1].reason).toMatch(/holds a code fence/);
  expect(unsound[2].reason).toMatch(/setup code that runs/);
});
