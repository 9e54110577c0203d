/** `gq train`: one run from a recipe; to its end, or to where it was interrupted. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { UserError } from '../base/errors.ts';
import type { StepEvent, TrainEvent } from '../grpo/events.ts';
import { tally } from '../oracle/tally.ts';
import { loadCheckpoint } from '../run/checkpoint.ts';
import { configHash, parseConfig, resolveConfig } from '../run/config.ts';
import { type Manifest, RunDirectory, runFormat } from '../run/directory.ts';
import type { RunConfig } from '../run/schema.ts';
import { resumeFrom, type SessionEnd, trainSession } from '../run/session.ts';
import { problemsHash } from '../run/tasks.ts';
import { type Assembly, assemble, Resources } from './assemble.ts';
import { type CommandContext, examplesText } from './command.ts';
import { formatDuration, tableHeader, tableLegend, tableRow } from './step-table.ts';
import { readVersion } from './version.ts';

interface TrainOptions {
  readonly set: readonly string[];
  readonly out?: string;
  readonly resume?: string;
  readonly fork?: string;
  readonly model?: string;
  readonly device?: string;
  readonly json?: boolean;
}

export function configureTrain(command: Command, context: CommandContext): void {
  command
    .argument('[recipe]', 'a TOML recipe; without one, the defaults')
    .option('--set <key=value>', 'change one key of the config; may be repeated', collect, [])
    .option('--out <dir>', 'the run directory to make')
    .option('--resume <run>', 'go on with a run from its last checkpoint')
    .option('--fork <run@update>', 'start a new run from a checkpoint of another')
    .option('--model <dir>', 'short for --set model=DIR')
    .option('--device <name>', 'short for --set device.kind=NAME')
    .option('--json', 'print every event as a line of JSON')
    .addHelpText(
      'after',
      examplesText(
        'gq train recipes/micro-activation.toml --out runs/activation-1',
        'gq train recipes/micro-vanilla.toml --set seed=2 --set updates=50 --out runs/vanilla-2',
        'gq train --resume runs/activation-1',
        'gq train --fork runs/activation-1@20 --set optimiser.learningRate=5e-4 --out runs/forked',
      ),
    )
    .action((recipe: string | undefined, options: TrainOptions) => runTrain(recipe, options, context));
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

async function runTrain(recipe: string | undefined, options: TrainOptions, context: CommandContext): Promise<void> {
  const end =
    options.resume === undefined
      ? await startRun(recipe, options, context)
      : await resumeRun(options.resume, options, context);
  if (end === 'tripwire') context.exitCode = 1;
}

function shortcuts({ model, device, set }: TrainOptions): string[] {
  return [
    ...(model === undefined ? [] : [`model=${JSON.stringify(model)}`]),
    ...(device === undefined ? [] : [`device.kind=${JSON.stringify(device)}`]),
    ...set,
  ];
}

async function startRun(
  recipe: string | undefined,
  options: TrainOptions,
  context: CommandContext,
): Promise<SessionEnd> {
  const parent = options.fork === undefined ? null : parseFork(options.fork);
  const { config } =
    parent !== null && recipe === undefined
      ? resolveForked(parent.run, shortcuts(options))
      : resolveConfig(recipe ?? null, shortcuts(options));
  const path = options.out ?? join('runs', `${config.arm.kind}-${config.seed}`);
  const run = RunDirectory.create(path);
  return trainRun(config, run, { ...context, json: options.json === true }, parent);
}

function resolveForked(run: string, settings: readonly string[]): { config: RunConfig } {
  return resolveConfig(null, [...flatten(RunDirectory.open(run).manifest.config), ...settings]);
}

/** A config as `--set` terms. */
function flatten(value: unknown, prefix = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return value === null ? [] : [`${prefix.slice(0, -1)}=${JSON.stringify(value)}`];
  }
  const entries = Object.entries(value).sort(([a], [b]) => Number(b === 'kind') - Number(a === 'kind'));
  return entries.flatMap(([key, inner]) => flatten(inner, `${prefix}${key}.`));
}

function parseFork(text: string): { run: string; update: number } {
  const match = /^(.*)@(\d+)$/.exec(text);
  if (match === null) throw new UserError({ call: '--fork', expected: 'RUN@UPDATE', found: text });
  return { run: match[1], update: Number(match[2]) };
}

async function resumeRun(path: string, options: TrainOptions, context: CommandContext): Promise<SessionEnd> {
  const run = RunDirectory.open(path);
  if (options.set.length > 0) {
    const fix = 'Fork it to change the config: --fork RUN@UPDATE.';
    throw new UserError({ call: '--resume', expected: 'the config of the run', found: options.set.join(', '), fix });
  }
  if (run.sealed)
    throw new UserError({ call: '--resume', expected: 'a run that is not finished', found: `${path}, sealed` });
  return trainRun(parseConfig(run.manifest.config), run, { ...context, json: options.json === true }, null);
}

