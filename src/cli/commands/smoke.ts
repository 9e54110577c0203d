/**
 * `gq smoke`: checks everything that must hold before a real run. It runs every verification and then a short routed run of a tiny
 * model through the real pipeline. Each part prints a line; after a failure the others still run, and the command fails.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UserError, wrapText } from '../../base/index.ts';
import { scratchFolder } from '../../base/node/index.ts';
import { findDevice, makeTinyModel, openDevice, resolveBuiltin, train } from '../../lab/index.ts';
import { type RecordedEvent, RunDirectory, type Sink } from '../../run/index.ts';
import { type Check, stated, verifyAdapters, verifyParity } from '../../verify/index.ts';
import { type CallOf, type CommandContext, command, flag, word } from '../command.ts';
import { deviceOption } from '../options.ts';
import { screenWidth } from '../terminal/screen.ts';
import { checksJson, renderChecks } from '../terminal/tables.ts';
import { TrainDisplay } from '../terminal/train-display.ts';
import {
  reportMarkers,
  reportPartition,
  reportRewards,
  reportScience,
  type VerifyReport,
} from './verify-environment.ts';

interface SmokeCheck {
  readonly name: string;
  readonly report: () => Promise<VerifyReport>;
}

const runSettings = [
  'updates=8',
  'adapter.rank=2',
  'sampling.maxNewTokens=32',
  'sampling.promptsPerStep=4',
  'sampling.group=4',
  'sampling.temperature=0.9',
  'sampling.topK=0',
  'sampling.topP=1',
  'optimiser.learningRate=1e-2',
  'arm.kind=activation',
  'arm.warmupRows=4',
  'arm.tail=0.2',
  'arm.refreshEvery=2',
  'data.problems=32',
];

const options = {
  device: deviceOption,
  golden: word(
    '<dir>',
    'stored values for the parity check; those of the repository, where there are any, when absent',
  ),
  verbose: flag('print every check, not only those that fail'),
  json: flag('print {parts: [{name, seconds, checks}]}'),
};
type SmokeCall = CallOf<typeof options>;

export const smokeCommand = command({
  options,
  examples: ['gq smoke', 'gq smoke --device reference', 'gq smoke --golden test/golden --json'],
  exits: { 1: 'a check fails' },
  run: runSmoke,
});

/** A wrong device or folder is refused before the first part runs. */
function checkOptions({ device, golden }: SmokeCall): void {
  findDevice(device);
  if (golden !== undefined && !existsSync(golden)) {
    throw new UserError({ call: `--golden ${golden}`, expected: 'a folder of stored values', found: 'no such folder' });
  }
}

/** One line a part; the checks themselves where one fails, or where all are asked for. */
function showPart(
  { name, seconds, checks }: SmokePart,
  notes: string,
  verbose: boolean,
  context: CommandContext,
): void {
  const failed = checks.filter(({ pass }) => !pass);
  const shown = verbose ? checks : failed;
  const first = checks.length === 0 ? notes.trim() : `${checks.length - failed.length} of ${checks.length} checks pass`;
  const verdict = failed.length === 0 ? (checks.length === 0 ? 'left out' : 'holds') : 'FAILS';
  const width = screenWidth(context.stdout);
  const line = `${name.padEnd(10)} ${verdict.padEnd(9)} ${first} (${seconds.toFixed(1)} s)`;
  context.stdout.write(`${wrapText(line, width)}\n`);
  if (verbose && checks.length > 0) context.stdout.write(notes);
  if (shown.length > 0) context.stdout.write(renderChecks(shown, name, width));
  if (failed.length > 0) context.exitCode = 1;
}

interface SmokePart {
  readonly name: string;
  readonly seconds: number;
  readonly checks: readonly Check[];
}

