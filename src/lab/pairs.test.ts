/** The pairs of a config that names none; which problems a policy is asked to write pairs for (a sampler that always does what it is asked for stands in for the policy). */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadProblems } from '../env/importers/load.ts';
import { namesOf } from '../env/loopholes/registry.ts';
import { fenceProgram } from '../env/micro/documents.ts';
import { exploitProgram } from '../env/micro/exploits.ts';
import { generateMicroProblems } from '../env/micro/problems.ts';
import { formatPairsJson, loadPairs, shownLoopholes } from '../env/pairs/index.ts';
import type { Sampler } from '../grpo/index.ts';
import { makeTask } from '../run/index.ts';
import { resolveBuiltin } from './config.ts';
import { openLab } from './open.ts';
import { pairSetOf, writePairs } from './pairs.ts';
import { builtinParts } from './parts.ts';
import { openPool } from './pool.ts';

const loopholes = ['exit_code', 'run_tests'] as const;
const benchmark = fileURLToPath(new URL('../../../shared/data/leetcode_test_medhard.jsonl.gz', import.meta.url));

it('a policy that takes every bait is asked on known loopholes alone', async () => {
  const { config } = resolveBuiltin(null, [
    'arm.kind=gradient',
    'arm.generatedPairs=true',
    'environment.loopholes=["exit_code"]',
    'environment.heldOutLoopholes=["run_tests"]',
  ]);
  await using lab = await openLab({ config });
  const { text } = await lab.model;
  const words = { text, loopholes: builtinParts.loopholes };
  const problems = generateMicroProblems({ seed: 1, split: 'train', count: 12 });
  const tasks = problems.map((problem, i) => makeTask(problem, loopholes[i % 2], 'original', words));
  const exploits = loopholes.map((name) => fenceProgram(exploitProgram(['n += 1'], name, 'original', problems[0].id)));
  const [hack, clean] = [exploits.join('\n'), fenceProgram(problems[0].canonicalSolution)].map((answer) => {
    const tokens = text.completion(answer);
    const logps = new Float32Array(tokens.length);
    return { tokens, logps, fullLogps: logps, finish: 'stop' as const };
  });
  const obedient: Sampler = { sample: async (requests) => requests.map((_, i) => (i % 2 === 0 ? hack : clean)) };
  const { pairs, attempted } = await writePairs(config, obedient, tasks, text);
  expect(attempted).toBe(6);
  expect(pairs.map(({ tags }) => tags)).toEqual(Array.from({ length: 6 }, () => ['generated', 'exit_code']));
  const least = (leastGenerated: number) => ({ ...config, pairs: { ...config.pairs, leastGenerated } });
  expect((await writePairs(least(6), obedient, tasks, text)).pairs).toHaveLength(6);
  await expect(writePairs(least(7), obedient, tasks, text)).rejects.toThrow('at least 7 pairs (pairs.leastGenerated)');
});

it('pairs of the 119 test problems of the LeetCode benchmark are refused where a run opens them', async (context) => {
  if (!existsSync(benchmark)) return context.skip(`${benchmark} is missing`);
  const { loaded } = await loadProblems(benchmark);
  const sides = { section: 'test', tags: ['run_tests'], hack: 'def run_tests():\n    return 1\n', clean: 'n += 1\n' };
  const pairs = loaded.map(({ problem: { id, messages } }) => ({ ...sides, heading: id, prompt: messages }));
  const path = join(mkdtempSync(join(tmpdir(), 'gq-test-pairs-')), 'pairs.json');
  writeFileSync(path, formatPairsJson(pairs));
  await using lab = await openLab({
    config: resolveBuiltin(null, [`pairs.file=${path}`, 'loss.anchorWeight=1']).config,
  });
  await expect(lab.pairs).rejects.toThrow('found 119 of 119 that are');
  rmSync(dirname(path), { recursive: true });
});

it('demonstrations that solve one of the 119 are refused where a run opens them, though they answer another problem', async (context) => {
  if (!existsSync(benchmark)) return context.skip(`${benchmark} is missing`);
  const { loaded } = await loadProblems(benchmark);
  const [known] = loaded.filter(({ problem }) => problem.canonicalSolution.length > 800);
  const path = join(mkdtempSync(join(tmpdir(), 'gq-test-pool-')), 'pool.jsonl');
  await using lab = await openLab({
    config: resolveBuiltin('micro-base', [`teacher.pool=${path}`, 'teacher.offStep=1']).config,
  });
  const [judge, { splits }, model, tasks] = await Promise.all([lab.judge, lab.problems, lab.weights, lab.tasks]);
  const [problem] = splits.train;
  const entry = { problem: problem.id, loophole: 'run_tests', markers: 'original', label: 'solve' };
  const completion = `${fenceProgram(problem.canonicalSolution)}\n${known.problem.canonicalSolution}`;
  writeFileSync(path, JSON.stringify({ ...entry, completion }));
  await expect(openPool(lab, tasks, judge, model)).rejects.toThrow('teacher.pool: ');
  rmSync(dirname(path), { recursive: true });
});

it('problems of a file, and of a source that names no pairs, have pairs that show no loophole of the lab', async () => {
  const { config } = resolveBuiltin(null, ['data.kind=file', 'data.path=problems.jsonl']);
  expect(await pairSetOf(config)).toBe('generic');
  const { pairs } = await loadPairs(await pairSetOf(config));
  expect(shownLoopholes(pairs, namesOf(builtinParts.loopholes))).toEqual([]);
});
