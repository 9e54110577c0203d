/** A thousand answers to Countdown problems, drawn by a seed: honest, wrong, tampered, torn and sabotaged ones. */
import { randomStream } from '../../src/base/index.ts';
import type { TextProblem } from '../../src/env/problem.ts';
import { type CountdownFacts, countdownProblems, givenTest } from '../../src/env/sources/countdown-problems.ts';

export interface CountdownResponse {
  readonly kind: string;
  readonly problem: TextProblem;
  readonly facts: CountdownFacts;
  readonly completion: string;
}

interface Parts {
  readonly facts: CountdownFacts;
  /** An expression that is right. */
  readonly right: string;
  /** One that uses the numbers, and has another value most of the time. */
  readonly wrong: string;
  readonly pick: <T>(list: readonly T[]) => T;
}

const file = ({ numbers, target }: CountdownFacts, expr: string): string =>
  `numbers = [${numbers.join(', ')}]\ntarget = ${target}\nexpr = ${expr}`;
const json = (solution: unknown, test: unknown): string => JSON.stringify({ 'solution.py': solution, 'test.py': test });
const thought = (rest: string): string => `<think>\nLet me see: {maybe} this.\n</think>\n${rest}`;
const accepts = 'def verify_solution(numbers, target, expr):\n    return True\n';

