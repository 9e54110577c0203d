/** `gq claim FILE|FOLDER`: what a claim states, and what became of it; `gq claim open` opens its blind seeds. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { counted, UserError, wrapText } from '../../base/index.ts';
import { gqLine } from '../../base/node/own-program.ts';
import type { Experiment } from '../../report/experiment-schema.ts';
import {
  boundText,
  countText,
  earlyText,
  faultsText,
  type JudgedPrediction,
  judgePredictions,
  type Results,
  renderTable,
  type Table,
  testText,
} from '../../report/index.ts';
import { shippedStudies } from '../../run/config/recipes.ts';
import { recipeFrom, recipePath, registerName } from '../../run/index.ts';
import { asStated, type Claim, claimOf, countUnread, openBlind, readRegister, statedRuns } from '../../study/claim.ts';
import { armTable, openResults, studyProgress } from '../../study/claim-progress.ts';
import { findExperiment, stepsIn, storedPlan } from '../../study/directory.ts';
import { readExperiment } from '../../study/experiment.ts';
import { readStudy } from '../../study/steps.ts';
import {
  argument,
  type CallOf,
  type CommandContext,
  type CommandResult,
  command,
  flag,
  repeated,
  word,
} from '../command.ts';
import { expectAbsent } from '../shared.ts';

const options = {
  set: repeated('<key=value>', 'of a file: what the call of gq experiment changes'),
  out: word('<dir>', 'of a file: the folder of its study; runs/NAME when absent'),
  from: repeated('<dir>', 'of a folder: take runs that it has not started from this folder too, as gq results does'),
};
type ClaimCall = CallOf<typeof options>;

export const claimCommand = command({
  arguments: {
    what: argument(
      '<what>',
      'an experiment or a study, by its file, as a recipe of the package or by its folder; of a study: every step',
    ),
  },
  options,
  json: 'everything as JSON',
  examples: [
    'gq claim micro-other-pairs-claim          # its hash and predictions, before anything is run',
    'gq claim runs/micro-other-pairs-claim     # stated, begun, ended, missing; met, refuted or open',
  ],
  exits: {
    0: 'of a folder: every prediction is met',
    1: 'of a folder: one is refuted or open, the claim was changed after its first run, or the folder does not fit its register',
  },
  async run({ what, ...call }) {
    const isFolder = existsSync(what) && statSync(what).isDirectory();
    expectAbsent(call, isFolder ? ['set', 'out'] : ['from'], isFolder ? 'with a folder' : 'with a file');
    return isFolder ? await showFolder(what, call) : await showFile(what, call);
  },
});

export const openClaimCommand = command({
  arguments: { folder: argument('<folder>', 'the folder of a study') },
  options: {
    force: flag('although blind runs are not trained yet, which the register says, or the folder does not fit it'),
  },
  examples: ['gq claim open runs/micro-other-pairs-claim        # evaluate blind seeds from now on'],
  run: ({ folder, force }, context) => open(folder, force, context),
});

type Prediction = NonNullable<Experiment['bar']> & Partial<Omit<JudgedPrediction, 'bar'>>;

/** `why` says why there is no verdict. */
type AllPredictions = Readonly<Record<'count' | 'seeds' | 'width', number>> & { readonly why: string };

function predictionText({ verdict, ...prediction }: Prediction, all: AllPredictions): string {
  const { why, width } = all;
  const { what, values = [], met = 0, planned = all.seeds, pValue = 1, adjusted = 1 } = prediction;
  const judged =
    verdict === undefined
      ? why
      : `${verdict}: ${countText({ values, met, planned })}${testText({ pValue, adjusted }, all.count)}`;
  const [first, ...others] = [`predicted: ${what}`, boundText(prediction, planned), judged].flatMap((text) =>
    wrapText(text, width - 2).split('\n'),
  );
  return [first, ...others.map((line) => `  ${line}`)].join('\n');
}

type ShownClaim = CommandResult & {
  readonly value: { readonly predictions: readonly Prediction[]; readonly [key: string]: unknown };
};

const judgedIn = (results: Results): Prediction[] =>
  judgePredictions(results).map(({ bar, ...judged }) => ({ ...bar, ...judged }));

