/** The adapter of a run at its start. */
import {
  type Adapter,
  createAdapter,
  findStart,
  pairInputDifferences,
  readCheckpoint,
  restoreStart,
  type TokenPair,
  targetModules,
} from '../adapters/index.ts';
import { cacheFolder } from '../base/node/index.ts';
import { checkedAdapter, type RunConfig, type RunDirectory } from '../run/index.ts';
import { partsOf } from './config.ts';
import type { OpenModel } from './model.ts';

/** The path of the adapter in the run's last checkpoint, which must be as it was saved; null for a run without checkpoints. */
export function lastAdapter(run: RunDirectory): string | null {
  const last = run.listCheckpoints().at(-1);
  return last === undefined ? null : checkedAdapter(run, last);
}

/** Makes the adapter at its start. A start that is computed from the weights is read from `stored`, a checkpoint of the run, if given. */
export async function openAdapter(
  config: RunConfig,
  model: OpenModel,
  pairs: readonly TokenPair[],
  stored: string | null = null,
): Promise<Adapter> {
  const { family, rank, targets } = config.adapter;
  const { starts } = await partsOf(config);
  const modules = targetModules(model.decoder.config, targets);
  const { needsWeight, needsPairs } = findStart(family, starts);
  if (needsWeight && stored !== null) {
    const kind = { family, rank, modules: modules.map(({ name }) => name) };
    return restoreStart(model.scope, model.decoder.config, await readCheckpoint(stored, kind), starts);
  }
  const differences = needsPairs ? await pairInputDifferences(model.decoder, modules, pairs) : undefined;
  return createAdapter(model.scope, model.decoder, {
    family,
    starts,
    rank,
    seed: config.seed,
    targets,
    cacheDirectory: cacheFolder('factors'),
    ...(differences === undefined ? {} : { differences }),
  });
}
