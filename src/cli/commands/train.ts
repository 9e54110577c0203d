/** `gq train`: trains one run from a recipe, to its end or until it is interrupted. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { exitCodes, shellLine, UserError } from '../../base/index.ts';
import type { SandboxPolicy } from '../../env/sandbox/index.ts';
import { LogSink, type MetricLog, metricLogs } from '../../export/index.ts';
import {
  armOf,
  onInterrupt,
  openShards,
  parseRunConfig,
  partsOf,
  resolveConfig,
  type TrainOptions,
  type TrainResult,
  trainRun,
  withShards,
} from '../../lab/index.ts';
import { alone, type Communicator } from '../../parallel/index.ts';
import { configDifferences, demonstrationTest, type Manifest, type RunConfig, RunDirectory } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { inRanks, parseRanks } from '../ranks.ts';
import { sandboxOption } from '../sandbox-option.ts';
import { JsonLines } from '../terminal/json-lines.ts';
import { TrainDisplay } from '../terminal/train-display.ts';
import { collect } from '../values.ts';

interface TrainFlags {
  readonly allowTestProblems?: true;
  readonly set: readonly string[];
  readonly out?: string;
  readonly resume?: string;
  readonly fork?: string;
  readonly adapterOnly?: true;
  readonly model?: string;
  readonly device?: string;
  readonly sandbox?: SandboxPolicy;
  readonly json?: boolean;
  readonly sink: readonly MetricLog[];
  readonly ranks?: number;
}

export function configureTrain(command: Command, context: CommandContext): void {
  command
    .argument('[recipe]', 'a TOML recipe, or the name of one in the package; without one, the defaults')
    .option('--set <key=value>', 'change one key of the config; may be repeated', collect, [])
    .option('--out <dir>', 'the run directory to make; runs/ARM-SEED when absent')
    .option('--resume <run>', 'go on with a run from its last checkpoint')
    .option('--fork <run@update>', 'start a new run from a checkpoint of another')
    .option('--adapter-only', 'fork without the moments and what the arm remembers, from any checkpoint')
    .option('--model <dir>', 'short for --set model=DIR')
    .option('--device <name>', 'short for --set device.kind=NAME')
    .addOption(sandboxOption())
    .addOption(
      new Option('--sink <viewer>', 'also write a log for this viewer, into logs/ of the run; may be repeated')
        .choices(Object.keys(metricLogs))
        .argParser(parseSink)
        .default([]),
    )
    .option('--ranks <n>', 'train in so many processes, which need Open MPI (docs/scale.md)', parseRanks)
    .option('--allow-test-problems', 'train on known test problems of the LeetCode benchmark too; the manifest says so')
    .option('--json', 'print every event as a line of JSON')
    .addHelpText(
      'after',
      examplesText(
        'gq train recipes/micro-activation.toml --out runs/activation-1',
        'gq train recipes/micro-vanilla.toml --set seed=2 --set updates=50 --out runs/vanilla-2',
        'gq train --resume runs/activation-1',
        'gq train recipes/micro-activation.toml --ranks 2 --out runs/activation-2',
        'gq train --fork runs/activation-1@20 --set optimiser.learningRate=5e-4 --out runs/forked',
      ),
    )
    .action((recipe: string | undefined, flags: TrainFlags) => runTrain(recipe, flags, context));
}

function parseSink(name: string, earlier: readonly MetricLog[]): readonly MetricLog[] {
  const known = (Object.keys(metricLogs) as MetricLog[]).find((each) => each === name);
  if (known === undefined) throw new InvalidArgumentError(`Allowed choices are ${Object.keys(metricLogs).join(', ')}.`);
  return earlier.includes(known) ? earlier : [...earlier, known];
}

async function runTrain(recipe: string | undefined, flags: TrainFlags, context: CommandContext): Promise<void> {
  // A wrong call is refused once, before so many processes find it wrong.
  const expectRoom = async (ranks: number): Promise<void> => {
    const config =
      flags.resume === undefined
        ? withShards((await readConfig(recipe, flags)).config)
        : RunDirectory.open(flags.resume).readManifest().config;
    openShards(config, { ...alone, size: ranks });
  };
  await inRanks(flags.ranks, context, expectRoom, async (communicator) => {
    const { end, holds } =
      flags.resume === undefined
        ? await startRun(recipe, flags, context, communicator)
        : await resumeRun(flags.resume, recipe, flags, context, communicator);
    if (end === 'interrupted') context.exitCode = exitCodes.interrupted;
    else if (end === 'tripwire' || !holds) context.exitCode = 1;
  });
}

function shortcuts({ model, device, sandbox, allowTestProblems, set }: TrainFlags): string[] {
  return [
    ...(model === undefined ? [] : [`model=${JSON.stringify(model)}`]),
    ...(device === undefined ? [] : [`device.kind=${JSON.stringify(device)}`]),
    ...(sandbox === undefined ? [] : [`environment.sandbox=${sandbox}`]),
    ...(allowTestProblems === true ? ['data.allowTestProblems=true'] : []),
    ...set,
  ];
}

/** The config that a call asks for, and the checkpoint that it forks. */
async function readConfig(recipe: string | undefined, flags: TrainFlags) {
  if (flags.adapterOnly && flags.fork === undefined) {
    throw new UserError({ call: '--adapter-only', expected: '--fork RUN@UPDATE beside it', found: 'none' });
  }
  const parent = flags.fork === undefined ? null : parseFork(flags.fork, flags.adapterOnly === true);
  const base =
    parent === null ? null : { config: RunDirectory.open(parent.run).readManifest().config, source: flags.fork ?? '' };
  const { config } = await resolveConfig(recipe ?? null, shortcuts(flags), base);
  return { config, parent };
}

