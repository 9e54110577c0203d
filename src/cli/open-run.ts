/** A run directory made ready for evaluation: the model, the adapter at its start, the judge and the problems. */

import { RunEvaluator } from '../evaluate/run-evaluator.ts';
import type { Policy } from '../grpo/policy.ts';
import { deployedScale } from '../run/arms.ts';
import { parseConfig } from '../run/config.ts';
import { RunDirectory } from '../run/directory.ts';
import { partitionOf } from '../run/tasks.ts';
import { openAdapter, openJudge, openModel, openPairs, openProblems, type Resources } from './assemble.ts';
import type { DeviceOptions } from './devices.ts';

export async function openEvaluator(
  path: string,
  resources: Resources,
  device: DeviceOptions & { readonly kind?: 'wasm' | 'reference' | 'cuda' } = {},
): Promise<{ run: RunDirectory; evaluator: RunEvaluator }> {
  const run = RunDirectory.open(path);
  const stored = parseConfig(run.manifest.config);
  const config = { ...stored, device: { ...stored.device, ...device } };
  const judge = await openJudge(config, resources);
  const splits = await openProblems(config, judge);
  const model = await openModel(config, resources);
  const { pairs } = await openPairs(config, model.text);
  const adapter = await openAdapter(config, model, pairs);
  const policy: Policy = { decoder: model.decoder, adapter, deployedScale: deployedScale(config.arm) };
  const partition = await partitionOf(config, splits);
  const evaluator = new RunEvaluator({ run, config, policy, judge, splits, partition, text: model.text });
  return { run, evaluator };
}
