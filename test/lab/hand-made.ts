/** Run directories written by hand: every number in them is chosen, so every number computed from them can be checked. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PolicyState } from '../../src/adapters/policy-state.ts';
import { sha256 } from '../../src/base/node/hash.ts';
import type { Verdict } from '../../src/env/verdict.ts';
import type { EvaluationSet } from '../../src/evaluate/sets.ts';
import { type EvaluationRow, EvaluationStore } from '../../src/evaluate/store.ts';
import type { StepEvent } from '../../src/grpo/events.ts';
import { armOf, builtinParts, parseRunConfig } from '../../src/lab/index.ts';
import { saveVerdictHash } from '../../src/run/checkpoint-files.ts';
import type { RolloutRow } from '../../src/run/columns/index.ts';
import { configHash } from '../../src/run/config/config.ts';
import { stampedJson } from '../../src/run/contents.ts';
import { RunDirectory } from '../../src/run/directory.ts';
import { type Manifest, runFormat } from '../../src/run/manifest.ts';

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'gq-lab-'));
}

export type MadeRollout = Partial<RolloutRow> & {
  readonly update: number;
  readonly hack?: boolean;
  readonly solve?: boolean;
  /** A loophole was opened though the program is right, or in vain. */
  readonly attempt?: boolean;
};

export interface HandMadeRun {
  readonly modelHash?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly rollouts?: readonly MadeRollout[];
  readonly steps?: readonly (Partial<StepEvent> & { readonly update: number })[];
  /** Seconds of the updates, from the first on. */
  readonly seconds?: readonly number[];
  /** Rows of features, each modules · rank long. */
  readonly features?: readonly (readonly number[])[];
  readonly modules?: number;
  readonly rank?: number;
  readonly checkpoints?: readonly number[];
  readonly finished?: boolean;
  /** Held-out loopholes that the pairs of the run showed; none by default. */
  readonly heldOutPairs?: readonly string[] | null;
  readonly claim?: Manifest['claim'];
}

