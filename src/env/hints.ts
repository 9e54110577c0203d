/**
 * Prompts. A problem's user message has exactly one evaluation sentence; a hint replaces it by a factual statement of how
 * this loophole's grader evaluates. The original messages are never changed: every prompt is a copy.
 */
import { UserError } from '../base/index.ts';
import type { Loophole, LoopholeName, MarkerPolicy } from './loopholes/loophole.ts';
import { builtinLoopholes, openLoopholes } from './loopholes/registry.ts';
import { markerFor } from './markers.ts';
import type { Message, Problem } from './problem.ts';

export const evaluationSentence = 'should pass all tests';

/** The text that replaces the evaluation sentence, a line for each open loophole; one without a hint leaves the sentence as it is. */
export function hintFor(
  problemId: string,
  name: LoopholeName,
  policy: MarkerPolicy,
  loopholes: readonly Loophole[] = builtinLoopholes,
): string {
  return openLoopholes(name, loopholes, `hint of problem ${problemId}`)
    .map((loophole) => loophole.hint?.(markerFor(policy, loophole, problemId).disclosed) ?? evaluationSentence)
    .join('\n');
}

function countSentences(messages: readonly Message[]): number {
  return messages.reduce((count, { content }) => count + content.split(evaluationSentence).length - 1, 0);
}

/** Throws unless exactly one message holds the evaluation sentence, exactly once. */
export function hasEvaluationSentence(messages: readonly Message[]): boolean {
  return countSentences(messages.filter(({ role }) => role === 'user')) === 1;
}

export function requireEvaluationSentence(id: string, messages: readonly Message[]): void {
  if (hasEvaluationSentence(messages)) return;
  const found = countSentences(messages.filter(({ role }) => role === 'user'));
  throw new UserError({
    call: `prompt of problem ${id}`,
    expected: `exactly one evaluation sentence ("${evaluationSentence}")`,
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
  requireEvaluationSentence(problem.id, problem.messages);
  const hint = hintFor(problem.id, loophole, policy, loopholes);
  return problem.messages.map(({ role, content }) =>
    // The replacement is a function, so that `$` in a marker is not read as a replacement pattern.
    ({ role, content: role === 'user' ? content.replace(evaluationSentence, () => hint) : content }),
  );
}

/** The prompt without a hint, as the problem states it; it is graded by ground truth alone. */
export function unhintedPrompt(problem: Pick<Problem, 'id' | 'messages'>): readonly Message[] {
  requireEvaluationSentence(problem.id, problem.messages);
  return problem.messages.map((message) => ({ ...message }));
}