async function startRun(
  recipe: string | undefined,
  flags: TrainFlags,
  context: CommandContext,
  communicator: Communicator | null,
): Promise<TrainResult> {
  const { config: asked, parent } = await readConfig(recipe, flags);
  const config = communicator === null ? asked : await parseRunConfig(withShards(asked));
  const path = flags.out ?? join('runs', `${config.arm.kind}-${config.seed}`);
  const isFirst = communicator === null || communicator.rank === 0;
  const run = isFirst ? placeRun(path, config, parent) : RunDirectory.follow(path);
  return trainShown(config, run, flags, context, { ...(parent === null ? {} : { parent }), ...ranksOf(communicator) });
}

function ranksOf(communicator: Communicator | null): Pick<TrainOptions, 'communicator'> {
  return communicator === null ? {} : { communicator };
}

/** The same command again goes on with the run that it began; a folder with another run is refused. */
function placeRun(path: string, config: RunConfig, parent: Manifest['parent']): RunDirectory {
  if (!existsSync(join(path, 'manifest.json'))) return RunDirectory.create(path);
  const begun = RunDirectory.open(path).readManifest();
  const origin = parent === null ? null : { ...parent, run: resolve(parent.run) };
  const isSame = configDifferences(begun.config, config).length === 0 && isDeepStrictEqual(begun.parent, origin);
  return isSame ? RunDirectory.open(path) : RunDirectory.create(path);
}

/** Shows the run on the terminal, or as JSON; Ctrl-C ends it after the update in progress. */
async function trainShown(
  config: RunConfig,
  run: RunDirectory,
  { json, sink: viewers }: TrainFlags,
  context: CommandContext,
  options: Pick<TrainOptions, 'parent' | 'communicator'>,
): Promise<TrainResult> {
  const { rank = 0, size = 1 } = options.communicator ?? {};
  if (rank > 0) {
    using interruption = onInterrupt({ write: () => undefined }, '');
    return await trainRun(config, run, { ...options, signal: interruption.signal });
  }
  using interruption = onInterrupt(context.stderr, 'finishing this update, then saving');
  const definition = armOf(config, await partsOf(config));
  const { kind: _kind, ...settings } = config.arm;
  const sink = json
    ? new JsonLines(context.stdout)
    : new TrainDisplay(context, {
        path: run.path,
        updates: config.updates,
        isDemonstration: demonstrationTest(config),
        hasQuarantine: definition.quarantine,
      });
  const { seed, updates } = config;
  const ranks = size === 1 ? '' : `, ${size} ranks`;
  context.stderr.write(
    `${run.path}: ${definition.label(settings)}, seed ${seed}, ${updates} updates${ranks}; loading (Ctrl-C saves and ends it)\n`,
  );
  const result = await trainRun(config, run, {
    ...options,
    sinks: [sink, ...viewers.map((name) => new LogSink(name, run))],
    signal: interruption.signal,
  });
  if (result.end === 'interrupted' && !run.hasManifest()) {
    context.stderr.write('nothing was begun: call it again; factors that were made are kept\n');
  } else if (json && result.end === 'interrupted') {
    context.stderr.write(`saved; go on with: ${shellLine('gq', 'train', '--resume', run.path, '--json')}\n`);
  }
  return result;
}

function parseFork(text: string, adapterOnly: boolean): NonNullable<Manifest['parent']> {
  const match = /^(.*)@(\d+)$/.exec(text);
  if (match === null) throw new UserError({ call: '--fork', expected: 'RUN@UPDATE', found: text });
  return { run: match[1], update: Number(match[2]), adapterOnly };
}

async function resumeRun(
  path: string,
  recipe: string | undefined,
  flags: TrainFlags,
  context: CommandContext,
  communicator: Communicator | null,
): Promise<TrainResult> {
  const run = RunDirectory.open(path);
  const changes = [...(recipe === undefined ? [] : [recipe]), ...shortcuts(flags)];
  if (changes.length > 0 || flags.fork !== undefined || flags.out !== undefined) {
    throw new UserError({
      call: '--resume',
      expected: 'the run as it was started',
      found: [...changes, flags.fork, flags.out].filter((part) => part !== undefined).join(', '),
      fix: 'Fork it to change the config: --fork RUN@UPDATE.',
    });
  }
  return trainShown(run.readManifest().config, run, flags, context, ranksOf(communicator));
}
