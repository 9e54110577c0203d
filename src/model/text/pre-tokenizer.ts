/**
 * Two ways of splitting a text into words that @huggingface/tokenizers reads otherwise than the reference implementation: `Punctuation`
 * keeps `".` in one piece, which a WordPiece model then has no token for, and `Whitespace` takes only ASCII for letters. Both are written
 * as the pattern that they stand for.
 */
import type { JsonObject, JsonValue } from '../files/json.ts';
import { isObject } from '../files/json.ts';

const punctuation = String.raw`[\p{P}\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E]`;
const words = String.raw`\w+|[^\w\s]+`;

function split(regex: string, invert: boolean): JsonObject {
  return { type: 'Split', pattern: { Regex: regex }, behavior: 'Isolated', invert };
}

function exact(step: JsonValue): JsonValue {
  if (!isObject(step)) return step;
  const { type, behavior = 'Isolated', pretokenizers } = step;
  if (type === 'Sequence' && Array.isArray(pretokenizers)) return { ...step, pretokenizers: pretokenizers.map(exact) };
  if (type === 'Punctuation' && behavior === 'Isolated') return split(punctuation, false);
  return type === 'Whitespace' ? split(words, true) : step;
}

/** The contents of a tokenizer.json as the library must be given them. */
export function withExactWords(tokenizer: JsonObject): JsonObject {
  const { pre_tokenizer: steps } = tokenizer;
  return steps === undefined ? tokenizer : { ...tokenizer, pre_tokenizer: exact(steps) };
}
