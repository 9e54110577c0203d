/**
 * What is known of one run, read from its directory alone, and the results of an experiment, a folder of runs or one run. Reading takes the columns that are counted; rollouts with their texts are read
 * when somebody asks for them, and so are the texts of evaluations.
 */
import { basename, resolve } from 'node:path';
import type { Route } from '../adapters/index.ts';
import { messageOf, shellLine, UserError } from '../base/index.ts';
import type { EvaluationOutcomes, EvaluationRow, OutcomeRow, ProbeOutcomes } from '../evaluate/index.ts';
import { byTarget, EvaluationStore, finalSets, lastCheckpoint } from '../evaluate/index.ts';
import type { StepEvent } from '../grpo/index.ts';
import {
  emergenceByLoophole,
  firstUpdateAt,
  judgeGate,
  judgeMonitor,
  judgeReinforced,
  monitorQuarters,
  readEvasion,
  relearnFolders,
  type TrainingPoint,
  trainingCurve,
} from '../measure/index.ts';
import { type JudgedRollout, openJudged } from '../oracle/index.ts';
import {
  isRun,
  isTraining,
  type Manifest,
  outcomesKnown,
  RunDirectory,
  readCourse,
  readTimings,
} from '../run/index.ts';
import { average, mean, median } from '../stats/index.ts';
import { aggregate, type Results } from './aggregate.ts';
import { goesOn } from './design.ts';
import { finalStates } from './final-states.ts';
import { runsText } from './runs-text.ts';

export type RunResult = Readonly<Awaited<ReturnType<typeof readRunResult>>>;

/** `arm`: the name of the arm in an experiment; else the run's own label. */
export async function readRunResult(path: string, arm?: string) {
  const run = RunDirectory.open(path);
  const manifest = run.readManifest();
  const { config, usesOracle, hasQuarantine } = manifest;
  const { steps, status } = await readCourse(run);
  const table = await openJudged(run);
  // An outcome that nobody knows is not counted as one that did not happen: there is nothing to count.
  const known = outcomesKnown(manifest);
  const counted = known ? (await table.rows(countedColumns)).filter(isOwn) : [];
  const evaluations: readonly EvaluationOutcomes[] = new EvaluationStore(path).all().map(withoutTexts);
  const probes: readonly ProbeOutcomes[] = new EvaluationStore(path).probes().map(withoutTexts);
  const updates = lastCheckpoint(run);
  const masses = steps.flatMap(({ qmass }) => (qmass === null ? [] : [qmass]));
  const training: readonly TrainingPoint[] = trainingCurve(counted, 'full');
  let rollouts: Promise<readonly JudgedRollout[]> | undefined;
  return {
    ...{ path, name: basename(path), arm: arm ?? armLabel(manifest), seed: config.seed },
    ...{ config, manifest, usesOracle, hasQuarantine, status, steps },
    updates,
    /** The last checkpoint on each set; `aggregate` chooses the number of prompts that all runs have. */
    final: finalStates({ evaluations, updates, hasQuarantine }),
    ...{ evaluations, probes, training },
    emergence: byTarget((_, what) => firstUpdateAt(training, what)),
    emergenceByLoophole: byTarget((_, what) => emergenceByLoophole(counted, what)),
    /** The gate as a classifier; scores of single tokens have no part in it. */
    gate: judgeGate(counted),
    gateReinforced: judgeReinforced(counted),
    isScored: counted.some(({ score }) => score !== null),
    monitor: judgeMonitor(counted),
    monitorOverTime: monitorQuarters(counted, config.updates),
    evasion: readEvasion(path),
    costs: await readCosts(run, steps),
    /** The curve of the relearning attack on the deployed policy; null when there was none, or it is not finished. */
    attack: await readAttack(path),
    /** Quarantine's share of the gradient norm, mean over updates; null when no update carried gradient. */
    qmass: masses.length === 0 ? null : mean(masses),
    routed: routedShare(steps),
    /** The policy's own rollouts with all that is known of them; demonstrations are left out. */
    rollouts: (): Promise<readonly JudgedRollout[]> => {
      rollouts ??= known ? table.rows().then((rows) => rows.filter(isOwn)) : Promise.resolve([]);
      return rollouts;
    },
  };
}

