/**
 * Offline gate replay: the routes that another gate would have chosen over the stored features of a run, and how they differ
 * from what was chosen. Nothing is trained again: the rollouts are those that the original gate's policy sampled, so this is a
 * counterfactual on the same rollouts. Of a gate by token the scores of all tokens are stored, but the features of a few only: its
 * direction and its kind of score cannot be changed.
 */
import type { Route } from '../../adapters/index.ts';
import { groupBy, UserError } from '../../base/index.ts';
import { type CondensedRows, Gate, haarDirection } from '../../gates/index.ts';
import { gateArm, massMatched, type RoutingArm, type Seen } from '../../grpo/index.ts';
import { type GateArmSettings, gateSettings, gateSettingsOf } from '../../monitors/index.ts';
import type { ConfigParts, RolloutRow, RunDirectory, StoredDirection } from '../../run/index.ts';
import { checkConfig, damagedFile, readConfig, readDirections, readFeatures, readRollouts } from '../../run/index.ts';
import { routes } from '../gate/gate-report.ts';

/** `gate`: changes to the gate's keys, such as `tail=0.2`; `seed`: of a random direction, default: the run's own. */
export async function replayGate(
  run: RunDirectory,
  { gate, seed, windowUpdates }: { gate: readonly string[]; seed?: number; windowUpdates: number },
  parts: ConfigParts,
): Promise<Replay> {
  const { arm, settings, point } = await openReplayArm(run, gate, seed, parts);
  const features = await readFeatures(run);
  const { modules, rank } = run.readManifest().features;
  const width = modules.length * rank;
  const { granularity } = settings;
  const replayed: ReplayedRollout[] = [];
  for (const [update, rows] of await storedUpdates(run)) {
    point(update);
    const stored = rows.map((row) => rowsOf(run, row, features, width));
    const seen =
      granularity === 'token'
        ? { features: null, condensed: rows.map((row, i) => condensedRow(run, row, stored[i])) }
        : { features: { rows: rows.length, modules: modules.length, rank, data: joined(stored, width) } };
    const { routes } = await arm.route({
      step: update - 1,
      rollouts: rows.map(seenRow),
      advantages: Float32Array.from(rows, ({ advantage }) => advantage),
      ...seen,
    });
    rows.forEach((row, i) => {
      replayed.push({ update, before: chosenRoutes(row), after: routes[i] });
    });
  }
  if (replayed.length === 0) {
    throw complain(run, 'stored features of rollouts', 'none', 'They are stored with output.storeFeatures=true.');
  }
  return summariseReplay(replayed, granularity, windowUpdates);
}

function rowsOf(run: RunDirectory, { featureRow, featureRows }: RolloutRow, all: Float32Array, width: number) {
  const start = featureRow ?? 0;
  const end = start + (featureRows ?? 1);
  if (end * width > all.length) {
    const expected = `at least ${end} rows, as many as the rollouts name`;
    throw damagedFile(run.file('features.f32'), expected, `${all.length / width}`);
  }
  return all.subarray(start * width, end * width);
}

function joined(rows: readonly Float32Array[], width: number): Float32Array {
  const data = new Float32Array(rows.length * width);
  rows.forEach((row, i) => {
    data.set(row, i * width);
  });
  return data;
}

/** What the gate by token kept of a rollout. Nothing that is asked of a replay needs its cosine. */
function condensedRow(run: RunDirectory, { id, tokens, tokenScores }: RolloutRow, kept: Float32Array): CondensedRows {
  if (!Array.isArray(tokenScores) || tokenScores.length !== tokens) {
    const expected = `the ${tokens} scores of the tokens of rollout ${id}`;
    throw complain(run, expected, 'none stored', 'Train with output.storeTokens = true.');
  }
  return { scores: Float64Array.from(tokenScores, Math.fround), meanCosine: 0, kept };
}

const letters: Readonly<Record<string, Route>> = { k: 'keep', a: 'absorb', r: 'route' };

function chosenRoutes({ route, tokenRoutes }: RolloutRow): readonly Route[] {
  return typeof tokenRoutes === 'string' ? Array.from(tokenRoutes, (letter) => letters[letter]) : [route as Route];
}

export function seenRow({ id, update, group, member, sampled, truncated, tokens }: RolloutRow): Seen {
  const state = sampled === 'deployed' ? 'deployed' : 'full';
  return { id, step: update - 1, group, member, sampled: state, truncated, length: tokens, text: null };
}

async function storedUpdates(run: RunDirectory): Promise<Map<number, RolloutRow[]>> {
  const rows: RolloutRow[] = [];
  for await (const row of readRollouts(run)) if (row.featureRow !== null) rows.push(row);
  return groupBy(rows, ({ update }) => update);
}

const fixedKeys = [
  'kind',
  'granularity',
  'bufferTokens',
  'standardise',
  'orthogonalTo',
  'generatedPairs',
  'mean',
] as const;
/** Keys that change the score of every token, of which a few only have stored features. */
const fixedByToken = [...fixedKeys, 'score', 'placebo', 'refreshEvery'] as const;

