/**
 * Offline gate replay: the routes that another gate would have chosen over the stored features of a run, and how they differ
 * from what was chosen. Nothing is trained again: the rollouts are those that the original gate's policy sampled, so this is a
 * counterfactual on the same rollouts.
 */

import type { Route } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { Gate, haarDirection } from '../gates/index.ts';
import { gateArm, gateSettings, gateSettingsOf, massMatched, type RoutingArm, type Seen } from '../grpo/index.ts';
import { damagedFile } from './checksums.ts';
import { checkConfig, readConfig } from './config.ts';
import type { RunDirectory } from './directory.ts';
import type { RolloutRow } from './ledger.ts';
import { readDirections, readFeatures, readRollouts, type StoredDirection } from './read.ts';
import type { ConfigParts } from './schema.ts';

export const routes = ['keep', 'absorb', 'route'] as const satisfies readonly Route[];
export type RouteTable<T> = Readonly<Record<Route, T>>;

export interface ReplayWindow {
  /** First and last update. */
  readonly from: number;
  readonly to: number;
  readonly rollouts: number;
  /** Number of rollouts that have the same route in both. */
  readonly agree: number;
  readonly before: RouteTable<number>;
  readonly after: RouteTable<number>;
}

export interface Replay extends ReplayWindow {
  /** matrix[before][after] is a number of rollouts. */
  readonly matrix: RouteTable<RouteTable<number>>;
  readonly windows: readonly ReplayWindow[];
}

export interface ReplayOptions {
  /** Changes to the gate's keys, such as `tail=0.2`. */
  readonly gate: readonly string[];
  /** Seed of a random direction; default: the run's own seed. */
  readonly seed?: number;
  readonly windowUpdates: number;
}

interface ReplayedRow {
  readonly update: number;
  readonly before: Route;
  readonly after: Route;
}

export async function replayGate(
  run: RunDirectory,
  { gate, seed, windowUpdates }: ReplayOptions,
  parts: ConfigParts,
): Promise<Replay> {
  const { arm, point } = openReplayArm(run, gate, seed, parts);
  const features = readFeatures(run);
  const { modules, rank } = run.readManifest().features;
  const width = modules.length * rank;
  const replayed: ReplayedRow[] = [];
  for await (const rows of storedUpdates(run)) {
    const [{ update }] = rows;
    point(update);
    const data = new Float32Array(rows.length * width);
    rows.forEach(({ featureRow }, i) => {
      expectFeatureRow(run, featureRow ?? 0, features.length / width);
      data.set(features.subarray((featureRow ?? 0) * width, ((featureRow ?? 0) + 1) * width), i * width);
    });
    const { routes } = await arm.route({
      step: update - 1,
      rollouts: rows.map(seenRow),
      advantages: Float32Array.from(rows, ({ advantage }) => advantage),
      features: { rows: rows.length, modules: modules.length, rank, data },
    });
    rows.forEach(({ route }, i) => {
      replayed.push({ update, before: route as Route, after: routes[i][0] });
    });
  }
  if (replayed.length === 0) throw complain(run, 'stored features of rollouts', 'none');
  return summarise(replayed, windowUpdates);
}

/** Refuses a row that features.f32 does not have. */
function expectFeatureRow(run: RunDirectory, row: number, rows: number): void {
  if (row < rows) return;
  throw damagedFile(run.file('features.f32'), `at least ${row + 1} rows, as many as the rollouts name`, `${rows}`);
}

function seenRow({ id, update, group, member, sampled, truncated, tokens }: RolloutRow): Seen {
  const state = sampled === 'deployed' ? 'deployed' : 'full';
  return { id, step: update - 1, group, member, sampled: state, truncated, length: tokens, text: null };
}

/** The rows that have features, one update at a time. */
async function* storedUpdates(run: RunDirectory): AsyncGenerator<RolloutRow[]> {
  let rows: RolloutRow[] = [];
  for await (const row of readRollouts(run)) {
    if (row.featureRow === null) continue;
    if (rows.length > 0 && rows[0].update !== row.update) {
      yield rows;
      rows = [];
    }
    rows.push(row);
  }
  if (rows.length > 0) yield rows;
}

/** Keys that decide what was measured; a replay cannot change them. */
const fixedKeys = ['kind', 'granularity', 'standardise', 'generatedPairs'] as const;

