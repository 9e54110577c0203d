/** Opens a checkpoint of a run for serving: its model and its adapter, and nothing that only training needs. */
import { randomStream, UserError } from '../base/index.ts';
import { projectRows } from '../grpo/index.ts';
import { type Lab, openLab } from '../lab/index.ts';
import { OpenBatch } from '../model/index.ts';
import { computeTable, type RunConfig, RunDirectory } from '../run/index.ts';
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

/** The lab that a run is served from. */
export function openServed(path: string, { device, context }: OpenPolicyOptions, signal?: AbortSignal): Promise<Lab> {
  const call = `serve ${path}`;
  const { maxNewTokens } = RunDirectory.open(path).readManifest().config.sampling;
  if (context !== null && context <= maxNewTokens) {
    throw new UserError({
      call: '--context',
      expected: `more than ${maxNewTokens}, the new tokens of a completion (sampling.maxNewTokens of the run)`,
      found: `${context}`,
    });
  }
  const asked = { ...(device === null ? {} : { device }), ...(context === null ? {} : { context }) };
  return openLab({ run: path }, { work: 'unplanned', call, signal, ...asked });
}

export async function openPolicy(
  lab: Lab,
  { states, rows, context, update: wanted }: OpenPolicyOptions,
): Promise<ServedPolicy> {
  const { config, run } = lab;
  if (run === null) throw new RangeError('only a run can be served');
  const manifest = run.readManifest();
  const update = chooseUpdate(run, wanted);
  const { hash, folder } = await lab.model;
  if ((await hash) !== manifest.identity.model) {
    throw new UserError({
      call: `serve ${run.path}`,
      expected: 'the model that the run was trained on',
      found: `other content in ${config.model}`,
      fix: 'Restore what was changed since.',
    });
  }
  const [policy, { scope, text }] = [await lab.at(update), await lab.weights];
  const { temperature, topK, topP, minP, maxNewTokens, maxPromptTokens } = config.sampling;
  const batch = new OpenBatch(scope, policy.decoder, {
    rows,
    context: Math.min(context ?? maxPromptTokens + maxNewTokens, folder.config.maxPositions),
    tokensPerPass: computeTable(config).tokensPerPass,
    stream: randomStream(0, 'serve'),
    project: projectRows(policy),
  });
  return {
    name: `${manifest.name}@${update}`,
    states,
    batch,
    text,
    tokenizer: folder.tokenizer,
    vocabulary: folder.config.vocabSize,
    deployedScale: policy.deployedScale,
    defaults: { temperature, topK, topP, minP, maxNewTokens },
  };
}

function chooseUpdate(run: RunDirectory, wanted: number | null): number {
  const checkpoints = run.listCheckpoints();
  const update = wanted ?? checkpoints.at(-1);
  if (update !== undefined && checkpoints.includes(update)) return update;
  const expected = `one of its checkpoints: ${checkpoints.join(', ') || 'none yet'}`;
  throw new UserError({ call: `serve ${run.path}`, expected, found: `update ${wanted ?? 'none'}` });
}
