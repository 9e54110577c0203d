/** A run directory made ready for evaluation: the model, the adapter at its start, the judge and the problems. */

import { UserError } from '../base/index.ts';
import { RunEvaluator } from '../evaluate/index.ts';
import type { Policy } from '../grpo/index.ts';
import type { RunConfig } from '../run/index.ts';
import { deployedScale, parseRunConfig, partitionOf, RunDirectory, trainingTasks } from '../run/index.ts';
import { lastAdapter, openAdapter, openJudge, openModel, openPairs, openProblems, type Resources } from './assemble.ts';
import { deviceNames } from './devices.ts';

export interface OpenRun {
  readonly run: RunDirectory;
  readonly config: RunConfig;
  readonly hasQuarantine: boolean;
  readonly evaluator: RunEvaluator;
}

export interface OpenRunOptions {
  /** Another device than the run was trained on. */
  readonly device?: string;
  /** Runs whose evaluations of the same base may be taken over. */
  readonly siblings?: readonly string[];
}

export async function openRun(path: string, resources: Resources, options: OpenRunOptions = {}): Promise<OpenRun> {
  const run = RunDirectory.open(path);
  const config = withDevice(run.readManifest().config, options.device);
  const judge = await openJudge(config, resources);
  const splits = await openProblems(config, judge);
  const partition = await partitionOf(config, splits);
  const everything = { ...splits, train: Object.values(splits).flat() };
  const model = await openModel(config, resources, async (text) => trainingTasks(config, everything, partition, text));
  const { pairs } = await openPairs(config, model.text);
  const adapter = await openAdapter(config, model, pairs, lastAdapter(run));
  const policy: Policy = { decoder: model.decoder, adapter, deployedScale: deployedScale(config.arm) };
  const parts = { run, config, policy, judge, splits, partition, text: model.text, siblings: options.siblings ?? [] };
  const hasQuarantine = policy.deployedScale === 0;
  return { run, config, hasQuarantine, evaluator: new RunEvaluator(parts) };
}

const kinds = ['wasm', 'reference', 'cuda'] as const;

function withDevice(config: RunConfig, name: string | undefined): RunConfig {
  if (name === undefined) return config;
  const kind = kinds.find((each) => each === name);
  if (kind === undefined) throw new UserError({ call: '--device', expected: deviceNames.join(' or '), found: name });
  return { ...config, device: { ...config.device, kind } };
}
