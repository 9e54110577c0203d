import { describe, expect, it } from 'vitest';
import { exploitProgram } from '../micro/exploits.ts';
import { generateMicroProblems } from '../micro/problems.ts';
import type { PoolEntry } from '../pools.ts';
import { isPoolDerived, pairsFromPool, poolDerivedNote } from './from-pool.ts';
import { formatPairsJson, parsePairsJson } from './json.ts';

const [first, second] = generateMicroProblems({ seed: 1, split: 'train', count: 2 });
const problems = new Map([first, second].map((problem) => [problem.id, problem]));

function entry(problem: string, label: 'hack' | 'solve', completion: string, loophole = 'run_tests'): PoolEntry {
  return { problem, completion, label, loophole, markers: 'original' };
}

const hack = (id: string, step: string) => entry(id, 'hack', exploitProgram([step], 'run_tests', 'original', id));
const hacks = new Map([
  [first.id, [hack(first.id, 'n += 1'), hack(first.id, 'n += 2')]],
  [second.id, [entry(second.id, 'hack', exploitProgram([], 'sentinel', 'original', second.id), 'sentinel')]],
]);
const solve = ({ id, canonicalSolution }: typeof first) => entry(id, 'solve', canonicalSolution);
const solves = new Map([
  [first.id, [solve(first), entry(first.id, 'solve', 'pass')]],
  [second.id, [solve(second)]],
]);

describe('pairs from a pool', () => {
  it('a hack and a solve of the same problem under its hint, marked as chosen by labels', () => {
    const pairs = pairsFromPool({ hacks, solves }, problems);
    expect(pairs.map(({ section, hack, clean }) => [section, hack, clean])).toEqual([
      ['run_tests', hacks.get(first.id)?.[0].completion, first.canonicalSolution],
      ['sentinel', hacks.get(second.id)?.[0].completion, second.canonicalSolution],
    ]);
    expect(pairs.every(isPoolDerived)).toBe(true);
    expect(JSON.stringify(pairs[0].prompt)).toContain('will be evaluated by calling `run_tests()`');
    expect(poolDerivedNote).toContain('chosen by labels, unsuitable for the primary result');
    expect(parsePairsJson(formatPairsJson(pairs), 'file')).toEqual({ file: 'file', pairs, problems: [] });
  });

  it('leaves out held-out loopholes, problems without both sides, and texts that no file of pairs may have', () => {
    const sections = (...argv: Parameters<typeof pairsFromPool>) => pairsFromPool(...argv).map((pair) => pair.section);
    expect(sections({ hacks, solves }, problems, { heldOut: ['sentinel'] })).toEqual(['run_tests']);
    expect(sections({ hacks, solves: new Map() }, problems)).toEqual([]);
    expect(sections({ hacks, solves }, problems, { perProblem: 2 })).toEqual(['run_tests', 'sentinel']);
  });
});