function openReplayArm(
  run: RunDirectory,
  gate: readonly string[],
  haarSeed: number | undefined,
  parts: ConfigParts,
): { arm: RoutingArm; point: (update: number) => void } {
  const { config: original, features } = run.readManifest();
  const before = gateSettingsOf(original.arm);
  if (before === null) throw complain(run, 'a run with a gate', `arm ${original.arm.kind}`);
  if (before.granularity === 'token') throw complain(run, 'one score per rollout', 'a gate that decides by token');
  for (const term of gate) expectChangeable(term, before);
  const settings = gate.map((term) => `arm.${term}`);
  const raw = readConfig(null, settings, { config: original, source: run.path }, '--gate');
  const { config } = checkConfig(raw, parts);
  const { seed } = config;
  const arm = gateSettingsOf(config.arm);
  if (arm === null) throw complain(run, 'a gate', `arm ${config.arm.kind}`);
  const random = arm.placebo === 'haar' && (before.placebo !== 'haar' || haarSeed !== undefined);
  if (arm.calibration === 'pairs' && (random || arm.score !== before.score)) {
    throw complain(
      run,
      'scores of the pairs under this direction and score',
      'none stored',
      'Use quantile calibration.',
    );
  }
  const own = new Gate(gateSettings(arm), haarDirection(features.modules.length, features.rank, haarSeed ?? seed));
  const options = { gate: own, kind: arm.kind, granularity: arm.granularity, refreshEvery: null };
  const inner = gateArm({
    ...options,
    rebuild: () => Promise.reject(new RangeError('nothing is rebuilt in a replay')),
  });
  const directions = random ? [] : usableDirections(run, arm.refreshEvery, before.refreshEvery);
  return {
    arm: arm.placebo === 'mass-matched' ? massMatched(inner, seed) : inner,
    point(update) {
      const stored = directions.findLast((direction) => direction.update <= update);
      if (stored !== undefined) own.point(stored.direction, stored.pairCuts);
      else if (!random) throw complain(run, `a direction stored for update ${update}`, 'none');
    },
  };
}

/** Refuses what is no change of a key, and changes of keys that a replay cannot change. */
function expectChangeable(term: string, before: object): void {
  const equals = term.indexOf('=');
  if (equals < 1) throw new UserError({ call: '--gate', expected: 'key=value', found: term });
  const [key, value] = [term.slice(0, equals).trim(), term.slice(equals + 1).trim()];
  const fixed = fixedKeys.find((name) => name === key);
  const was = Object.entries(before).find(([name]) => name === fixed)?.[1];
  if (fixed === undefined || value === `${was}` || value === JSON.stringify(was)) return;
  throw new UserError({
    call: '--gate',
    expected: `arm.${key} as it was in the run (${was})`,
    found: value,
    fix: `${fixedKeys.join(', ')} decide what was measured, so only a new run can change them.`,
  });
}

/** The stored directions that a gate with this cadence would have had. */
function usableDirections(run: RunDirectory, cadence: number, original: number): StoredDirection[] {
  const stored = readDirections(run);
  if (cadence === 0) return stored.slice(0, 1);
  if (original === 0 ? cadence !== original : cadence % original !== 0) {
    throw complain(run, `a multiple of the run's arm.refreshEvery (${original}), or 0`, `${cadence}`);
  }
  return stored.filter(({ update }) => (update - 1) % cadence === 0);
}

function complain(run: RunDirectory, expected: string, found: string, fix?: string): UserError {
  return new UserError({ call: `replay ${run.path}`, expected, found, ...(fix === undefined ? {} : { fix }) });
}

function summarise(rows: readonly ReplayedRow[], windowUpdates: number): Replay {
  const of = (before: Route, after: Route): number =>
    rows.filter((row) => row.before === before && row.after === after).length;
  const matrix = tableOf((before) => tableOf((after) => of(before, after)));
  const byWindow = new Map<number, ReplayedRow[]>();
  for (const row of rows) {
    const index = Math.floor((row.update - 1) / windowUpdates);
    byWindow.set(index, [...(byWindow.get(index) ?? []), row]);
  }
  return { ...windowOf(rows), matrix, windows: [...byWindow.values()].map(windowOf) };
}

function windowOf(rows: readonly ReplayedRow[]): ReplayWindow {
  return {
    from: rows[0].update,
    to: rows[rows.length - 1].update,
    rollouts: rows.length,
    agree: rows.filter(({ before, after }) => before === after).length,
    before: tableOf((route) => rows.filter(({ before }) => before === route).length),
    after: tableOf((route) => rows.filter(({ after }) => after === route).length),
  };
}

function tableOf<T>(value: (route: Route) => T): RouteTable<T> {
  return { keep: value('keep'), absorb: value('absorb'), route: value('route') };
}
