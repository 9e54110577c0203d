/**
 * The deployed block as a LoRA adapter that PEFT reads: `adapter_config.json` and `adapter_model.safetensors` with
 * lora_A [rank, in] and lora_B [out, rank] of every module. lora_alpha equals the rank, so PEFT's scaling is 1 and the
 * product is the change itself; B0 A0 is folded in exactly, which takes rank 2R (antipasto has none to fold: rank R).
 */
import { join } from 'node:path';
import { UserError } from '../base/index.ts';
import { makeFolder, writeFileAtomic } from '../base/node/index.ts';
import type { Scope } from '../engine/index.ts';
import type { DecoderConfig, JsonObject, LabelMarks } from '../model/index.ts';
import { markMetadata, SafetensorsFile, writeSafetensors } from '../model/index.ts';
import type { Adapter, LowRankChange, StoredTensor } from './adapter.ts';
import { LinearAdapter } from './linear-adapter.ts';
import { lora } from './starts/lora.ts';
import type { InitialFactors } from './starts/start.ts';
import { type TargetModule, targetModules } from './targets.ts';
import { transpose } from './transpose.ts';

const peftFiles = { config: 'adapter_config.json', weights: 'adapter_model.safetensors' } as const;
const prefix = 'base_model.model.';

export async function writePeft(
  directory: string,
  adapter: Adapter,
  config: DecoderConfig,
  baseModelName: string,
  marks: LabelMarks,
): Promise<void> {
  makeFolder(directory);
  const changes = new Map<string, LowRankChange>();
  for (const { name } of adapter.modules) changes.set(name, await adapter.deployedChange(name));
  const [first] = changes.values();
  const text = JSON.stringify(peftConfig(adapter, config, first.rank, baseModelName), null, 2);
  await writeFileAtomic(join(directory, peftFiles.config), `${text}\n`);
  const tensors = adapter.modules.flatMap(({ name, inputs, outputs }) => {
    const { rank, down, up } = changes.get(name) ?? first;
    const key = `${prefix}${name}`;
    return [
      { name: `${key}.lora_A.weight`, dtype: 'F32' as const, shape: [rank, inputs], data: () => down },
      {
        name: `${key}.lora_B.weight`,
        dtype: 'F32' as const,
        shape: [outputs, rank],
        data: () => transpose(up, rank, outputs),
      },
    ];
  });
  await writeSafetensors(join(directory, peftFiles.weights), tensors, { format: 'pt', ...markMetadata(marks) });
}

function peftConfig(adapter: Adapter, config: DecoderConfig, rank: number, baseModelName: string): JsonObject {
  return {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: baseModelName,
    revision: null,
    inference_mode: true,
    r: rank,
    lora_alpha: rank,
    lora_dropout: 0,
    bias: 'none',
    fan_in_fan_out: false,
    init_lora_weights: true,
    use_dora: false,
    use_rslora: false,
    target_modules: targetNames(adapter, config),
    rank_pattern: {},
    alpha_pattern: {},
    modules_to_save: null,
    layers_to_transform: null,
    layers_pattern: null,
  };
}

/** Kinds of module, such as q_proj, where those of all layers are adapted; whole names otherwise. */
function targetNames({ modules }: Adapter, config: DecoderConfig): string[] {
  const names = modules.map(({ name }) => name);
  const kinds = [...new Set(names.map((name) => name.split('.').at(-1) ?? ''))].sort();
  const implied = targetModules(config, kinds).map(({ name }) => name);
  return implied.join() === names.join() ? kinds : names;
}

/** A written PEFT folder as an adapter without a quarantine: its change is the deployed block's. */
export async function openPeft(scope: Scope, config: DecoderConfig, directory: string): Promise<Adapter> {
  const { changes } = await readPeft(directory);
  const known = new Map(targetModules(config).map((module) => [module.name, module]));
  const rank = Math.max(0, ...[...changes.values()].map((change) => change.rank));
  const sorted = [...changes].sort(([a], [b]) => (a < b ? -1 : 1));
  const modules = sorted.map(([name, { down, up, rank: own }]) => {
    const module = known.get(name);
    const expected =
      module === undefined ? 'a module of the model' : `rank ${rank}, [${module.inputs}], [${module.outputs}]`;
    const found = `${name}: rank ${own}, [${down.length / own}], [${up.length / own}]`;
    const fits =
      own === rank && down.length === rank * (module?.inputs ?? 0) && up.length === rank * (module?.outputs ?? 0);
    if (module === undefined || !fits) throw new UserError({ call: `read ${directory}`, expected, found });
    return module;
  });
  if (modules.length === 0)
    throw new UserError({ call: `read ${directory}`, expected: 'an adapter', found: 'nothing' });
  const zeros = ({ inputs, outputs }: TargetModule): InitialFactors => ({
    A0: new Float32Array(2 * rank * inputs),
    B0: new Float32Array(2 * rank * outputs),
  });
  const adapter = new LinearAdapter(scope, lora.name, rank, modules, zeros);
  const both = (half: Float32Array): Float32Array => {
    const whole = new Float32Array(2 * half.length);
    whole.set(half);
    return whole;
  };
  const tensors = modules.flatMap(({ name, inputs, outputs }): [string, StoredTensor][] => {
    const { down, up } = changes.get(name) ?? { down: new Float32Array(), up: new Float32Array() };
    return [
      [`${name}.A`, { shape: [2 * rank, inputs], data: both(down) }],
      [`${name}.B`, { shape: [outputs, 2 * rank], data: transpose(both(up), 2 * rank, outputs) }],
    ];
  });
  adapter.load(new Map(tensors));
  return adapter;
}

/** The changes of a written PEFT folder, by module, and the names of all its tensors. */
export async function readPeft(
  directory: string,
): Promise<{ changes: Map<string, LowRankChange>; tensors: readonly string[] }> {
  await using file = await SafetensorsFile.open(join(directory, peftFiles.weights));
  const changes = new Map<string, LowRankChange>();
  for (const key of file.entries.keys()) {
    if (!key.startsWith(prefix) || !/\.lora_[AB]\.weight$/.test(key)) {
      const expected = `${prefix}MODULE.lora_A.weight or lora_B.weight`;
      throw new UserError({ call: `read ${file.path}`, expected, found: key });
    }
    if (key.endsWith('.lora_B.weight')) continue;
    const other = key.replace('.lora_A.', '.lora_B.');
    const [rank] = file.entry(key).shape;
    const [outputs] = file.entry(other).shape;
    const up = transpose(await file.readFloat32(other), outputs, rank);
    const module = key.slice(prefix.length, -'.lora_A.weight'.length);
    changes.set(module, { rank, down: await file.readFloat32(key), up });
  }
  return { changes, tensors: [...file.entries.keys()] };
}
