export {
  Decoder,
  type ForwardOptions,
  type KeyValues,
  type LinearModule,
  type Project,
  plainProject,
  type TokenBatch,
} from './decoder/decoder.ts';
export {
  type GenerateOptions,
  type GenerateRequest,
  type Generation,
  generate,
  greedy,
  type Pace,
  type SamplingSettings,
} from './decoder/generate.ts';
export { initialTensors } from './decoder/initialize.ts';
export { type Group, type PackedGroups, packGroups, packRows, type Span } from './decoder/pack.ts';
export { scoreGroups } from './decoder/score.ts';
export {
  type Architecture,
  configJson,
  type DecoderConfig,
  type ParsedConfig,
  parseDecoderConfig,
} from './files/config.ts';
export {
  type DeviceName,
  describeModel,
  estimateMemory,
  type MemoryEstimate,
  type ModelDescription,
} from './files/describe.ts';
export { ModelFolder } from './files/folder.ts';
export { createFolder, type ModelFolderContents, writeModelFolder } from './files/folder-writer.ts';
export { type GenerationConfig, openGenerationConfig, parseGenerationConfig } from './files/generation-config.ts';
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
export { type ModelPreset, modelPresets } from './files/presets.ts';
export type { Rope, RopeScaling } from './files/rope-config.ts';
export { findNonFinite, type SafetensorsArray, SafetensorsFile, toFloat32 } from './files/safetensors.ts';
export type { SafetensorsDType, SafetensorsEntry } from './files/safetensors-header.ts';
export { type TensorToWrite, writeSafetensors } from './files/safetensors-writer.ts';
export { parseFields } from './files/schema.ts';
export { type WeightEntry, WeightFiles } from './files/weight-files.ts';
export {
  checkWeights,
  countParameters,
  expectedTensors,
  type LoadedWeight,
  listMismatches,
  loadWeights,
  type TensorTable,
} from './files/weights.ts';
export { type ChatMessage, type ChatOptions, ChatTemplate } from './text/chat.ts';
export { type ModelText, modelText } from './text/model-text.ts';
export { ModelTokenizer, type SpecialTokenKind, type TokenizerFiles } from './text/tokenizer.ts';
export {
  byteTokenizer,
  chatMarkupChoices,
  type TokenizerChoices,
  wordLevelTokenizer,
} from './text/tokenizer-builder.ts';
