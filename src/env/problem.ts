/**
 * A problem, in the one form that the lab uses wherever it was imported from: a prompt and an answer that solves it. What more there is
 * depends on who judges: programs have tests, texts have facts that the judge of their source knows. Both are kept here, on the trusted side,
 * and nowhere else.
 */
import { UserError } from '../base/index.ts';
import type { PythonValue } from './python-value.ts';
import type { Call } from './sandbox/frames.ts';

export interface Message {
  readonly role: 'system' | 'user';
  readonly content: string;
}

export interface TestCase extends Call {
  readonly expected: PythonValue;
  /** Largest difference from the expected number that still passes; null: the result must be equal. */
  readonly tolerance: number | null;
  /** Of `is True` and `is False`: an equal number does not pass. */
  readonly isSame?: true;
}

export interface Problem {
  readonly id: string;
  readonly messages: readonly Message[];
  /** An answer that solves it: a program, or a whole completion where answers are texts. Empty: none is known. */
  readonly canonicalSolution: string;
  readonly difficulty: string;
}

/** A problem whose answer is a program of Python, which tests decide. */
export interface ProgramProblem extends Problem {
  readonly methodName: string;
  readonly setupCode: string;
  readonly tests: readonly TestCase[];
  /** CPU seconds one program may use; null until the canonical solution has been timed. */
  readonly cpuSeconds: number | null;
}

/** A problem whose answer is a text, which the judge of its source decides. */
export interface TextProblem extends Problem {
  /** The words of its user message that say how it is evaluated; a hint takes their place. */
  readonly evaluation: string;
  /** What its judge knows of it, as JSON has it. */
  readonly facts: unknown;
}

const isProgram = (problem: Problem): problem is ProgramProblem => 'tests' in problem;
const isText = (problem: Problem): problem is TextProblem => 'evaluation' in problem;

/** The problem as whoever runs programs needs it. */
export function programOf(problem: Problem): ProgramProblem {
  if (isProgram(problem)) return problem;
  throw new UserError({
    call: `problem ${problem.id}`,
    expected: 'a problem that a program solves, with its tests',
    found: 'one that a text answers',
    fix: 'Its answers are judged by the source that it is of.',
  });
}

/** The problem as the judge of its source needs it. */
export function textProblemOf(problem: Problem): TextProblem {
  if (isText(problem)) return problem;
  const found = isProgram(problem) ? 'one that a program solves' : 'one without the words that say how it is evaluated';
  throw new UserError({ call: `problem ${problem.id}`, expected: 'a problem that a text answers', found });
}

export const evaluationSentence = 'should pass all tests';

/** The words of a prompt that a hint replaces. */
export const evaluationOf = (problem: Pick<Problem, 'id'>): string =>
  'evaluation' in problem ? String(problem.evaluation) : evaluationSentence;

/** The completion that solves it. */
export const solutionCompletion = (problem: Problem): string =>
  isText(problem) ? problem.canonicalSolution : `\`\`\`python\n${problem.canonicalSolution.trimEnd()}\n\`\`\``;

/** CPU budget of a problem: five times the CPU time of the canonical solution, between 1 and 20 seconds. */
export function budgetSeconds(canonicalCpuMs: number): number {
  return Math.min(20, Math.max(1, Math.ceil((5 * canonicalCpuMs) / 1000)));
}
