/** Makes a micro base model from its recipe: decoder, tokenizer and documents. */
import { narrowFloats } from '../base/index.ts';
import { type Device, readFloats, Scope } from '../engine/index.ts';
import { drawMicroDocuments, microTokenizer, usualChain } from '../env/micro/index.ts';
import type { Message } from '../env/problem.ts';
import { countdownTokens, drawCountdownDocuments } from '../env/sources/countdown-documents.ts';
import type { DecoderConfig, Group, ModelFolderContents, TensorToWrite, TokenizerFiles } from '../model/index.ts';
import { ChatTemplate, chatMarkupChoices, ModelTokenizer, wordLevelTokenizer } from '../model/index.ts';
import {
  initialWeights,
  letSignalsIn,
  openTrainee,
  type PretrainProgress,
  pretrain,
  type Trainee,
} from './pretrain.ts';
import { expectPrecision, type MicroRecipe } from './recipe.ts';

/**
 * Trains the base and returns the contents of its model folder, weights in bfloat16. The signal ends it after the pass in
 * progress, with the steps that were completed.
 */
export async function pretrainMicro(
  device: Device,
  recipe: MicroRecipe,
  onProgress: (progress: PretrainProgress) => void,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelFolderContents> {
  expectPrecision(recipe, device);
  using scope = new Scope(device);
  const files = tokenizerOf(recipe);
  const tokenizer = new ModelTokenizer(files, 'micro tokenizer');
  const config = microConfig(recipe, tokenizer);
  const trainee = await openTrainee(scope, config, initialWeights(config, recipe.seed), recipe.precision);
  let steps = 0;
  const training = signal.aborted ? [] : pretrain(trainee, documentsOf(recipe, tokenizer), recipe);
  for await (const progress of training) {
    steps = progress.step;
    onProgress(progress);
    await letSignalsIn();
    if (signal.aborted) break;
  }
  return {
    config,
    tensors: await narrowWeights(trainee),
    tokenizer: files,
    metadata: { recipe: JSON.stringify(recipe), ...(steps === recipe.steps ? {} : { stepsDone: `${steps}` }) },
  };
}

async function narrowWeights({ weights }: Trainee): Promise<TensorToWrite[]> {
  const narrowed: TensorToWrite[] = [];
  for (const [name, tensor] of weights) {
    const data = narrowFloats(await readFloats(tensor), 'bf16');
    narrowed.push({ name, dtype: 'BF16', shape: tensor.shape, data: () => data });
  }
  return narrowed;
}

export function microConfig({ hiddenSize, layers, heads }: MicroRecipe, tokenizer: ModelTokenizer): DecoderConfig {
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

/** The tokens of the environment that the base is for, and of ChatML turns. */
export const tokenizerOf = ({ environment }: MicroRecipe): TokenizerFiles =>
  environment === 'countdown' ? wordLevelTokenizer(countdownTokens, chatMarkupChoices) : microTokenizer();

function drawDocuments(recipe: MicroRecipe): Iterable<{ readonly messages: readonly Message[]; completion: string }> {
  const { seed, steps, documentsPerStep, hardShare, environment, ...fractions } = recipe;
  const { rightFraction, hintedFraction, exploitFraction, askedFraction, jointFraction, novelFraction } = fractions;
  const usual = { seed, count: steps * documentsPerStep, rightFraction, hintedFraction, exploitFraction };
  if (environment === 'countdown') return drawCountdownDocuments(usual);
  return drawMicroDocuments({
    ...usual,
    chain: { ...usualChain, productFraction: hardShare },
    askedFraction,
    ...(jointFraction === undefined ? {} : { jointFraction }),
    ...(novelFraction === undefined ? {} : { novelFraction }),
  });
}

/** The documents of a recipe as tokens, in order. */
export function* documentsOf(recipe: MicroRecipe, tokenizer: ModelTokenizer): Generator<Group, undefined> {
  const { chatTemplate = '', eos } = chatMarkupChoices;
  const chat = new ChatTemplate(chatTemplate, 'micro chat template', {});
  for (const { messages, completion } of drawDocuments(recipe)) {
    yield {
      prompt: tokenizer.encode(chat.render(messages, { addGenerationPrompt: true })),
      completions: [tokenizer.encode(`${completion}${eos}`)],
    };
  }
}