async function runSmoke(call: SmokeCall, context: CommandContext): Promise<void> {
  checkOptions(call);
  const parts: SmokePart[] = [];
  for (const { name, report } of smokeParts(call, context)) {
    const began = performance.now();
    const { checks, notes } = await report();
    const part = { name, seconds: (performance.now() - began) / 1000, checks };
    parts.push(part);
    if (!call.json) showPart(part, notes, call.verbose, context);
    else if (checks.some(({ pass }) => !pass)) context.exitCode = 1;
  }
  if (call.json) {
    context.stdout.write(checksJson({ parts }));
    return;
  }
  const seconds = parts.reduce((sum, part) => sum + part.seconds, 0);
  const failed = parts.filter(({ checks }) => checks.some(({ pass }) => !pass)).map(({ name }) => name);
  const outcome = failed.length === 0 ? `smoke: all ${parts.length} parts hold` : `SMOKE FAILED: ${failed.join(', ')}`;
  context.stdout.write(`${outcome} (${seconds.toFixed(0)} s)\n`);
}

function smokeParts({ device, golden }: SmokeCall, context: CommandContext): SmokeCheck[] {
  const { config } = resolveBuiltin(null, [
    'environment.loopholes=["run_tests", "sentinel"]',
    'environment.heldOutLoopholes=["exit_code"]',
    'pairs.select=["tag:run_tests,sentinel"]',
  ]);
  return [
    { name: 'rewards', report: () => reportRewards(config, screenWidth(context.stdout)) },
    { name: 'markers', report: () => reportMarkers(config) },
    { name: 'partition', report: () => reportPartition(config) },
    { name: 'science', report: () => reportScience(config) },
    { name: 'adapters', report: () => reportAdapters(device) },
    { name: 'parity', report: () => reportParity(device, golden) },
    { name: 'run', report: () => reportRun(device, context) },
  ];
}

async function reportAdapters(name: string): Promise<VerifyReport> {
  using device = await openDevice(name, { precision: 'f32' });
  return { checks: (await verifyAdapters(device)).checks, notes: '' };
}

/** The stored values are not in the package: without them, the part says that it was left out. */
async function reportParity(name: string, golden: string | undefined): Promise<VerifyReport> {
  const directory = golden ?? fileURLToPath(new URL('../../../test/golden', import.meta.url));
  if (golden === undefined && !existsSync(directory)) {
    return { checks: [], notes: 'no stored values here; name a folder with --golden\n' };
  }
  using device = await openDevice(name, { precision: 'f32' });
  return { checks: (await verifyParity(device, directory)).checks, notes: '' };
}

/** A routed run of a tiny model, and the checks of its run directory. */
async function reportRun(device: string, { stderr }: CommandContext): Promise<VerifyReport> {
  using home = scratchFolder('gq-smoke-');
  const model = join(home.path, 'model');
  await makeTinyModel(model, device);
  const settings = [`model=${model}`, `device.kind=${device}`, ...runSettings];
  const { config } = resolveBuiltin(null, settings);
  const events: RecordedEvent[] = [];
  let table = '';
  const stdout = { write: (text: string) => (table += text) };
  const path = join(home.path, 'run');
  const display = new TrainDisplay({ stdout, stderr }, { path, updates: config.updates });
  const collector: Sink = { name: 'smoke', event: (event) => void events.push(event) };
  const { end } = await train(config, path, { sinks: [display, collector] });
  const { checks } = await reportScience(config, RunDirectory.open(path));
  return {
    checks: [stated('run', 'finished', end === 'finished', end), ...checkEvents(events), ...checks],
    notes: table,
  };
}

function checkEvents(events: readonly RecordedEvent[]): Check[] {
  const steps = events.filter((event) => event.kind === 'step');
  const routes = new Set(
    steps.flatMap((step) => Object.entries(step.routes).flatMap(([route, n]) => (n > 0 ? [route] : []))),
  );
  const moving = steps.filter(({ gradientNorm }) => gradientNorm > 0);
  const norms = steps.flatMap(({ gradientNorm, loss, kl, parity }) => [gradientNorm, loss, kl, parity]);
  return [
    stated('run', 'learned something', moving.length > 0, 'no update carried gradient'),
    stated('run', 'finite numbers', norms.every(Number.isFinite), norms.join(', ')),
    stated('run', 'every route was used', routes.size === 3, [...routes].join(', ')),
  ];
}