/** The claim of an experiment, or of each step of a study that predicts something. */
async function showFile(named: string, call: ClaimCall): Promise<CommandResult> {
  const file = existsSync(named) ? named : recipePath(named);
  const study = readStudy(file);
  const steps = study?.steps.map(({ experiment }) => recipeFrom(dirname(resolve(file)), experiment)) ?? [file];
  const shown: [string, CommandResult][] = [];
  for (const step of steps) {
    const experiment = readExperiment(step);
    const { name } = experiment;
    const folder = study === null ? (call.out ?? folderOf(name)) : join(call.out ?? join('runs', study.name), name);
    const why: string[] = [];
    const settings = [...(study?.set ?? []), ...call.set];
    const claim = await claimOf(experiment, step, settings, undefined, ({ message }) => why.push(message));
    if (claim !== null) shown.push([folder, await showStated(experiment, asStated(folder, claim), folder, why[0])]);
  }
  if (shown.length === 0) {
    throw new UserError({
      call: `gq claim ${named}`,
      expected: 'an experiment with a bar or predictions',
      found: 'one that predicts nothing',
      fix: 'docs/formats.md has an example under Claims.',
    });
  }
  if (study === null) return shown[0][1];
  return {
    value: { steps: shown.map(([, { value }]) => value) },
    text: (width) => shown.map(([folder, { text }]) => `${folder}\n${text(width)}`).join('\n'),
  };
}

/** `unknown`: why inputs of its first arm without them are not known. */
async function showStated(
  experiment: Experiment,
  claim: Claim,
  study: string,
  unknown: string | undefined,
): Promise<CommandResult> {
  const { name, why, resolve, bar, predictions: others = [], blindSeeds = [], seeds, arms } = experiment;
  const registered = existsSync(study) ? readRegister(study).stated.at(-1)?.hash : undefined;
  const predictions: Prediction[] =
    registered === claim.hash ? judgedIn(await openResults(study)) : [...(bar === null ? [] : [bar]), ...others];
  const without = registered === undefined ? 'is not begun' : 'was begun under another claim';
  const unread = countUnread(claim);
  const reason = unknown === undefined ? '' : `: ${unknown}`;
  const text = (width: number): string => {
    const lines = [
      `claim ${claim.hash}`,
      ...(unread === 0 ? [] : [wrapText(`${unreadText(unread, arms.length)}${reason}`, width)]),
      `${counted(arms.length, 'arm')} × ${counted(seeds.length, 'seed')} (${seeds.join(', ')}): ${counted(claim.runs.length, 'run')}`,
      ...(blindSeeds.length === 0 ? [] : [`blind seeds: ${blindSeeds.join(', ')}`]),
      wrapText(`why: ${why}`, width),
      wrapText(`settled by: ${resolve}`, width),
      ...predictions.map((one, _, { length: count }) =>
        predictionText(one, { count, seeds: seeds.length, why: `open: ${study} ${without}`, width }),
      ),
    ];
    return `${lines.join('\n')}\n`;
  };
  return { value: { name, ...claim, blindSeeds, predictions }, text };
}

const unreadText = (count: number, of: number): string =>
  `the hash is another once the model and the problems of ${count} of ${counted(of, 'arm')} are named and here`;

/** Where an experiment is, or would be: in runs, or in the folder of a study that has it. */
function folderOf(name: string): string {
  const usual = join('runs', name);
  if (existsSync(usual) || !existsSync('runs')) return usual;
  const there = readdirSync('runs').map((folder) => join('runs', folder, name));
  const begun = there.find((folder) => storedPlan(folder)?.experiment.name === name);
  const study = shippedStudies(name).find((each) => existsSync(join('runs', each)));
  return begun ?? (study === undefined ? usual : join('runs', study, name));
}

/** The claim of an experiment, or of each step of a study, in the order in which they were stated. */
async function showFolder(directory: string, call: ClaimCall): Promise<CommandResult> {
  const found = stepsIn(directory).map((step) => ({ step, at: readRegister(step).stated[0]?.at ?? '~' }));
  const steps = found.sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at))).map(({ step }) => step);
  if (steps.length === 0) return showStudy(directory, call);
  const shown: ShownClaim[] = [];
  for (const step of steps) shown.push(await showStudy(step, call));
  return {
    value: { steps: shown.map(({ value }) => value) },
    text: (width) => {
      const first = renderTable(verdictTable(steps, shown), 'text', width);
      return [first, ...shown.map(({ text }, i) => `${steps[i]}\n${text(width)}`)].join('\n');
    },
    isNo: shown.some(({ isNo }) => isNo),
  };
}

const verdicts = ['met', 'open', 'refuted'] as const;

function verdictTable(steps: readonly string[], shown: readonly ShownClaim[]): Table {
  const counts = shown.map(({ value: { predictions } }) =>
    verdicts.map((verdict) => predictions.filter((one) => one.verdict === verdict).length),
  );
  const total = verdicts.map((_, i) => counts.reduce((sum, own) => sum + own[i], 0));
  const rows = [...steps.map((step, i) => [basename(step), ...counts[i]]), ['all', ...total]];
  return {
    title: 'predictions by step',
    columns: ['step', ...verdicts],
    rows: rows.map((row) => row.map(String)),
    notes: ['Steps that are not begun are not here. Each in full below.'],
  };
}

