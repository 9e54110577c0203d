/** `gq eval RUN`: a checkpoint on every set and in every state; with --curve, one set at many checkpoints; of an experiment, every run. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { shellLine, UserError } from '../../base/index.ts';
import { instructionPresets, places } from '../../env/index.ts';
import { type CurveChoice, curvePrompts, writeCurve } from '../../evaluate/curve.ts';
import { rowsTogether } from '../../evaluate/evaluate.ts';
import { curveNames, expectPoints, statesOf } from '../../evaluate/plan.ts';
import { compareStates, summarise, summariseSamples } from '../../evaluate/rates.ts';
import { curveSets, finalSets, parseCurveSet, parseSet, probedSets } from '../../evaluate/sets.ts';
import { type Evaluation, EvaluationStore } from '../../evaluate/store.ts';
import { evaluateNames, evaluateRun, onInterrupt, type PackPlace, RunPack } from '../../lab/index.ts';
import {
  curveTable,
  finalEvaluationTable,
  loopholeEvaluationTable,
  renderTable,
  sampledTable,
  scaleTable,
  surfacedTable,
  type Table,
} from '../../report/index.ts';
import { RunDirectory } from '../../run/index.ts';
import { findExperiment } from '../../study/directory.ts';
import type { CallOf, CommandContext, CommandResult, Part, PartTable } from '../command.ts';
import { argument, choice, command, flag, mostAtOnce, names, repeated, whole, word } from '../command.ts';
import {
  allPrints,
  configOption,
  endInterrupted,
  expectAbsent,
  optionName,
  runDeviceOption,
  updateOption,
} from '../shared.ts';
import { Progress, tellOn } from '../terminal/progress.ts';
import { elicit, probeLeaks, probePrefills } from './eval-probes.ts';

const scales: Part<readonly number[] | undefined> = {
  takes: '<list>',
  about: 'also evaluate these scales of the quarantine on the first set, e.g. 0,0.25,0.5,0.75,1',
  read: (word) =>
    word.split(',').map((part) => {
      const value = Number(part);
      if (/^[01](?:\.[0-9]+)?$/.test(part) && value <= 1) return value;
      throw new InvalidArgumentError('Expected numbers from 0 to 1, such as 0.25, separated by commas.');
    }),
};

/** What each mode can be asked beside --device and --json; `final` is the one without a flag. */
const modes = {
  final: ['sets', 'scales', 'update', 'limit', 'samples', 'batch', 'all'],
  curve: ['sets', 'every'],
  elicit: ['sets', 'instructions', 'text', 'place', 'states', 'update', 'limit', 'set', 'out'],
  leak: ['sets', 'update', 'limit'],
  prefill: ['sets', 'every', 'limit'],
} as const;
type Mode = keyof typeof modes;

function ofModes<P extends PartTable>(parts: P): P {
  const entries = Object.entries(parts).map(([name, part]) => {
    const has = ([, own]: readonly [string, readonly string[]]): boolean => own.includes(name);
    const [taking, refusing] = [Object.entries(modes).filter(has), Object.entries(modes).filter((each) => !has(each))];
    const list = (all: typeof taking): string => all.map(([mode]) => `--${mode}`).join(', ');
    if (refusing.length === 0) return [name, part];
    const { final } = Object.fromEntries(taking);
    const about = final === undefined ? `${list(taking)}: ${part.about}` : `${part.about}; not with ${list(refusing)}`;
    return [name, { ...part, about }];
  });
  return Object.fromEntries(entries) as P;
}

const modeOptions = {
  sets: names(
    '<names>',
    `sets of prompts, separated by commas; ${finalSets.join(',')} when absent; one of ${curveSets.join(', ')} with --curve or --prefill (curve, ${curvePrompts} validation problems, when absent; monitor: as many of the test problems); one of ${probedSets.join(', ')} with --elicit or --leak (test-original when absent)`,
  ),
  scales,
  every: whole(
    '<n>',
    'least updates between points, in multiples of it; every point is a checkpoint, the last one always included; 1 when absent',
  ),
  update: updateOption,
  limit: whole('<n>', 'use only the first n prompts of each set'),
  samples: whole('<k>', 'completions of each prompt of the sets; 1 when absent', { most: mostAtOnce }),
  batch: whole('<n>', `rows that decode together; they take memory and change no token; ${rowsTogether} when absent`, {
    most: mostAtOnce,
  }),
  all: flag('print every table; without it the rates of each set, and the names of the others'),
  instructions: names(
    '<names>',
    `presets, separated by commas: ${instructionPresets.join(', ')}; when absent, the first seven that the model can read`,
  ),
  text: repeated('<instruction>', 'an own instruction'),
  place: choice('<where>', 'where instructions stand beside the user message; after when absent', places),
  states: names('<names>', 'states of a run: base, full, deployed; all when absent'),
  set: { ...configOption, about: 'change one key of the recipe; may be repeated' },
  out: word('<dir>', 'folder for what is found about a recipe; runs/elicit-NAME when absent'),
};

