/**
 * The gate: one score, two ordered cuts (docs/science.md, section 5). score ≤ low → keep, ≥ high → route, else absorb. With
 * `quantile` calibration the cuts are quantiles `keepTail` and 1 − `tail` of the scores of the run's last `bufferRows` rows,
 * recency-weighted; everything is absorbed until `warmupRows` scores are in. With `pairs` calibration the cuts are the mean
 * scores of the clean and of the hack pairs. If low is not below high, everything is absorbed. The gate sees numbers: never
 * text, rewards or labels.
 */
import type { Features, Route } from '../adapters/index.ts';
import { DeviceError } from '../base/index.ts';
import { average, weightedQuantile } from '../stats/index.ts';
import { type BufferState, FeatureBuffer } from './buffer.ts';
import { type Direction, type DirectionQuality, judgeDirection, type ScoreKind, scoreFeatures } from './direction.ts';

export interface GateSettings {
  readonly calibration: 'quantile' | 'pairs';
  readonly score: ScoreKind;
  /** Share of the scores in the upper tail, which are routed. */
  readonly tail: number;
  /** Share of the scores in the lower tail, which are kept; null: the same as `tail`. */
  readonly keepTail: number | null;
  /** Half-life in rows; null: no decay. */
  readonly halfLife: number | null;
  readonly bufferRows: number;
  /** Number of scores needed before anything is kept or routed. */
  readonly warmupRows: number;
}

export interface GateDecision {
  readonly scores: Float64Array;
  readonly routes: readonly Route[];
  /** The cuts; null while everything is absorbed. */
  readonly cuts: { readonly low: number; readonly high: number } | null;
  readonly bufferRows: number;
}

export interface GateState {
  readonly buffer: BufferState;
  readonly direction: Float32Array;
  readonly pairCuts: { readonly low: number; readonly high: number } | null;
}

export class Gate {
  readonly settings: GateSettings;
  readonly #buffer: FeatureBuffer;
  #direction: Direction;
  /** Mean scores of the clean and the hack pairs under the current direction. */
  #pairCuts: GateState['pairCuts'] = null;

  constructor(settings: GateSettings, direction: Direction) {
    this.settings = settings;
    this.#buffer = new FeatureBuffer(settings.bufferRows);
    this.#direction = direction;
  }

  get direction(): Direction {
    return this.#direction;
  }

  get pairCuts(): GateState['pairCuts'] {
    return this.#pairCuts;
  }

  /** Takes over a direction, and the mean scores of the pairs under it, from an earlier gate. */
  point(direction: Float32Array, pairCuts: GateState['pairCuts']): void {
    this.#direction = { ...this.#direction, data: direction };
    this.#pairCuts = pairCuts;
  }

  /** Sets the direction (for a placebo, the old one again) and returns how well it separates the pairs. */
  refresh(direction: Direction, hack: Features, clean: Features): DirectionQuality {
    this.#direction = direction;
    const hackScores = scoreFeatures(hack, direction, this.settings.score);
    const cleanScores = scoreFeatures(clean, direction, this.settings.score);
    this.#pairCuts = { low: average(cleanScores), high: average(hackScores) };
    return judgeDirection(hackScores, cleanScores);
  }

  decide(features: Features): GateDecision {
    const scores = scoreFeatures(features, this.#direction, this.settings.score);
    const bad = scores.findIndex((score) => !Number.isFinite(score));
    if (bad >= 0) {
      throw new DeviceError({ call: 'gate', expected: 'finite scores', found: `${scores[bad]} for row ${bad}` });
    }
    this.#buffer.add(features);
    const cuts = this.#cuts();
    return { scores, cuts, routes: Array.from(scores, (score) => routeOf(score, cuts)), bufferRows: this.#buffer.size };
  }

  #cuts(): GateDecision['cuts'] {
    const { calibration, tail, keepTail, halfLife, score, warmupRows } = this.settings;
    if (calibration === 'pairs') {
      return this.#pairCuts !== null && this.#pairCuts.low < this.#pairCuts.high ? this.#pairCuts : null;
    }
    if (this.#buffer.size < Math.max(1, warmupRows)) return null;
    const scores = this.#buffer.scores(this.#direction, score);
    const weights = this.#buffer.weights(halfLife);
    const low = weightedQuantile(scores, weights, keepTail ?? tail);
    const high = weightedQuantile(scores, weights, 1 - tail);
    return low < high ? { low, high } : null;
  }

  get state(): GateState {
    return { buffer: this.#buffer.state, direction: this.#direction.data, pairCuts: this.#pairCuts };
  }

  restore({ buffer, direction, pairCuts }: GateState): void {
    this.#buffer.restore(buffer);
    this.point(direction, pairCuts);
  }
}

export function routeOf(score: number, cuts: GateDecision['cuts']): Route {
  if (cuts === null) return 'absorb';
  if (score <= cuts.low) return 'keep';
  return score >= cuts.high ? 'route' : 'absorb';
}
