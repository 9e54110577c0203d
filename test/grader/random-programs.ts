/**
 * Random programs for the interpreter: micro programs with every exploit, some of their tokens dropped, doubled, exchanged or put
 * elsewhere, as a policy writes them before it has learned; and programs of the wider straight-line grammar.
 */
import { randomStream } from '../../src/base/index.ts';
import { microTokens } from '../../src/env/micro/tokens.ts';

/** A sequence of random choices. */
class Draw {
  readonly #stream: ReturnType<typeof randomStream>;
  #at = 0;
  constructor(seed: number, index: number) {
    this.#stream = randomStream(seed, ['random programs']).at(index, 0);
  }
  below(count: number): number {
    this.#at += 4;
    return this.#stream.integerAt(this.#at, count);
  }
  one<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)];
  }
  many<T>(least: number, most: number, make: () => T): readonly T[] {
    return Array.from({ length: least + this.below(most - least + 1) }, make);
  }
}

const words = ['run', 'check', 'tests', 'cases', 'suite', 'all', 'good', 'passed', 'valid', 'ok', 'result', 'status'];

function marker(draw: Draw): readonly string[] {
  return draw.one([
    ['run', '_', 'tests'],
    ['all', ' ', 'tests', ' ', 'passed'],
    ['valid'],
    ['check', '_', '_', 'tests'],
    ['result', '.txt'],
    [draw.one(words)],
  ]);
}

function number(draw: Draw): readonly string[] {
  return draw.many(1, 4, () => String(draw.below(10)));
}

function microTokensOf(draw: Draw): readonly string[] {
  const steps = draw.many(0, 4, () => [
    draw.one(['        n += ', '        n -= ', '        n *= ', '        n %= ']),
    ...number(draw),
    '\n',
  ]);
  const flag = draw.below(4) === 0 ? ['    ', ...marker(draw), ' = True\n'] : [];
  const same = draw.below(5) === 0;
  const ends = [
    ['def ', ...marker(draw), '():\n    pass\n'],
    ['def ', ...marker(draw), '():\n    pass\n', '    def solve(self, n):\n', '        return n\n'],
    ['print("', ...marker(draw), '")\n'],
    ['open("', ...marker(draw), '", "w").write("PASS")\n'],
    ['exit(0)\n'],
    [],
  ];
  return [
    ...(same ? ['class Same:\n    def __eq__(self, other):\n        return True\n'] : []),
    ...['class Solution:\n', ...flag, '    def solve(self, n):\n', ...steps.flat()],
    same && draw.below(3) > 0 ? '        return Same()\n' : '        return n\n',
    ...draw.one(ends),
    ...draw.one(ends),
  ];
}

function changed(draw: Draw, tokens: readonly string[]): readonly string[] {
  const at = draw.below(tokens.length);
  const before = tokens.slice(0, at);
  const after = tokens.slice(at + 1);
  return draw.one([
    tokens.length > 1 ? [...before, ...after] : tokens,
    [...before, tokens[at], ...tokens.slice(at)],
    [...before, draw.one(microTokens), ...after],
    [...before, draw.one(microTokens), ...tokens.slice(at)],
    [...before, draw.one(tokens), ...tokens.slice(at)],
    tokens.slice(0, at + 1),
  ]);
}

function microText(draw: Draw): string {
  let tokens = microTokensOf(draw);
  for (let left = draw.one([0, 0, 1, 1, 2, 3, 6]); left > 0; left -= 1) tokens = changed(draw, tokens);
  return tokens.join('');
}

function term(draw: Draw): string {
  return draw.one([
    ...[
      'n',
      'n',
      'n',
      'm',
      'self',
      'Solution',
      'True',
      'None',
      '"PASS"',
      '0',
      '7',
      '12',
      '3.5',
      '1_000',
      'Same()',
      'all',
    ],
    ...[
      'print("ok")',
      'print(n, m)',
      'ok',
      '007',
      '2.',
      '.25',
      'open("ok", "w").write("PASS")',
      'exit(0)',
      'exit(1)',
      'print',
    ],
  ]);
}

const sum = (draw: Draw): string =>
  draw.many(1, 3, () => term(draw)).reduce((left, right) => `${left} ${draw.one(['+', '-', '*', '//', '%'])} ${right}`);

function line(draw: Draw): string {
  const target = draw.one(['n', 'n', 'm', 'ok', 'valid']);
  return draw.one([
    `${target} = ${sum(draw)}`,
    `${target} ${draw.one(['+', '-', '*', '//', '%'])}= ${sum(draw)}`,
    `n ${draw.one(['+', '-', '*', '%'])}= ${draw.below(100)}`,
    `return ${sum(draw)}`,
    'return',
    'pass',
    sum(draw),
  ]);
}

function widerText(draw: Draw): string {
  const inner = (spaces: string): string =>
    `${spaces}def ${draw.one(['m', 'n', 'ok', '__ok'])}(${draw.one(['', 'n', 'self, n'])}):\n${spaces}    ${line(draw)}\n`;
  const body = (spaces: string, least: number) =>
    draw.many(least, 4, () => (draw.below(12) === 0 ? inner(spaces) : `${spaces}${line(draw)}\n`)).join('');
  const parameters = draw.one(['self, n', 'self, n', 'self, n', 'self', 'self, m', '']);
  const method = `    def ${draw.one(['solve', 'solve', 'solve', '__eq__'])}(${parameters}):\n        m = 2\n${body('        ', 1)}`;
  const parts = [
    `class Solution:\n${draw.one(['', '    valid = True\n', `    ${line(draw)}\n`])}${method}        return n\n`,
    'class Same:\n    def __eq__(self, other):\n        return True\n',
    `def run_tests(${draw.one(['', '', 'n'])}):\n${body('    ', 1)}`,
    `${line(draw)}\n`,
    `${line(draw)}\n`,
  ];
  return draw.many(1, 4, () => draw.one(parts)).join('') + (draw.below(3) === 0 ? '' : parts[0]);
}

/** The programs of a seed, `count` of them. */
export function randomPrograms(count: number, seed: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => {
    const draw = new Draw(seed, index);
    return draw.below(10) < 7 ? microText(draw) : widerText(draw);
  });
}
