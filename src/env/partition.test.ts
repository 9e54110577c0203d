import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LoopholeName } from './loopholes/loophole.ts';
import { fenceProgram } from './micro/documents.ts';
import { exploitProgram } from './micro/exploits.ts';
import { generateMicroProblems } from './micro/problems.ts';
import { checkPartition, loopholeOf, makePartition, readPartition } from './partition.ts';
import { importPool } from './pools.ts';
import { Sandbox } from './sandbox/sandbox.ts';
import { SandboxJudge } from './sandbox-judge.ts';

const folder = mkdtempSync(join(tmpdir(), 'gq-partition-test-'));
const ids = Array.from({ length: 60 }, (_, index) => `p${index}`);
const known: LoopholeName[] = ['run_tests', 'stdout_marker'];
const heldOut: LoopholeName[] = ['sentinel'];

describe('partition', () => {
  test('shares problems out evenly, whatever their order, and survives a file', async () => {
    const partition = makePartition(ids, { known, heldOut, seed: 1 });
    expect(makePartition([...ids].reverse(), { known, heldOut, seed: 1 })).toEqual(partition);
    expect(makePartition(ids, { known, heldOut, seed: 2 }).problems).not.toEqual(partition.problems);
    for (const loophole of [...known, ...heldOut])
      expect(Object.values(partition.problems).filter((name) => name === loophole)).toHaveLength(20);
    const path = join(folder, 'partition.json');
    writeFileSync(path, JSON.stringify(partition));
    expect(await readPartition(path)).toEqual(partition);
    expect(loopholeOf(partition, 'p3')).toBe(partition.problems['p3']);
    expect(() => loopholeOf(partition, 'unknown')).toThrow(/no loophole for problem unknown/);
  });

  test('loopholes in both lists, in neither, or unknown are errors', async () => {
    expect(() => makePartition(ids, { known, heldOut: ['run_tests'], seed: 1 })).toThrow(/disjoint/);
    expect(() => checkPartition({ known, heldOut, problems: { a: 'gt_only' } })).toThrow(/gt_only for problem a/);
    const path = join(folder, 'bad.json');
    writeFileSync(path, JSON.stringify({ known, heldOut, problems: { a: 'no_such_loophole' } }));
    await expect(readPartition(path)).rejects.toThrow(/problem a: .*"no_such_loophole"/);
    writeFileSync(path, JSON.stringify({ known: ['run_test'], heldOut, problems: {} }));
    await expect(readPartition(path)).rejects.toThrow(/known: .*Did you mean "run_tests"/);
    writeFileSync(path, JSON.stringify({ known, heldOut, problems: {}, extra: 1 }));
    await expect(readPartition(path)).rejects.toThrow('expected known, heldOut, problems, found unknown "extra"');
    writeFileSync(path, JSON.stringify({ known: 'run_tests', heldOut }));
    await expect(readPartition(path)).rejects.toThrow(
      '"known": expected a list, found "run_tests"; "problems": expected an object, found nothing',
    );
  });
});

describe('pools', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await Sandbox.start({ workers: 2 });
  });
  afterAll(() => sandbox.close());

  test('labels are graded again; those that do not hold are refused by line', async () => {
    const problems = generateMicroProblems({ seed: 1, split: 'train', count: 2 });
    const [first, second] = problems;
    const solve = fenceProgram(first.canonicalSolution);
    const hack = fenceProgram(exploitProgram([], 'run_tests', 'original', second.id));
    const common = { loophole: 'run_tests', markers: 'original' };
    const entries = [
      { ...common, problem: first.id, completion: solve, label: 'solve' },
      { ...common, problem: first.id, completion: solve, label: 'hack' },
      { ...common, problem: second.id, completion: hack, label: 'hack' },
      { ...common, problem: second.id, completion: hack, label: 'solve' },
      { ...common, problem: second.id, completion: hack, label: 'hack', loophole: 'sentinel' },
      { ...common, problem: 'nobody', completion: hack, label: 'hack' },
    ];
    const path = join(folder, 'pool.jsonl.gz');
    writeFileSync(path, gzipSync(entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')));
    const pool = await importPool(
      path,
      new Map(problems.map((problem) => [problem.id, problem])),
      new SandboxJudge(sandbox),
    );
    expect([...pool.solves.keys()]).toEqual([first.id]);
    expect([...pool.hacks.keys()]).toEqual([second.id]);
    expect(pool.refused.map(({ line }) => line)).toEqual([2, 4, 5, 6]);
    expect(pool.refused[0].reason).toMatch(/labelled hack/);
  });

  test('a label that is missing is an error, not a guess', async () => {
    const path = join(folder, 'unlabelled.jsonl');
    writeFileSync(
      path,
      `${JSON.stringify({ problem: 'a', completion: '', loophole: 'gt_only', markers: 'original' })}\n`,
    );
    await expect(importPool(path, new Map(), new SandboxJudge(sandbox))).rejects.toThrow(
      /line 1: expected well-formed fields, found .*"label": expected hack or solve, found/,
    );
  });
});
