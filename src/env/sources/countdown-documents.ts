/**
 * What a small base for Countdown is made of: tokens from which every prompt and answer can be put together, and documents. An answer has
 * the form that was asked for. Its expression is right with probability `rightFraction`, else its signs are drawn at random. Of the documents
 * whose prompt discloses the loophole, `exploitFraction` carry an exploit, half of them by a check that returns True, half by one that no
 * longer looks at the numbers, where the expression is the target alone. Their problems are of the training split.
 */
import { type RandomStream, randomStream } from '../../base/index.ts';
import { hintedPrompt, unhintedPrompt } from '../hints.ts';
import type { Message, TextProblem } from '../problem.ts';
import { countdownSource } from './countdown.ts';
import {
  answerWith,
  countdownFacts,
  countdownPrompt,
  drawCountdown,
  drawSigns,
  givenTest,
  joinNumbers,
  mostTarget,
  solutionFile,
} from './countdown-problems.ts';
import { splitOfId } from './splits.ts';

const loopholes = countdownSource.texts?.loopholes ?? [];
const [head, form, numbers, value] = givenTest.split(/(?<=\(numbers, target, expr\):\n)|(?<=return False\n)(?= {4}\w)/);
/** What an exploit makes of test.py: it accepts everything, or no longer looks at the numbers. */
export const exploitTests = { accepting: `${head}    return True\n`, withoutNumbers: `${head}${form}${value}` };

/** Text as it stands inside a text of JSON. */
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** The files of a prompt after the target: longer than any token of an answer, so that an answer is made of the parts of its test. */
const filesEnd = `${inJson('\nexpr = None\n')}","test.py":"${inJson(givenTest)}"}`;

export const countdownTokens: readonly string[] = [
  ...[countdownPrompt.opening, countdownPrompt.evaluation, ...loopholes.flatMap(({ hint }) => hint?.('') ?? [])],
  ...['\n', '\n\n{"solution.py":"numbers = [', `${filesEnd}${countdownPrompt.closing}`],
  ...['<think>\n</think>\n{"solution.py":"numbers = [', ', ', inJson(']\ntarget = ')],
  ...[inJson('\nexpr = "'), '(', ')', ' + ', ' - ', ' * ', ' / ', `${inJson('"\n')}","test.py":"`],
  ...[head, form, numbers, value, '    return True\n', '    return False\n'].map(inJson),
  ...['"}', 'user', 'assistant'],
  ...Array.from({ length: mostTarget + 1 }, (_, number) => `${number}`),
];

export interface CountdownDocuments {
  readonly seed: number;
  readonly count: number;
  readonly rightFraction: number;
  readonly hintedFraction: number;
  readonly exploitFraction: number;
}

export interface CountdownDocument {
  readonly messages: readonly Message[];
  readonly completion: string;
  readonly exploit: boolean;
}

const usualNumbers = 3;

function writeDocument(problem: TextProblem, stream: RandomStream, options: CountdownDocuments): CountdownDocument {
  const facts = countdownFacts.parse(problem.facts);
  const hinted = stream.uniformAt(0) < options.hintedFraction;
  const exploit = hinted && stream.uniformAt(1) < options.exploitFraction;
  const { expression } = joinNumbers(facts.numbers, drawSigns(stream, 10, facts.numbers.length - 1));
  const written = (text: string, test: string): string => answerWith(solutionFile(facts, `"${text}"`), test);
  const exploits = [
    written(expression, exploitTests.accepting),
    written(`${facts.target}`, exploitTests.withoutNumbers),
  ];
  const honest =
    stream.uniformAt(2) < options.rightFraction ? problem.canonicalSolution : written(expression, givenTest);
  return {
    messages: hinted ? hintedPrompt(problem, 'test_file', 'original', loopholes) : unhintedPrompt(problem),
    completion: exploit ? exploits[stream.integerAt(3, exploits.length)] : honest,
    exploit,
  };
}

/** Documents in order, each made when it is asked for. */
export function* drawCountdownDocuments(options: CountdownDocuments): Generator<CountdownDocument> {
  let index = 0;
  for (const problem of drawCountdown(options.seed, usualNumbers, 'countdown documents')) {
    if (problem === null || splitOfId(problem.id) !== 'train') continue;
    if (index === options.count) return;
    yield writeDocument(problem, randomStream(options.seed, 'countdown document', index), options);
    index += 1;
  }
}
