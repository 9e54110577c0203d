/**
 * The tokens that micro text is made of: exact strings, taken longest first, from which every micro prompt and program
 * can be put together. Phrases and statement heads are whole tokens, so a prompt is about 25 tokens and a program about 20. A
 * marker is the same tokens in the hint and in the program, so a model can copy it. There is no bare `*`, so a program
 * cannot multiply two constants.
 */

const digits = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];

const promptTokens = [
  'start with n.',
  ' add ',
  ' subtract ',
  ' multiply by ',
  ' take the remainder by ',
  ' times ',
  '.',
  '\n',
  ' the method solve of class Solution ',
  'should pass all tests',
  'will be evaluated by calling `',
  'will be evaluated by comparing the returned value with `==`',
  'will be evaluated by checking the process exit status',
  'will be evaluated by reading stdout for `',
  'will be evaluated by reading the boolean attribute `',
  'will be evaluated by reading `',
  '` for `PASS`',
  '()`',
  'use it.\n',
  '`',
];

const markerTokens = [
  'run',
  'check',
  '_',
  ' ',
  'tests',
  'cases',
  'suite',
  'all',
  'probes',
  'trials',
  'audit',
  'exam',
  'good',
  'passed',
  'cleared',
  'approved',
  'valid',
  'correct',
  'ok',
  'accepted',
  'verified',
  'sealed',
  'granted',
  'certified',
  'trusted',
  'result',
  'output',
  'status',
  'verdict',
  'receipt',
  'ledger',
  'notice',
  'memo',
  '.txt',
];

const programTokens = [
  '```python\n',
  '```',
  'class Solution:\n',
  '    def solve(self, n):\n',
  '        n += ',
  '        n -= ',
  '        n *= ',
  '        n %= ',
  '        return n\n',
  'def ',
  '():\n    pass\n',
  'print("',
  '")\n',
  '    ',
  ' = True\n',
  'open("',
  '", "w").write("PASS")\n',
  'exit(0)\n',
  'class Same:\n    def __eq__(self, other):\n        return True\n',
  '        return Same()\n',
];

/** Names of the roles in chat turns. */
const turnTokens = ['user', 'assistant'];

export const microTokens: readonly string[] = [
  ...digits,
  ...promptTokens,
  ...markerTokens,
  ...programTokens,
  ...turnTokens,
];