/** What is counted over a run: of one that is over only these columns are read. */
const countedColumns = [
  ...(['update', 'loophole', 'hackable', 'source', 'sampled', 'suspicion', 'flagged', 'advantage'] as const),
  ...(['trained', 'score', 'low', 'high', 'route', 'tokenRoutes', 'hack', 'solve', 'attempt'] as const),
];

const isOwn = ({ source }: JudgedRollout<'source'>): boolean => source === 'student';

function withoutTexts<One extends { readonly rows: readonly EvaluationRow[] }>(
  one: One,
): Omit<One, 'rows'> & { readonly rows: readonly OutcomeRow[] } {
  return { ...one, rows: one.rows.map(({ prompt: _, completion: __, ...row }) => row) };
}

/** The share of the rollouts with gradient, or of their tokens, that were routed to the quarantine; null where none had gradient. */
function routedShare(steps: readonly StepEvent[]): number | null {
  const count = (...names: readonly Route[]): number =>
    steps.reduce((sum, { routes }) => sum + names.reduce((own, name) => own + routes[name], 0), 0);
  const all = count('keep', 'absorb', 'route');
  return all === 0 ? null : count('route') / all;
}

/** What an update costs; null where nobody counted. */
async function readCosts(run: RunDirectory, steps: readonly StepEvent[]) {
  const seconds = await readTimings(run);
  // Runs of earlier versions counted no passes.
  const counted = steps.filter(({ scoringPasses }) => typeof scoringPasses === 'number');
  const asked = (name: string): number => average(steps.map(({ watched }) => watched?.costs[name] ?? 0));
  const names = new Set(steps.flatMap(({ watched }) => Object.keys(watched?.costs ?? {})));
  names.delete('passes');
  return {
    seconds: seconds.length === 0 ? null : median(seconds),
    /** Completions that a model read in an update without learning from them, mean over updates. */
    scoringPasses:
      counted.length === 0 ? null : average(counted.map(({ scoringPasses }) => scoringPasses)) + asked('passes'),
    /** What the monitor counted beside passes, mean over updates. */
    beside: Object.fromEntries([...names].map((name) => [name, asked(name)])) as Readonly<Record<string, number>>,
  };
}

async function readAttack(path: string): Promise<readonly TrainingPoint[] | null> {
  const { attack } = relearnFolders(path);
  if (!isRun(attack)) return null;
  const run = RunDirectory.open(attack);
  return run.isSealed() ? trainingCurve(await (await openJudged(run)).rows(countedColumns), 'full') : null;
}

function armLabel({ arm, config: { adapter, loss } }: Manifest): string {
  return [
    arm,
    ...(adapter.family === 'lora' ? [] : [adapter.family]),
    ...(loss.detach === 'branch' ? [] : [`detach ${loss.detach}`]),
  ].join(' ');
}

export interface ResultsSource extends Pick<Results, 'placebo'>, Partial<Pick<Results, 'design'>> {
  readonly name: string | null;
  readonly baseline: string | null;
  readonly arms: readonly string[];
  readonly runs: readonly { readonly path: string; readonly arm: string | null }[];
  /** Folders that hold parts of a run but no manifest. */
  readonly damaged?: readonly string[];
  /** Folders that had runs of the experiment, and are not there any more. */
  readonly gone?: readonly string[];
  /** Paths of runs that are planned and not begun. */
  readonly missing?: readonly string[];
  /** Paths of runs that failed when they were tried last, begun or not. */
  readonly failed?: Results['failed'];
}

const goneText =
  'the runs that it shared are missing here, since there is no such folder; if it was moved, name it with --from';

/** Is called before a run is read, with its path, its number (from 1) and the number of runs. */
export type OnReading = (path: string, at: number, of: number) => void;

/** A run that cannot be read is left out and named; if it is the only one, its error is thrown. */
export async function readResults(directory: string, source: ResultsSource, onReading?: OnReading): Promise<Results> {
  const runs: RunResult[] = [];
  const leftOut = [
    ...(source.damaged ?? []).map((path) => ({ path, why: 'it has no manifest.json' })),
    ...(source.gone ?? []).map((path) => ({ path, why: goneText })),
  ];
  for (const [i, { path, arm }] of source.runs.entries()) {
    onReading?.(path, i + 1, source.runs.length);
    try {
      runs.push(await readRunResult(path, arm ?? undefined));
    } catch (error) {
      if (source.runs.length === 1) throw error;
      leftOut.push({ path, why: messageOf(error) });
    }
  }
  if (runs.length === 0 && leftOut.length > 0) {
    const found = leftOut.map(({ path, why }) => `${path}: ${why}`).join('; ');
    throw new UserError({ call: `results of ${directory}`, expected: 'a run that can be read', found });
  }
  const { failed = [] } = source;
  const missing = (source.missing ?? []).filter((path) => failed.every((run) => run.path !== path));
  return aggregate(runs, {
    name: source.name ?? basename(resolve(directory)),
    baseline: source.baseline ?? 'vanilla',
    placebo: source.placebo,
    order: source.arms,
    leftOut,
    missing: missing.map((path) => basename(path)),
    failed,
    design: source.design,
  });
}