export interface TrainOutput {
  readonly stdout: CommandContext['stdout'];
  readonly stderr: CommandContext['stderr'];
  readonly json: boolean;
  /** Called beside the terminal output. */
  readonly onEvent?: (event: TrainEvent) => void;
}

/** Starts, continues or forks a run, depending on what its directory holds. */
export async function trainRun(
  config: RunConfig,
  run: RunDirectory,
  output: TrainOutput,
  parent: Manifest['parent'],
): Promise<SessionEnd> {
  using _lock = run.lock();
  const stop = new AbortController();
  const interrupt = (): void => {
    if (stop.signal.aborted) process.exit(130);
    output.stderr.write('\ninterrupted: finishing this update, then saving (again to quit at once)\n');
    stop.abort();
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  try {
    await using resources = new Resources();
    const last = run.checkpoints.at(-1);
    if (last !== undefined) run.cutTo((await loadCheckpoint(run, last)).lengths);
    const assembly = await assemble(config, run.path, resources);
    if (last !== undefined) await resumeFrom(run, assembly.trainer, last);
    else {
      await run.writeManifest(manifestOf(config, run, assembly, parent));
      if (parent !== null) {
        const { state } = await loadCheckpoint(RunDirectory.open(parent.run), parent.update);
        assembly.trainer.restore(state);
      }
    }
    return await drive(config, run, assembly, output, stop.signal);
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  }
}

async function drive(
  config: RunConfig,
  run: RunDirectory,
  { trainer, policy, model, ledger, clock }: Assembly,
  output: TrainOutput,
  signal: AbortSignal,
): Promise<SessionEnd> {
  const started = performance.now();
  const first = trainer.updatesCompleted;
  let rows = 0;
  let ids: string[] = [];
  const show = (event: TrainEvent, seconds: Readonly<Record<string, number>>): void => {
    output.onEvent?.(event);
    if (event.kind === 'rollouts') ids = event.records.map(({ rollout }) => rollout.id);
    else if (output.json) output.stdout.write(`${JSON.stringify(event)}\n`);
    else if (event.kind === 'step') {
      if (rows++ % 20 === 0) output.stdout.write(`${tableHeader()}\n`);
      const spent = Object.values(seconds).reduce((sum, value) => sum + value, 0);
      const done = event.update - first;
      const left = ((performance.now() - started) / 1000 / done) * (config.updates - event.update);
      const row = tableRow(event, tally(ids.map((id) => ledger.of(id))), spent);
      output.stdout.write(`${row}   ${formatDuration(left)} left\n`);
      warn(event, output);
    } else if (event.kind === 'expectation' && !event.holds) {
      output.stderr.write(`EXPECTATION FAILED: ${event.name} (${event.detail})\n`);
    }
    if (event.kind === 'step') ledger.forget();
  };
  const { adapter } = policy;
  const end = await trainSession({
    run,
    trainer,
    checkpointEvery: config.output.checkpointEvery,
    storeFeatures: config.output.storeFeatures,
    featureBytes: adapter.modules.length * adapter.rank * 4,
    promptText: (tokens) => model.text.show(tokens),
    signal,
    onEvent: show,
    clock,
  });
  if (!output.json) output.stdout.write(`${closing(end, run, trainer.updatesCompleted)}\n${tableLegend}\n`);
  return end;
}

function warn({ update, direction, zeroSignal }: StepEvent, { stderr }: TrainOutput): void {
  if (direction !== null && direction.pairedAccuracy < 1) {
    stderr.write(
      `update ${update}: the direction misjudges pairs ${direction.wrongPairs.join(', ')} (AUROC ${direction.auroc.toFixed(2)})\n`,
    );
  }
  if (zeroSignal !== null) {
    stderr.write(
      `update ${update}: no signal for the deployed block: ${zeroSignal.reason} (${zeroSignal.skippedGroups}/${zeroSignal.groups} groups skipped)\n`,
    );
  }
}

function closing(end: SessionEnd, { path }: RunDirectory, updates: number): string {
  if (end === 'interrupted') return `saved after ${updates} updates; go on with: gq train --resume ${path}`;
  if (end === 'tripwire') return `stopped by the divergence tripwire after ${updates} updates: ${path}`;
  return `finished: ${updates} updates in ${path}`;
}

function manifestOf(
  config: RunConfig,
  { path }: RunDirectory,
  assembly: Assembly,
  parent: Manifest['parent'],
): Manifest {
  const { policy, model, problems, pairsHash } = assembly;
  const device = model.device as { variant?: string; threads?: number };
  return {
    format: runFormat,
    name: path.split(/[\\/]/).at(-1) ?? path,
    config,
    configHash: configHash(config),
    version: readVersion(),
    node: process.version,
    command: process.argv.slice(2),
    created: new Date().toISOString(),
    modelHash: model.hash,
    dataHash: problemsHash(Object.values(problems).flat()),
    pairsHash,
    usesOracle: config.arm.kind === 'oracle',
    device: [model.device.name, device.variant, device.threads].filter((part) => part !== undefined).join(' '),
    features: { modules: policy.adapter.modules.map(({ name }) => name), rank: policy.adapter.rank },
    parent,
  };
}
