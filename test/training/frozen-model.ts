/** A tiny model with a tokenizer, as a judge is given one: random weights in a folder, loaded again. */
import { randomStream } from '../../src/base/index.ts';
import type { Scope } from '../../src/engine/index.ts';
import type { FrozenModel } from '../../src/grpo/arm-tools.ts';
import {
  Decoder,
  initialTensors,
  loadWeights,
  ModelFolder,
  modelText,
  type TokenizerFiles,
  writeModelFolder,
} from '../../src/model/index.ts';
import { qwen3Like } from './model.ts';

export async function openFrozen(
  folderPath: string,
  tokenizer: TokenizerFiles,
  vocabSize: number,
  scope: Scope,
): Promise<FrozenModel> {
  const sizes = { hiddenSize: 8, layers: 1, heads: 1, kvHeads: 1, headDim: 8, intermediateSize: 8, maxPositions: 512 };
  const config = qwen3Like({ ...sizes, vocabSize });
  const tensors = initialTensors(config, 1).map(({ name: tensor, shape }) => {
    const data = new Float32Array(shape.reduce((product, axis) => product * axis, 1)).fill(1);
    if (shape.length > 1) randomStream(1, tensor).fillNormal(data, 0.7);
    return { name: tensor, shape, dtype: 'F32' as const, data: () => data };
  });
  await writeModelFolder(folderPath, { config, tensors, tokenizer });
  await using folder = await ModelFolder.open(folderPath);
  const weights = loadWeights(folder.weights, folder.config, { as: 'float32' });
  return { text: modelText(folder, false), decoder: await Decoder.load(scope, folder.config, weights) };
}
