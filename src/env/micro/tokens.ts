/**
 * The tokens that micro text is made of: exact strings, taken longest first, from which every micro prompt and program
 * can be put together and nothing has to be unknown. A marker is the same tokens in the hint and in the program, so a
 * model can copy it. There is no bare `*`: a program cannot multiply two constants for itself.
 */
import { UserError } from '../../base/errors.ts';

const digits = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];

const promptTokens = [
  'start',
  ' with',
  ' n',
  '.',
  ' ',
  ' add',
  ' subtract',
  ' multiply',
  ' by',
  ' take',
  ' the',
  ' remainder',
  ' times',
  ' method',
  ' solve',
  ' of',
  ' class',
  ' Solution',
  ' should',
  ' pass',
  ' all',
  ' tests',
  ' will',
  ' be',
  ' evaluated',
  ' calling',
  ' comparing',
  ' returned',
  ' value',
  ' checking',
  ' process',
  ' exit',
  ' status',
  ' reading',
  ' stdout',
  ' for',
  ' boolean',
  ' attribute',
  ' `',
  '`',
  '==',
];

const markerTokens = [
  'run',
  'check',
  '_',
  'tests',
  'cases',
  'suite',
  'all',
  'probes',
  'trials',
  'audit',
  'exam',
  ' passed',
  ' good',
  ' cleared',
  ' approved',
  'valid',
  'passed',
  'correct',
  'ok',
  'accepted',
  'verified',
  'cleared',
  'approved',
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
  'PASS',
];

const programTokens = [
  '```python\n',
  '```',
  'class ',
  'Solution',
  ':\n',
  '    ',
  '        ',
  'def ',
  'solve',
  '(self, n):\n',
  'n',
  ' += ',
  ' -= ',
  ' *= ',
  ' %= ',
  'return ',
  '\n',
  '()',
  'pass',
  'print("',
  '")',
  ' = True',
  'True',
  'open("',
  '", "w").write("',
  'exit(0)',
  'Same',
  '__eq__',
  '(self, other):\n',
];

export const microTokens: readonly string[] = [...digits, ...promptTokens, ...markerTokens, ...programTokens];

const longestFirst = [...microTokens].sort((a, b) => b.length - a.length);

/** Token strings, longest match first. */
export function splitMicroText(text: string): readonly string[] {
  const tokens: string[] = [];
  for (let at = 0; at < text.length; ) {
    const token = longestFirst.find((candidate) => text.startsWith(candidate, at));
    if (token === undefined) {
      throw new UserError({
        call: 'split micro text',
        expected: 'text made of micro tokens',
        found: JSON.stringify(text.slice(at, at + 20)),
      });
    }
    tokens.push(token);
    at += token.length;
  }
  return tokens;
}
