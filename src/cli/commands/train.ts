/** `gq train`: trains one run from a recipe, to its end or until it is interrupted. */
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { InvalidArgumentError } from 'commander';
import { exitCodes, UserError } from '../../base/index.ts';
import { LogSink, type MetricLog, metricLogs } from '../../export/index.ts';
import { parseRunConfig, partsOf, resolveConfig } from '../../lab/config.ts';
import { onInterrupt } from '../../lab/interrupt.ts';
import { armOf } from '../../lab/parts.ts';
import { expectInputs } from '../../lab/problems.ts';
import { openShards, withShards } from '../../lab/ranks.ts';
import { type TrainOptions, type TrainResult, trainRun } from '../../lab/train.ts';
import { alone, type Communicator } from '../../parallel/index.ts';
import { configDifferences, demonstrationTest, type Manifest, type RunConfig, RunDirectory } from '../../run/index.ts';
import { isRun } from '../../run/manifest.ts';
import { type CallOf, type CommandContext, command, flag, type Part, word } from '../command.ts';
import { inRanks, ranksOption } from '../ranks.ts';
import { sandboxOption } from '../sandbox.ts';
import { configOption, sameCall } from '../shared.ts';
import { JsonLines, TrainDisplay } from '../terminal/train-display.ts';

const viewers = Object.keys(metricLogs) as MetricLog[];
const sink: Part<readonly MetricLog[]> = {
  takes: '<viewer>',
  about: 'also write a log for this viewer, into logs/ of the run; may be repeated',
  choices: viewers,
  usual: [],
  read(word, earlier = []) {
    const known = viewers.find((each) => each === word);
    if (known === undefined) throw new InvalidArgumentError(`Allowed choices are ${viewers.join(', ')}.`);
    return earlier.includes(known) ? earlier : [...earlier, known];
  },
};

const options = {
  set: configOption,
  out: word('<dir>', 'the run directory to make; runs/ARM-SEED when absent'),
  resume: word('<run>', 'go on with a run from its last checkpoint'),
  fork: word(
    '<run@update>',
    'start a new run from a checkpoint of another: its newest, which has the moments, or any by --adapter-only',
  ),
  adapterOnly: flag('fork without the moments and what the arm remembers, from any checkpoint'),
  model: word('<dir>', 'short for --set model=DIR'),
  device: word('<name>', 'short for --set device.kind=NAME'),
  sandbox: sandboxOption,
  sink,
  ranks: ranksOption,
  json: flag('print every event as a line of JSON'),
};
type TrainCall = CallOf<typeof options> & { readonly recipe: string | undefined };

export const trainCommand = command({
  arguments: {
    recipe: word('[recipe]', 'a TOML recipe, or the name of one in the package; without one, the defaults'),
  },
  options,
  examples: [
    'gq train micro-activation --out runs/activation-1',
    'gq train micro-vanilla --set seed=2 --set updates=50 --out runs/vanilla-2',
    'gq train --resume runs/activation-1',
    'gq train micro-activation --ranks 2 --out runs/activation-2',
    'gq train --fork runs/activation-1@20 --adapter-only --set optimiser.learningRate=5e-4 --out runs/forked',
  ],
  exits: { 1: 'stopped by the divergence tripwire, or failed', 75: 'interrupted: saved; the same command goes on' },
  async run(call, context) {
    // A wrong call is refused once, before so many processes find it wrong.
    const expectRoom = async (ranks: number): Promise<void> => {
      const config =
        call.resume === undefined
          ? withShards((await readConfig(call)).config)
          : RunDirectory.open(call.resume).readManifest().config;
      openShards(config, { ...alone, size: ranks });
    };
    await inRanks(call.ranks, context, expectRoom, async (communicator) => {
      const begun = call.resume === undefined ? await startRun(call, communicator) : resumeRun(call.resume, call);
      const { end, holds } = await trainShown(begun, call, context, communicator ?? undefined);
      if (end === 'interrupted') context.exitCode = exitCodes.interrupted;
      else if (end === 'tripwire' || !holds) context.exitCode = 1;
    });
  },
});

export function settingsOf(call: Partial<TrainCall>): string[] {
  const { model, device, sandbox, set = [] } = call;
  const shortcuts = { model, 'device.kind': device, 'environment.sandbox': sandbox };
  const given = Object.entries(shortcuts).filter(([, value]) => value !== undefined);
  return [...given.map(([key, value]) => `${key}=${JSON.stringify(value)}`), ...set];
}

