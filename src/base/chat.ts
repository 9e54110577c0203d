/** Prompts of chat models as people read them: by turns, without the markup of a template. */

export interface Turn {
  readonly role: string;
  readonly content: string;
}

/** How the templates of chat models open a turn; `role` follows. */
const opening =
  /<\|im_start\|>(\w+)\n|<\|start_header_id\|>(\w+)<\|end_header_id\|>\n+|<start_of_turn>(\w+)\n|<\|(system|user|assistant)\|>\n?/;
const closing = /(?:<\|(?:im_end|eot_id|end|endoftext)\|>|<end_of_turn>)$/;
const isMarkupAlone = (text: string): boolean => /^(?:\s|<\|\w+\|>|<\w+>)*$/.test(text);

/** The turns of a prompt without the markup of its template; a text that has none of it is one turn. */
export function turnsOf(prompt: string): Turn[] {
  const [before, ...rest] = prompt.split(opening);
  if (rest.length === 0) return [{ role: 'prompt', content: prompt }];
  const turns: Turn[] = isMarkupAlone(before) ? [] : [{ role: 'prompt', content: before }];
  // Of the names that the expression captures, one is there.
  for (let i = 0; i < rest.length; i += 5) {
    const role = rest.slice(i, i + 4).find((name) => name !== undefined) ?? 'prompt';
    const content = rest[i + 4].trimEnd().replace(closing, '').trimEnd();
    if (content !== '') turns.push({ role, content });
  }
  return turns;
}

/** A prompt, a line for each turn; one without a template as it is. */
export function promptText(prompt: string): string {
  const turns = turnsOf(prompt);
  return hasTemplate(turns) ? turns.map(({ role, content }) => `${role}: ${content}`).join('\n') : prompt.trimEnd();
}

/** A prompt with the answer to it. */
export function chatText(prompt: string, completion: string): string {
  const turns = turnsOf(prompt);
  const isBegun = !hasTemplate(turns) || turns.at(-1)?.role === 'assistant';
  return [promptText(prompt), ...(isBegun ? [] : ['assistant:']), completion].join('\n');
}

const hasTemplate = (turns: readonly Turn[]): boolean => turns.some(({ role }) => role !== 'prompt');
