/**
 * Models as the rest of the project uses them. `files/`: a folder in Hugging Face's layout, read and written (config, weights,
 * sampling defaults, presets). `hub/`: models by name, in the cache of Hugging Face's tools. `text/`: its tokenizer and chat template. `decoder/`: the network, packing of rows, scoring,
 * generation with a cache, open batches, fresh weights.
 */

export type { RankedToken, TokenChance } from './decoder/chances.ts';
export {
  Decoder,
  type Project,
  plainProject,
} from './decoder/decoder.ts';
export {
  type GenerateLane,
  type GenerateOptions,
  type GenerateRequest,
  type Generation,
  generate,
  generateLanes,
  greedy,
  type Pace,
  type SamplingSettings,
} from './decoder/generate.ts';
export { initialTensors } from './decoder/initialize.ts';
export {
  type DrawnToken,
  OpenBatch,
  type OpenRow,
  type RowAdapter,
} from './decoder/open-batch.ts';
export { type Group, type PackedGroups, type PackOptions, packGroups, packRows, type Span } from './decoder/pack.ts';
export { forwardLanes, scoreGroups } from './decoder/score.ts';
export type { DecoderConfig } from './files/config.ts';
export {
  describeModel,
  type ModelDescription,
} from './files/describe.ts';
export { ModelFolder, readDecoderConfig } from './files/folder.ts';
export { type ModelFolderContents, writeModelFolder } from './files/folder-writer.ts';

export {
  isObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  readJsonObject,
  readText,
  refuseDuplicateKeys,
  show,
} from './files/json.ts';
export {
  adapterMarks,
  joinMarks,
  type LabelMarks,
  labelMarksOf,
  markConfig,
  markMetadata,
  markWords,
} from './files/label-mark.ts';
export { planModel } from './files/plan.ts';
export { modelPresets } from './files/presets.ts';

export { findNonFinite, type SafetensorsArray, SafetensorsFile, toFloat32 } from './files/safetensors.ts';

export { type TensorToWrite, writeHashedSafetensors, writeSafetensors } from './files/safetensors-writer.ts';
export { parseFields } from './files/schema.ts';
export { type WeightEntry, WeightFiles } from './files/weight-files.ts';
export {
  countParameters,
  expectedTensors,
  type LoadedWeight,
  loadWeights,
} from './files/weights.ts';
export { findSnapshot, parseHubName } from './hub/cache.ts';
export { fetchModel } from './hub/fetch-model.ts';
export { type ChatMessage, ChatTemplate } from './text/chat.ts';
export { type ModelText, modelText } from './text/model-text.ts';
export { ModelTokenizer, type TokenizerFiles } from './text/tokenizer.ts';
export {
  byteTokenizer,
  chatMarkupChoices,
  wordLevelTokenizer,
} from './text/tokenizer-builder.ts';
