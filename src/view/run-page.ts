/** What the pages of one run show: its updates, its gate, its answers, its rollouts, all read from its directory. */

import {
  emergence,
  gateWindows,
  judgeGate,
  judgeReinforced,
  readJudged,
  trailingHackRate,
  trailingSolveRate,
  trainingCurve,
} from '../analyse/index.ts';
import { readJsonl } from '../base/node/index.ts';
import { EvaluationStore, summarise } from '../evaluate/index.ts';
import { gateSettingsOf, gateTailsOf, type StepEvent } from '../grpo/index.ts';
import { VerdictTail } from '../oracle/index.ts';
import { driftTable, gateTable, windowTable } from '../report/index.ts';
import {
  configLeaves,
  demonstrationTest,
  type Manifest,
  noticeText,
  type RunDirectory,
  readEvents,
} from '../run/index.ts';
import type {
  AnsweredPrompt,
  AnswersPage,
  GatePage,
  GateRow,
  LedgerRow,
  ListedRun,
  RunPage,
  StepRow,
  TrainingPage,
} from './api.ts';
import { shown } from './experiment-page.ts';

/** Updates of a window in the tables of a gate. */
const gateWindow = 10;

export async function runPage(
  run: RunDirectory,
  listed: ListedRun,
  rows: readonly LedgerRow[] | null,
): Promise<RunPage> {
  const manifest = run.readManifest();
  const steps: StepEvent[] = [];
  const notices: { update: number | null; text: string }[] = [];
  for await (const event of readEvents(run)) {
    if (event.kind === 'step') steps.push(event);
    const text = noticeText(event);
    if (text !== null) notices.push({ update: 'update' in event ? event.update : null, text });
  }
  const isTold = demonstrationTest(manifest.config);
  const training = rows === null ? liveTraining(run, isTold).slice(0, steps.length) : trainingCurve(rows, 'full');
  return {
    run: listed,
    facts: factsOf(manifest),
    config: configLeaves(manifest.config),
    steps: steps.map(stepRow),
    training,
    notices,
    checkpoints: run.listCheckpoints(),
    phases: await readPhases(run),
    evaluations: new EvaluationStore(run.path).all().map(({ update, set, state, rows: answers }) => {
      const { hack, solve } = summarise(answers);
      return { update, set, state, hack, solve };
    }),
  };
}

/** Counts from the verdicts alone, which is quick enough to be done at every update of a run that is being trained. */
function liveTraining(run: RunDirectory, isDemonstration: ReturnType<typeof demonstrationTest>): RunPage['training'] {
  const tallies = new VerdictTail(run.ledger('verdicts'), isDemonstration).read();
  return tallies.map(({ hacks, hackable, solves, graded }, i) => ({ update: i + 1, hacks, hackable, solves, graded }));
}

const finite = (value: number | null | undefined): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

function stepRow({ update, meanReward, kl, gradientNorm, qmass, tripwireLogp, routes }: StepEvent): StepRow {
  return {
    update,
    reward: finite(meanReward),
    kl: finite(kl),
    gradientNorm: finite(gradientNorm),
    qmass: finite(qmass),
    tripwireLogp: finite(tripwireLogp),
    keep: routes.keep,
    absorb: routes.absorb,
    route: routes.route,
  };
}

function factsOf(manifest: Manifest): RunPage['facts'] {
  const { arm, config, device, version, created, modelHash, dataHash, configHash, usesOracle, parent } = manifest;
  return [
    ['arm', arm],
    ['seed', `${config.seed}`],
    ['uses labels', usesOracle ? 'yes: an upper bound' : 'no'],
    ['begun', created],
    ['device', device],
    ['version', version],
    ['config', configHash.slice(0, 12)],
    ['model', modelHash.slice(0, 12)],
    ['data', dataHash.slice(0, 12)],
    ...(parent === null ? [] : [['forked from', `${parent.run} at update ${parent.update}`] as const]),
    ...(config.notes.why === '' ? [] : [['why', config.notes.why] as const]),
  ];
}

/** Seconds of each phase in all updates; of an update that was done twice the later counts. */
async function readPhases(run: RunDirectory): Promise<RunPage['phases']> {
  const byUpdate = new Map<number, Readonly<Record<string, number>>>();
  try {
    for await (const value of readJsonl(run.file('timings.jsonl'))) {
      const { update, seconds } = value as { update: number; seconds: Readonly<Record<string, number>> };
      byUpdate.set(update, seconds);
    }
  } catch {
    return [];
  }
  const sums = new Map<string, number>();
  for (const seconds of byUpdate.values()) {
    for (const [phase, own] of Object.entries(seconds)) sums.set(phase, (sums.get(phase) ?? 0) + own);
  }
  return [...sums].map(([phase, seconds]) => ({ phase, seconds }));
}

