/** `gq measure evasion | replay | traces | labels`: what a run's stored scores, features, rollouts and labels of people say. */
import { visibleLine, wrapText } from '../../base/index.ts';
import { expectWritable } from '../../base/node/index.ts';
import { expectSamePlugins, partsOf } from '../../lab/index.ts';
import { chooseTraces, measureEvasion, type Trace, writeEvasion } from '../../measure/index.ts';
import { openJudged } from '../../oracle/index.ts';
import { evasionTable, renderTable } from '../../report/index.ts';
import { type Replay, RunDirectory, replayGate, routes } from '../../run/index.ts';
import { agreementsOf, agreementTable, labelsPage, lastLabels, ViewLibrary } from '../../view/index.ts';
import { argument, command, repeated, whole } from '../command.ts';
import { jsonOption, runDeviceOption } from '../options.ts';
import { printAnswer } from '../outputs.ts';
import { tellOn } from '../terminal/progress.ts';

export const evasionCommand = command({
  arguments: { run: argument('<run>', 'a run directory whose monitor reads activations') },
  options: {
    rollouts: whole('<n>', 'most rollouts that are scored, the newest first', { usual: 256 }),
    device: runDeviceOption,
    json: jsonOption('the split'),
  },
  examples: ['gq measure evasion runs/penalty-1', 'gq measure evasion runs/penalty-1 --rollouts 1024 --json'],
  async run({ run: path, rollouts, device, json }, context) {
    const { arm, config } = RunDirectory.open(path).readManifest();
    expectWritable(`evasion split of ${path}`, path);
    const found = await measureEvasion(path, { rollouts, warn: tellOn(context), device });
    await writeEvasion(path, found);
    printAnswer(context, json, { run: path, ...found }, (width) => {
      const table = renderTable(evasionTable(found), 'text', width);
      return `${path}: ${arm}, seed ${config.seed}, after ${found.update} updates\n\n${table}`;
    });
  },
});

export const replayCommand = command({
  arguments: { run: argument('<run>', 'a run directory with stored features') },
  options: {
    gate: repeated('<key=value>', 'change one key of the gate (the keys of `arm`)'),
    seed: whole('<n>', 'seed of the random direction of placebo=haar', { least: 0 }),
    window: whole('<n>', 'number of updates per line', { usual: 10 }),
    json: jsonOption('the counts'),
  },
  examples: [
    'gq measure replay runs/activation-1 --gate keepTail=0.2',
    'gq measure replay runs/activation-1 --gate score=cosine --gate halfLife=0',
    'gq measure replay runs/activation-1 --gate placebo=haar --seed 7 --json',
  ],
  async run({ run: path, gate, seed, window, json }, context) {
    const run = RunDirectory.open(path);
    expectSamePlugins(`gq measure replay ${path}`, run);
    const options = { gate, windowUpdates: window, ...(seed === undefined ? {} : { seed }) };
    const replay = await replayGate(run, options, await partsOf(run.readManifest().config));
    printAnswer(context, json, replay, (width) => renderReplay(replay, width));
  },
});

function renderReplay({ granularity, matrix, windows, decisions, agree }: Replay, width: number): string {
  const cell = (value: string | number): string => String(value).padStart(9);
  const counts = (table: Readonly<Record<string, number>>): string => routes.map((route) => table[route]).join('/');
  return [
    `${'was \\ would be'.padEnd(15)}${routes.map(cell).join('')}`,
    ...routes.map((was) => `${was.padEnd(15)}${routes.map((is) => cell(matrix[was][is])).join('')}`),
    '',
    `${'updates'.padEnd(15)}${'was k/a/r'.padStart(15)}${'would be k/a/r'.padStart(18)}${'same'.padStart(12)}`,
    ...windows.map((window) => {
      const updates = `${window.from}-${window.to}`.padEnd(15);
      const same = `${window.agree}/${window.decisions}`.padStart(12);
      return `${updates}${counts(window.before).padStart(15)}${counts(window.after).padStart(18)}${same}`;
    }),
    '',
    wrapText(
      `${agree}/${decisions} ${granularity}s have the same route. This is a counterfactual on the same rollouts: nothing was trained again.`,
      width,
    ),
    '',
  ].join('\n');
}

export const tracesCommand = command({
  arguments: { run: argument('<run>', 'a run directory') },
  options: { json: jsonOption('the rollouts') },
  examples: ['gq measure traces runs/activation-1', 'gq measure traces runs/activation-1 --json'],
  async run({ run: path, json }, context) {
    const traces = chooseTraces(await openJudged(RunDirectory.open(path)).rows());
    printAnswer(context, json, { run: path, traces }, () => `${traces.map(renderTrace).join('\n')}\n`);
  },
});

function renderTrace({ loophole, kind, rollout }: Trace): string {
  const head = visibleLine(`━━ ${loophole}: ${kind}`);
  if (rollout === null) return `${head}: none in this run\n`;
  const { channels, score, low, high, route } = rollout;
  const number = (value: number | null): string => (value === null ? '-' : value.toPrecision(4));
  const fired = channels.length === 0 ? 'no channel fired' : `channels ${channels.join(', ')}`;
  return [
    `${head} (rollout ${rollout.id}, update ${rollout.update}, ${rollout.hackable ? 'hinted' : 'no hint'}, sampled ${rollout.sampled})`,
    `verdict: ${rollout.hack ? 'hack' : rollout.solve ? 'correct' : rollout.outcome}, ${rollout.compiles ? 'compiles' : 'does not compile'}, ${fired}, reward ${rollout.reward}, evidence: ${visibleLine(rollout.evidence) || 'none'}`,
    `gate: route ${route ?? 'none'}, score ${number(score)}, cuts ${number(low)} and ${number(high)}, advantage ${number(rollout.advantage)}`,
    rollout.prompt.trimEnd(),
    rollout.completion,
    '',
  ].join('\n');
}

export const labelsCommand = command({
  arguments: { dir: argument('<dir>', 'a run, an experiment, or a folder of them') },
  options: { json: jsonOption('labels and agreement') },
  examples: ['gq measure labels runs/micro-claim', 'gq measure labels runs/activation-1 --json'],
  exits: { 1: 'nobody has labelled a rollout' },
  async run({ dir, json }, context) {
    const library = new ViewLibrary(dir);
    const runs = library.entries().filter(({ experiment }) => experiment === null);
    const labels = [];
    for (const entry of runs) labels.push(...(await labelsPage(library, entry)).labels);
    const agreements = agreementsOf(labels);
    if (agreements.length === 0 && !json) context.exitCode = 1;
    printAnswer(context, json, { agreements, labels: lastLabels(labels) }, (width) =>
      agreements.length === 0
        ? 'no labels yet: gq view, then “label” of a run or an experiment\n'
        : renderTable(agreementTable(agreements), 'text', width),
    );
  },
});
