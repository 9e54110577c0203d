/**
 * Drives one run: locks its directory, writes or checks its manifest, builds the trainer, goes on from the last checkpoint
 * where there is one, shows what happens, and seals the tables when the run is over. The first Ctrl-C ends the run after the
 * update in progress; the second one at once.
 */

import { targetModules } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import type { CommandContext } from '../cli/command.ts';
import { TrainDisplay } from '../cli/terminal/train-display.ts';
import type { Device } from '../engine/index.ts';
import type { TrainEvent } from '../grpo/index.ts';
import { sealRun, VerdictLedger } from '../oracle/index.ts';
import type { RunConfig } from '../run/index.ts';
import {
  loadCheckpoint,
  type Manifest,
  problemsHash,
  type RecordOptions,
  RunDirectory,
  type RunEnd,
  recordRun,
  resumeFrom,
} from '../run/index.ts';
import { type Assembly, assemble, lastAdapter, openInputs, Resources, type RunInputs } from './assemble.ts';
import { readVersion } from './version.ts';

export interface TrainOutput extends Pick<CommandContext, 'stdout' | 'stderr'> {
  readonly json: boolean;
  /** Called beside the terminal output. */
  readonly onEvent?: (event: TrainEvent) => void;
}

/** What the inputs of a run say about it, for its manifest. */
type ManifestInputs = Pick<
  Manifest,
  'name' | 'version' | 'node' | 'created' | 'modelHash' | 'dataHash' | 'pairsHash' | 'device' | 'features'
>;

export interface TrainResult {
  readonly end: RunEnd;
  /** Whether every expectation of this process held. */
  readonly holds: boolean;
}

/** `newManifest`: null to go on with a run that has one. */
export async function trainRun(
  config: RunConfig,
  run: RunDirectory,
  output: TrainOutput,
  newManifest: ((inputs: ManifestInputs) => Manifest) | null,
): Promise<TrainResult> {
  using _lock = run.lock();
  if (run.sealed) return finishSealed(run, output);
  using interruption = onInterrupt(output.stderr, 'finishing this update, then saving');
  const result = await trainOpen(config, run, output, newManifest, interruption.signal);
  if (result.end !== 'interrupted') await sealRun(run);
  return result;
}

/** A kill between sealing and dropping the lines leaves both. */
async function finishSealed(run: RunDirectory, { stderr }: TrainOutput): Promise<TrainResult> {
  await sealRun(run);
  stderr.write(`${run.path} is finished; fork it to train on: --fork ${run.path}@${run.checkpoints.at(-1)}\n`);
  return { end: 'finished', holds: true };
}

async function trainOpen(
  config: RunConfig,
  run: RunDirectory,
  output: TrainOutput,
  newManifest: ((inputs: ManifestInputs) => Manifest) | null,
  signal: AbortSignal,
): Promise<TrainResult> {
  await using resources = new Resources();
  const last = run.checkpoints.at(-1);
  run.cutTo(last === undefined ? undefined : (await loadCheckpoint(run, last)).lengths);
  const warn = (message: string): unknown => output.stderr.write(`${message}\n`);
  const inputs = await openInputs(config, resources, warn);
  const facts = factsOf(config, run, inputs);
  if (newManifest !== null) await run.writeManifest(newManifest(facts));
  else checkFacts(run, facts, output);
  const ledger = resources.use(new VerdictLedger(run.ledger('verdicts')));
  const assembly = await assemble(config, inputs, ledger, resources, warn, lastAdapter(run));
  const { parent } = run.manifest;
  if (last !== undefined) await resumeFrom(run, assembly.trainer, last);
  else if (parent !== null) {
    const { state } = await loadCheckpoint(RunDirectory.open(parent.run), parent.update);
    assembly.trainer.restore(state);
  }
  const display = new TrainDisplay(output, ledger, {
    updates: config.updates,
    first: assembly.trainer.updatesCompleted,
  });
  const result = await drive(config, run, assembly, signal, (event, seconds) => {
    output.onEvent?.(event);
    display.show(event, seconds);
  });
  display.close(result.end, run.path, assembly.trainer.updatesCompleted);
  return result;
}

function factsOf(
  { adapter }: RunConfig,
  { path }: RunDirectory,
  { files, problems, pairsHash }: RunInputs,
): ManifestInputs {
  const modules = targetModules(files.folder.config, adapter.targets).map(({ name }) => name);
  return {
    name: path.split(/[\\/]/).at(-1) ?? path,
    version: readVersion(),
    node: process.version,
    created: new Date().toISOString(),
    modelHash: files.hash,
    dataHash: problemsHash(Object.values(problems).flat()),
    pairsHash,
    device: describeDevice(files.device),
    features: { modules: modules.sort(), rank: adapter.rank },
  };
}

/** What its bytes depend on: the kernels of a wasm device, the GPU and the precision of a cuda one. */
function describeDevice(device: Device): string {
  const { name, variant, threads, facts } = device as Device & {
    variant?: string;
    threads?: number;
    facts?: { name: string };
  };
  const gpu = facts === undefined ? [] : [facts.name, device.floats[0]];
  return [name, ...gpu, variant, threads].filter((part) => part !== undefined).join(' ');
}

/** A run goes on with what it began with, or not at all. */
function checkFacts({ path, manifest }: RunDirectory, facts: ManifestInputs, { stderr }: TrainOutput): void {
  for (const [key, what] of [
    ['modelHash', 'model'],
    ['dataHash', 'problems'],
    ['pairsHash', 'pairs'],
  ] as const) {
    if (manifest[key] === facts[key]) continue;
    throw new UserError({
      call: `--resume ${path}`,
      expected: `the ${what} that the run began with (${manifest[key]})`,
      found: `others (${facts[key]})`,
    });
  }
  if (withoutThreads(manifest.device) !== withoutThreads(facts.device)) {
    stderr.write(
      `begun on ${manifest.device}, going on with ${facts.device}: bytes will differ from an unbroken run\n`,
    );
  }
}

function withoutThreads(device: string): string {
  return device.replace(/ \d+$/, '');
}

/** Trains to the end, or until the signal, and writes everything down. */
export async function drive(
  config: RunConfig,
  run: RunDirectory,
  { trainer, policy, text, clock }: Assembly,
  signal: AbortSignal,
  onEvent: RecordOptions['onEvent'],
): Promise<TrainResult> {
  const { adapter } = policy;
  let holds = true;
  const end = await recordRun({
    run,
    trainer,
    checkpointEvery: config.output.checkpointEvery,
    storeFeatures: config.output.storeFeatures,
    storeTokens: config.output.storeTokens,
    featureBytes: adapter.modules.length * adapter.rank * 4,
    promptText: (tokens) => text.show(tokens),
    signal,
    onEvent(event, seconds) {
      if (event.kind === 'expectation' && !event.holds) holds = false;
      onEvent(event, seconds);
    },
    clock,
  });
  return { end, holds };
}
