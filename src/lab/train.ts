/** Drives one run: locks, makes or checks its manifest, builds the trainer, records, seals. Sinks do the printing. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { shellLine, UserError } from '../base/index.ts';
import { writeFileAtomic } from '../base/node/index.ts';
import { formatPairsJson } from '../env/pairs/index.ts';
import type { TrainerState } from '../grpo/index.ts';
import { hasLasting } from '../grpo/lasting-table.ts';
import { findIdle, idleText } from '../monitors/idle.ts';
import { sealRun, VerdictLedger } from '../oracle/index.ts';
import type { Communicator, Shards } from '../parallel/index.ts';
import { type LoadedCheckpoint, loadAlone, loadCheckpoint } from '../run/checkpoint.ts';
import { checkedInitial, expectCheckpoint, expectGrown } from '../run/checkpoint-files.ts';
import { configHash } from '../run/config/config.ts';
import { valueText } from '../run/config/issues.ts';
import type { WrittenConfig } from '../run/config/written.ts';
import { RunDirectory } from '../run/directory.ts';
import { FileSink } from '../run/file-sink.ts';
import type { Manifest, RunConfig, RunEnd, Sink, WarningEvent } from '../run/index.ts';
import { expectOpen, isRun } from '../run/manifest.ts';
import { readCourse } from '../run/read.ts';
import { recordRun } from '../run/record.ts';
import { type Notice, SinkGroup, stampNotice } from '../run/sink.ts';
import { describeDevice } from './assemble.ts';
import { admitConfig, resolveConfig } from './config.ts';
import { expectFork, expectIdentity, pluginHash } from './identity.ts';
import { tellUpdate } from './interrupt.ts';
import { type Replacements, replacementNames } from './judge.ts';
import { byteIdentity, compareDevices, makeManifest, warnOfEarlierQuarantine } from './manifest.ts';
import { type Lab, openLab } from './open.ts';
import { type Warn, wasAsked } from './open-parts.ts';
import type { PackPlace } from './pack.ts';
import { expectIsolatedPairs } from './pairs.ts';
import { expectLoadedCode, pluginRecords } from './plugins.ts';
import { makePool } from './pool.ts';
import { expectSameInputs, expectSameProgram, isWriter, meetingOf, openShards } from './ranks.ts';
import type { Assembly } from './trainer.ts';

export interface TrainOptions extends Replacements {
  /** Sinks that are told every event, beside the files of the run, and closed at the end, however the run ends. */
  readonly sinks?: readonly Sink[];
  /** When aborted, the run saves and ends after the update in progress; one that is still being prepared leaves nothing. */
  readonly signal?: AbortSignal;
  /** The checkpoint that a new run starts from; a resumed run uses the one in its manifest. */
  readonly parent?: ForkPoint;
  /** The claim that a new run is begun under; a resumed run has the one in its manifest. */
  readonly claim?: Manifest['claim'];
  /** Is called before a new run begins, once no other process can begin it. */
  readonly onBegin?: () => void;
  /** The run's place among runs that share a process; default: it is alone. */
  readonly place?: PackPlace | undefined;
  /** The ranks that train this run together; default: this process alone. Rank 0 writes, the others make `run` by RunDirectory.follow. */
  readonly communicator?: Communicator;
}

export type TrainResult = { readonly end: RunEnd; readonly holds: boolean };

/** Trains a config in a directory of its own: starts a run there, or goes on with the one that it was started with. */
export async function train(
  config: RunConfig | WrittenConfig,
  path: string,
  options: TrainOptions = {},
): Promise<TrainResult> {
  if (typeof path !== 'string' || path === '') {
    throw new UserError({ call: 'train()', expected: 'the path of a folder for the run', found: valueText(path) });
  }
  // What extends nothing has the usual values in the place of absent ones, as the check of configs gives them.
  const extending = typeof config === 'object' && config !== null && 'extends' in config;
  const whole = extending ? (await resolveConfig(config)).config : (config as RunConfig);
  return trainRun(whole, isRun(path) ? RunDirectory.open(path) : RunDirectory.create(path), options);
}

