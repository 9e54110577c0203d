/** A run that starts from a checkpoint of another one: what it takes over, and what it cannot. */
import type { TrainerState } from '../grpo/index.ts';
import { type Manifest, type RunConfig, RunDirectory } from '../run/index.ts';
import { pluginRecords } from './plugins.ts';

/** An arm takes up the state of the same arm on the same pairs only: another one starts with nothing remembered. */
export function forkState(
  state: TrainerState,
  parent: NonNullable<Manifest['parent']>,
  config: RunConfig,
): TrainerState {
  const before = RunDirectory.open(parent.run).readManifest();
  const identity = ({ arm, pairs, data }: RunConfig, plugins: Manifest['plugins']): string =>
    JSON.stringify([arm, pairs, data.kind, plugins.map(({ hash }) => hash)]);
  const same = identity(before.config, before.plugins) === identity(config, pluginRecords(config.plugins));
  return same ? state : { ...state, arm: null, directionAge: null };
}
