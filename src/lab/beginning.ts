/**
 * Where a run begins: anew, where it stopped, or at a checkpoint of another run; what a fork takes over from that run, and what it cannot.
 */
import { resolve } from 'node:path';
import { UserError } from '../base/index.ts';
import type { TrainerState } from '../grpo/index.ts';
import type { Shards } from '../parallel/index.ts';
import { type LoadedCheckpoint, loadAlone, loadCheckpoint } from '../run/checkpoint.ts';
import { configHash, expectGrown, expectOpen, type Manifest, type RunConfig, RunDirectory } from '../run/index.ts';
import { expectIdentity, pluginHash } from './identity.ts';
import { expectIsolatedPairs } from './pairs.ts';
import { pluginRecords } from './plugins.ts';
import { isWriter } from './ranks.ts';
import { replacementNames } from './replacements.ts';
import type { TrainOptions } from './train.ts';

type Parent = NonNullable<Manifest['parent']>;
/** A checkpoint of another run; `adapterOnly`: new moments, and an arm that remembers nothing. */
export type ForkPoint = Omit<Parent, 'adapterOnly'> & Partial<Pick<Parent, 'adapterOnly'>>;

export type Beginning = Awaited<ReturnType<typeof findBeginning>>;

export interface BeginningOptions extends Pick<TrainOptions, 'judge' | 'sampler' | 'parent' | 'claim'> {
  readonly shards: Shards;
  readonly begun: boolean;
}

/** `own`: its own last checkpoint; `from`: the one that it goes on from, its own or its parent's. */
export async function findBeginning(config: RunConfig, run: RunDirectory, options: BeginningOptions) {
  const begun = options.begun ? run.readManifest() : null;
  const call = `${begun === null ? 'start' : 'go on with'} ${run.path}`;
  if (begun !== null) {
    const known = { config: configHash(config), plugins: pluginHash(config), ...replacementNames(options) };
    expectIdentity(call, begun, config, known);
  }
  const asked =
    options.parent === undefined ? null : { adapterOnly: false, ...options.parent, run: resolve(options.parent.run) };
  const parent = begun === null ? asked : begun.parent;
  const own = await goOn(run, options.shards);
  const from = own ?? (parent === null ? null : await openParent(call, parent, config));
  if (begun === null) await expectIsolatedPairs(config);
  return { call, begun, parent, claim: options.claim, own, from };
}

async function goOn(run: RunDirectory, shards: Shards): Promise<LoadedCheckpoint | null> {
  const last = await shards.fromFirst(async () => run.listCheckpoints().at(-1) ?? null);
  const own = last === null ? null : await loadCheckpoint(run, last);
  if (!isWriter(shards)) return own;
  if (last !== null) expectGrown(run, last);
  run.cutTo(own?.lengths);
  return own;
}

async function openParent(
  call: string,
  { run: path, update, adapterOnly }: Parent,
  { updates, safety }: RunConfig,
): Promise<LoadedCheckpoint> {
  expectOpen(path, `${call} from ${path}@${update}`);
  const loaded = await (adapterOnly ? loadAlone : loadCheckpoint)(RunDirectory.open(path), update);
  if (updates > update || (updates === update && safety.healSteps > 0)) return loaded;
  throw new UserError({
    call: `${call} from ${path}@${update}`,
    expected: `updates of more than ${update}, since those of the parent count`,
    found: `${updates}`,
    fix: `Ask for more with --set updates=${update + 10}, or fork an earlier checkpoint.`,
  });
}

/** An arm takes up the state of the same arm on the same pairs only: another one starts with nothing remembered. */
export function forkState(state: TrainerState, parent: Parent, config: RunConfig): TrainerState {
  const before = RunDirectory.open(parent.run).readManifest();
  const identity = ({ arm, pairs, data }: RunConfig, plugins: Manifest['plugins']): string =>
    JSON.stringify([arm, pairs, data.kind, plugins.map(({ hash }) => hash)]);
  const same = identity(before.config, before.plugins) === identity(config, pluginRecords(config.plugins));
  return same ? state : { ...state, arm: null, directionAge: null };
}
