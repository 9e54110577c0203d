/**
 * What is known of one run, read from its directory alone, and the results of an experiment, a folder of runs or one run. Reading takes the columns that are counted; rollouts with their texts are read
 * when somebody asks for them, and so are the texts of evaluations.
 */
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { shellLine, UserError } from '../base/index.ts';
import {
  type EvaluationOutcomes,
  type EvaluationRow,
  type EvaluationSet,
  EvaluationStore,
  finalSets,
  lastCheckpoint,
  type OutcomeRow,
  type ProbeOutcomes,
  ProbeStore,
} from '../evaluate/index.ts';
import type { StepEvent } from '../grpo/index.ts';
import {
  type Evasion,
  emergenceByLoophole,
  firstUpdateAt,
  type GateJudgement,
  judgeGate,
  judgeMonitor,
  judgeReinforced,
  type MonitorJudgement,
  type MonitorWindow,
  monitorQuarters,
  readEvasion,
  relearnFolders,
  type TrainingPoint,
  trainingCurve,
} from '../measure/index.ts';
import { type JudgedRollout, openJudged } from '../oracle/index.ts';
import { type Manifest, type RunConfig, RunDirectory, type RunStatus, readCourse, readTimings } from '../run/index.ts';
import { average, mean, median } from '../stats/index.ts';
import { aggregate, type LeftOut, type Results } from './aggregate.ts';
import type { Design } from './design.ts';
import { type FinalStates, finalStates } from './final-states.ts';
import type { ByTarget } from './gate-tables.ts';

export interface RunResult {
  readonly path: string;
  readonly name: string;
  readonly arm: string;
  readonly seed: number;
  readonly config: RunConfig;
  readonly manifest: Manifest;
  readonly usesOracle: boolean;
  /** Whether the deployed policy differs from the policy as trained. */
  readonly hasQuarantine: boolean;
  readonly status: RunStatus;
  readonly steps: readonly StepEvent[];
  /** Updates completed at the last checkpoint. */
  readonly updates: number;
  /** The last checkpoint on each set; `aggregate` chooses the number of prompts that all runs have. */
  readonly final: Readonly<Partial<Record<EvaluationSet, FinalStates>>>;
  readonly evaluations: readonly EvaluationOutcomes[];
  /** What was asked in other ways than the sets ask; empty where nothing was. */
  readonly probes: readonly ProbeOutcomes[];
  readonly training: readonly TrainingPoint[];
  /** First updates at which attempts, and hacks, have emerged; null when they have not. */
  readonly emergence: ByTarget<number | null>;
  readonly emergenceByLoophole: ByTarget<Readonly<Record<string, number | null>>>;
  /** The gate as a classifier; scores of single tokens have no part in it. */
  readonly gate: GateJudgement;
  readonly gateReinforced: GateJudgement;
  /** Whether a score of any rollout was recorded. */
  readonly isScored: boolean;
  /** The arm's monitor as a classifier; null for an arm without one. */
  readonly monitor: MonitorJudgement | null;
  /** The same by quarter of training; empty for an arm without a monitor. */
  readonly monitorOverTime: readonly MonitorWindow[];
  /** How its monitor scores the same texts on the base and on the policy; null where nobody asked. */
  readonly evasion: Evasion | null;
  readonly costs: RunCosts;
  /** The curve of the relearning attack on the deployed policy; null when there was none, or it is not finished. */
  readonly attack: readonly TrainingPoint[] | null;
  /** Quarantine's share of the gradient norm, mean over updates; null when no update carried gradient. */
  readonly qmass: number | null;
  /** The policy's own rollouts with all that is known of them; demonstrations are left out. */
  readonly rollouts: () => Promise<readonly JudgedRollout[]>;
}

/** What an update costs. */
export interface RunCosts {
  /** Median seconds of an update; null where none were recorded. */
  readonly seconds: number | null;
  /** Completions that a model read in an update without learning from them, mean over updates; null where nobody counted. */
  readonly scoringPasses: number | null;
  /** What the monitor counted beside passes, mean over updates. */
  readonly beside: Readonly<Record<string, number>>;
}