const options = {
  curve: flag('evaluate one set at the base and at many checkpoints'),
  elicit: flag('how often does it attempt, hack and solve under each of a list of instructions?'),
  leak: flag('does the hack come back when the prompt says something else than in deployment?'),
  prefill: flag('begin completions like a hack at many checkpoints: an early sign of hacking'),
  ...ofModes(modeOptions),
  device: runDeviceOption,
};

export const evalCommand = command({
  arguments: {
    run: argument(
      '<run>',
      'a run directory; without a probe also an experiment, each run of it; with --elicit also a recipe, whose base model is asked',
    ),
  },
  options,
  json: 'the rates as JSON',
  examples: [
    'gq eval runs/activation-1',
    'gq eval runs/activation-1 --limit 32 --all',
    'gq eval runs/activation-1 --scales 0,0.25,0.5,0.75,1 --json',
    'gq eval runs/activation-1 --sets test-original --samples 8 --batch 512',
    'gq eval runs/activation-1 --curve --sets test-original --every 20',
    'gq eval runs/micro-claim --curve --sets test-original --every 20',
    'gq eval runs/activation-1 --leak --limit 64',
    'gq eval runs/vanilla-1 --prefill --every 20 --json',
    'gq eval micro-base --elicit',
    'gq eval runs/inoculation-1 --elicit --instructions none,request,unrelated',
  ],
  exits: { 75: 'interrupted: finished evaluations are kept, and the same call goes on' },
  async run(call, context) {
    const mode = modeOf(call);
    if (mode === 'final' || mode === 'curve') return await evaluateRuns(mode, call, context);
    expectOneRun(call, `--${mode}`);
    return await probesOfOneSet[mode].evaluate(call, oneSet(call, probesOfOneSet[mode].usual), context);
  },
});

export type EvalCall = CallOf<typeof options> & { readonly run: string };

function modeOf(call: EvalCall): Mode {
  const asked = (['curve', 'elicit', 'leak', 'prefill'] as const).filter((mode) => call[mode]);
  if (asked.length > 1) {
    const found = asked.map((mode) => `--${mode}`).join(' and ');
    throw new UserError({ call: 'gq eval', expected: 'one of --curve, --elicit, --leak and --prefill', found });
  }
  const mode: Mode = asked.at(0) ?? 'final';
  const others = Object.values(modes)
    .flat()
    .filter((name) => !modes[mode].some((own) => own === name));
  expectAbsent(call, others, mode === 'final' ? 'without a mode that has it' : `with --${mode}`, adviceFor(mode));
  return mode;
}

/** A curve has its prompts, so that all curves compare: what makes it shorter is fewer points. */
const adviceFor =
  (mode: Mode) =>
  (option: string): string => {
    if (mode === 'curve' && option === '--limit')
      return 'All curves of a set are on the same prompts, so that they compare; for fewer points: --every N.';
    const taking = Object.entries(modes).filter(([, own]) => own.some((name) => optionName(name) === option));
    return `It is read ${taking.map(([name]) => (name === 'final' ? 'without a mode' : `with --${name}`)).join(', ')}.`;
  };

/** A probe asks one run; of an experiment those to choose from are named. */
function expectOneRun({ run }: EvalCall, mode: string): void {
  if (!existsSync(join(run, 'experiment.json'))) return;
  const [first, ...others] = findExperiment(run).runs.map(({ path }) => path);
  throw new UserError({
    call: `gq eval ${run} ${mode}`,
    expected: 'a run',
    found: 'an experiment',
    ...(first === undefined
      ? {}
      : {
          fix: `Name one of its runs: ${shellLine('gq', 'eval', first, mode)}${others
            .slice(0, 7)
            .map((path) => `, ${path}`)
            .join('')}`,
        }),
  });
}

const probesOfOneSet = {
  prefill: { evaluate: probePrefills, usual: 'curve' },
  leak: { evaluate: probeLeaks, usual: 'test-original' },
  elicit: { evaluate: elicit, usual: 'test-original' },
} as const;

function oneSet({ sets = [] }: Pick<EvalCall, 'sets'>, usual: string): string {
  if (sets.length > 1) throw new UserError({ call: '--sets', expected: 'one set', found: sets.join(', ') });
  return sets[0] ?? usual;
}

/** What the evaluation of one run needs; `siblings`: runs whose evaluations of the same base count for it. */
interface OneRun {
  readonly path: string;
  readonly siblings: readonly string[];
  readonly signal: AbortSignal;
  readonly place: PackPlace | undefined;
}

/** Null: it was interrupted. */
type Evaluate = (run: OneRun, call: EvalCall, context: CommandContext) => Promise<CommandResult | null>;

