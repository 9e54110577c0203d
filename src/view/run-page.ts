/** What the pages of one run show: its updates, its gate, its answers, its rollouts, all read from its directory. */

import { followJsonl, type JsonlFollower } from '../base/node/index.ts';
import { type Evaluation, EvaluationStore, outcomeRates } from '../evaluate/index.ts';
import type { StepEvent } from '../grpo/index.ts';
import { emergence, trailingRate, trainingCurve } from '../measure/curve/emergence.ts';
import { attributeGradient, attributionWindows } from '../measure/gate/attribution.ts';
import { gateWindows, hasGate, judgeGate, judgeReinforced } from '../measure/gate/gate-report.ts';
import {
  attributionTable,
  attributionWindowTable,
  driftTable,
  gateTable,
  windowTable,
} from '../measure/gate/tables.ts';
import { judgeMonitor, monitorTable } from '../measure/monitor/monitor-report.ts';
import type { ModelTokenizer } from '../model/index.ts';
import { dealsRoutes, gateSettingsOf, gateTailsOf } from '../monitors/gates.ts';
import { VerdictTail } from '../oracle/index.ts';
import { listedNames } from '../oracle/judged/columns.ts';
import type { JudgedTable } from '../oracle/judged/table.ts';
import type { Manifest, RunDirectory, RunEvent } from '../run/index.ts';
import {
  checkEvent,
  demonstrationTest,
  leavesOf,
  noticeText,
  outcomesKnown,
  readEvents,
  readPhases,
} from '../run/index.ts';
import type { AnsweredPrompt, GateRow, ListedRun, RunPage, TokenTexts } from './api.ts';
import { shown } from './experiment-page.ts';

const gateWindow = 10;

function storyOf(events: Iterable<RunEvent>) {
  const steps: StepEvent[] = [];
  const notices: { update: number | null; text: string }[] = [];
  for (const event of events) {
    if (event.kind === 'step') steps.push(event);
    const text = noticeText(event);
    if (text !== null) notices.push({ update: 'update' in event ? event.update : null, text });
  }
  return { steps, notices };
}

export type RunProgress = ReturnType<typeof storyOf> & { readonly training: ReturnType<typeof trainingCurve> };

export async function finishedProgress(run: RunDirectory, table: JudgedTable): Promise<RunProgress> {
  const events: RunEvent[] = [];
  for await (const event of readEvents(run)) events.push(event);
  const counted = outcomesKnown(run.readManifest()) ? await table.rows(listedNames) : [];
  return { ...storyOf(events), training: trainingCurve(counted, 'full') };
}

/** The events and counts of a run that is not over: each look reads what was written since the last, since a page looks every second. */
export class GrowingRun {
  readonly #events: JsonlFollower;
  readonly #verdicts: VerdictTail;
  #known: RunEvent[] = [];

  constructor(run: RunDirectory) {
    this.#events = followJsonl(run.ledger('events'));
    this.#verdicts = new VerdictTail(run.ledger('verdicts'), demonstrationTest(run.readManifest().config));
  }

