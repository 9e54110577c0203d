/**
 * The gate: one score, two ordered cuts (docs/science.md, section 5). score ≤ low → keep, ≥ high → route, else absorb. The cuts come
 * from the scores of the run's last `bufferRows` rollouts, recency-weighted (`quantile`, `otsu`), and everything is absorbed until
 * `warmupRows` rollouts are in; or they are the mean scores of the clean and of the hack pairs (`pairs`). Without cuts in order
 * everything is absorbed. A gate by token has a score and a route for every token, and buffers some tokens of each rollout. The gate
 * sees numbers, among them advantages: never text, rewards or labels.
 */
import type { Features, Route } from '../adapters/index.ts';
import { DeviceError } from '../base/index.ts';
import { average } from '../stats/index.ts';
import { type BufferState, FeatureBuffer } from './buffer.ts';
import { type Cuts, otsuSplit, quantileCuts, splitCuts, type Tails } from './calibration.ts';
import {
  type Direction,
  type DirectionQuality,
  judgeDirection,
  type ScoreKind,
  scoreFeatures,
  scoreRows,
} from './direction.ts';
import { mixtureSplit } from './mixture.ts';

export interface GateSettings extends Tails {
  readonly calibration: 'quantile' | 'otsu' | 'mixture' | 'pairs';
  readonly score: ScoreKind;
  /** `praised`: what the low cut keeps is kept only with a positive advantage, and absorbed otherwise. */
  readonly keepOnly: 'any' | 'praised';
  /** Half-life in rollouts; null: no decay. */
  readonly halfLife: number | null;
  /** The most rollouts in the buffer. */
  readonly bufferRows: number;
  /** Number of rollouts needed before anything is kept or routed. */
  readonly warmupRows: number;
  /** The most tokens of a rollout that go into the buffer of a gate by token; null: a rollout has one row. */
  readonly bufferTokens: number | null;
}

/** What a gate keeps of a rollout's rows of features: the scores of all, and the rows that go into the buffer. */
export interface CondensedRows {
  readonly scores: Float64Array;
  readonly meanCosine: number;
  readonly kept: Float32Array;
}

export interface GateDecision {
  /** The mean score of each rollout's rows. */
  readonly scores: readonly number[];
  /** For each rollout the routes of its rows. */
  readonly routes: readonly (readonly Route[])[];
  /** The cuts; null while everything is absorbed. */
  readonly cuts: Cuts | null;
  /** Number of rollouts in the buffer. */
  readonly bufferRows: number;
  /** Mean over the rollouts of their rows' mean cosine with the direction; null without rollouts. */
  readonly meanCosine: number | null;
}

export interface GateState {
  readonly buffer: BufferState;
  readonly direction: Float32Array;
  readonly pairCuts: Cuts | null;
}

export class Gate {
  readonly settings: GateSettings;
  readonly #buffer: FeatureBuffer;
  #direction: Direction;
  /** Mean scores of the clean and the hack pairs under the current direction. */
  #pairCuts: Cuts | null = null;
  /** The cuts of the last update. */
  #cuts: Cuts | null = null;

  constructor(settings: GateSettings, direction: Direction) {
    this.settings = settings;
    this.#buffer = new FeatureBuffer(settings.bufferRows, direction.data.length);
    this.#direction = direction;
  }

  get direction(): Direction {
    return this.#direction;
  }

  get pairCuts(): Cuts | null {
    return this.#pairCuts;
  }

  /** Takes over a direction, and the mean scores of the pairs under it, from an earlier gate. */
  point(direction: Float32Array, pairCuts: Cuts | null): void {
    this.#direction = { ...this.#direction, data: direction };
    this.#pairCuts = pairCuts;
  }

  /**
   * Sets the direction (for a placebo, the old one again) and returns how well it separates the pairs. A gate by token is given the mean
   * scores of the pairs' tokens; otherwise the pairs' own scores are the cuts.
   */
  refresh(direction: Direction, hack: Features, clean: Features, pairCuts: Cuts | null = null): DirectionQuality {
    this.#direction = direction;
    const hackScores = scoreFeatures(hack, direction, this.settings.score);
    const cleanScores = scoreFeatures(clean, direction, this.settings.score);
    this.#pairCuts = pairCuts ?? { low: average(cleanScores), high: average(hackScores) };
    return judgeDirection(hackScores, cleanScores);
  }