/** A run, or each run of an experiment; what was evaluated before is not evaluated again. */
async function evaluateRuns(
  mode: 'final' | 'curve',
  call: EvalCall,
  context: CommandContext,
): Promise<CommandResult | undefined> {
  const isExperiment = existsSync(join(call.run, 'experiment.json'));
  const paths = isExperiment ? findExperiment(call.run).runs.map(({ path }) => path) : [call.run];
  using interruption = onInterrupt(context.stderr, 'finishing this evaluation');
  const evaluate = mode === 'final' ? evaluateFinal : evaluateCurve;
  const answers: CommandResult[] = [];
  await using pack = new RunPack();
  for (const [i, path] of paths.entries()) {
    if (isExperiment) context.stderr.write(`${path}, ${i + 1} of ${paths.length}\n`);
    const siblings = paths.filter((other) => other !== path);
    const device = call.device ?? RunDirectory.open(path).readManifest().config.device.kind;
    // A GPU's memory is planned for each run and given back at its end; a processor's is counted by nobody, so that one device serves all runs.
    using place = isExperiment && device !== 'cuda' ? pack.join() : undefined;
    const answer = await evaluate({ path, siblings, place, signal: interruption.signal }, call, context);
    if (answer === null) return endInterrupted('finished evaluations are kept', context);
    answers.push(answer);
  }
  const values = answers.map(({ value }) => value);
  return {
    value: isExperiment ? { experiment: call.run, runs: values } : values[0],
    text: (width) => answers.map(({ text }) => text(width)).join('\n'),
  };
}

const evaluateFinal: Evaluate = async ({ path, siblings, signal, place }, call, context) => {
  const { update: asked, limit = null, samples, batch, device } = call;
  const sets = [...new Set((call.sets ?? finalSets).map(parseSet))];
  const run = RunDirectory.open(path);
  const {
    end,
    update,
    evaluations: all,
  } = await evaluateRun(path, {
    sets,
    scales: call.scales ?? [],
    ...{ limit, samples, batch, update: asked, device, siblings, signal, place },
    warn: tellOn(context),
    onProgress: Progress.from(context.stderr, 'evaluation'),
  });
  if (end === 'interrupted') return null;
  const { arm, config, hasQuarantine } = run.readManifest();
  const evaluations = all.filter(({ sample }) => sample === undefined);
  const value = {
    ...{ run: run.path, arm: config.arm.kind, seed: config.seed, update, sets: setValues(evaluations) },
    ...(samples === undefined ? {} : { samples: summariseSamples(all) }),
  };
  const text = (width: number): string => {
    const filled = (...tables: readonly Table[]): Table[] => tables.filter(({ rows }) => rows.length > 0);
    const asked = filled(
      finalEvaluationTable(evaluations, hasQuarantine),
      sampledTable(all, hasQuarantine),
      scaleTable(evaluations),
    );
    const others = filled(
      loopholeEvaluationTable(evaluations, config.environment.heldOutLoopholes),
      surfacedTable(evaluations),
    );
    const tables = call.all ? [...asked, ...others] : asked;
    const more = call.all ? [] : others.map(({ title }) => title);
    const head = `${run.path}: ${arm}, seed ${config.seed}, after ${update} updates\n`;
    return [head, ...tables.map((table) => renderTable(table, 'text', width)), ...allPrints(more, width)].join('\n');
  };
  return { value, text };
};

function setValues(found: readonly Evaluation[]): object[] {
  return [...new Set(found.map(({ set }) => set))].map((set) => {
    const own = found.filter((one) => one.set === set);
    const rows = (state: string) => own.find((one) => one.state === state)?.rows;
    const [full, deployed] = [rows('full'), rows('deployed')];
    return {
      set,
      problems: own[0]?.problems ?? null,
      states: Object.fromEntries(own.map(({ state, rows: all }) => [state, summarise(all)])),
      change: full === undefined || deployed === undefined ? null : compareStates(full, deployed),
    };
  });
}

const evaluateCurve: Evaluate = async ({ path, siblings, signal, place }, call, context) => {
  const { device, every: step = 1 } = call;
  const set = parseCurveSet(oneSet(call, 'curve'));
  const run = RunDirectory.open(path);
  const { config, hasQuarantine } = run.readManifest();
  const checkpoints = run.listCheckpoints();
  expectPoints(checkpoints, step);
  const points = curveNames(statesOf({ hasQuarantine }), checkpoints, step, set);
  const end = await evaluateNames(path, points, {
    ...{ device, siblings, signal, place, warn: tellOn(context) },
    onProgress: Progress.from(context.stderr, 'evaluation'),
  });
  const { [set]: found = [] } = await writeCurve(path, set);
  if (end === 'interrupted') return null;
  const chosen = set === 'curve' ? new EvaluationStore(path).curveChoice() : null;
  const text = (width: number): string => {
    const head = `${path}: ${run.readManifest().arm}, seed ${config.seed}\n${chosen === null ? '' : `${choiceText(chosen)}\n`}`;
    return `${head}\n${renderTable(curveTable(found, set, hasQuarantine), 'text', width)}`;
  };
  return { value: { run: path, set, curve: chosen, points: found }, text };
};

function choiceText({ ids, pool, solved, poolSolved }: CurveChoice): string {
  const base = `${ids.length} of ${pool} validation prompts, ${solved} of them solved by the base (${poolSolved} of ${pool} in the pool)`;
  return ids.length < curvePrompts ? `${base}; there are fewer than ${curvePrompts}` : base;
}