/** Starts a run in an empty directory, or goes on with the run that is there, which must have the same config. */
export async function trainRun(given: RunConfig, run: RunDirectory, options: TrainOptions = {}): Promise<TrainResult> {
  const sinks = new SinkGroup(options.sinks ?? []);
  const writes = (options.communicator?.rank ?? 0) === 0;
  try {
    return await sinks.guard(async () => {
      const config = isBegunWith(given, run) ? given : await admitConfig(given);
      const shards = openShards(config, options.communicator);
      await expectSameProgram(shards, config);
      using _lock = writes ? run.lock() : null;
      const found = await shards.fromFirst(async () => ({ sealed: run.isSealed(), begun: run.hasManifest() }));
      if (found.sealed) return writes ? await finishSealed(run, sinks) : { end: 'finished', holds: true };
      if (writes && !found.begun) options.onBegin?.();
      const result = await trainOpen(config, run, { ...options, shards, begun: found.begun }, sinks);
      if (writes && result.end !== 'interrupted') await sealRun(run);
      return result;
    });
  } catch (error) {
    if (writes && existsSync(run.path)) run.removeStart();
    const isAlone = (options.communicator?.size ?? 1) === 1;
    if (isAlone && wasAsked(options.signal, error)) return { end: 'interrupted', holds: true };
    throw refusedBySystem(error) ? unwritable(run, error) : error;
  }
}

/** Whether the run began with this very config, which was checked then, maybe by an earlier version with fewer keys. */
const isBegunWith = (config: RunConfig, run: RunDirectory): boolean =>
  run.hasManifest() && configHash(run.readManifest().config) === hashOf(config);

/** Null for what has no hash, and so is no config: the check of configs says why. */
function hashOf(config: RunConfig): string | null {
  try {
    return configHash(config);
  } catch {
    return null;
  }
}

const refusedBySystem = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'code' in error;

function unwritable(run: RunDirectory, cause: NodeJS.ErrnoException): UserError {
  const begun = run.hasManifest();
  return new UserError(
    {
      call: `train ${run.path}`,
      expected: 'files that can be read and written',
      found: cause.message,
      fix: begun
        ? `Once that is cured, go on with --resume ${run.path}.`
        : 'Nothing was begun: start again once that is cured.',
    },
    { cause },
  );
}

/** Ends a sealed run again: a kill after sealing may have left the JSON lines beside the Parquet files. */
async function finishSealed(run: RunDirectory, sinks: SinkGroup): Promise<TrainResult> {
  await sealRun(run);
  const { keepState } = run.readManifest().config.output;
  for (const update of run.listCheckpoints()) expectCheckpoint(run, update, keepState === 'all');
  const update = run.listCheckpoints().at(-1) ?? 0;
  const message = `${run.path} is finished; fork it to train on: ${shellLine('--fork', `${run.path}@${update}`)}`;
  await sinks.event({ kind: 'info', update, name: 'already-finished', message });
  await sinks.close('finished');
  return { end: 'finished', holds: true };
}

async function trainOpen(
  config: RunConfig,
  run: RunDirectory,
  options: TrainOptions & BeginningOptions,
  sinks: SinkGroup,
): Promise<TrainResult> {
  const writes = isWriter(options.shards);
  const beginning = await findBeginning(config, run, options);
  const { own, from, parent, begun } = beginning;
  const warnings: WarningEvent[] = [];
  const warn: Warn = async (notice) => {
    // Without its model there is no run, and nothing else to say about it.
    await lab.model;
    const event = stampNotice(notice, from?.state.update ?? 0);
    if (event.kind === 'warning') warnings.push(event);
    await sinks.event(event);
  };
  const { judge, sampler, signal, place, shards: ranks } = options;
  await using lab: Lab = await openLab(
    { config },
    {
      ...{ judge, sampler, signal, warn, ranks, folder: run },
      ...{ policyWork: place?.work, given: await place?.given(config, warn, begun) },
      initial: checkedInitial(own === null && parent !== null ? RunDirectory.open(parent.run) : run),
      ledger: () => new VerdictLedger(writes ? run.ledger('verdicts') : null),
    },
  );
  const assembly = await prepare(lab, run, beginning);
  const forget: Sink['event'] = ({ kind }) => (kind === 'step' ? assembly.ledger.forget() : undefined);
  sinks.addFirst({ name: 'verdict ledger', event: forget });
  // A run with a checkpoint has the warnings about its inputs in its events already; only another device is new.
  const earlier = own === null ? warnings : warnings.filter(({ name }) => name === 'other-device');
  return await drive(config, run, assembly, { sinks, signal, earlier });
}

