/** Opens a run directory for evaluation: the model, the adapter at its start, the judge and the problems. */

import { UserError } from '../base/index.ts';
import { RunEvaluator } from '../evaluate/index.ts';
import type { Policy, Task } from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import {
  checkedInitial,
  computeTable,
  partitionOf,
  type RunConfig,
  RunDirectory,
  trainingTasks,
} from '../run/index.ts';
import { openAdapter } from './adapter.ts';
import { parseRunConfig, partsOf } from './config.ts';
import { deviceNames } from './devices.ts';
import { openRunInputs } from './identity.ts';
import { placeModel } from './model.ts';
import { sourceOf } from './parts.ts';
import type { Warn } from './problems.ts';
import { openSampler, type Replacements } from './replacements.ts';
import type { Resources } from './resources.ts';

export interface OpenRun {
  readonly run: RunDirectory;
  readonly config: RunConfig;
  readonly hasQuarantine: boolean;
  readonly evaluator: RunEvaluator;
}

export interface OpenRunOptions extends Replacements {
  /** The device; default: the one that the run was trained on. */
  readonly device?: string;
  /** Runs with the same base, whose evaluations of it may be reused. */
  readonly siblings?: readonly string[];
  /** Tokens that prompts may be longer than those of the sets, for which a GPU has to have room; default: 0. */
  readonly longerBy?: number;
  /** Is told which problems are left out, and why. */
  readonly warn?: Warn;
}

export async function openRun(path: string, resources: Resources, options: OpenRunOptions = {}): Promise<OpenRun> {
  const run = RunDirectory.open(path);
  const { config: stored, hasQuarantine } = run.readManifest();
  const config = withDevice(await parseRunConfig(stored), options.device);
  const parts = await partsOf(config);
  const { loopholes } = parts;
  const inputs = await openRunInputs(`open ${path}`, run, config, resources, options, options.warn);
  const { judge, problems: splits, use, pairs, files } = inputs;
  const partition = await partitionOf(config, splits, loopholes);
  const everything = Object.values(splits).flat();
  const { longerBy = 0 } = options;
  const tasks = async (text: ModelText) =>
    trainingTasks(config, everything, partition, { text, loopholes }, 'open').map((task) => lengthen(task, longerBy));
  const model = await placeModel(config, files, resources, tasks);
  const adapter = await openAdapter(config, model, pairs, checkedInitial(run));
  const policy: Policy = { decoder: model.decoder, adapter, deployedScale: hasQuarantine ? 0 : 1 };
  const { siblings = [] } = options;
  const sampler = openSampler(policy, computeTable(config), options.sampler);
  const inWords = sourceOf(config, parts).asksInWords;
  const sets = { splits, use, partition, loopholes, text: model.text, inWords };
  const evaluated = { run, config, policy, judge, sampler, siblings, ...sets };
  return { run, config, hasQuarantine, evaluator: new RunEvaluator(evaluated) };
}

/** The most tokens that an instruction or an opening of the package adds to a prompt. */
export const probeTokens = 128;

/** The task with a longer prompt, to plan memory for. */
export function lengthen(task: Task, by: number): Task {
  return by === 0 ? task : { ...task, hinted: new Int32Array(task.hinted.length + by) };
}

const kinds = ['wasm', 'reference', 'cuda'] as const;

/** The config with another device, by its name; as it is without one. */
export function withDevice(config: RunConfig, name: string | undefined): RunConfig {
  if (name === undefined) return config;
  const kind = kinds.find((each) => each === name);
  if (kind === undefined) throw new UserError({ call: '--device', expected: deviceNames.join(' or '), found: name });
  return { ...config, device: { ...config.device, kind } };
}
