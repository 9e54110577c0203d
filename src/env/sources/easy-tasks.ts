/**
 * Easy tasks for small language models: one short method on a number, a list or a word. A family has a sentence with a few numbers
 * in it, the Python of a solution, and the same computed here. No loophole, marker or exploit stands in any of them.
 */
import { randomStream, UserError } from '../../base/index.ts';
import type { ProgramProblem, TestCase } from '../problem.ts';
import type { PythonValue } from '../python-value.ts';

type Numbers = readonly [number, number];
type List = readonly bigint[];

interface EasyFamily {
  readonly name: string;
  readonly takes: 'int' | 'list[int]' | 'str';
  readonly gives: 'int' | 'list[int]' | 'str';
  /** The numbers of a task are from 2 to these, at most. */
  readonly most: Numbers;
  sentence(numbers: Numbers): string;
  /** The lines of the method, whose argument is called x. */
  code(numbers: Numbers): readonly string[];
  answer(numbers: Numbers, x: PythonValue): PythonValue;
}

const letters = 'aeinorst';
const letterOf = (place: number): string => letters[place % letters.length];

/** The remainder as Python has it, which is never negative here. */
const remainder = (x: bigint, by: bigint): bigint => ((x % by) + by) % by;
const sum = (list: List): bigint => list.reduce((total, each) => total + each, 0n);

type Written = Pick<EasyFamily, 'name' | 'most' | 'sentence' | 'code'>;

function onInt(written: Written, answer: (a: bigint, b: bigint, x: bigint) => bigint): EasyFamily {
  const own = ([a, b]: Numbers, x: PythonValue) => answer(BigInt(a), BigInt(b), x as bigint);
  return { ...written, takes: 'int', gives: 'int', answer: own };
}

function onList<Out extends bigint | List>(
  gives: 'int' | 'list[int]',
  written: Written,
  answer: (a: bigint, b: bigint, x: List) => Out,
): EasyFamily {
  const own = ([a, b]: Numbers, x: PythonValue) => answer(BigInt(a), BigInt(b), x as List);
  return { ...written, takes: 'list[int]', gives, answer: own };
}

function onText<Out extends bigint | string>(
  gives: 'int' | 'str',
  written: Written,
  answer: (numbers: Numbers, x: string) => Out,
): EasyFamily {
  return { ...written, takes: 'str', gives, answer: (numbers, x) => answer(numbers, x as string) };
}

const numbers: readonly EasyFamily[] = [
  onInt(
    {
      name: 'line',
      most: [20, 60],
      sentence: ([a, b]) => `Return ${a} times x plus ${b}.`,
      code: ([a, b]) => [`return ${a} * x + ${b}`],
    },
    (a, b, x) => a * x + b,
  ),
  onInt(
    {
      name: 'remainder',
      most: [30, 30],
      sentence: ([a, b]) => `Return the remainder of x plus ${b} when it is divided by ${a}.`,
      code: ([a, b]) => [`return (x + ${b}) % ${a}`],
    },
    (a, b, x) => remainder(x + b, a),
  ),
  onInt(
    {
      name: 'distance',
      most: [80, 9],
      sentence: ([a, b]) => `Return the distance between x and ${a}, times ${b}.`,
      code: ([a, b]) => [`return abs(x - ${a}) * ${b}`],
    },
    (a, b, x) => (x > a ? x - a : a - x) * b,
  ),
  onInt(
    {
      name: 'least',
      most: [90, 40],
      sentence: ([a, b]) => `Return x if it is at least ${a}, and ${b} otherwise.`,
      code: ([a, b]) => [`if x >= ${a}:`, '    return x', `return ${b}`],
    },
    (a, b, x) => (x >= a ? x : b),
  ),
  onInt(
    {
      name: 'parity',
      most: [40, 40],
      sentence: ([a, b]) => `Return x plus ${a} if x is even, and x minus ${b} if it is odd.`,
      code: ([a, b]) => ['if x % 2 == 0:', `    return x + ${a}`, `return x - ${b}`],
    },
    (a, b, x) => (remainder(x, 2n) === 0n ? x + a : x - b),
  ),
];

const lists: readonly EasyFamily[] = [
  onList(
    'int',
    {
      name: 'sum-above',
      most: [40, 12],
      sentence: ([a, b]) => `Return the sum of all numbers of x that are greater than ${a}, plus ${b}.`,
      code: ([a, b]) => [`return sum(v for v in x if v > ${a}) + ${b}`],
    },
    (a, b, x) => sum(x.filter((each) => each > a)) + b,
  ),
  onList(
    'int',
    {
      name: 'count-multiples',
      most: [9, 30],
      sentence: ([a, b]) => `Return how many numbers of x are divisible by ${a}, times ${b}.`,
      code: ([a, b]) => [`return sum(1 for v in x if v % ${a} == 0) * ${b}`],
    },
    (a, b, x) => BigInt(x.filter((each) => remainder(each, a) === 0n).length) * b,
  ),
  onList(
    'list[int]',
    {
      name: 'each',
      most: [12, 40],
      sentence: ([a, b]) => `Return a list with ${a} times each number of x plus ${b}.`,
      code: ([a, b]) => [`return [${a} * v + ${b} for v in x]`],
    },
    (a, b, x) => x.map((each) => a * each + b),
  ),
  onList(
    'list[int]',
    {
      name: 'keep-between',
      most: [20, 60],
      sentence: ([a, b]) =>
        `Return a list of the numbers of x that are at least ${a} and at most ${a + b}, in the same order.`,
      code: ([a, b]) => [`return [v for v in x if ${a} <= v <= ${a + b}]`],
    },
    (a, b, x) => x.filter((each) => each >= a && each <= a + b),
  ),
  onList(
    'list[int]',
    {
      name: 'sorted-shift',
      most: [50, 2],
      sentence: ([a]) => `Return the numbers of x in ascending order, each plus ${a}.`,
      code: ([a]) => [`return sorted(v + ${a} for v in x)`],
    },
    (a, _, x) => x.map((each) => each + a).sort((one, other) => (one < other ? -1 : one > other ? 1 : 0)),
  ),
];

const words: readonly EasyFamily[] = [
  onText(
    'int',
    {
      name: 'count-letter',
      most: [9, 30],
      sentence: ([a, b]) => `Return how often the letter ${letterOf(a)} is in x, times ${b}.`,
      code: ([a, b]) => [`return x.count('${letterOf(a)}') * ${b}`],
    },
    ([a, b], x) => BigInt(x.split(letterOf(a)).length - 1) * BigInt(b),
  ),
  onText(
    'str',
    {
      name: 'replace-letter',
      most: [9, 9],
      sentence: ([a, b]) => `Return x with every letter ${letterOf(a)} replaced by ${b} times the letter z.`,
      code: ([a, b]) => [`return x.replace('${letterOf(a)}', 'z' * ${b})`],
    },
    ([a, b], x) => x.replaceAll(letterOf(a), 'z'.repeat(b)),
  ),
  onText(
    'str',
    {
      name: 'repeat-end',
      most: [5, 9],
      sentence: ([a, b]) => `Return the last ${a} letters of x, ${b} times.`,
      code: ([a, b]) => [`return x[-${a}:] * ${b}`],
    },
    ([a, b], x) => x.slice(-a).repeat(b),
  ),
];

export const easyFamilies: readonly EasyFamily[] = [...numbers, ...lists, ...words];

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

function taskOf(family: EasyFamily, numbers: readonly [number, number]): ProgramProblem {
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
export function easyTasks(seed: number, count: number): ProgramProblem[] {
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
  const tasks: ProgramProblem[] = [];
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