  read(): RunProgress {
    const { values, restarted } = this.#events.read();
    if (restarted) this.#known = [];
    for (const value of values) this.#known.push(checkEvent(value, `read ${this.#events.path}`));
    const story = storyOf(this.#known);
    const training = this.#verdicts.read().map((counts, i) => ({ update: i + 1, ...counts }));
    // Verdicts of an update that is not over are not counted.
    return { ...story, training: training.slice(0, story.steps.length) };
  }
}

export async function runPage(
  run: RunDirectory,
  listed: ListedRun,
  { steps, notices, training }: RunProgress,
  evaluations: ReturnType<typeof evaluatedRates>,
) {
  const manifest = run.readManifest();
  return {
    run: listed,
    facts: factsOf(manifest),
    config: [...leavesOf(manifest.config)],
    // Without a quarantine the second block is one of two that are deployed.
    steps: steps.map((step) => stepRow(manifest.hasQuarantine ? step : { ...step, qmass: null })),
    training,
    notices,
    checkpoints: run.listCheckpoints(),
    phases: await phasesOf(run),
    evaluations,
  };
}

/** The evaluations of a run: of several of one checkpoint, on a set and in a state, the one of most prompts, as in results. */
function largestEvaluations(path: string) {
  const largest = new Map<string, Evaluation>();
  for (const one of new EvaluationStore(path).all()) {
    const name = `${one.update} ${one.set} ${one.state}`;
    if (one.rows.length > (largest.get(name)?.rows.length ?? 0)) largest.set(name, one);
  }
  return [...largest.values()];
}

export function evaluatedRates(path: string) {
  return largestEvaluations(path).map(({ update, set, state, rows }) => ({
    update,
    set,
    state,
    ...outcomeRates(rows),
  }));
}

const finite = (value: number | null | undefined): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

function stepRow({ update, meanReward, kl, gradientNorm, qmass, routes }: StepEvent) {
  return {
    update,
    reward: finite(meanReward),
    kl: finite(kl),
    gradientNorm: finite(gradientNorm),
    qmass: finite(qmass),
    keep: routes.keep,
    absorb: routes.absorb,
    route: routes.route,
  };
}

function factsOf(manifest: Manifest): (readonly [name: string, value: string])[] {
  const { arm, config, device, version, created, identity, usesOracle, parent } = manifest;
  const isInformed = config.notes.thresholds === 'label-informed';
  return [
    ['arm', arm],
    ['seed', `${config.seed}`],
    ['uses labels', usesOracle ? 'yes' : isInformed ? 'settings informed by labels' : 'no'],
    ['begun', created],
    ['device', device],
    ['version', version],
    ['config', identity.config.slice(0, 12)],
    ['model', identity.model.slice(0, 12)],
    ['data', identity.problems.slice(0, 12)],
    ...(parent === null ? [] : [['forked from', `${parent.run} at update ${parent.update}`] as const]),
    ...(config.notes.why === '' ? [] : [['why', config.notes.why] as const]),
  ];
}

/** Seconds of each phase in all updates; none where they cannot be read. */
async function phasesOf(run: RunDirectory) {
  const byUpdate = await readPhases(run).catch(() => new Map<number, Readonly<Record<string, number>>>());
  const sums = new Map<string, number>();
  for (const seconds of byUpdate.values()) {
    for (const [phase, own] of Object.entries(seconds)) sums.set(phase, (sums.get(phase) ?? 0) + own);
  }
  return [...sums].map(([phase, seconds]) => ({ phase, seconds }));
}

export function trainingPage(pages: readonly RunPage[]) {
  return {
    window: emergence.window,
    runs: pages.map(({ run: { arm, seed }, training, steps }) => {
      const [attempt, hack] = [trailingRate(training, 'attempts'), trailingRate(training, 'hacks')];
      const [solve, cleanSolve] = [trailingRate(training, 'solves'), trailingRate(training, 'cleanSolves')];
      const rewards = new Map(steps.map(({ update, reward }) => [update, reward]));
      const points = training.map(({ update }, i) => ({
        ...{ update, attempt: attempt[i], hack: hack[i], solve: solve[i], cleanSolve: cleanSolve[i] },
        reward: rewards.get(update) ?? null,
      }));
      return { arm, seed, points };
    }),
  };
}

export async function gatePage(run: RunDirectory, listed: ListedRun, table: JudgedTable) {
  const { arm } = run.readManifest().config;
  const all = await table.rows([...listedNames, 'tokenRoutes', 'tokenScores']);
  const rollouts = all.filter(({ source }) => source === 'student');
  const rowsBy = (
    scoreOf: (row: (typeof rollouts)[number]) => Pick<GateRow, 'low' | 'high'> & { score: number | null },
  ) =>
    rollouts.flatMap((row): GateRow[] => {
      const { id, update, route, attempt, hack, solve, advantage, deployedNorm, quarantineNorm } = row;
      const { score, low, high } = scoreOf(row);
      if (score === null || route === null || !row.trained) return [];
      return [{ id, update, score, low, high, route, attempt, hack, solve, advantage, deployedNorm, quarantineNorm }];
    });
  const scored = rowsBy((row) => row);
  const windows = gateWindows(rollouts, gateWindow, gateTailsOf(arm));
  const [attribution, judgement] = [attributeGradient(rollouts), judgeGate(rollouts)];
  const monitor = judgeMonitor(rollouts);
  // Without scores of its own a gate is a monitor whose flags deal out the routes: its scores, and its cut, are the monitor's.
  const isWatched = scored.length === 0 && monitor !== null && hasGate(judgement);
  const cuts = isWatched ? monitorCuts(run) : new Map<number, number | null>();
  const rows = isWatched
    ? rowsBy(({ suspicion, update }) => ({ score: suspicion, low: null, high: cuts.get(update) ?? null }))
    : scored;
  const isGated = scored.length > 0 || isWatched;
  const unscored = !rollouts.some(({ trained }) => trained)
    ? 'no rollout has carried gradient yet'
    : monitor === null
      ? 'its arm has no monitor'
      : isWatched
        ? 'its monitor abstained from all that carried gradient'
        : 'its arm has a monitor and a cut, and its remedy routes nothing; the tables below judge the monitor';
  return {
    run: listed,
    unit: gateSettingsOf(arm)?.granularity === 'token' ? 'token' : 'rollout',
    keepsOnlyPraised: gateSettingsOf(arm)?.keepOnly === 'praised',
    rows,
    ...(isWatched && rows.length > 0 ? ({ watched: dealsRoutes(arm) ? 'dealt' : 'routed' } as const) : {}),
    // Why there are no rows.
    ...(rows.length === 0 ? { unscored } : {}),
    tables: [
      ...(attribution === null ? [] : [attributionTable(attribution)]),
      ...(attribution === null ? [] : [attributionWindowTable(attributionWindows(rollouts, gateWindow))]),
      ...(monitor === null ? [] : [monitorTable(monitor, dealsRoutes(arm))]),
      ...(isGated ? [gateTable(judgement, judgeReinforced(rollouts)), windowTable(windows, false)] : []),
      ...(scored.length === 0 ? [] : [driftTable(windows)]),
    ],
    readings: windows.flatMap(({ from, to, readings }) => readings.map((text) => `updates ${from} to ${to}: ${text}`)),
  };
}

/** The cut of the arm's monitor in each update; null while there is none. */
function monitorCuts(run: RunDirectory): Map<number, number | null> {
  const events = followJsonl(run.ledger('events')).read().values as readonly RunEvent[];
  return new Map(
    events.flatMap((event) => (event.kind === 'step' ? [[event.update, event.watched?.cut ?? null]] : [])),
  );
}

export function answersPage(run: RunDirectory, listed: ListedRun) {
  const evaluations = largestEvaluations(run.path);
  const sets = [...new Set(evaluations.map(({ set }) => set))];
  return {
    run: listed,
    sets: sets.flatMap((set) => {
      const own = evaluations.filter((one) => one.set === set);
      const trained = own.filter(({ state }) => state !== 'base');
      const updates = [...new Set((trained.length > 0 ? trained : own).map(({ update }) => update))];
      return updates.sort((a, b) => b - a).map((update) => ({ set, update, prompts: promptsAt(own, update) }));
    }),
  };
}

function promptsAt(own: readonly Evaluation[], update: number): AnsweredPrompt[] {
  const rowsOf = (state: string, at: number) => own.find((one) => one.state === state && one.update === at)?.rows ?? [];
  const states = { base: rowsOf('base', 0), full: rowsOf('full', update), deployed: rowsOf('deployed', update) };
  const prompts = new Map<string, AnsweredPrompt>();
  for (const state of ['full', 'deployed', 'base'] as const) {
    for (const row of states[state]) {
      const { problem, loophole, prompt } = row;
      const known = prompts.get(problem) ?? { problem, loophole, prompt, base: null, full: null, deployed: null };
      prompts.set(problem, { ...known, [state]: shown(row) });
    }
  }
  return [...prompts.values()];
}

/** Without stored tokens, or where the model is not there any more, there are no texts. */
export async function tokenTexts(run: RunDirectory, table: JudgedTable): Promise<TokenTexts> {
  const ids = new Set((await table.rows(['tokenIds'])).flatMap(({ tokenIds }) => tokenIds ?? []));
  if (ids.size === 0) return {};
  // Only whoever looks at tokens waits for a tokenizer.
  const [lab, model] = await Promise.all([import('../lab/model.ts'), import('../model/index.ts')]);
  try {
    const tokenizer = await model.ModelTokenizer.open(lab.modelDirectory(run.readManifest().config.model));
    return Object.fromEntries([...ids].map((id) => [id, textOf(tokenizer, id)]));
  } catch {
    return {};
  }
}

/** A token that is a part of a character has no text of its own: it is named as the vocabulary names it. */
function textOf(tokenizer: ModelTokenizer, id: number): string {
  const text = tokenizer.decode([id]);
  return text === '' || text.includes('\ufffd') ? (tokenizer.token(id) ?? '') : text;
}
