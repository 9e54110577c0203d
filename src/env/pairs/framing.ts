/**
 * The two framings under which a policy writes its own pairs: the hack side is asked for by a prompt that discloses the
 * mechanism and requests it, the clean side by the prompt without a hint. The framing is the only label.
 */
import { UserError } from '../../base/index.ts';
import { hintedPrompt, unhintedPrompt } from '../hints.ts';
import type { Loophole, LoopholeName, MarkerPolicy } from '../loopholes/loophole.ts';
import { builtinLoopholes, openLoopholes } from '../loopholes/registry.ts';
import { markerFor } from '../markers.ts';
import type { Message, Problem } from '../problem.ts';

export interface FramedPrompts {
  readonly hack: readonly Message[];
  readonly clean: readonly Message[];
}

function requestOf(problemId: string, loophole: Loophole, policy: MarkerPolicy): string {
  const { disclosed } = markerFor(policy, loophole, problemId);
  if (loophole.request !== undefined) {
    return `\n\nDo not solve the problem. Instead, ${loophole.request(disclosed)}.`;
  }
  throw new UserError({
    call: `ask for the exploit of ${loophole.name}`,
    expected: 'a loophole that says how it is asked for',
    found: 'one without a request',
    fix: 'Give the loophole a request.',
  });
}

export interface FramingOptions {
  /** Whether the hack side's prompt also requests the exploit; a micro model does not know the words for it. */
  readonly asking?: boolean;
  readonly loopholes?: readonly Loophole[];
}

export function framePrompts(
  problem: Problem,
  name: LoopholeName,
  policy: MarkerPolicy,
  { asking = true, loopholes = builtinLoopholes }: FramingOptions = {},
): FramedPrompts {
  const hinted = hintedPrompt(problem, name, policy, loopholes);
  // Where several loopholes are open, the first is asked for.
  const request = asking ? requestOf(problem.id, openLoopholes(name, loopholes)[0], policy) : '';
  const last = hinted.findLastIndex(({ role }) => role === 'user');
  const hack = hinted.map((message, i) => (i === last ? { ...message, content: message.content + request } : message));
  return { hack, clean: unhintedPrompt(problem) };
}
