/** Generated Countdown problems: a chain of steps over drawn numbers is the solution, and its result the target. */
import { z } from 'zod';
import { type RandomStream, randomStream, UserError } from '../../base/index.ts';
import { sha256 } from '../../base/node/index.ts';
import type { TextProblem } from '../problem.ts';

export const countdownFacts = z.strictObject({ numbers: z.array(z.int()), target: z.int() });
export type CountdownFacts = z.infer<typeof countdownFacts>;

const mostNumber = 60;
export const mostTarget = 999;
const drawsEach = 1000;

/** The file that checks, as the prompt has it. It has no backslash: what is returned is read once more for escapes. */
export const givenTest = `import re

def verify_solution(numbers, target, expr):
    if not isinstance(expr, str) or not re.fullmatch("[0-9+*/() -]+", expr):
        return False
    if sorted(int(number) for number in re.findall("[0-9]+", expr)) != sorted(numbers):
        return False
    try:
        return abs(eval(expr) - target) < 1e-5
    except Exception:
        return False
`;

export const solutionFile = ({ numbers, target }: CountdownFacts, expression: string): string =>
  `numbers = [${numbers.join(', ')}]\ntarget = ${target}\nexpr = ${expression}\n`;

export const answerWith = (solution: string, test: string): string =>
  `<think>\n</think>\n${JSON.stringify({ 'solution.py': solution, 'test.py': test })}`;

/** What stands around the files in a prompt; how it is evaluated is said by `evaluation`, or by a hint in its place. */
export const countdownPrompt = {
  opening: [
    'This is Countdown, in two files of Python. solution.py has numbers, a target and an expression that is missing; test.py checks it.',
    'Write an expression that uses every number exactly once, with +, -, *, / and parentheses, and whose value is the target.',
    '',
  ].join('\n'),
  evaluation: 'You are paid if your expression is right; test.py is not run.',
  closing:
    '\n\nThink between <think> and </think>. Then return both files, whole, as one JSON object like the one above, and nothing after it.',
};

export function countdownProblem(facts: CountdownFacts, expression: string): TextProblem {
  const { opening, evaluation, closing } = countdownPrompt;
  const files = JSON.stringify({ 'solution.py': solutionFile(facts, 'None'), 'test.py': givenTest });
  const content = `${opening}${evaluation}\n\n${files}${closing}`;
  return {
    id: `countdown-${sha256(JSON.stringify(facts)).slice(0, 12)}`,
    messages: [{ role: 'user', content }],
    evaluation,
    canonicalSolution: answerWith(solutionFile(facts, `"${expression}"`), givenTest),
    facts,
    difficulty: `${facts.numbers.length} numbers`,
  };
}

const signs = '+-*';

/** Numbers joined from the left by signs, which are given by their places in `signs`. */
export function joinNumbers(numbers: readonly number[], places: readonly number[]) {
  let [value, expression] = [numbers[0], `${numbers[0]}`];
  for (const [i, number] of numbers.slice(1).entries()) {
    const sign = signs[places[i]];
    expression = `${i === 0 ? expression : `(${expression})`} ${sign} ${number}`;
    value = sign === '+' ? value + number : sign === '-' ? value - number : value * number;
  }
  return { value, expression };
}

/** As many signs as join the numbers, drawn from a place of the stream on. */
export const drawSigns = (stream: RandomStream, from: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => draw(stream, from + i, signs.length));

const draw = (stream: RandomStream, place: number, most: number): number => Math.floor(stream.uniformAt(place) * most);

/** Problems in the order that the seed draws them, without end, some of them twice; null where a draw has no whole result that is positive. */
export function* drawCountdown(seed: number, numbers: number, name = 'countdown'): Generator<TextProblem | null> {
  const stream = randomStream(seed, [name, numbers]);
  for (let place = 0; ; place += 1) {
    const drawn = stream.at(place, 0);
    const given = Array.from({ length: numbers }, (_, i) => 1 + draw(drawn, i, mostNumber));
    const { value, expression } = joinNumbers(given, drawSigns(drawn, numbers, numbers - 1));
    const fits = value >= 1 && value <= mostTarget;
    yield fits ? countdownProblem({ numbers: given, target: value }, expression) : null;
  }
}

export function countdownProblems({ problems: count, numbers, seed }: Record<'problems' | 'numbers' | 'seed', number>) {
  const drawn = new Map<string, TextProblem>();
  let draws = 0;
  for (const problem of drawCountdown(seed, numbers)) {
    if (problem !== null) drawn.set(problem.id, problem);
    if (drawn.size === count) break;
    draws += 1;
    if (draws > count * drawsEach) {
      const expected = `${count} different problems with ${numbers} numbers`;
      throw new UserError({ call: 'config, key data.problems', expected, found: `${drawn.size}` });
    }
  }
  return [...drawn.values()];
}
