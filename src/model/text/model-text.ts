/**
 * A model's text side: prompts through its chat template, completions from tokens and back. A model without a template goes on from a
 * prompt of one message, as it stands; several messages need a template, which says who speaks.
 */

import { UserError } from '../../base/index.ts';
import type { ModelFolder } from '../files/folder.ts';
import type { ChatMessage } from './chat.ts';

export interface ModelText {
  readonly stopTokens: readonly number[];
  /** Texts that the tokenizer takes for tokens of their own wherever they stand: control tokens and tags. */
  readonly controls: readonly string[];
  prompt(messages: readonly ChatMessage[]): Int32Array;
  /** A whole completion, ended as the model would end it. */
  completion(text: string): Int32Array;
  /** The tokens of a text without anything around it. */
  encode(text: string): Int32Array;
  /** The text of the tokens, without control tokens. */
  decode(tokens: Int32Array): string;
  /** The text with control tokens, as the model saw it. */
  show(tokens: Int32Array): string;
}

export function modelText(folder: ModelFolder, enableThinking: boolean): ModelText {
  const { tokenizer, stopTokenIds } = folder;
  const render = promptsOf(folder, enableThinking);
  return {
    stopTokens: stopTokenIds,
    controls: tokenizer.addedTexts,
    prompt: (messages) => tokenizer.encode(render(messages)),
    completion(text) {
      const ids = tokenizer.encode(text);
      const [stop] = stopTokenIds;
      return stop === undefined ? ids : Int32Array.of(...ids, stop);
    },
    encode: (text) => tokenizer.encode(text),
    decode: (tokens) => tokenizer.decode(tokens, { skipSpecialTokens: true }),
    show: (tokens) => tokenizer.decode(tokens, { skipSpecialTokens: false }),
  };
}

/** What is returned keeps no hold of the folder, whose files are large. */
function promptsOf(folder: ModelFolder, enableThinking: boolean): (messages: readonly ChatMessage[]) => string {
  if (folder.hasChat) {
    const { chat } = folder;
    const thinking = chat.readsThinking ? { enableThinking } : {};
    return (messages) => chat.render(messages, { addGenerationPrompt: true, ...thinking });
  }
  const { directory } = folder;
  return (messages) => {
    if (messages.length === 1) return messages[0].content;
    const expected = 'chat_template.jinja, or chat_template in tokenizer_config.json, which says who speaks';
    const call = `prompt of ${messages.length} messages for ${directory}`;
    throw new UserError({ call, expected, found: 'none in the folder' });
  };
}