async function prepare(lab: Lab, run: RunDirectory, beginning: Beginning): Promise<Assembly> {
  const { call, begun, parent, claim, own, from } = beginning;
  const { config, ranks } = lab;
  const writes = isWriter(ranks);
  if (writes && begun === null && lab.pool === run.madePool) await makePool(lab, run.madePool);
  await ranks.communicator.barrier();
  if (begun !== null) expectIdentity(call, begun, config, await lab.identity);
  else if (parent !== null) {
    const origin = RunDirectory.open(parent.run).readManifest();
    expectFork(`fork ${parent.run}@${parent.update}`, origin, config, await lab.identity);
  }
  expectLoadedCode(config.plugins);
  if (begun !== null) await compareDevices(begun, await lab.device, lab.warn);
  if (ranks.ranks > 1) {
    await expectSameInputs(ranks, await lab.identity, byteIdentity(describeDevice(await lab.device)));
  }
  // Whatever is wrong with an input is found while the weights are loaded.
  const [assembly] = await Promise.all([lab.trainer, lab.identity]);
  if (own !== null) assembly.trainer.restore(own.state);
  else if (from !== null && parent !== null) assembly.trainer.restore(forkState(from.state, parent, config));
  // A run exists from here on: whatever was wrong before, on any rank, left nothing behind.
  await ranks.communicator.barrier();
  const { generated } = assembly;
  if (writes && begun === null) {
    const manifest = await makeManifest(lab, run, parent, assembly);
    await run.writeManifest({ ...manifest, claim });
    await warnOfEarlierQuarantine(manifest, lab.warn);
  }
  if (writes && generated !== null && !existsSync(run.generatedPairs)) {
    await writeFileAtomic(run.generatedPairs, formatPairsJson(generated.pairs));
  }
  lab.start.done('manifest');
  return assembly;
}

interface DriveOptions extends Pick<TrainOptions, 'signal'> {
  readonly sinks: SinkGroup;
  readonly earlier?: readonly WarningEvent[];
}

export async function drive(
  config: RunConfig,
  run: RunDirectory,
  { trainer, policy, text, clock, start, shards }: Assembly,
  { sinks, signal = new AbortController().signal, earlier = [] }: DriveOptions,
): Promise<TrainResult> {
  let holds = true;
  const expectations: Sink = {
    name: 'expectations',
    event: (event) => {
      if (event.kind === 'expectation' && !event.holds) holds = false;
    },
  };
  let before = performance.now();
  const lengths: Sink = {
    name: 'lengths of updates',
    event: ({ kind }) => {
      if (kind !== 'step') return;
      const now = performance.now();
      tellUpdate(signal, (now - before) / 1000);
      before = now;
    },
  };
  const { adapter } = policy;
  const { checkpointEvery, keepState, storeFeatures, storeTokens } = config.output;
  const meeting = shards.ranks === 1 ? null : meetingOf(shards, policy);
  const featureBytes = adapter.modules.length * adapter.rank * 4;
  const promptText = (tokens: Int32Array): string => text.show(tokens);
  const stored = { storeFeatures, storeTokens, featureBytes, promptText, earlier };
  const own = isWriter(shards) ? run : null;
  sinks.addFirst(...(own === null ? [] : [new FileSink(own, stored)]), expectations, lengths);
  const end = await recordRun({
    run: own,
    trainer,
    checkpointEvery,
    keepState,
    sinks,
    signal,
    clock,
    start,
    ...meeting,
    ...(own === null ? {} : { review: () => reviewRun(own) }),
  });
  return { end, holds };
}

/** Of all updates, also those before a resume; a run without a manifest, as a check makes, is not reviewed. */
async function reviewRun(run: RunDirectory): Promise<Notice | null> {
  if (!run.hasManifest()) return null;
  const { config, hasQuarantine } = run.readManifest();
  const idle = findIdle((await readCourse(run)).steps, { arm: config.arm, hasQuarantine });
  if (idle === null) return null;
  return { kind: 'warning', name: 'nothing-flagged', message: idleText(idle), detail: { ...idle } };
}

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
  { updates, safety, lasting }: RunConfig,
): Promise<LoadedCheckpoint> {
  expectOpen(path, `${call} from ${path}@${update}`);
  const loaded = await (adapterOnly ? loadAlone : loadCheckpoint)(RunDirectory.open(path), update);
  if (updates > update || (updates === update && (safety.healSteps > 0 || hasLasting({ lasting })))) return loaded;
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
