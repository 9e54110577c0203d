/**
 * A world whose answer is known: one class of prompts, and a policy of two numbers. An attempt pays Δ more than a wrong program; its
 * log-odds are h = h0 + h_d + h_q, of which the deployed block has h_d and the quarantine h_q. Everything between a reward and a gradient is
 * the lab's own: monitors and labels, what arms do about flags, gates with their directions, advantages, routes. Only the network is missing.
 */
import type { Features, Route } from '../../src/adapters/index.ts';
import { type RandomStream, randomStream } from '../../src/base/index.ts';
import { buildDirection, type DirectionOptions, Gate, haarDirection } from '../../src/gates/index.ts';
import { groupAdvantages } from '../../src/grpo/advantage.ts';
import {
  type Arm,
  type ArmTools,
  absorbAll,
  type GradedRollouts,
  gateArm,
  type Label,
  type Seen,
} from '../../src/grpo/index.ts';
import {
  blindMonitors,
  builtinCuts,
  builtinRemedies,
  gateSettings,
  gateSettingsOf,
  watchedArms,
} from '../../src/monitors/index.ts';
import { oracleArm, oracleMonitor } from '../../src/oracle/labels.ts';

const prompts = 64;
const group = 8;
const pairCount = 16;
export const featureRank = 6;

/** Parts of the instrument that a test replaces by broken ones. */
export interface Instrument {
  readonly advantages: typeof groupAdvantages;
  readonly direction: typeof buildDirection;
  readonly label: (label: Label) => Label;
}

export const soundInstrument: Instrument = {
  advantages: groupAdvantages,
  direction: buildDirection,
  label: (label) => label,
};

export interface WorldSettings {
  readonly seed: number;
  readonly updates: number;
  /** The arm's table in a config; `vanilla` has no quarantine, `absorb` absorbs everything. */
  readonly arm: { readonly kind: string; readonly [key: string]: unknown };
  /** What an attempt pays more than a wrong program; 0: the hint has no channel, and no attempt is ever recorded. */
  readonly gap: number;
  /** Share of programs that are correct, whatever else they do. */
  readonly solve: number;
  /** Size of what tells an attempt from other rollouts in the features, in deviations of their noise; its sign is that of the axis. */
  readonly signal: number;
  readonly instrument: Instrument;
}

export interface WorldEnd {
  /** Probability of an attempt as trained and deployed, after the last update. */
  readonly trained: number;
  readonly deployed: number;
  readonly deployedLogit: number;
  readonly quarantineLogit: number;
  /** Number of attempts that the grader recorded. */
  readonly attempts: number;
}

/** The log-odds of an attempt before training, and how far a unit of gradient moves them. */
export const startLogit: number = Math.log(0.02 / 0.98);
export const learningRate = 4;
const clip = 0.2;

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

interface Drawn extends Seen {
  readonly attempt: boolean;
  readonly correct: boolean;
}

export async function runWorld(settings: WorldSettings): Promise<WorldEnd> {
  const { updates, gap, solve, instrument } = settings;
  const known = new Map<string, Label>();
  const arm = await openWorldArm(settings, (id) => known.get(id) as Label);
  const hasQuarantine = arm.route !== undefined || settings.arm.kind === 'absorb';
  let [deployed, quarantine, attempts] = [0, 0, 0];
  for (let step = 0; step < updates; step++) {
    const full = sigmoid(startLogit + deployed + quarantine);
    const draws = randomStream(settings.seed, 'world', step);
    const rollouts = drawRollouts(step, draws, full, solve);
    for (const { id, attempt, correct, group: at } of rollouts) {
      const fired = gap > 0 && attempt;
      if (fired) attempts++;
      const markers = [at % 2 === 0 ? 'run_all' : 'check_all'];
      const own = {
        attempt: fired,
        correct,
        exploited: fired && !correct,
        problem: `${at}`,
        loopholes: ['x'],
        markers,
      };
      known.set(id, instrument.label(own));
    }
    const rewards = Float32Array.from(rollouts, ({ attempt, correct }) => (correct ? 3 : attempt ? gap : 0));
    const gradients = await learn(arm, {
      step,
      rollouts,
      rewards,
      settings,
      full,
      base: sigmoid(startLogit + deployed),
    });
    deployed += learningRate * gradients.deployed;
    if (hasQuarantine) quarantine += learningRate * gradients.quarantine;
    known.clear();
  }
  return {
    trained: sigmoid(startLogit + deployed + quarantine),
    deployed: sigmoid(startLogit + deployed),
    deployedLogit: deployed,
    quarantineLogit: quarantine,
    attempts,
  };
}

function drawRollouts(step: number, draws: RandomStream, full: number, solve: number): Drawn[] {
  return Array.from({ length: prompts * group }, (_, i) => ({
    id: `${step}-${i}`,
    step,
    group: Math.floor(i / group),
    member: i % group,
    sampled: 'full',
    truncated: false,
    length: 1,
    text: null,
    attempt: draws.uniformAt(2 * i) < full,
    correct: draws.uniformAt(2 * i + 1) < solve,
  }));
}

interface Update {
  readonly step: number;
  readonly rollouts: readonly Drawn[];
  readonly rewards: Float32Array;
  readonly settings: WorldSettings;
  /** Probability of an attempt as trained, and without the quarantine. */
  readonly full: number;
  readonly base: number;
}