/** The samples of training of several runs, as figures show them. */
export function trainingPage(pages: readonly RunPage[]): TrainingPage {
  return {
    window: emergence.window,
    runs: pages.map(({ run: { arm, seed }, training, steps }) => {
      const [hacks, solves] = [trailingHackRate(training), trailingSolveRate(training)];
      const rewards = new Map(steps.map(({ update, reward }) => [update, reward]));
      const points = training.map(({ update }, i) => ({
        update,
        hack: hacks[i],
        solve: solves[i],
        reward: rewards.get(update) ?? null,
      }));
      return { arm, seed, points };
    }),
  };
}

export async function ledgerRows(run: RunDirectory, id: string): Promise<LedgerRow[]> {
  return (await readJudged(run)).map((row) => ({
    run: id,
    id: row.id,
    update: row.update,
    group: row.group,
    member: row.member,
    problem: row.problem,
    loophole: row.loophole,
    hackable: row.hackable,
    source: row.source,
    sampled: row.sampled,
    reward: row.reward,
    advantage: row.advantage,
    trained: row.trained,
    route: row.route,
    score: row.score,
    low: row.low,
    high: row.high,
    hack: row.hack,
    solve: row.solve,
    attempt: row.attempt,
    truncated: row.truncated,
    tokens: row.tokens,
    prompt: row.prompt,
    completion: row.completion,
    outcome: row.verdict.outcome,
    evidence: row.verdict.evidence,
    meanLogp: row.meanLogp,
    tokenIds: row.tokenIds,
    tokenLogps: row.tokenLogps,
    tokenRoutes: row.tokenRoutes,
    tokenScores: row.tokenScores,
  }));
}

export async function gatePage(run: RunDirectory, listed: ListedRun): Promise<GatePage> {
  const { arm } = run.readManifest().config;
  const rollouts = (await readJudged(run)).filter(({ source }) => source === 'student');
  const rows = rollouts.flatMap((row): GateRow[] => {
    const { id, update, score, low, high, route, hack, solve, advantage, trained, deployedNorm, quarantineNorm } = row;
    if (score === null || route === null || !trained) return [];
    return [{ id, update, score, low, high, route, hack, solve, advantage, deployedNorm, quarantineNorm }];
  });
  const windows = gateWindows(rollouts, gateWindow, gateTailsOf(arm));
  return {
    run: listed,
    unit: gateSettingsOf(arm)?.granularity === 'token' ? 'token' : 'rollout',
    keepsOnlyPraised: gateSettingsOf(arm)?.keepOnly === 'praised',
    rows,
    tables: [
      gateTable(judgeGate(rollouts), judgeReinforced(rollouts)),
      windowTable(windows, false),
      driftTable(windows),
    ],
    readings: windows.flatMap(({ from, to, readings }) => readings.map((text) => `updates ${from} to ${to}: ${text}`)),
  };
}

/** The answers of the last checkpoint that was evaluated, on each set, prompt by prompt. */
export function answersPage(run: RunDirectory, listed: ListedRun): AnswersPage {
  const evaluations = new EvaluationStore(run.path).all();
  const sets = [...new Set(evaluations.map(({ set }) => set))];
  return {
    run: listed,
    sets: sets.flatMap((set) => {
      const own = evaluations.filter((one) => one.set === set);
      const update = Math.max(...own.map((one) => one.update));
      const rowsOf = (state: string, at: number) =>
        own.find((one) => one.state === state && one.update === at)?.rows ?? [];
      const states = { base: rowsOf('base', 0), full: rowsOf('full', update), deployed: rowsOf('deployed', update) };
      const prompts = new Map<string, AnsweredPrompt>();
      for (const state of ['full', 'deployed', 'base'] as const) {
        for (const row of states[state]) {
          const { problem, loophole, prompt } = row;
          const known = prompts.get(problem) ?? { problem, loophole, prompt, base: null, full: null, deployed: null };
          prompts.set(problem, { ...known, [state]: shown(row) });
        }
      }
      return [{ set, update, prompts: [...prompts.values()] }];
    }),
  };
}