/** `arm`: the name of the arm in an experiment; else the run's own label. */
export async function readRunResult(path: string, arm?: string): Promise<RunResult> {
  const run = RunDirectory.open(path);
  const manifest = run.readManifest();
  const { config, usesOracle, hasQuarantine } = manifest;
  const { steps, status } = await readCourse(run);
  const table = await openJudged(run);
  const counted = (await table.rows(countedColumns)).filter(isOwn);
  const evaluations = new EvaluationStore(path).all().map(withoutTexts);
  const updates = lastCheckpoint(run);
  const masses = steps.flatMap(({ qmass }) => (qmass === null ? [] : [qmass]));
  const training = trainingCurve(counted, 'full');
  let rollouts: Promise<readonly JudgedRollout[]> | undefined;
  return {
    path,
    name: basename(path),
    arm: arm ?? armLabel(manifest),
    seed: config.seed,
    config,
    manifest,
    usesOracle,
    hasQuarantine,
    status,
    steps,
    updates,
    final: finalStates({ evaluations, updates, hasQuarantine }),
    evaluations,
    probes: new ProbeStore(path).all().map(withoutTexts),
    training,
    emergence: { attempts: firstUpdateAt(training, 'attempts'), hacks: firstUpdateAt(training, 'hacks') },
    emergenceByLoophole: {
      attempts: emergenceByLoophole(counted, 'attempts'),
      hacks: emergenceByLoophole(counted, 'hacks'),
    },
    gate: judgeGate(counted),
    gateReinforced: judgeReinforced(counted),
    isScored: counted.some(({ score }) => score !== null),
    monitor: judgeMonitor(counted),
    monitorOverTime: monitorQuarters(counted, config.updates),
    evasion: readEvasion(path),
    costs: await readCosts(run, steps),
    attack: await readAttack(path),
    qmass: masses.length === 0 ? null : mean(masses),
    rollouts: () => {
      rollouts ??= table.rows().then((rows) => rows.filter(isOwn));
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

async function readCosts(run: RunDirectory, steps: readonly StepEvent[]): Promise<RunCosts> {
  const seconds = await readTimings(run);
  // Runs of earlier versions counted no passes.
  const counted = steps.filter(({ scoringPasses }) => typeof scoringPasses === 'number');
  const asked = (name: string): number => average(steps.map(({ watched }) => watched?.costs[name] ?? 0));
  const names = new Set(steps.flatMap(({ watched }) => Object.keys(watched?.costs ?? {})));
  names.delete('passes');
  return {
    seconds: seconds.length === 0 ? null : median(seconds),
    scoringPasses:
      counted.length === 0 ? null : average(counted.map(({ scoringPasses }) => scoringPasses)) + asked('passes'),
    beside: Object.fromEntries([...names].map((name) => [name, asked(name)])),
  };
}

async function readAttack(path: string): Promise<readonly TrainingPoint[] | null> {
  const { attack } = relearnFolders(path);
  if (!existsSync(join(attack, 'manifest.json'))) return null;
  const run = RunDirectory.open(attack);
  return run.isSealed() ? trainingCurve(await (await openJudged(run)).rows(countedColumns), 'full') : null;
}

/** A label for an arm: its name, and what differs from the default adapter and detach. */
function armLabel({ arm, config: { adapter, loss } }: Manifest): string {
  return [
    arm,
    ...(adapter.family === 'lora' ? [] : [adapter.family]),
    ...(loss.detach === 'branch' ? [] : [`detach ${loss.detach}`]),
  ].join(' ');
}

export interface ResultsSource {
  readonly name: string | null;
  /** The arm that others are compared with; one that was asked for by name must be there. */
  readonly baseline: string | null;
  readonly placebo: string | null;
  readonly arms: readonly string[];
  readonly runs: readonly { readonly path: string; readonly arm: string | null }[];
  /** Folders that hold parts of a run but no manifest. */
  readonly damaged?: readonly string[];
  /** What the experiment says about itself; absent outside an experiment. */
  readonly design?: Design;
}

/** Is called before a run is read, with its path, its number (from 1) and the number of runs. */
export type OnReading = (path: string, at: number, of: number) => void;

/** A run that cannot be read is left out and named; if it is the only one, its error is thrown. */
export async function readResults(directory: string, source: ResultsSource, onReading?: OnReading): Promise<Results> {
  const runs: RunResult[] = [];
  const leftOut: LeftOut[] = (source.damaged ?? []).map((path) => ({ path, why: 'it has no manifest.json' }));
  for (const [i, { path, arm }] of source.runs.entries()) {
    onReading?.(path, i + 1, source.runs.length);
    try {
      runs.push(await readRunResult(path, arm ?? undefined));
    } catch (error) {
      if (source.runs.length === 1) throw error;
      leftOut.push({ path, why: error instanceof Error ? error.message : String(error) });
    }
  }
  if (runs.length === 0 && leftOut.length > 0) {
    const found = leftOut.map(({ path, why }) => `${path}: ${why}`).join('; ');
    throw new UserError({ call: `results of ${directory}`, expected: 'a run that can be read', found });
  }
  return aggregate(runs, {
    name: source.name ?? basename(resolve(directory)),
    baseline: source.baseline ?? 'vanilla',
    placebo: source.placebo,
    order: source.arms,
    leftOut,
    ...(source.design === undefined ? {} : { design: source.design }),
  });
}

export interface MissingEvaluation {
  readonly run: string;
  readonly commands: readonly string[];
}

/** Runs whose last checkpoint has not been evaluated on any set of the final evaluation. */
export function missingEvaluations({ arms }: Results): MissingEvaluation[] {
  return arms
    .flatMap(({ runs }) => runs)
    .filter((run) => !isEvaluated(run))
    .map(({ name, path }) => ({
      run: name,
      commands: [shellLine('gq', 'eval', path), shellLine('gq', 'eval', path, '--curve')],
    }));
}

function isEvaluated({ final }: RunResult): boolean {
  return finalSets.some((set) => (final[set]?.deployed ?? null) !== null);
}

/** Says what is missing; null when nothing is. */
export function describeMissing(missing: readonly MissingEvaluation[]): string | null {
  if (missing.length === 0) return null;
  const runs = missing.map(({ run }) => run).join(', ');
  const [have, does, them] =
    missing.length === 1 ? ['has', 'it attempts or hacks', 'it'] : ['have', 'they attempt or hack', 'them'];
  return `${runs} ${have} not been evaluated: nothing here says how often ${does} on held-out prompts. These commands evaluate ${them}; then make the report again.`;
}
