/** Everything a table or a figure needs to know about one run, read from its directory alone. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  type CountedRollout,
  type Evasion,
  emergenceByLoophole,
  firstUpdateAt,
  type GateJudgement,
  type JudgedRollout,
  judgeGate,
  judgeMonitor,
  judgeReinforced,
  type MonitorJudgement,
  type RunStatus,
  readEvasion,
  readJudged,
  readStatus,
  readSteps,
  relearnFolders,
  type TrainingPoint,
  trainingCurve,
} from '../analyse/index.ts';
import type { EvaluationSet } from '../evaluate/index.ts';
import {
  type Evaluation,
  EvaluationStore,
  lastCheckpoint,
  type ProbeEvaluation,
  ProbeStore,
} from '../evaluate/index.ts';
import type { StepEvent } from '../grpo/index.ts';
import type { RunConfig } from '../run/index.ts';
import { type Manifest, RunDirectory } from '../run/index.ts';
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
  readonly evaluations: readonly Evaluation[];
  /** What was asked in other ways than the sets ask; empty where nothing was. */
  readonly probes: readonly ProbeEvaluation[];
  /** The policy's own rollouts; demonstrations are left out. */
  readonly rollouts: readonly JudgedRollout[];
  readonly steps: readonly StepEvent[];
  readonly training: readonly TrainingPoint[];
  /** First update at which the hack has emerged; null when it has not. */
  readonly emergence: number | null;
  readonly emergenceByLoophole: Readonly<Record<string, number | null>>;
  readonly gate: GateJudgement;
  readonly gateReinforced: GateJudgement;
  /** The arm's monitor as a classifier; null for an arm without one. */
  readonly monitor: MonitorJudgement | null;
  /** How its monitor scores the same texts on the base and on the policy; null where nobody asked. */
  readonly evasion: Evasion | null;
  readonly costs: RunCosts;
  /** The curve of the relearning attack on the deployed policy; null when there was none, or it is not finished. */
  readonly attack: readonly TrainingPoint[] | null;
  /** Quarantine's share of the gradient norm, mean over updates; null when no update carried gradient. */
  readonly qmass: number | null;
}

export async function readRunResults(path: string, arm?: string): Promise<RunResults> {
  const run = RunDirectory.open(path);
  const manifest = run.readManifest();
  const { config } = manifest;
  const [steps, status] = [await readSteps(run), await readStatus(run)];
  const rollouts = (await readJudged(run)).filter(({ source }) => source === 'student');
  const evaluations = new EvaluationStore(path).all();
  const updates = lastCheckpoint(run);
  const { hasQuarantine } = manifest;
  const masses = steps.flatMap(({ qmass }) => (qmass === null ? [] : [qmass]));
  const counted: readonly CountedRollout[] = rollouts;
  const training = trainingCurve(counted, 'full');
  return {
    path,
    name: basename(path),
    arm: arm ?? armLabel(manifest),
    seed: config.seed,
    config,
    manifest,
    usesOracle: manifest.usesOracle,
    hasQuarantine,
    status,
    updates,
    final: finalStates({ evaluations, updates, hasQuarantine }),
    evaluations,
    probes: new ProbeStore(path).all(),
    rollouts,
    steps,
    training,
    emergence: firstUpdateAt(training),
    emergenceByLoophole: emergenceByLoophole(counted),
    gate: judgeGate(rollouts),
    gateReinforced: judgeReinforced(rollouts),
    monitor: judgeMonitor(rollouts),
    evasion: readEvasion(path),
    costs: await readCosts(run, steps),
    attack: await readAttack(path),
    qmass: masses.length === 0 ? null : mean(masses),
  };
}

async function readAttack(path: string): Promise<readonly TrainingPoint[] | null> {
  const { attack } = relearnFolders(path);
  if (!existsSync(join(attack, 'manifest.json'))) return null;
  const run = RunDirectory.open(attack);
  return run.isSealed() ? trainingCurve(await readJudged(run), 'full') : null;
}

/** A label for an arm: its name, and what differs from the default adapter and detach. */
function armLabel({ arm, config: { adapter, loss } }: Manifest): string {
  return [
    arm,
    ...(adapter.family === 'lora' ? [] : [adapter.family]),
    ...(loss.detach === 'branch' ? [] : [`detach ${loss.detach}`]),
  ].join(' ');
}
