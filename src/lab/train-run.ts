/**
 * Drives one run: locks its directory, makes or checks its manifest, builds the trainer, goes on from the last checkpoint if there is
 * one, tells the sinks what happens, and seals the tables when the run is over. Printing is left to the caller's sinks, and the
 * caller's signal ends the run after the update in progress.
 */
import { sealRun, VerdictLedger } from '../oracle/index.ts';
import {
  FileSink,
  loadCheckpoint,
  type Manifest,
  type RunConfig,
  RunDirectory,
  type RunEnd,
  recordRun,
  type Sink,
  SinkGroup,
  stampNotice,
  type WarningEvent,
} from '../run/index.ts';
import { lastAdapter } from './adapter.ts';
import { type Assembly, assemble, openInputs } from './assemble.ts';
import { forkState } from './fork.ts';
import { checkManifest, makeManifest } from './manifest.ts';
import type { Warn } from './problems.ts';
import { Resources } from './resources.ts';

export interface TrainOptions {
  /** Sinks that are told every event, beside the files of the run, and closed at the end, however the run ends. */
  readonly sinks?: readonly Sink[];
  /** When aborted, the run saves and ends after the update in progress. */
  readonly signal?: AbortSignal;
  /** The checkpoint that a new run starts from; a resumed run uses the one in its manifest. */
  readonly parent?: NonNullable<Manifest['parent']>;
}

export interface TrainResult {
  readonly end: RunEnd;
  /** Whether every expectation held in this process. */
  readonly holds: boolean;
}

/** Starts a run in an empty directory, or goes on with the run that is there, which must have the same config. */
export async function trainRun(config: RunConfig, run: RunDirectory, options: TrainOptions = {}): Promise<TrainResult> {
  const sinks = new SinkGroup(options.sinks ?? []);
  using _lock = await sinks.guard(async () => run.lock());
  if (run.isSealed()) return await finishSealed(run, sinks);
  const result = await trainOpen(config, run, options, sinks);
  if (result.end !== 'interrupted') await sealRun(run);
  return result;
}

/** Ends a sealed run again: a kill after sealing may have left the JSON lines beside the Parquet files. */
async function finishSealed(run: RunDirectory, sinks: SinkGroup): Promise<TrainResult> {
  await sinks.guard(async () => {
    await sealRun(run);
    const update = run.listCheckpoints().at(-1) ?? 0;
    const message = `${run.path} is finished; fork it to train on: --fork ${run.path}@${update}`;
    await sinks.event({ kind: 'info', update, name: 'already-finished', message });
  });
  await sinks.close('finished');
  return { end: 'finished', holds: true };
}

async function trainOpen(
  config: RunConfig,
  run: RunDirectory,
  options: TrainOptions,
  sinks: SinkGroup,
): Promise<TrainResult> {
  await using resources = new Resources();
  const { assembly, ledger, earlier } = await sinks.guard(() => prepare(config, run, options, sinks, resources));
  const forgetful: Sink = {
    name: 'verdict ledger',
    event: ({ kind }) => {
      if (kind === 'step') ledger.forget();
    },
  };
  return await drive(config, run, assembly, { ...options, sinks: [forgetful, ...(options.sinks ?? [])], earlier });
}

interface Prepared {
  readonly assembly: Assembly;
  readonly ledger: VerdictLedger;
  /** Warnings that are not in the events of the run yet. */
  readonly earlier: readonly WarningEvent[];
}

async function prepare(
  config: RunConfig,
  run: RunDirectory,
  options: TrainOptions,
  sinks: SinkGroup,
  resources: Resources,
): Promise<Prepared> {
  const begun = run.hasManifest() ? run.readManifest() : null;
  const last = run.listCheckpoints().at(-1);
  const own = last === undefined ? null : await loadCheckpoint(run, last);
  run.cutTo(own?.lengths);
  const parent = options.parent ?? null;
  const origin = begun === null ? parent : begun.parent;
  const start = own ?? (origin === null ? null : await loadCheckpoint(RunDirectory.open(origin.run), origin.update));

  const warnings: WarningEvent[] = [];
  const warn: Warn = async (notice) => {
    const event = stampNotice(notice, start?.state.update ?? 0);
    if (event.kind === 'warning') warnings.push(event);
    await sinks.event(event);
  };
  const inputs = await openInputs(config, resources, warn);
  const manifest = await makeManifest(config, run, inputs, parent);
  if (begun === null) await run.writeManifest(manifest);
  else await checkManifest(run.path, begun, manifest, warn);
  const ledger = resources.use(new VerdictLedger(run.ledger('verdicts')));
  const assembly = await assemble(config, inputs, ledger, resources, warn, lastAdapter(run));
  if (own !== null) assembly.trainer.restore(own.state);
  else if (start !== null && origin !== null) assembly.trainer.restore(forkState(start.state, origin, config));
  // A run with a checkpoint has the warnings about its inputs in its events already; only another device is new.
  const earlier = own === null ? warnings : warnings.filter(({ name }) => name === 'other-device');
  return { assembly, ledger, earlier };
}

export interface DriveOptions {
  readonly sinks?: readonly Sink[];
  readonly signal?: AbortSignal;
  /** Warnings that were given before the files of the run were opened. */
  readonly earlier?: readonly WarningEvent[];
}

/** Trains to the end, or until the signal, and records everything. */
export async function drive(
  config: RunConfig,
  run: RunDirectory,
  { trainer, policy, text, clock }: Assembly,
  { sinks = [], signal = new AbortController().signal, earlier = [] }: DriveOptions,
): Promise<TrainResult> {
  const { adapter } = policy;
  const { checkpointEvery, storeFeatures, storeTokens } = config.output;
  const featureBytes = adapter.modules.length * adapter.rank * 4;
  const promptText = (tokens: Int32Array): string => text.show(tokens);
  const files = await new SinkGroup(sinks).guard(
    async () => new FileSink(run, { storeFeatures, storeTokens, featureBytes, promptText, earlier }),
  );
  let holds = true;
  const expectations: Sink = {
    name: 'expectations',
    event: (event) => {
      if (event.kind === 'expectation' && !event.holds) holds = false;
    },
  };
  const end = await recordRun({ run, trainer, checkpointEvery, sinks: [files, expectations, ...sinks], signal, clock });
  return { end, holds };
}