/** The runs of some arms that have not ended, each with how far it came. */
export function unfinishedRuns(arms: Results['arms']) {
  const runs = arms.flatMap((arm) => arm.runs).filter(({ status }) => status === 'unfinished');
  return runs.map((run) => ({ ...run, text: `${run.name} (${madeAndSaved(run, run.config.updates)})` }));
}

/** Updates that were made after the last checkpoint are made again, and no table has them to stay. */
function madeAndSaved({ steps, updates: saved }: Pick<RunResult, 'steps' | 'updates'>, of: number): string {
  const made = steps.at(-1)?.update ?? 0;
  return made > saved ? `${made} of ${of} updates made, ${saved} saved` : `${saved} of ${of} updates`;
}

/** Which runs these results are not yet of, and what the numbers count meanwhile; nothing where all have ended. */
export function describeUnfinished({ arms, missing, failed }: Results): string[] {
  const begun = unfinishedRuns(arms);
  const [training, stopped] = [true, false].map((is) => begun.filter(({ path }) => isTraining(path) === is));
  const groups = [
    ['Still training', training.map(({ text }) => text)],
    ['Not finished', stopped.map(({ text }) => text)],
    ['Failed', failed.map(({ path, why }) => `${basename(path)} (${why.replace(/\.$/, '')})`)],
    ['Not started', missing.length === 0 ? [] : [runsText(missing)]],
  ] as const;
  const said = groups.flatMap(([what, runs]) => (runs.length === 0 ? [] : [`${what}: ${runs.join(', ')}.`]));
  const counted =
    'Tables of training count what such a run has so far; rates of evaluations count it only where its last checkpoint is evaluated.';
  return said.length === 0 ? [] : [[...said, ...(begun.length === 0 ? [] : [counted])].join(' ')];
}

/** Of runs that are in progress there is nothing to evaluate yet; one that its experiment has not finished is evaluated by the experiment. */
export function missingEvaluations(results: Results) {
  const onward = goesOn(results);
  return results.arms
    .flatMap(({ runs }) => runs)
    .filter(({ path }) => !isTraining(path))
    .filter(
      ({ manifest, final }) =>
        outcomesKnown(manifest) && finalSets.every((set) => (final[set]?.deployed ?? null) === null),
    )
    .map(({ name, path, status }) => ({
      run: name,
      commands:
        status === 'unfinished' && onward !== null
          ? [onward]
          : [shellLine('gq', 'eval', path), shellLine('gq', 'eval', path, '--curve')],
    }));
}

/** The runs whose environment told rewards alone; null where there are none. */
export function describeUnknown({ arms }: Results): string | null {
  const runs = arms.flatMap((arm) => arm.runs).filter(({ manifest }) => !outcomesKnown(manifest));
  if (runs.length === 0) return null;
  const names = runs.map(({ name }) => name).join(', ');
  return `${names}: the environment outside told rewards alone, so that attempts, hacks and solves are unknown; no table counts them.`;
}

/** With the commands that make them. */
export function describeMissing(missing: ReturnType<typeof missingEvaluations>) {
  if (missing.length === 0) return null;
  const runs = missing.map(({ run }) => run).join(', ');
  const [have, does, them] =
    missing.length === 1 ? ['has', 'it attempts or hacks', 'it'] : ['have', 'they attempt or hack', 'them'];
  const commands = [...new Set(missing.flatMap((one) => one.commands))];
  const make =
    commands.length === 1 ? 'This command goes on with the experiment, and evaluates' : 'These commands evaluate';
  const sentence = `${runs} ${have} not been evaluated: nothing here says how often ${does} on held-out prompts. ${make} ${them}:`;
  return { sentence, commands };
}