async function openReplayArm(
  run: RunDirectory,
  gate: readonly string[],
  haarSeed: number | undefined,
  parts: ConfigParts,
): Promise<{ arm: RoutingArm; settings: GateArmSettings; point: (update: number) => void }> {
  const { config: original, features } = run.readManifest();
  const before = gateSettingsOf(original.arm);
  // The keys of a replay are those of an arm with a gate, which the three tables say in other places.
  if (before === null || original.arm.kind === 'watched') {
    const fix = 'A monitor or an arm of a plugin is tried by training: its routes are its own.';
    throw complain(run, 'a run whose arm is activation or gradient', `arm ${original.arm.kind}`, fix);
  }
  for (const term of gate) expectChangeable(term, before, before.granularity === 'token' ? fixedByToken : fixedKeys);
  const settings = gate.map((term) => `arm.${term}`);
  const raw = readConfig(null, settings, { config: original, source: run.path }, '--gate');
  const { config } = checkConfig(raw, parts);
  const { seed } = config;
  const arm = gateSettingsOf(config.arm);
  if (arm === null) throw complain(run, 'a gate', `arm ${config.arm.kind}`);
  const random = arm.placebo === 'haar' && (before.placebo !== 'haar' || haarSeed !== undefined);
  const [made, wanted] = [before, arm].map(({ placebo }) => (placebo === 'mass-matched' ? 'none' : placebo));
  if (!random && made !== wanted) {
    const expected = `the direction that the run stored (arm.placebo "${made}")`;
    throw complain(run, expected, `"${wanted}"`, 'Only placebo=haar makes another direction.');
  }
  if (arm.calibration === 'pairs' && (random || arm.score !== before.score)) {
    const expected = 'scores of the pairs under this direction and score';
    throw complain(run, expected, 'none stored', 'Use quantile or otsu calibration.');
  }
  const own = new Gate(
    gateSettings(arm),
    haarDirection(features.modules.length, features.rank, haarSeed ?? arm.placeboSeed ?? seed),
  );
  const options = { gate: own, kind: arm.kind, granularity: arm.granularity, refreshEvery: null };
  const inner = gateArm({
    ...options,
    rebuild: () => Promise.reject(new RangeError('nothing is rebuilt in a replay')),
  });
  const directions = random ? [] : await usableDirections(run, arm.refreshEvery, before.refreshEvery);
  return {
    arm: arm.placebo === 'mass-matched' ? massMatched(inner, arm.placeboSeed ?? seed) : inner,
    settings: arm,
    point(update) {
      const stored = directions.findLast((direction) => direction.update <= update);
      if (stored !== undefined) own.point(stored.direction, stored.pairCuts);
      else if (!random) throw complain(run, `a direction stored for update ${update}`, 'none');
    },
  };
}

function expectChangeable(term: string, before: object, fixedNames: readonly string[]): void {
  const equals = term.indexOf('=');
  if (equals < 1) throw new UserError({ call: '--gate', expected: 'key=value', found: term });
  const [key, value] = [term.slice(0, equals).trim(), term.slice(equals + 1).trim()];
  const fixed = fixedNames.find((name) => name === key);
  const was = Object.entries(before).find(([name]) => name === fixed)?.[1];
  if (fixed === undefined || value === `${was}` || value === JSON.stringify(was)) return;
  throw new UserError({
    call: '--gate',
    expected: `arm.${key} as it was in the run (${was})`,
    found: value,
    fix: `${fixedNames.join(', ')} decide what was measured, so only a new run can change them.`,
  });
}

async function usableDirections(run: RunDirectory, cadence: number, original: number): Promise<StoredDirection[]> {
  const stored = await readDirections(run);
  if (cadence === 0) return stored.slice(0, 1);
  if (original === 0 ? cadence !== original : cadence % original !== 0) {
    throw complain(run, `a multiple of the run's arm.refreshEvery (${original}), or 0`, `${cadence}`);
  }
  return stored.filter(({ update }) => (update - 1) % cadence === 0);
}

function complain(run: RunDirectory, expected: string, found: string, fix?: string): UserError {
  return new UserError({ call: `replay ${run.path}`, expected, found, fix });
}

export type Replay = Readonly<ReturnType<typeof summariseReplay>>;

export interface ReplayedRollout {
  readonly update: number;
  readonly before: readonly Route[];
  readonly after: readonly Route[];
}

/** `rollouts` has at least one. */
export function summariseReplay(
  rollouts: readonly ReplayedRollout[],
  granularity: 'rollout' | 'token',
  windowUpdates: number,
) {
  const byWindow = groupBy(rollouts, ({ update }) => Math.floor((update - 1) / windowUpdates));
  const { matrix, ...whole } = countWindow(rollouts);
  const windows = [...byWindow.values()].map((own) => {
    const { matrix: _matrix, ...window } = countWindow(own);
    return window;
  });
  return { ...whole, granularity, matrix, windows };
}

function countWindow(rollouts: readonly ReplayedRollout[]) {
  const counts = tableOf(() => ({ keep: 0, absorb: 0, route: 0 }));
  for (const { before, after } of rollouts) {
    before.forEach((was, i) => {
      counts[was][after[i]] += 1;
    });
  }
  const before = tableOf((was) => routes.reduce((sum, is) => sum + counts[was][is], 0));
  return {
    from: rollouts[0].update,
    to: rollouts[rollouts.length - 1].update,
    rollouts: rollouts.length,
    decisions: routes.reduce((sum, was) => sum + before[was], 0),
    agree: routes.reduce((sum, route) => sum + counts[route][route], 0),
    before,
    after: tableOf((is) => routes.reduce((sum, was) => sum + counts[was][is], 0)),
    matrix: counts,
  };
}

function tableOf<T>(value: (route: Route) => T): Record<Route, T> {
  return { keep: value('keep'), absorb: value('absorb'), route: value('route') };
}