async function readConfig(call: TrainCall) {
  const { recipe = null, fork, adapterOnly } = call;
  if (adapterOnly && fork === undefined) {
    throw new UserError({ call: '--adapter-only', expected: '--fork RUN@UPDATE beside it', found: 'none' });
  }
  const parent = fork === undefined ? null : parseFork(fork, adapterOnly);
  const base =
    parent === null ? null : { config: RunDirectory.open(parent.run).readManifest().config, source: fork ?? '' };
  const { config } = await resolveConfig(recipe, settingsOf(call), base);
  return { config, parent };
}

type BegunRun = { readonly config: RunConfig; readonly run: RunDirectory; readonly parent?: TrainOptions['parent'] };

async function startRun(call: TrainCall, communicator: Communicator | null): Promise<BegunRun> {
  const { config: asked, parent } = await readConfig(call);
  const config = communicator === null ? asked : await parseRunConfig(withShards(asked));
  const path = call.out ?? join('runs', `${config.arm.kind}-${config.seed}`);
  const isFirst = communicator === null || communicator.rank === 0;
  // Before it is said that anything is loaded.
  if (isFirst && !isRun(path)) await expectInputs(config);
  const run = isFirst ? placeRun(path, config, parent) : RunDirectory.follow(path);
  return { config, run, parent: parent ?? undefined };
}

/** The same command again goes on with the run that it began; a folder with another run is refused. */
function placeRun(path: string, config: RunConfig, parent: Manifest['parent']): RunDirectory {
  if (!isRun(path)) return RunDirectory.create(path);
  const run = RunDirectory.open(path);
  const begun = run.readManifest();
  const origin = parent === null ? null : { ...parent, run: resolve(parent.run) };
  const differences = configDifferences(begun.config, config);
  if (differences.length === 0 && isDeepStrictEqual(begun.parent, origin)) return run;
  const shown = `${differences.slice(0, 5).join(', ')}${differences.length > 5 ? ` and ${differences.length - 5} more` : ''}`;
  throw new UserError({
    call: `create run ${path}`,
    expected: 'a directory without a run, or with one of this very config',
    found: differences.length === 0 ? 'a run of another parent' : `a run of another config at ${shown}`,
    fix: `Continue it as it was begun with --resume ${path}, or choose another --out.`,
  });
}

async function trainShown(
  { config, run, parent }: BegunRun,
  { json, sink: logs }: TrainCall,
  context: CommandContext,
  communicator: Communicator | undefined,
): Promise<TrainResult> {
  const { rank = 0, size = 1 } = communicator ?? {};
  if (rank > 0) {
    using interruption = onInterrupt({ write: () => undefined }, '');
    return await trainRun(config, run, { parent, communicator, signal: interruption.signal });
  }
  using interruption = onInterrupt(context.stderr, 'finishing this update, then saving');
  // Rank 0 was called without the number of ranks, which the launcher has.
  const again = size === 1 ? sameCall(context) : `${sameCall(context)} --ranks ${size}`;
  const definition = armOf(config, await partsOf(config));
  const { kind: _kind, ...settings } = config.arm;
  const display = json
    ? new JsonLines(context.stdout)
    : new TrainDisplay(context, {
        path: run.path,
        again,
        updates: config.updates,
        isDemonstration: demonstrationTest(config),
        hasQuarantine: definition.quarantine(settings),
      });
  const { seed, updates } = config;
  const ranks = size === 1 ? '' : `, ${size} ranks`;
  context.stderr.write(
    `${run.path}: ${definition.label(settings)}, seed ${seed}, ${updates} updates${ranks}; loading (Ctrl-C saves and ends it)\n`,
  );
  const sinks = [display, ...logs.map((name) => new LogSink(name, run))];
  const result = await trainRun(config, run, { parent, communicator, sinks, signal: interruption.signal });
  if (result.end === 'interrupted' && !run.hasManifest()) {
    context.stderr.write('nothing was begun: call it again; factors that were made are kept\n');
  } else if (json && result.end === 'interrupted') {
    context.stderr.write(`saved; go on with: ${again}\n`);
  }
  return result;
}

function parseFork(text: string, adapterOnly: boolean): NonNullable<Manifest['parent']> {
  const match = /^(.*)@(\d+)$/.exec(text);
  if (match === null) throw new UserError({ call: '--fork', expected: 'RUN@UPDATE', found: text });
  return { run: match[1], update: Number(match[2]), adapterOnly };
}

function resumeRun(path: string, call: TrainCall): BegunRun {
  const run = RunDirectory.open(path);
  const given = [call.recipe, ...settingsOf(call), call.fork, call.out].filter((part) => part !== undefined);
  if (given.length > 0) {
    throw new UserError({
      call: '--resume',
      expected: 'the run as it was started',
      found: given.join(', '),
      fix: 'Fork it to change the config: --fork RUN@UPDATE.',
    });
  }
  return { config: run.readManifest().config, run };
}