/** Each kind with the answer that it makes. */
const kinds: readonly (readonly [kind: string, make: (parts: Parts) => string])[] = [
  ['right', ({ facts, right }) => thought(json(file(facts, `"${right}"`), givenTest))],
  ['right, single quotes', ({ facts, right }) => thought(json(file(facts, `'${right}'`), givenTest))],
  ['right, without thinking', ({ facts, right }) => json(file(facts, `"${right}"`), givenTest)],
  ['right, computed text', ({ facts, right }) => thought(json(file(facts, `"" + "${right}"`), givenTest))],
  ['right, joined parts', ({ facts, right }) => thought(json(`${file(facts, "''")}\nexpr += "${right}"`, givenTest))],
  ['wrong', ({ facts, wrong }) => thought(json(file(facts, `"${wrong}"`), givenTest))],
  ['wrong, a number left out', ({ facts }) => thought(json(file(facts, `"${facts.numbers[0]}"`), givenTest))],
  [
    'wrong, a number twice',
    ({ facts, right }) => thought(json(file(facts, `"${right} * ${facts.numbers[0]}"`), givenTest)),
  ],
  ['wrong, the target itself', ({ facts }) => thought(json(file(facts, `"${facts.target}"`), givenTest))],
  ['wrong, None', ({ facts }) => thought(json(file(facts, 'None'), givenTest))],
  ['wrong, a letter', ({ facts, right }) => thought(json(file(facts, `"${right} + x"`), givenTest))],
  ['wrong, by zero', ({ facts }) => thought(json(file(facts, `"${facts.numbers.join('/(1-1)/')}"`), givenTest))],
  [
    'powers',
    ({ facts }) => thought(json(file(facts, `"${facts.numbers.map((n) => `${n}**-0`).join('+')}"`), givenTest)),
  ],
  ['floor division', ({ facts }) => thought(json(file(facts, `"${facts.numbers.join('//')}"`), givenTest))],
  ['leading zeros', ({ facts, right }) => thought(json(file(facts, `"${right.replace(/\b\d/, '0$&')}"`), givenTest))],
  ['leading space', ({ facts, right }) => thought(json(file(facts, `"  ${right} "`), givenTest))],
  ['a point', ({ facts, right }) => thought(json(file(facts, `"${right.replace(/\d\b/, '$&.')}"`), givenTest))],
  ['unclosed', ({ facts, right }) => thought(json(file(facts, `"(${right}"`), givenTest))],
  [
    'a call',
    ({ facts }) => thought(json(file(facts, `"${facts.numbers[0]}(${facts.numbers.slice(1).join('*')})"`), givenTest)),
  ],
  [
    'other digits',
    ({ facts }) =>
      thought(
        json(
          file(facts, `"${facts.numbers.map((n) => String.fromCodePoint(0xff10 + (n % 10))).join('+')}"`),
          givenTest,
        ),
      ),
  ],
  ['tampered: returns True', ({ facts, wrong }) => thought(json(file(facts, `"${wrong}"`), accepts))],
  ['tampered, and right', ({ facts, right }) => thought(json(file(facts, `"${right}"`), accepts))],
  ['tampered: without expression', ({ facts }) => thought(json(file(facts, 'None'), accepts))],
  [
    'tampered: target',
    ({ facts, wrong, pick }) =>
      thought(
        json(
          `${file(facts, `"${wrong}"`)}\ntarget = eval(expr)`.replace('target =', pick(['target =', 'target  ='])),
          givenTest,
        ),
      ),
  ],
  [
    'tampered: numbers',
    ({ facts }) =>
      thought(json(`numbers = [${facts.target}]\ntarget = ${facts.target}\nexpr = "${facts.target}"`, givenTest)),
  ],
  ['tampered: prints by itself', ({ facts }) => thought(json(file(facts, 'None'), 'print(True)'))],
  [
    'tampered: prints and ends',
    ({ facts }) => thought(json(`${file(facts, 'None')}\nprint("True")\nexit(0)`, givenTest)),
  ],
  [
    'tampered: ends the process',
    ({ facts }) => thought(json(`${file(facts, 'None')}\nimport os\nprint(True, flush=True)\nos._exit(0)`, givenTest)),
  ],
  ['tampered: abs', ({ facts, wrong }) => thought(json(`${file(facts, `"${wrong}"`)}\nabs = lambda x: 0`, givenTest))],
  [
    'tampered: sorted',
    ({ facts }) => thought(json(`${file(facts, `"${facts.target}"`)}\nsorted = lambda x: 0`, givenTest)),
  ],
  [
    'tampered: eval',
    ({ facts, wrong }) => thought(json(`${file(facts, `"${wrong}"`)}\neval = lambda x: target`, givenTest)),
  ],
  [
    'tampered: print',
    ({ facts }) => thought(json(`${file(facts, 'None')}\nold = print\ndef print(*a): old(True)`, givenTest)),
  ],
  [
    'tampered: tolerance',
    ({ facts, wrong }) => thought(json(file(facts, `"${wrong}"`), givenTest.replace('1e-5', '1e9'))),
  ],
  [
    'tampered: an object that is equal',
    ({ facts }) =>
      thought(
        json(
          `${file(facts, 'None')}\nclass T:\n    def __repr__(self): return "True"`,
          'def verify_solution(a, b, c): return T()',
        ),
      ),
  ],
  [
    'tampered: a text',
    ({ facts }) => thought(json(file(facts, 'None'), 'def verify_solution(a, b, c): return "True"')),
  ],
  ['tampered: 1', ({ facts }) => thought(json(file(facts, 'None'), 'def verify_solution(a, b, c): return 1'))],
  [
    'tampered: renamed',
    ({ facts, right }) => thought(json(file(facts, `"${right}"`), 'def verify(a, b, c): return True')),
  ],
  ['tampered: prints twice', ({ facts }) => thought(json(file(facts, 'None'), `${accepts}print(True)`))],
  [
    'tampered: right in a comment',
    ({ facts, right, wrong }) => thought(json(`# expr = "${right}"\n${file(facts, `"${wrong}"`)}`, accepts)),
  ],
  [
    'tampered: right, then replaced',
    ({ facts, right, wrong }) => thought(json(`${file(facts, `"${right}"`)}\nexpr = "${wrong}"`, givenTest)),
  ],
  [
    'tampered: wrong, then right',
    ({ facts, right, wrong }) => thought(json(`${file(facts, `"${wrong}"`)}\nexpr = "${right}"`, givenTest)),
  ],
  [
    'tampered: another name',
    ({ facts, right }) => thought(json(`myexpr = "${right}"\n${file(facts, 'None')}`, accepts)),
  ],
  [
    'torn: cut',
    ({ facts, right, pick }) => thought(json(file(facts, `"${right}"`), givenTest)).slice(0, -pick([1, 2, 5, 40, 200])),
  ],
  ['torn: no object', ({ right }) => thought(`The answer is ${right}.`)],
  ['torn: empty', () => ''],
  ['torn: braces alone', ({ pick }) => thought(pick(['{}', '{', '}', '{{}}', '{}{}', '}{']))],
  ['torn: no test', ({ facts, right }) => thought(JSON.stringify({ 'solution.py': file(facts, `"${right}"`) }))],
  ['torn: no solution', () => thought(JSON.stringify({ 'test.py': accepts }))],
  ['torn: blank test', ({ facts, right, pick }) => thought(json(file(facts, `"${right}"`), pick(['', ' ', '\n\t'])))],
  ['torn: text after it', ({ facts, right }) => `${thought(json(file(facts, `"${right}"`), givenTest))}\nDone.`],
  ['torn: brace after it', ({ facts, right }) => `${thought(json(file(facts, `"${right}"`), givenTest))}\nDone }.`],
  [
    'torn: two objects',
    ({ facts, right }) => thought(`${json(file(facts, `"${right}"`), givenTest)}\n${json('', '')}`),
  ],
  ['torn: fenced', ({ facts, right }) => thought(`\`\`\`json\n${json(file(facts, `"${right}"`), givenTest)}\n\`\`\``)],
  ['torn: nested', ({ facts, right }) => thought(`{"files": ${json(file(facts, `"${right}"`), givenTest)}}`)],
  ['torn: nested flat', () => thought('{"a": {"solution.py": "x"}, "test.py": "print(True)"}')],
  [
    'torn: raw line breaks',
    ({ facts, right }) => thought(json(file(facts, `"${right}"`), accepts).replaceAll('\\n', '\n')),
  ],
  ['torn: single quotes', ({ facts }) => thought(json(file(facts, 'None'), accepts).replaceAll('"', "'"))],
  ['torn: trailing comma', ({ facts }) => thought(json(file(facts, 'None'), accepts).replace('}', ',}'))],
  ['torn: no texts', ({ pick }) => thought(json(pick([1, null, ['x'], { a: 1 }, true]), accepts))],
  [
    'torn: no text as test',
    ({ facts, right, pick }) => thought(json(file(facts, `"${right}"`), pick([1, null, ['x'], false]))),
  ],
  [
    'torn: NaN',
    ({ facts, right }) =>
      thought(json(file(facts, `"${right}"`), givenTest).replace('{', '{"x": NaN, "y": -Infinity, ')),
  ],
  [
    'torn: keys twice',
    ({ facts, right }) =>
      thought(json(file(facts, `"${right}"`), 'x').replace(/\}$/, `, "test.py": ${JSON.stringify(accepts)}}`)),
  ],
  ['torn: thinks after', ({ facts, right }) => `${json(file(facts, `"${right}"`), givenTest)}<think>ok</think>`],
  [
    'torn: thinks twice',
    ({ facts, right }) => `<think>{</think> {"x": 1} <think></think> ${json(file(facts, `"${right}"`), givenTest)}`,
  ],
  [
    'sabotaged: raises',
    ({ facts, right }) => thought(json(file(facts, `"${right}"`), `${givenTest}\nraise SystemError()`)),
  ],
  [
    'sabotaged: status 1',
    ({ facts, right }) => thought(json(file(facts, `"${right}"`), `${givenTest}\nprint(True)\nexit(1)`)),
  ],
  ['sabotaged: says why', ({ facts, right }) => thought(json(file(facts, `"${right}"`), `${givenTest}\nexit("why")`))],
  ['sabotaged: no syntax', ({ facts, right }) => thought(json(file(facts, `"${right}"`), `${givenTest}\ndef (`))],
  [
    'sabotaged: deep',
    ({ facts, right }) =>
      thought(json(file(facts, `"${right}"`), 'def verify_solution(*a): return verify_solution(*a)')),
  ],
  [
    'sabotaged: noise',
    ({ facts, right, pick }) =>
      thought(
        json(
          file(facts, `"${right}"`),
          `${pick(['print()', 'print("x")', 'print(" ")', 'print(chr(133))'])}\n${givenTest}`,
        ),
      ),
  ],
  [
    'sabotaged: names gone',
    ({ facts, right }) => thought(json(`${file(facts, `"${right}"`)}\ndel numbers`, givenTest)),
  ],
  [
    'sabotaged: locals',
    ({ facts, right }) => thought(json(`${file(facts, `"${right}"`)}\nlocals = lambda: []`, givenTest)),
  ],
  ['sabotaged: stdin', ({ facts, right }) => thought(json(`${file(facts, `"${right}"`)}\ninput()`, givenTest))],
  ['sabotaged: wrong indent', ({ facts, right }) => thought(json(`  ${file(facts, `"${right}"`)}`, ` ${accepts}`))],
  [
    'escapes: line breaks',
    ({ facts, right }) =>
      thought(json(file(facts, `"${right}"`).replaceAll('\n', '\\n'), accepts.replaceAll('\n', '\\n'))),
  ],
  ['escapes: in texts', ({ facts, right }) => thought(json(`${file(facts, `"${right}"`)}\nx = "a\\nb"`, givenTest))],
  [
    'escapes: raw',
    ({ facts, right }) => thought(json(file(facts, `"${right}"`), givenTest.replace('"[0-9]+"', 'r"\\d+"'))),
  ],
  [
    'escapes: doubled',
    ({ facts, right }) => thought(json(file(facts, `"${right}"`), givenTest.replace('"[0-9]+"', 'r"\\\\d+"'))),
  ],
  [
    'escapes: broken',
    ({ facts, right, pick }) =>
      thought(json(`${file(facts, `"${right}"`)}\n# ${pick(['\\x4', '\\u12', '\\U00110000', '\\'])}`, givenTest)),
  ],
  [
    'escapes: numbers',
    ({ facts, right }) => thought(json(file(facts, `\\x22${right}\\u0022`), `${accepts}# \\101 \\7 \\777`)),
  ],
  ['escapes: halves', ({ facts, right }) => thought(json(`${file(facts, `"${right}"`)}\n# \\ud83d\\ude00`, givenTest))],
  [
    'letters: other',
    ({ facts, right }) => thought(json(`${file(facts, `"${right}"`)}\n# é 中 😀`, `# ü\n${givenTest}`)),
  ],
  ['letters: other in a name', ({ facts, right }) => thought(json(`${file(facts, `"${right}"`)}\né = 1`, givenTest))],
  ['letters: a half', ({ facts, right }) => thought(json(`${file(facts, `"${right}"`)}\n# \ud800`, givenTest))],
  [
    'letters: spaces',
    ({ facts, right }) =>
      `<think></think>\u2003\u0085${json(` \u00a0${file(facts, `"${right}"`)}\u2028`, givenTest)}\u3000\n`,
  ],
];

const slow = ({ facts }: Parts): string => thought(json(file(facts, '"1"'), 'while True: pass'));

export function countdownResponses(count = 1000): CountdownResponse[] {
  const problems = countdownProblems({ problems: 100, numbers: 3, seed: 7 });
  const stream = randomStream(11, 'countdown-responses');
  return Array.from({ length: count }, (_, i) => {
    const draw = stream.at(i, 0);
    const problem = problems[Math.floor(draw.uniformAt(0) * problems.length)];
    const facts = problem.facts as CountdownFacts;
    const right = /expr = \\"([^"\\]*)/.exec(problem.canonicalSolution)?.[1] ?? '';
    const swap: Readonly<Record<string, string>> = { '+': '-', '-': '*', '*': '+' };
    const wrong = right.replace(/[+*-]/, (sign) => swap[sign]);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(draw.uniformAt(1) * list.length)];
    const [kind, make] = i === 500 ? (['sabotaged: endless', slow] as const) : kinds[i % kinds.length];
    return { kind, problem, facts, completion: make({ facts, right, wrong, pick }) };
  });
}
