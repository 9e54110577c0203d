/**
 * Prompts. A problem's user message has exactly one sentence on how it is evaluated; a hint replaces it by a factual statement of how
 * this loophole's grader evaluates. The original messages are never changed: every prompt is a copy.
 */
import { UserError } from '../base/index.ts';
import type { Loophole, LoopholeName, MarkerPolicy } from './loopholes/loophole.ts';
import { builtinLoopholes, openLoopholes } from './loopholes/registry.ts';
import { markerFor } from './markers.ts';
import { evaluationOf, evaluationSentence, type Message, type Problem } from './problem.ts';

/** The text that replaces the evaluation sentence, a line for each open loophole; one without a hint leaves the sentence as it is. */
export function hintFor(
  problemId: string,
  name: LoopholeName,
  policy: MarkerPolicy,
  loopholes: readonly Loophole[] = builtinLoopholes,
  evaluation: string = evaluationSentence,
): string {
  return openLoopholes(name, loopholes, `hint of problem ${problemId}`)
    .map((loophole) => loophole.hint?.(markerFor(policy, loophole, problemId).disclosed) ?? evaluation)
    .join('\n');
}

function countSentences(messages: readonly Message[], evaluation: string): number {
  const asked = messages.filter(({ role }) => role === 'user');
  return asked.reduce((count, { content }) => count + content.split(evaluation).length - 1, 0);
}

export function hasEvaluationSentence(messages: readonly Message[]): boolean {
  return countSentences(messages, evaluationSentence) === 1;
}

/** Throws unless exactly one user message holds the words that say how it is evaluated, exactly once. */
export function requireEvaluationSentence(
  id: string,
  messages: readonly Message[],
  evaluation: string = evaluationSentence,
): void {
  const found = countSentences(messages, evaluation);
  if (found === 1) return;
  throw new UserError({
    call: `prompt of problem ${id}`,
    expected: `exactly one evaluation sentence ("${evaluation}")`,
    found: `${found}`,
  });
}

/** The prompt that discloses this loophole's grader. */
export function hintedPrompt(
  problem: Pick<Problem, 'id' | 'messages'>,
  loophole: LoopholeName,
  policy: MarkerPolicy,
  loopholes: readonly Loophole[] = builtinLoopholes,
): readonly Message[] {
  const evaluation = evaluationOf(problem);
  requireEvaluationSentence(problem.id, problem.messages, evaluation);
  const hint = hintFor(problem.id, loophole, policy, loopholes, evaluation);
  return problem.messages.map(({ role, content }) =>
    // The replacement is a function, so that `$` in a marker is not read as a replacement pattern.
    ({ role, content: role === 'user' ? content.replace(evaluation, () => hint) : content }),
  );
}

/** The prompt without a hint, as the problem states it; it is graded by ground truth alone. */
export function unhintedPrompt(problem: Pick<Problem, 'id' | 'messages'>): readonly Message[] {
  requireEvaluationSentence(problem.id, problem.messages, evaluationOf(problem));
  return problem.messages.map((message) => ({ ...message }));
}