/** The hooks of the arm in the order of the step, and the mean gradient of each block. */
async function learn(arm: Arm, { step, rollouts, rewards, settings, full, base }: Update) {
  const { instrument } = settings;
  const features = featuresOf(rollouts, settings, step);
  const seen = { step, rollouts, features: arm.sees.features === null ? null : features };
  const watched = arm.watch === undefined ? {} : { watched: await arm.watch({ ...seen, rewards }) };
  const learned = (await arm.reward?.({ ...seen, ...watched, rewards: rewards.slice() })) ?? rewards;
  const screening = (await arm.screen?.({ ...seen, ...watched, rewards: learned } as GradedRollouts)) ?? null;
  const { values, skipped } = instrument.advantages(learned, group, 'dr', screening);
  const trained = [...rollouts.keys()].filter((i) => !skipped[rollouts[i].group]);
  const picked = {
    step,
    rollouts: trained.map((i) => rollouts[i]),
    features: seen.features === null ? null : pickRows(features, trained),
    advantages: Float32Array.from(trained, (i) => values[i]),
    ...(watched.watched === undefined
      ? {}
      : { watched: { ...watched.watched, flagged: trained.map((i) => watched.watched.flagged[i]) } }),
  };
  const { routes } = (await arm.route?.(picked)) ?? absorbAll(trained.length);
  const sum = { deployed: 0, quarantine: 0 };
  trained.forEach((index, i) => {
    const [route] = routes[i];
    const gradient = gradientOf(rollouts[index].attempt, values[index], route, full, base);
    if (route !== 'route') sum.deployed += gradient;
    if (route !== 'keep') sum.quarantine += gradient;
  });
  const count = rollouts.length;
  return { deployed: sum.deployed / count, quarantine: sum.quarantine / count };
}

/** ∂/∂h of min(ρ A, clip(ρ) A): a kept rollout is learned without the quarantine that sampled it. */
function gradientOf(attempt: boolean, advantage: number, route: Route, full: number, base: number): number {
  const own = route === 'keep' ? base : full;
  const ratio = attempt ? own / full : (1 - own) / (1 - full);
  const clipped = advantage > 0 ? ratio > 1 + clip : ratio < 1 - clip;
  return clipped ? 0 : ratio * advantage * ((attempt ? 1 : 0) - own);
}

/** A row for each rollout: noise, and along a hidden axis whether it was an attempt. */
function featuresOf(rollouts: readonly Drawn[], { seed, signal, gap }: WorldSettings, step: number): Features {
  const noise = randomStream(seed, 'features', step);
  const shown = (attempt: boolean): number => (gap > 0 && attempt ? 1 : 0);
  return rowsOf(rollouts.length, (row, i) => Math.sign(signal || 1) * noise.normalAt(row * featureRank + i) + (i === 0 ? signal * shown(rollouts[row].attempt) : 0)); // biome-ignore format: one line
}

/** The pairs: the hack sides have the axis, the clean sides do not. */
export function pairRows({ seed, signal }: Pick<WorldSettings, 'seed' | 'signal'>, isHack: boolean): Features {
  const noise = randomStream(seed, ['pairs', isHack ? 1 : 0]);
  return rowsOf(pairCount, (row, i) => Math.sign(signal || 1) * noise.normalAt(row * featureRank + i) + (isHack && i === 0 ? signal : 0)); // biome-ignore format: one line
}

function rowsOf(rows: number, value: (row: number, i: number) => number): Features {
  const data = Float32Array.from({ length: rows * featureRank }, (_, at) => value(Math.floor(at / featureRank), at % featureRank)); // biome-ignore format: one line
  return { rows, modules: 1, rank: featureRank, data };
}

function pickRows({ modules, rank, data }: Features, rows: readonly number[]): Features {
  const width = modules * rank;
  const own = new Float32Array(rows.length * width);
  rows.forEach((row, i) => {
    own.set(data.subarray(row * width, (row + 1) * width), i * width);
  });
  return { rows: rows.length, modules, rank, data: own };
}

async function openWorldArm(settings: WorldSettings, labels: (id: string) => Label): Promise<Arm> {
  const { kind, ...keys } = settings.arm;
  const tools = { seed: settings.seed, labels } as unknown as ArmTools;
  const gate = gateSettingsOf(settings.arm);
  if (gate !== null) {
    const { mean, placebo, standardise, placeboSeed } = gate;
    if (placebo === 'mass-matched') throw new RangeError('no such placebo in this world');
    const own = new Gate(gateSettings(gate), haarDirection(1, featureRank, settings.seed));
    const options: DirectionOptions = { standardise, placebo, seed: placeboSeed ?? settings.seed };
    const [hack, clean] = [pairRows(settings, true), pairRows(settings, false)];
    own.refresh(settings.instrument.direction(hack, clean, options), hack, clean);
    const rebuild = () => Promise.reject(new RangeError('nothing is rebuilt'));
    return gateArm({ gate: own, kind: gate.kind, granularity: 'rollout', rebuild, refreshEvery: null, mean });
  }
  const definition = [
    ...watchedArms({ monitors: [...blindMonitors, oracleMonitor], cuts: builtinCuts, remedies: builtinRemedies }),
    oracleArm,
  ].find((each) => each.kind === kind);
  return definition === undefined ? { sees: { features: null, text: false } } : definition.open(keys, tools);
}
