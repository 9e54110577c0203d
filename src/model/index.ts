export { type ChatMessage, type ChatOptions, ChatTemplate } from './chat.ts';
export { type Architecture, configJson, type DecoderConfig, type ParsedConfig, parseConfig } from './config.ts';
export {
  Decoder,
  type ForwardOptions,
  type KeyValues,
  type LinearModule,
  type Project,
  plainProject,
  type TokenBatch,
} from './decoder.ts';
export {
  type DeviceName,
  describeModel,
  estimateMemory,
  type MemoryEstimate,
  type ModelDescription,
} from './describe.ts';
export { ModelFolder } from './folder.ts';
export { createFolder, type ModelFolderContents, writeModelFolder } from './folder-writer.ts';
export {
  type GenerateOptions,
  type GenerateRequest,
  type Generation,
  generate,
  greedy,
  type SamplingSettings,
} from './generate.ts';
export { type GenerationConfig, openGenerationConfig, parseGenerationConfig } from './generation-config.ts';
export { initialTensors } from './initialize.ts';
export type { JsonObject, JsonValue } from './json.ts';
export { type Group, type PackedGroups, packGroups, packRows, type Span } from './pack.ts';
export { type ModelPreset, modelPresets } from './presets.ts';
export type { Rope, RopeScaling } from './rope-config.ts';
export { findNonFinite, type SafetensorsArray, SafetensorsFile, toFloat32 } from './safetensors.ts';
export type { SafetensorsDType, SafetensorsEntry } from './safetensors-header.ts';
export { type TensorToWrite, writeSafetensors } from './safetensors-writer.ts';
export { scoreGroups } from './score.ts';
export { ModelTokenizer, type SpecialTokenKind, type TokenizerFiles } from './tokenizer.ts';
export {
  chatMarkupChoices,
  type TokenizerChoices,
  trainByteLevelTokenizer,
  wordLevelTokenizer,
} from './tokenizer-trainer.ts';
export { type WeightEntry, WeightFiles } from './weight-files.ts';
export {
  checkWeights,
  countParameters,
  expectedTensors,
  type LoadedWeight,
  listMismatches,
  loadWeights,
  type TensorTable,
} from './weights.ts';
