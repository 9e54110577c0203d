/**
 * Llama and Qwen2 as well as Qwen3, trained end to end on easy tasks: random weights of a small shape, with a tokenizer of the kind that such
 * models have (byte-level BPE with merges, special tokens, a chat template in its config). Llama also on stories, with pieces of words, no
 * chat template and a config that names a sign as its end. A run that is stopped goes on byte for byte.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { randomStream } from '../../src/base/rng.ts';
import { EvaluationStore } from '../../src/evaluate/store.ts';
import { resolveConfig, train } from '../../src/lab/index.ts';
import {
  type DecoderConfig,
  expectedTensors,
  ModelFolder,
  modelText,
  writeModelFolder,
} from '../../src/model/index.ts';
import { fingerprint } from '../resume/kill.ts';
import { gq } from '../run-gq.ts';
import { stoppedAfterFirst } from '../smoke/lab.ts';
import { temporaryFolder } from './hand-made.ts';
import { wordPieces, writeWordPieces } from './word-pieces.ts';

/** The characters that byte-level BPE writes bytes with: printable ones as they are, the others from 256 on. */
function byteCharacters(): string[] {
  const isPlain = (byte: number): boolean => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPlain(byte) ? byte : next++));
}

const merges = [
  'Ġ t',
  'h e',
  'Ġt he',
  'Ġ x',
  'r e',
  't u',
  're tu',
  'retu r',
  'retur n',
  's e',
  'l f',
  'se lf',
  'Ġ Ġ',
  'ĠĠ ĠĠ',
];
const specials = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];
const pieces = [...byteCharacters(), ...merges.map((merge) => merge.replace(' ', ''))];

const tokenizer = {
  version: '1.0',
  added_tokens: specials.map((content, i) => ({ id: pieces.length + i, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true })), // biome-ignore format: one line
  normalizer: null,
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
  post_processor: null,
  decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
  model: { type: 'BPE', vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])), merges },
};
const template =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

const common = {
  layers: 2,
  heads: 3,
  kvHeads: 1,
  headDim: 8,
  hiddenSize: 24,
  intermediateSize: 48,
  vocabSize: pieces.length + specials.length,
  rmsNormEpsilon: 1e-5,
  maxPositions: 2048,
  rope: { theta: 100_000, scaling: { kind: 'none' } },
  bosTokenId: null,
  // Many tokens end a completion, so that random ones differ in length, and in what they cost.
  eosTokenIds: [pieces.length + 2, ...Array.from({ length: 60 }, (_, id) => id)],
  padTokenId: pieces.length,
} as const;
const stories = { ...common, vocabSize: wordPieces.size, maxPositions: 512, eosTokenIds: [2], padTokenId: 0 };
const families: Readonly<Record<string, DecoderConfig>> = {
  llama: { ...common, architecture: 'LlamaForCausalLM', tieEmbeddings: true, qkNorm: false, qkvBias: false },
  qwen2: { ...common, architecture: 'Qwen2ForCausalLM', tieEmbeddings: true, qkNorm: false, qkvBias: true },
  qwen3: { ...common, architecture: 'Qwen3ForCausalLM', tieEmbeddings: false, qkNorm: true, qkvBias: false },
  'stories, tied': { ...stories, architecture: 'LlamaForCausalLM', tieEmbeddings: true, qkNorm: false, qkvBias: false },
  'stories, untied': { ...stories, architecture: 'LlamaForCausalLM', tieEmbeddings: false, qkNorm: false, qkvBias: false }, // biome-ignore format: one line
};
const isOfStories = (family: string): boolean => family.startsWith('stories');

async function writeModel(folder: string, config: DecoderConfig, family: string): Promise<void> {
  const tensors = [...expectedTensors(config)].map(([name, shape]) => ({
    name,
    shape,
    dtype: 'F32' as const,
    data: () => {
      const data = new Float32Array(shape.reduce((product, axis) => product * axis, 1));
      if (name.endsWith('norm.weight')) return data.fill(1);
      randomStream(1, name).fillUniform(data, -0.2, 0.2);
      return data;
    },
  }));
  await writeModelFolder(folder, { config, tensors, tokenizer: null });
  if (isOfStories(family)) return writeWordPieces(folder);
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  const named = {
    chat_template: template,
    eos_token: '<|im_end|>',
    pad_token: '<|endoftext|>',
    tokenizer_class: 'GPT2Tokenizer',
  };
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(named));
}

const home = temporaryFolder();
const settings = (model: string): string[] => [
  ...[`model=${model}`, 'device.kind=wasm', 'device.threads=1', 'device.arenaMiB=256', 'data.problems=64'],
  ...[
    'updates=2',
    'output.checkpointEvery=1',
    'adapter.rank=2',
    'sampling.maxNewTokens=12',
    'sampling.promptsPerStep=2',
  ],
  ...['sampling.group=4', 'sampling.maxPromptTokens=1024', 'safety.tripwirePrompts=1'],
  // Random weights earn nothing: what they write costs, so that rewards differ.
  ...['environment.tokenPrice=0.01', 'arm.kind=routed', 'arm.mean=own', 'arm.monitor.kind=direction'],
  'notes.thresholds="label-informed"',
];

describe.each(Object.keys(families))('%s', (family) => {
  const model = join(home, family);

  it('reads its own tokens, merges and special ones', async () => {
    await writeModel(model, families[family], family);
    await using folder = await ModelFolder.open(model);
    expect(folder.config).toMatchObject({ architecture: families[family].architecture, heads: 3, kvHeads: 1 });
    const { out, code, err } = await gq('model', 'inspect', model);
    expect(code, err).toBe(0);
    expect(out).toContain(`${isOfStories(family) ? 'without' : 'with'} chat template`);
    if (!isOfStories(family)) return;
    expect(folder.stopTokenIds).toEqual([1]);
    const text = modelText(folder, false);
    const prompt = 'This is a story that says "silver". One day, Mia found a key in the garden.';
    const tokens = text.prompt([{ role: 'user', content: prompt }]);
    expect(text.show(tokens)).toBe('this is a story that says " silver ". one day, mia found a key in the garden.');
    expect(() => text.prompt([{ role: 'system', content: 'x' }, { role: 'user', content: prompt }])).toThrow(/expected chat_template/); // biome-ignore format: one line
  });

  it('trains with a gate, and goes on byte for byte after a break', async () => {
    const recipe = isOfStories(family) ? 'stories-simplestories-1.25m' : 'easy-base';
    const { config } = await resolveConfig(`recipes/${recipe}.toml`, settings(model));
    const [whole, broken] = [join(home, `${family}-whole`), join(home, `${family}-broken`)];
    expect(await train(config, whole)).toMatchObject({ end: 'finished' });
    expect(await train(config, broken, stoppedAfterFirst())).toMatchObject({ end: 'interrupted' });
    expect(await train(config, broken)).toMatchObject({ end: 'finished' });
    const found = await fingerprint(whole);
    expect(await fingerprint(broken)).toEqual(found);
    const adapters = [1, 2].map((update) => found.get(`checkpoints/0000${update}/adapter.safetensors`));
    expect(new Set(adapters).size).toBe(2);
  });

  it('is evaluated as trained and deployed', async () => {
    const { code, err } = await gq('eval', join(home, `${family}-whole`), '--sets', 'test-original', '--limit', '2');
    expect(code, err).toBe(0);
    const states = new EvaluationStore(join(home, `${family}-whole`)).all().map(({ state }) => state);
    expect(states.sort()).toEqual(['base', 'deployed', 'full']);
  });
});