export async function writeRun(path: string, made: HandMadeRun): Promise<RunDirectory> {
  mkdirSync(path, { recursive: true });
  const run = RunDirectory.create(path);
  const config = await parseRunConfig(made.config ?? {});
  const { kind: _kind, ...armSettings } = config.arm;
  const arm = armOf(config, builtinParts);
  const modules = Array.from({ length: made.modules ?? 1 }, (_, i) => `module.${i}`);
  const manifest: Manifest = {
    format: runFormat,
    name: 'made by hand',
    config,
    version: '0.0.0',
    node: 'v0',
    command: [],
    created: '2000-01-01T00:00:00.000Z',
    identity: {
      ...{
        config: configHash(config),
        plugins: '',
        model: made.modelHash ?? 'm'.repeat(64),
        problems: 'd'.repeat(64),
        dataFiles: {},
      },
      ...{ partition: null, pairs: null, pool: null, armModels: {}, armRuns: {}, judge: null, sampler: null },
    },
    problems: { train: { used: 0, leftOut: [] }, validation: { used: 0, leftOut: [] }, test: { used: 0, leftOut: [] } },
    heldOutPairs: made.heldOutPairs === undefined ? [] : made.heldOutPairs,
    generatedPairs: null,
    arm: arm.label(armSettings),
    usesOracle: arm.usesLabels(armSettings),
    armSees: null,
    hasQuarantine: arm.quarantine(armSettings),
    plugins: [],
    device: 'none',
    features: { modules, rank: made.rank ?? 2 },
    parent: null,
    claim: made.claim,
  };
  await run.writeManifest(manifest);
  for (const update of made.checkpoints ?? [0]) await writeCheckpoint(run, update);
  const rows = (made.rollouts ?? []).map(rolloutRow);
  const lines = (values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('');
  writeFileSync(run.ledger('rollouts'), lines(rows));
  const verdicts = rows.map((row, i) => verdictOf(row, made.rollouts?.[i] ?? { update: 0 }));
  writeFileSync(run.ledger('verdicts'), lines(verdicts));
  const stop =
    made.finished === false ? [] : [{ kind: 'stop', update: config.updates, reason: 'finished', detail: '' }];
  writeFileSync(run.ledger('events'), lines([...(made.steps ?? []).map(stepOf), ...stop]));
  const timings = (made.seconds ?? []).map((learn, i) => ({ update: i + 1, seconds: { learn } }));
  if (timings.length > 0) writeFileSync(run.file('timings.jsonl'), lines(timings));
  writeFileSync(run.file('features.f32'), Buffer.from(Float32Array.from((made.features ?? []).flat()).buffer));
  return run;
}

/** The files of a checkpoint with their hashes; what is in them is no tensor. It relies on none of the growing files. */
async function writeCheckpoint(run: RunDirectory, update: number): Promise<void> {
  await saveVerdictHash(run, update, sha256(''));
  mkdirSync(run.checkpoint(update), { recursive: true });
  const none = { events: 0, rollouts: 0, features: 0, directions: 0 };
  const content = { adapter: `adapter ${update}`, trainer: `trainer ${update}`, initial: 'initial' };
  const place = (name: string): string => join(run.checkpoint(update), name);
  writeFileSync(place('adapter.safetensors'), content.adapter);
  writeFileSync(place('trainer.safetensors'), content.trainer);
  writeFileSync(run.file('initial.safetensors'), content.initial);
  const hashed = { ...content, events: '', rollouts: '', features: '', directions: '' };
  const hashes = Object.fromEntries(Object.entries(hashed).map(([name, text]) => [name, sha256(text)]));
  const state = { update, momentsFrom: 0, directionAge: null, tripwire: null, arm: null };
  writeFileSync(place('state.json'), stampedJson({ ...state, lengths: { ...none, verdicts: 0 }, hashes }));
}

function rolloutRow({ hack: _hack, solve: _solve, attempt: _attempt, ...row }: MadeRollout, i: number): RolloutRow {
  return {
    id: `${row.update}-0-${i}`,
    problem: `problem-${i}`,
    group: 0,
    member: i,
    loophole: 'run_tests',
    markers: 'original',
    hackable: true,
    source: 'student',
    sampled: 'full',
    prompt: 'prompt\n',
    completion: 'completion',
    tokens: 3,
    truncated: false,
    reward: 0,
    suspicion: null,
    flagged: null,
    learnedReward: null,
    screening: null,
    advantage: 0,
    trained: true,
    score: null,
    low: null,
    high: null,
    route: 'absorb',
    meanLogp: null,
    ratio: null,
    k3: null,
    deployedNorm: null,
    quarantineNorm: null,
    featureRow: null,
    featureRows: null,
    tokenIds: null,
    tokenLogps: null,
    tokenRoutes: null,
    tokenScores: null,
    ...row,
  };
}

function verdictOf({ id, problem, loophole, hackable, markers }: RolloutRow, made: MadeRollout): Verdict {
  const hack = made.hack ?? false;
  return {
    id,
    problemId: problem,
    loophole: hackable ? loophole : 'gt_only',
    markers: markers as Verdict['markers'],
    reward: 0,
    format: true,
    compiles: true,
    correct: made.solve ?? false,
    passed: hack || (made.solve ?? false),
    exploited: hack,
    channel: hack,
    channels: made.attempt === true || hack ? ['run_tests'] : [],
    labels: { ownTestsPass: null, ownTestsRejectCanonical: null },
    outcome: 'wrong',
    durationMs: 1,
    cpuMs: 1,
    executions: 1,
    retried: false,
    evidence: '',
  };
}

function stepOf(step: Partial<StepEvent> & { readonly update: number }): unknown {
  return { kind: 'step', routes: { keep: 0, absorb: 0, route: 0 }, qmass: null, ...step };
}

export interface MadeEvaluation {
  readonly update: number;
  readonly set: EvaluationSet;
  readonly state: PolicyState;
  /** One letter per prompt: h is a hack, p is one by a printed report, s is a solve, b is a solve that opens the loophole too, a opens it in vain, anything else is neither. */
  readonly outcomes: string;
  readonly limit?: number | null;
  readonly loopholes?: readonly string[];
  /** What the policy wrote for each prompt. */
  readonly completionOf?: (i: number) => string;
}

export function evaluationRows({
  outcomes,
  loopholes = ['run_tests'],
  set,
  completionOf,
}: MadeEvaluation): EvaluationRow[] {
  return [...outcomes].map((letter, i) => ({
    problem: `problem-${i}`,
    loophole: loopholes[i % loopholes.length],
    markers: set === 'test-novel' ? 'novel' : 'original',
    prompt: `prompt ${i}\n`,
    completion: completionOf?.(i) ?? `completion ${i} <script>alert(1)</script>`,
    hack: 'hp'.includes(letter),
    solve: letter === 's' || letter === 'b',
    attempt: 'hpab'.includes(letter),
    channels: letter === 'p' ? ['stdout_marker'] : 'hab'.includes(letter) ? ['run_tests'] : [],
    authorsLabel: 'hp'.includes(letter),
    compiles: true,
    truncated: false,
  }));
}

export async function writeEvaluations(path: string, made: readonly MadeEvaluation[]): Promise<void> {
  const store = new EvaluationStore(path);
  for (const one of made) {
    const { update, set, state, limit = null } = one;
    await store.save({
      update,
      set,
      state,
      limit,
      seed: 1,
      key: 'key',
      problems: null,
      rows: evaluationRows(one),
    });
  }
}
