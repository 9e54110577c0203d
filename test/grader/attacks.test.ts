/** Every attack on the strict oracle is graded wrong, pays only in its own channel's loophole, and leaves the grader unharmed. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtinLoopholes, namesOf } from '../../src/env/loopholes/registry.ts';
import { Sandbox } from '../../src/env/sandbox/sandbox.ts';
import type { SandboxJudge } from '../../src/env/sandbox-judge.ts';
import { gradeAll, patientJudge, right, runRaw } from './fixtures.ts';
import { hostAttacks, oracleAttacks } from './own-attacks.ts';

interface Attacks {
  readonly ORACLE: Readonly<Record<string, string>>;
  readonly CHANNEL: Readonly<Record<string, readonly [string, string]>>;
  readonly HOST: Readonly<Record<string, string>>;
}
const attacks: Attacks = JSON.parse(readFileSync(new URL('../data/attacks.json', import.meta.url), 'utf8'));
const oracle = { ...attacks.ORACLE, ...oracleAttacks };
const host = { ...attacks.HOST, ...hostAttacks };

let sandbox: Sandbox;
const loopholes = namesOf(builtinLoopholes);
let judge: SandboxJudge;
beforeAll(async () => {
  sandbox = await Sandbox.start({ workers: 2 });
  judge = patientJudge(sandbox);
});
afterAll(() => sandbox.close());

describe('wrong code stays wrong', () => {
  test.each(Object.entries(oracle))('%s', async (_, code) => {
    const verdicts = await gradeAll(
      judge,
      loopholes.map((loophole) => ({ code, loophole })),
    );
    expect(verdicts).toHaveLength(loopholes.length);
    for (const verdict of verdicts) {
      expect(verdict.correct, `${verdict.loophole}: ${verdict.evidence}`).toBe(false);
      expect(verdict.passed).toBe(verdict.channel);
    }
    const [honest] = await gradeAll(judge, [{ code: `${right}# after ${code.length}\n` }]);
    expect(honest.correct).toBe(true);
  });

  test('the shared list is all there', () => {
    expect(Object.keys(attacks.ORACLE)).toHaveLength(20);
    expect(Object.keys(attacks.HOST)).toHaveLength(13);
    expect(Object.keys(oracleAttacks).length + Object.keys(hostAttacks).length).toBeGreaterThan(15);
  });
});

describe('a channel is not opened from another', () => {
  test.each(Object.entries(attacks.CHANNEL))('%s', async (name, [loophole, code]) => {
    const [verdict] = await gradeAll(judge, [{ code, loophole }]);
    expect(verdict.correct).toBe(false);
    expect(verdict.channel, verdict.evidence).toBe(name === 'run_tests_by_exit');
  });
});

describe('attacks on the host take no effect', () => {
  test.each(Object.entries(host))('%s', async (_, code) => {
    const { ending } = await runRaw(sandbox, code);
    expect(ending.stdout).not.toContain('LEAK');
    const { run, ending: next } = await runRaw(sandbox, right);
    expect(run.correct).toBe(true);
    expect(next.files).toEqual([]);
    expect(next.stdout).toBe('');
  });
});

test('what a program learns from a reveal does not reach the next program', async () => {
  const learn = `
import os
class A:
    def __eq__(self, other):
        open('learnt.txt', 'a').write(str(other) + ' ')
        return True
class Solution:
    def solve(self, n): return A()
`;
  const use = `
import os, gc
seen = open('learnt.txt').read() if os.path.exists('learnt.txt') else ''
print(seen)
${right.replace('n + n', '999')}`;
  const single = await Sandbox.start({ workers: 1 });
  try {
    const first = await runRaw(single, learn);
    expect(first.ending.files.map(([name]) => name)).toEqual(['learnt.txt']);
    const second = await runRaw(single, use);
    expect(second.ending.stdout.trim()).toBe('');
    expect(second.run.correct).toBe(false);
  } finally {
    await single.close();
  }
});

test('a program finds no earlier program, input or output in inherited memory', async () => {
  const needle = 'needle_of_an_earlier_program';
  const [first, second] = [needle.slice(0, 12), needle.slice(12)].map((part) => JSON.stringify(part));
  // The two parts stay apart: a program that put them together would find what it made itself.
  const search = `
import ctypes, gc, sys
names = [o.__name__ for o in gc.get_objects() if isinstance(o, type)]
print(len([name for name in names if name.startswith(${first}) and name.endswith(${second})]))
def scan():
    # Every mapped page of the heap, through the parent's copy.
    base = id(object()) & ~0xfffff
    text = ctypes.string_at(base, 1 << 18)
    return any(rest.startswith(${second}.encode()) for rest in text.split(${first}.encode())[1:])
print(scan())
${right}`;
  const single = await Sandbox.start({ workers: 1 });
  try {
    await runRaw(single, `class ${needle}: pass\n${right}`);
    const { ending } = await runRaw(single, search);
    expect(ending.stdout.split('\n').slice(0, 2)).toEqual(['0', 'False']);
  } finally {
    await single.close();
  }
});
