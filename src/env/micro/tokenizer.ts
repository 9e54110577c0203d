/** The micro tokenizer: the tokens of the micro language and those of ChatML turns, nothing else. */
import type { TokenizerFiles } from '../../model/index.ts';
import { chatMarkupChoices, wordLevelTokenizer } from '../../model/index.ts';
import { microTokens } from './tokens.ts';

export function microTokenizer(): TokenizerFiles {
  return wordLevelTokenizer(microTokens, chatMarkupChoices);
}