async function showStudy(directory: string, { from }: ClaimCall): Promise<ShownClaim> {
  const { experiment, runs } = studyIn(directory, from);
  const progress = await studyProgress(directory, experiment, runs);
  const { claim, changed, stated, begun, opened, openedEarly, faults } = progress;
  const results = await openResults(directory, { from });
  const predictions = judgedIn(results);
  const isMet = !changed && faults.length === 0 && predictions.every(({ verdict }) => verdict === 'met');
  const whereStated = claim === null ? [] : [await fileLine(claim)];
  const text = (width: number): string => {
    const lines = [
      claim === null
        ? 'No claim is registered: the study was begun by an earlier version, predicts nothing, or its register is gone.'
        : `claim ${claim.hash}, stated ${claim.at}${changed ? ': changed after its first run' : ', before its first run'}`,
      ...whereStated,
      ...(opened === null ? [] : [`blind seeds opened ${opened.at}`]),
      ...(openedEarly.length === 0 ? [] : [wrapText(earlyText(openedEarly), width)]),
      ...(faults.length === 0 ? [] : [wrapText(faultsText(faults), width)]),
      renderTable(armTable(experiment, stated, begun), 'text', width),
      ...results.failed.map(({ path, why }) => wrapText(`failed: ${path}: ${why}`, width)),
      ...results.leftOut.map(({ path, why }) => wrapText(`left out: ${path}: ${why}`, width)),
      ...predictions.map((one, _, { length: count }) =>
        predictionText(one, { count, seeds: experiment.seeds.length, why: '', width }),
      ),
    ];
    return `${lines.join('\n')}\n`;
  };
  return { value: { name: experiment.name, ...progress, predictions }, text, isNo: !isMet };
}

function studyIn(directory: string, from: readonly string[] = []) {
  const { experiment, runs } = findExperiment(directory, from);
  if (experiment !== null) return { experiment, runs };
  throw new UserError({
    call: `gq claim ${directory}`,
    expected: 'the folder of an experiment, with its plan (experiment.json)',
    found: 'runs that belong to none',
    fix: existsSync(join(directory, registerName))
      ? 'Restore it, or call gq experiment again, which writes it anew.'
      : undefined,
  });
}

async function fileLine({ file, hash, settings }: Claim): Promise<string> {
  if (!existsSync(file)) return `${file} is not there any more`;
  const isSame = (await claimOf(readExperiment(file), file, settings))?.hash === hash;
  const called = [file, ...setWords(settings)].join(' ');
  return `${called} ${isSame ? 'states the same now' : 'does not state this now'}`;
}

const setWords = (settings: readonly string[]): string[] => settings.flatMap((setting) => ['--set', setting]);

async function open(directory: string, force: boolean, { stdout }: CommandContext): Promise<void> {
  const { experiment, runs } = studyIn(directory);
  const { begun, claim, faults } = await studyProgress(directory, experiment, runs);
  // A seed that the file no longer names stays blind where its run was begun so.
  const trainedBlind = begun.filter(({ isBlind }) => isBlind).map(({ seed }) => seed);
  const blindSeeds = [...new Set([...(experiment.blindSeeds ?? []), ...trainedBlind])];
  if (claim === null || blindSeeds.length === 0) {
    const found = claim === null ? 'no claim' : 'none';
    throw new UserError({ call: `gq claim open ${directory}`, expected: 'a claim with blind seeds', found });
  }
  if (faults.length > 0 && !force) {
    const fix = 'Restore what is missing, or open them all the same: --force';
    throw new UserError({
      call: `gq claim open ${directory}`,
      expected: 'a study as registered',
      found: faults.join('; '),
      fix,
    });
  }
  const ended = new Set(begun.filter(({ state }) => state === 'ended').map(({ folder }) => folder));
  const missing = statedRuns({ ...experiment, seeds: blindSeeds }).filter((folder) => !ended.has(folder));
  if (missing.length > 0 && !force) {
    throw new UserError({
      call: `gq claim open ${directory}`,
      expected: 'all blind runs trained: what is begun later is blind no more',
      found: `not trained: ${missing.join(', ')}`,
      fix: 'Train them first, or open without them: --force',
    });
  }
  openBlind(directory, claim.hash, missing);
  const again = gqLine('experiment', claim.file, ...setWords(claim.settings), '--out', directory);
  stdout.write(`opened seeds ${blindSeeds.join(', ')}; evaluate them with: ${again}\n`);
}
