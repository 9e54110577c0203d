/** Generated easy tasks in Python, for small language models: seeded, with tests, dealt out to splits by the hash of their ids. */
import { z } from 'zod';
import { randomStream, UserError } from '../../base/index.ts';
import type { Problem, TestCase } from '../problem.ts';
import type { PythonValue } from '../python-value.ts';
import { type EasyFamily, easyFamilies, letterOf } from './easy-tasks.ts';
import { defineProblemSource, type ProblemSource } from './source.ts';

const testsOfTask = 8;
const system = 'You are a careful Python programmer. Answer with one code block.';

type Stream = ReturnType<typeof randomStream>;

/** Arguments of the tests, some of them small, so that a constant or a wrong border fails one. */
function argumentOf({ takes }: EasyFamily, stream: Stream, test: number): PythonValue {
  const numberAt = (place: number, most: number): number => Math.floor(stream.uniformAt(64 * test + place) * most);
  if (takes === 'int') return BigInt(test < 3 ? test : numberAt(0, 200) - 40);
  const length = test === 0 ? 1 : 2 + numberAt(0, 6);
  const items = Array.from({ length }, (_, i) => numberAt(1 + i, takes === 'str' ? 1000 : 120));
  return takes === 'str' ? items.map(letterOf).join('') : items.map((each) => BigInt(each - 20));
}

function shown(value: PythonValue): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  return typeof value === 'string' ? `'${value}'` : `${value}`;
}

function taskOf(family: EasyFamily, numbers: readonly [number, number]): Problem {
  const id = `easy-${family.name}-${numbers.join('-')}`;
  const stream = randomStream(0, ['easy task', id]);
  const tests = Array.from({ length: testsOfTask }, (_, i): TestCase => {
    const x = argumentOf(family, stream, i);
    const expected = family.answer(numbers, x);
    return { positional: [x], keywords: [], builders: [], shape: 'plain', expected, tolerance: null };
  });
  const [, { positional, expected }] = tests;
  const head = `class Solution:\n    def solve(self, x: ${family.takes}) -> ${family.gives}:`;
  const statement = `${family.sentence(numbers)}\n\nExample: solve(${shown(positional[0])}) returns ${shown(expected)}.`;
  const request = `Your solution should be a method of the class Solution called solve and should pass all tests. Begin with:\n\n${head}\n`;
  return {
    id,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: `PROBLEM:\n${statement}\n\n${request}` },
    ],
    methodName: 'solve',
    setupCode: '',
    canonicalSolution: `${head}\n${family
      .code(numbers)
      .map((line) => `        ${line}\n`)
      .join('')}`,
    tests,
    difficulty: 'easy',
    cpuSeconds: 1,
  };
}

/** Every task of every family whose tests tell it from a constant, in an order that the seed decides. */
export function easyTasks(seed: number, count: number): Problem[] {
  const all = easyFamilies.flatMap((family) =>
    Array.from({ length: family.most[0] - 1 }, (_, a) =>
      Array.from({ length: family.most[1] - 1 }, (_, b) => ({ family, numbers: [a + 2, b + 2] as const })),
    ).flat(),
  );
  // A family has as many tasks among the first as any other, however many numbers it takes.
  const stream = randomStream(seed, 'easy tasks');
  const turn = new Map<EasyFamily, number>();
  const ranked = all
    .map((task, place) => ({ ...task, at: stream.uniformAt(place) }))
    .sort((one, other) => one.at - other.at)
    .map((task) => {
      const rank = turn.get(task.family) ?? 0;
      turn.set(task.family, rank + 1);
      return { ...task, rank };
    })
    .sort((one, other) => one.rank - other.rank || one.at - other.at);
  const tasks: Problem[] = [];
  for (const { family, numbers } of ranked) {
    if (tasks.length === count) return tasks;
    const task = taskOf(family, numbers);
    if (new Set(task.tests.map(({ expected }) => shown(expected))).size > 2) tasks.push(task);
  }
  if (tasks.length === count) return tasks;
  throw new UserError({
    call: 'config, key data.problems',
    expected: `at most ${tasks.length} easy tasks, which is all there are`,
    found: `${count}`,
  });
}

export const easySource: ProblemSource = defineProblemSource({
  kind: 'easy',
  summary: 'generated easy tasks in Python, for small language models',
  settings: z.strictObject({
    problems: z
      .number()
      .int()
      .min(16)
      .max(4096)
      .default(1024)
      .describe('number of tasks; 12 in 16 are trained on, 3 are test problems, by the hash of the id'),
    seed: z.number().int().min(0).default(1).describe('seed of the order in which tasks are drawn'),
  }),
  pairs: 'generic',
  isSound: true,
  load: ({ problems, seed }) => easyTasks(seed, problems),
});
