/** What tables need to know about one run, and with its records what figures and reports show; read from its directory alone. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { EvaluationSet } from '../evaluate/index.ts';
import {
  type Evaluation,
  type EvaluationOutcomes,
  type EvaluationRow,
  EvaluationStore,
  lastCheckpoint,
  type OutcomeRow,
  type ProbeOutcomes,
  ProbeStore,
} from '../evaluate/index.ts';
import type { StepEvent } from '../grpo/index.ts';
import {
  type CountedRollout,
  type Evasion,
  emergenceByLoophole,
  firstUpdateAt,
  type GateJudgement,
  type GateOutline,
  judgeGate,
  judgeMonitor,
  judgeReinforced,
  type MonitorJudgement,
  type MonitorOutline,
  type MonitorQuarter,
  monitorQuarters,
  outlineGate,
  outlineMonitor,
  readEvasion,
  reinforced,
  relearnFolders,
  type TrainingPoint,
  trainingCurve,
  type WatchedRollout,
} from '../measure/index.ts';
import { type JudgedRollout, openJudged } from '../oracle/index.ts';
import { type Manifest, type RunConfig, RunDirectory, type RunStatus, readCourse } from '../run/index.ts';
import { mean } from '../stats/index.ts';
import { type FinalStates, finalStates } from './final-states.ts';
import { type RunCosts, readCosts } from './run-costs.ts';

export interface RunResults {
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
  /** Updates completed at the last checkpoint. */
  readonly updates: number;
  /** The last checkpoint on each set; `aggregate` chooses the number of prompts that all runs have. */
  readonly final: Readonly<Partial<Record<EvaluationSet, FinalStates>>>;
  readonly evaluations: readonly EvaluationOutcomes[];
  /** What was asked in other ways than the sets ask; empty where nothing was. */
  readonly probes: readonly ProbeOutcomes[];
  readonly training: readonly TrainingPoint[];
  /** First update at which the hack has emerged; null when it has not. */
  readonly emergence: number | null;
  readonly emergenceByLoophole: Readonly<Record<string, number | null>>;
  readonly gate: GateOutline;
  readonly gateReinforced: GateOutline;
  /** The arm's monitor as a classifier; null for an arm without one. */
  readonly monitor: MonitorOutline | null;
  /** The same by quarter of training; empty for an arm without a monitor. */
  readonly monitorOverTime: readonly MonitorQuarter[];
  /** How its monitor scores the same texts on the base and on the policy; null where nobody asked. */
  readonly evasion: Evasion | null;
  readonly costs: RunCosts;
  /** The curve of the relearning attack on the deployed policy; null when there was none, or it is not finished. */
  readonly attack: readonly TrainingPoint[] | null;
  /** Quarantine's share of the gradient norm, mean over updates; null when no update carried gradient. */
  readonly qmass: number | null;
}

/** The results of a run with all that they were counted from, which figures and reports show. */
export interface RunRecords extends RunResults {
  readonly final: Readonly<Partial<Record<EvaluationSet, FinalStates<EvaluationRow>>>>;
  readonly evaluations: readonly Evaluation[];
  /** The policy's own rollouts; demonstrations are left out. */
  readonly rollouts: readonly JudgedRollout[];
  readonly steps: readonly StepEvent[];
  readonly gate: GateJudgement;
  readonly gateReinforced: GateJudgement;
  readonly monitor: MonitorJudgement | null;
}

/** `arm`: the name of the arm in an experiment; else the run's own label. */
export async function readRunResults(path: string, arm?: string): Promise<RunResults> {
  const run = RunDirectory.open(path);
  const course = await readCourse(run);
  const rollouts = ownRollouts(await openJudged(run).rows(countedColumns));
  const evaluations = new EvaluationStore(path).all().map(withoutTexts);
  return {
    ...(await countRun(run, arm, course, rollouts, evaluations)),
    evaluations,
    gate: outlineGate(rollouts),
    gateReinforced: outlineGate(reinforced(rollouts)),
    monitor: outlineMonitor(rollouts),
  };
}

export async function readRunRecords(path: string, arm?: string): Promise<RunRecords> {
  const run = RunDirectory.open(path);
  const course = await readCourse(run);
  const rollouts = ownRollouts(await openJudged(run).rows());
  const evaluations = new EvaluationStore(path).all();
  return {
    ...(await countRun(run, arm, course, rollouts, evaluations)),
    evaluations,
    rollouts,
    steps: course.steps,
    gate: judgeGate(rollouts),
    gateReinforced: judgeReinforced(rollouts),
    monitor: judgeMonitor(rollouts),
  };
}

/** What is counted over a run: of one that is over only these columns are read. */
const countedColumns = [
  ...(['update', 'loophole', 'hackable', 'source', 'sampled', 'suspicion', 'flagged', 'advantage'] as const),
  ...(['trained', 'score', 'low', 'high', 'route', 'tokenRoutes', 'hack', 'solve', 'attempt'] as const),
];

const ownRollouts = <Row extends JudgedRollout<'source'>>(rows: readonly Row[]): Row[] =>
  rows.filter(({ source }) => source === 'student');

/** What is the same of a run, with its records or without. */
async function countRun<Row extends OutcomeRow>(
  run: RunDirectory,
  arm: string | undefined,
  { steps, status }: Awaited<ReturnType<typeof readCourse>>,
  rollouts: readonly (CountedRollout & WatchedRollout)[],
  evaluations: readonly (Omit<Evaluation, 'rows'> & { readonly rows: readonly Row[] })[],
) {
  const { path } = run;
  const manifest = run.readManifest();
  const { config, usesOracle, hasQuarantine } = manifest;
  const updates = lastCheckpoint(run);
  const masses = steps.flatMap(({ qmass }) => (qmass === null ? [] : [qmass]));
  const training = trainingCurve(rollouts, 'full');
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
    updates,
    final: finalStates({ evaluations, updates, hasQuarantine }),
    probes: new ProbeStore(path).all().map(withoutTexts),
    training,
    monitorOverTime: monitorQuarters(rollouts, config.updates),
    emergence: firstUpdateAt(training),
    emergenceByLoophole: emergenceByLoophole(rollouts),
    evasion: readEvasion(path),
    costs: await readCosts(run, steps),
    attack: await readAttack(path),
    qmass: masses.length === 0 ? null : mean(masses),
  };
}

function withoutTexts<One extends { readonly rows: readonly EvaluationRow[] }>(
  one: One,
): Omit<One, 'rows'> & { readonly rows: readonly OutcomeRow[] } {
  return { ...one, rows: one.rows.map(({ prompt: _, completion: __, channels: ___, ...row }) => row) };
}

async function readAttack(path: string): Promise<readonly TrainingPoint[] | null> {
  const { attack } = relearnFolders(path);
  if (!existsSync(join(attack, 'manifest.json'))) return null;
  const run = RunDirectory.open(attack);
  return run.isSealed() ? trainingCurve(await openJudged(run).rows(countedColumns), 'full') : null;
}

/** A label for an arm: its name, and what differs from the default adapter and detach. */
export function armLabel({ arm, config: { adapter, loss } }: Manifest): string {
  return [
    arm,
    ...(adapter.family === 'lora' ? [] : [adapter.family]),
    ...(loss.detach === 'branch' ? [] : [`detach ${loss.detach}`]),
  ].join(' ');
}
