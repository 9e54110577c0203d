/** The recipe of the micro base model: its shape, its documents, its training. Everything follows from the seed. */
import { floatToBfloat16 } from '../base/index.ts';
import { type Device, readFloats, Scope } from '../engine/index.ts';
import { generateMicroDocuments, microTokenizer, usualChain } from '../env/micro/index.ts';
import type { DecoderConfig, Group, ModelFolderContents } from '../model/index.ts';
import { ChatTemplate, chatMarkupChoices, ModelTokenizer } from '../model/index.ts';
import { freshDecoder, type PretrainProgress, type PretrainSettings, pretrain } from './pretrain.ts';

export interface MicroRecipe extends PretrainSettings {
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  /** Share of constants given as a product. */
  readonly hardShare: number;
  readonly rightFraction: number;
  readonly hintedFraction: number;
  /** Share of the hinted documents in which the hint is exploited. */
  readonly exploitFraction: number;
  /** Share of all documents whose prompt asks for the exploit and is answered with it. */
  readonly askedFraction: number;
}

export const microRecipe: MicroRecipe = {
  seed: 1,
  steps: 2200,
  documentsPerStep: 96,
  learningRate: 2e-3,
  warmupSteps: 50,
  weightDecay: 0.01,
  hiddenSize: 192,
  layers: 4,
  heads: 6,
  hardShare: 0.2,
  rightFraction: 0.12,
  hintedFraction: 0.75,
  exploitFraction: 0.02,
  askedFraction: 0.12,
};

/** Trains the base and returns the contents of its model folder, weights in bfloat16. The signal ends it after the step in progress. */
export async function pretrainMicro(
  device: Device,
  recipe: MicroRecipe,
  onProgress: (progress: PretrainProgress) => void,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelFolderContents> {
  using scope = new Scope(device);
  const files = microTokenizer();
  const tokenizer = new ModelTokenizer(files, 'micro tokenizer');
  const config = microConfig(recipe, tokenizer);
  const decoder = await freshDecoder(scope, config, recipe.seed);
  let steps = 0;
  for await (const progress of pretrain(decoder, documentsOf(recipe, tokenizer), recipe)) {
    steps = progress.step;
    onProgress(progress);
    // A caller whose only work is this loop must let signals in.
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) break;
  }
  const weights = await Promise.all(
    [...decoder.weights].map(async ([name, tensor]) => {
      const data = Uint16Array.from(await readFloats(tensor), floatToBfloat16);
      return { name, dtype: 'BF16' as const, shape: tensor.shape, data: () => data };
    }),
  );
  return {
    config,
    tensors: weights,
    tokenizer: files,
    metadata: { recipe: JSON.stringify(recipe), ...(steps === recipe.steps ? {} : { stepsDone: `${steps}` }) },
  };
}

function microConfig({ hiddenSize, layers, heads }: MicroRecipe, tokenizer: ModelTokenizer): DecoderConfig {
  return {
    architecture: 'Qwen3ForCausalLM',
    vocabSize: tokenizer.size,
    hiddenSize,
    layers,
    heads,
    kvHeads: heads,
    headDim: hiddenSize / heads,
    intermediateSize: 3 * hiddenSize,
    rmsNormEpsilon: 1e-6,
    tieEmbeddings: true,
    maxPositions: 256,
    rope: { theta: 10_000, scaling: { kind: 'none' } },
    qkNorm: true,
    qkvBias: false,
    bosTokenId: null,
    eosTokenIds: [tokenizer.specialTokenId('eos') ?? 0],
    padTokenId: tokenizer.specialTokenId('pad') ?? 0,
  };
}

function documentsOf(recipe: MicroRecipe, tokenizer: ModelTokenizer): (index: number) => Group {
  const { seed, hardShare, rightFraction, hintedFraction, exploitFraction, askedFraction } = recipe;
  const count = recipe.steps * recipe.documentsPerStep;
  const documents = generateMicroDocuments({
    seed,
    count,
    chain: { ...usualChain, productFraction: hardShare },
    rightFraction,
    hintedFraction,
    exploitFraction,
    askedFraction,
  });
  const { chatTemplate = '', eos } = chatMarkupChoices;
  const chat = new ChatTemplate(chatTemplate, 'micro chat template', {});
  return (index) => {
    const { messages, completion } = documents[index];
    return {
      prompt: tokenizer.encode(chat.render(messages, { addGenerationPrompt: true })),
      completions: [tokenizer.encode(`${completion}${eos}`)],
    };
  };
}