  /** Scores the rows of one rollout and copies those that go into the buffer, so that the others can be dropped. */
  condense({ data }: Pick<Features, 'data'>): CondensedRows {
    const width = this.#direction.data.length;
    const scored = scoreRows(data, this.#direction.data);
    const { score, bufferTokens } = this.settings;
    const kept = evenlySpaced(scored.length, bufferTokens ?? scored.length);
    const rows = new Float32Array(kept.length * width);
    kept.forEach((row, i) => {
      rows.set(data.subarray(row * width, (row + 1) * width), i * width);
    });
    return {
      scores: this.#rounded(Float64Array.from(scored, (row) => row[score])),
      meanCosine: average(scored.map(({ cosine }) => cosine)),
      kept: rows,
    };
  }

  /** Sets the cuts of an update by its rollouts and those before. */
  calibrate(rollouts: readonly CondensedRows[]): this {
    rollouts.forEach(({ scores }, i) => {
      const bad = scores.find((score) => !Number.isFinite(score));
      if (bad === undefined) return;
      throw new DeviceError({ call: 'gate', expected: 'finite scores', found: `${bad} for rollout ${i}` });
    });
    this.#buffer.add(rollouts.map(({ kept }) => kept));
    this.#cuts = this.#findCuts();
    return this;
  }

  /**
   * Whether a rollout as a whole is taken for a hack: all of its rows are to be routed, or a larger share of them than of the buffer's rows.
   * A rollout of one row is flagged if it is routed. No advantage is needed for that.
   */
  flag(rollouts: readonly CondensedRows[]): boolean[] {
    const { high } = this.#cuts ?? { high: Number.POSITIVE_INFINITY };
    const usual = this.settings.bufferTokens === null ? 0 : this.#bufferedAbove(high);
    return rollouts.map(({ scores }) => {
      const share = scores.filter((score) => score >= high).length / scores.length;
      return share === 1 || share > usual;
    });
  }

  /** Chooses the routes of an update's rollouts, each with its advantage, by the cuts of that update. */
  route(rollouts: readonly CondensedRows[], advantages: ArrayLike<number>): GateDecision {
    const cuts = this.#cuts;
    const { keepOnly, keepTail } = this.settings;
    const keeps = (i: number): boolean => keepTail !== 0 && (keepOnly === 'any' || advantages[i] > 0);
    return {
      scores: rollouts.map(({ scores }) => sum(scores) / scores.length),
      cuts,
      routes: rollouts.map(({ scores }, i) => Array.from(scores, (score) => routeOf(score, cuts, keeps(i)))),
      bufferRows: this.#buffer.size,
      meanCosine: rollouts.length === 0 ? null : average(rollouts.map(({ meanCosine }) => meanCosine)),
    };
  }

  #findCuts(): Cuts | null {
    const { calibration, halfLife, warmupRows } = this.settings;
    if (calibration === 'pairs') {
      return this.#pairCuts !== null && this.#pairCuts.low < this.#pairCuts.high ? this.#pairCuts : null;
    }
    if (this.#buffer.size < Math.max(1, warmupRows)) return null;
    const scores = this.#bufferScores();
    const weights = this.#buffer.weights(halfLife);
    if (calibration === 'quantile') return quantileCuts(scores, weights, this.settings);
    const split = (calibration === 'otsu' ? otsuSplit : mixtureSplit)(scores, weights);
    return splitCuts(split, scores, weights, this.settings);
  }

  /** The weighted share of the buffer's rows that score so high. */
  #bufferedAbove(high: number): number {
    const weights = this.#buffer.weights(this.settings.halfLife);
    return sum(this.#bufferScores().map((score, i) => (score >= high ? weights[i] : 0))) / sum(weights);
  }

  #bufferScores(): Float64Array {
    return this.#rounded(this.#buffer.scores(this.#direction, this.settings.score));
  }

  /** Token scores have the precision with which they are stored, so that a replay meets the same numbers. */
  #rounded(scores: Float64Array): Float64Array {
    return this.settings.bufferTokens === null ? scores : scores.map(Math.fround);
  }

  get state(): GateState {
    return { buffer: this.#buffer.state, direction: this.#direction.data, pairCuts: this.#pairCuts };
  }

  restore({ buffer, direction, pairCuts }: GateState): void {
    this.#buffer.restore(buffer);
    this.point(direction, pairCuts);
  }
}

const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);

/** `keeps`: whether what the low cut would keep may be kept. */
export function routeOf(score: number, cuts: Cuts | null, keeps = true): Route {
  if (cuts === null) return 'absorb';
  if (score <= cuts.low) return keeps ? 'keep' : 'absorb';
  return score >= cuts.high ? 'route' : 'absorb';
}

/** `count` of the indices below `length`, at even distances; all of them if there are not more. */
export function evenlySpaced(length: number, count: number): number[] {
  if (length <= count) return Array.from({ length }, (_, i) => i);
  return Array.from({ length: count }, (_, i) => Math.floor(((i + 0.5) * length) / count));
}
