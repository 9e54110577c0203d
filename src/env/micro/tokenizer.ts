/** The micro tokenizer: the language's tokens, ChatML turns, nothing else. */
import type { TokenizerFiles } from '../../model/text/tokenizer.ts';
import { chatMarkupChoices, wordLevelTokenizer } from '../../model/text/tokenizer-trainer.ts';
import { microTokens } from './tokens.ts';

export function microTokenizer(): TokenizerFiles {
  return wordLevelTokenizer(microTokens, chatMarkupChoices);
}
