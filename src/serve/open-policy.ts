/** Opens a checkpoint of a run for serving: its model and its adapter, and nothing that only training needs. */
import { readCheckpoint, restoreAdapter } from '../adapters/index.ts';
import { randomStream, UserError } from '../base/index.ts';
import { type Policy, projectRows } from '../grpo/index.ts';
import { expectSamePlugins, openModel, parseRunConfig, partsOf, type Resources } from '../lab/index.ts';
import { OpenBatch } from '../model/index.ts';
import {
  checkedInitial,
  checkedTensors,
  computeTable,
  type Manifest,
  type RunConfig,
  RunDirectory,
} from '../run/index.ts';
import type { ServedPolicy, ServedState } from './served-policy.ts';

export interface OpenPolicyOptions {
  readonly states: readonly ServedState[];
  /** Most completions that are made at a time. */
  readonly rows: number;
  /** Most tokens of a prompt and its completion; null: as many as the run may have. */
  readonly context: number | null;
  /** The update whose checkpoint to open; null: the last. */
  readonly update: number | null;
  /** The device; null: the one that the run was trained on. */
  readonly device: RunConfig['device']['kind'] | null;
}

export async function openPolicy(
  path: string,
  resources: Resources,
  options: OpenPolicyOptions,
): Promise<ServedPolicy> {
  const run = RunDirectory.open(path);
  const manifest = run.readManifest();
  expectSamePlugins(`serve ${path}`, run);
  const config = servedConfig(await parseRunConfig(manifest.config), options);
  const update = chooseUpdate(run, options.update);
  const model = await openModel(config, resources);
  if ((await model.hash) !== manifest.modelHash) {
    throw new UserError({
      call: `serve ${path}`,
      expected: 'the model that the run was trained on',
      found: `other content in ${config.model}`,
      fix: 'Restore what was changed since.',
    });
  }
  const { family, rank } = config.adapter;
  const kind = { family, rank, modules: manifest.features.modules };
  const checkpoint = await readCheckpoint(checkedTensors(run, update, 'adapter'), kind, checkedInitial(run));
  const { starts } = await partsOf(config);
  const adapter = restoreAdapter(model.scope, model.decoder.config, checkpoint, starts);
  const policy: Policy = { decoder: model.decoder, adapter, deployedScale: deployedScale(manifest) };
  const { temperature, topK, topP, minP, maxNewTokens, maxPromptTokens } = config.sampling;
  const context = Math.min(maxPromptTokens + maxNewTokens, model.folder.config.maxPositions);
  const batch = new OpenBatch(model.scope, model.decoder, {
    rows: options.rows,
    context,
    tokensPerPass: computeTable(config).tokensPerPass,
    stream: randomStream(0, 'serve'),
    project: projectRows(policy),
  });
  return {
    name: `${manifest.name}@${update}`,
    states: options.states,
    batch,
    text: model.text,
    tokenizer: model.folder.tokenizer,
    vocabulary: model.folder.config.vocabSize,
    deployedScale: policy.deployedScale,
    defaults: { temperature, topK, topP, minP, maxNewTokens },
  };
}

const deployedScale = ({ hasQuarantine }: Manifest): number => (hasQuarantine ? 0 : 1);

/** A config with the device and the context that the call names. */
function servedConfig(config: RunConfig, { device, context }: OpenPolicyOptions): RunConfig {
  const { sampling } = config;
  if (context !== null && context <= sampling.maxNewTokens) {
    throw new UserError({
      call: '--context',
      expected: `more than ${sampling.maxNewTokens}, the new tokens of a completion (sampling.maxNewTokens of the run)`,
      found: `${context}`,
    });
  }
  const maxPromptTokens = context === null ? sampling.maxPromptTokens : context - sampling.maxNewTokens;
  return {
    ...config,
    device: { ...config.device, kind: device ?? config.device.kind },
    sampling: { ...sampling, maxPromptTokens },
  };
}

function chooseUpdate(run: RunDirectory, wanted: number | null): number {
  const checkpoints = run.listCheckpoints();
  const update = wanted ?? checkpoints.at(-1);
  if (update !== undefined && checkpoints.includes(update)) return update;
  const expected = `one of its checkpoints: ${checkpoints.join(', ') || 'none yet'}`;
  throw new UserError({ call: `serve ${run.path}`, expected, found: `update ${wanted ?? 'none'}` });
}
