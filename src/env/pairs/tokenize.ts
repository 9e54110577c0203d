/**
 * Pairs as token ids. Messages go through the model's chat template, up to the opening of the assistant's turn; plain text is
 * encoded as it is. A completion ends with the stop token, as a finished rollout does.
 */
import type { TokenPair } from '../../adapters/index.ts';
import { UserError } from '../../base/index.ts';
import type { ChatTemplate, ModelFolder, ModelTokenizer } from '../../model/index.ts';
import type { Pair, PairPrompt } from './pair.ts';

export interface PairEncoder {
  prompt(prompt: PairPrompt): Int32Array;
  completion(text: string): Int32Array;
}

export interface EncoderParts {
  readonly tokenizer: ModelTokenizer;
  /** Chat template of the model; null: only prompts of plain text can be encoded. */
  readonly chat: ChatTemplate | null;
  /** Token that ends every completion; null: none is added. */
  readonly stopToken: number | null;
  /** Whether the model may think; used by templates that read it. */
  readonly enableThinking?: boolean;
}

export function createPairEncoder({ tokenizer, chat, stopToken, enableThinking = false }: EncoderParts): PairEncoder {
  return {
    prompt(prompt) {
      if (typeof prompt === 'string') return tokenizer.encode(prompt);
      if (chat === null) {
        throw new UserError({
          call: `encode a pair's messages with ${tokenizer.file}`,
          expected: 'a model with a chat template',
          found: 'none in the folder',
          fix: 'Write the pairs with plain prompts ("Prompt:"), or use a chat model.',
        });
      }
      const thinking = chat.readsThinking ? { enableThinking } : {};
      return tokenizer.encode(chat.render(prompt, { addGenerationPrompt: true, ...thinking }));
    },
    completion(text) {
      const tokens = tokenizer.encode(text);
      return stopToken === null ? tokens : Int32Array.from([...tokens, stopToken]);
    },
  };
}

export function folderPairEncoder(folder: ModelFolder, enableThinking = false): PairEncoder {
  return createPairEncoder({
    tokenizer: folder.tokenizer,
    chat: folder.hasChat ? folder.chat : null,
    stopToken: folder.stopTokenIds[0] ?? null,
    enableThinking,
  });
}

export function tokenizePairs(pairs: readonly Pair[], encoder: PairEncoder): TokenPair[] {
  return pairs.map(({ heading, prompt, hack, clean }) => {
    try {
      return {
        prompt: encoder.prompt(prompt),
        hack: encoder.completion(hack),
        clean: encoder.completion(clean),
      };
    } catch (cause) {
      if (!(cause instanceof UserError)) throw cause;
      const { call, ...complaint } = cause.complaint;
      throw new UserError({ call: `pair "${heading}": ${call}`, ...complaint }, { cause });
    }
  });
}
