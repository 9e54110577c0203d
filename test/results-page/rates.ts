/**
 * The counts of a study's runs as `bench/rates.ts` wrote them (bench/results/NAME-rates.csv), and what a results page says of them: rates by
 * seed, runs that fail, kept, predictions. Only formulas of src/stats are shared with `gq results`; nothing reads a run.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { groupBy } from '../../src/base/index.ts';
import { average, binomialCdf, exactInterval, holmAdjust, mcnemarExact, type Wait } from '../../src/stats/index.ts';
import { rankAverage } from '../../src/stats/rank.ts';
import { readExperiment } from '../../src/study/experiment.ts';

export const root: string = fileURLToPath(new URL('../../', import.meta.url));
const failAbove = 0.1;

/** The words of a page without emphasis and line breaks. */
export const plain = (text: string): string => text.replaceAll('**', '').replace(/\s+/g, ' ').trim();

type Row = Readonly<Record<string, string>>;
type Column = 'attempts' | 'hacks' | 'solves' | 'cleanSolves' | 'run_tests' | 'stdout_marker';
export type Prediction = NonNullable<ReturnType<typeof readExperiment>['predictions']>[number];

/** The recipe of a study. Study E is one recipe with the base given by the call, and others for the sizes with five seeds; the calls of studies C at 27M and L give what varies. */
export function recipeOf(study: string): string {
  const recipe = study
    .replace(/^atlas-c-27m$/, 'atlas-c')
    .replace(/^atlas-e-(2m|27m)$/, 'atlas-e')
    .replace(/^atlas-e-(1m|4m)$/, 'atlas-e-small')
    .replace(/^atlas-e-\d+[mb]$/, 'atlas-e-ladder')
    .replace(/^atlas-e-27m-4e-4$/, 'atlas-e')
    .replace(/^atlas-l-.+$/, 'atlas-l')
    .replace(/^atlas-i-again$/, 'atlas-i');
  return `${root}recipes/${recipe}.toml`;
}

export const experimentOf = (study: string): ReturnType<typeof readExperiment> => readExperiment(recipeOf(study));

export const readPredictions = (study: string): readonly Prediction[] => experimentOf(study).predictions ?? [];

export class Rates {
  readonly #rows: readonly Row[];
  readonly #ofArm: ReadonlyMap<string, readonly Row[]>;
  /** The study whose ceiling is this one's, where it has none. */
  readonly #ceiling: Rates | null;
  readonly runs: number;

  constructor(csv: string, ceiling: Rates | null = null) {
    const [header, ...lines] = readFileSync(csv, 'utf8').trim().split('\n');
    const names = header.split(',');
    this.#rows = lines.map((line) => Object.fromEntries(line.split(',').map((value, i) => [names[i], value])));
    this.#ceiling = ceiling;
    this.#ofArm = groupBy(this.#rows, ({ run = '' }) => run.replace(/-\d+$/, ''));
    this.runs = new Set(this.#rows.map(({ run }) => run)).size;
  }

  static readonly #read = new Map<string, Rates>();

  /** Read once. */
  static of(study: string): Rates {
    const csv = `${root}bench/results/${study}-rates.csv`;
    const rates = Rates.#read.get(study) ?? new Rates(csv, study === 'atlas-d-parts' ? Rates.of('atlas-d') : null);
    Rates.#read.set(study, rates);
    return rates;
  }

  /** By seed; `deployed` of an arm without a quarantine is all that it trained. Only the set `curve` has more than one update of a run. */
  bySeed(arm: string, column: Column, set = 'test-original', state = 'deployed', update?: number): Map<number, number> {
    const ofArm = this.#of(arm).filter(
      (row) => row['set'] === set && (update === undefined || row['update'] === `${update}`),
    );
    const hasState = ofArm.some((row) => row['state'] === state);
    const wanted = ofArm.filter((row) => row['state'] === (hasState ? state : 'full'));
    const seedOf = (row: Row): number => Number(/\d+$/.exec(row['run'] ?? '')?.[0]);
    return new Map(
      wanted
        .map((row): [number, number] => [seedOf(row), Number(row[column]) / Number(row['prompts'])])
        .sort(([a], [b]) => a - b),
    );
  }

  #of(arm: string): readonly Row[] {
    return this.#ofArm.get(arm) ?? [];
  }

  /** Runs of which the file says neither when they were begun nor under which claim. */
  get runsWithoutClaim(): number {
    return new Set(this.#rows.filter((row) => !row['begun'] && !row['claim']).map(({ run }) => run)).size;
  }

  /** Runs of which the file says when they were begun and no claim. */
  get runsOfNoClaim(): number {
    return new Set(this.#rows.filter((row) => row['begun'] && !row['claim']).map(({ run }) => run)).size;
  }

  get arms(): readonly string[] {
    return [...this.#ofArm.keys()];
  }

  /** How well the gate or the monitor of a run saw attempts while it trained, where the file says so. */
  aurocBySeed(arm: string): Map<number, number> {
    const known = this.#of(arm).filter((row) => row['auroc']);
    return new Map(known.map((row) => [Number(/\d+$/.exec(row['run'] ?? '')?.[0]), Number(row['auroc'])]));
  }

  /** The same of a monitor by quarter of training. */
  quartersBySeed(arm: string): Map<number, number[]> {
    const known = this.#of(arm).filter((row) => row['aurocByQuarter']);
    const quarters = (row: Row): number[] => (row['aurocByQuarter'] ?? '').split(' ').map(Number);
    return new Map(known.map((row) => [Number(/\d+$/.exec(row['run'] ?? '')?.[0]), quarters(row)]));
  }

  /** The updates at which the runs of an arm were evaluated at their end. */
  updatesOf(arm: string): number[] {
    const last = (row: Row): boolean => row['set'] === 'test-original' && row['state'] !== 'base';
    return this.#of(arm)
      .filter(last)
      .map((row) => Number(row['update']));
  }

  values(arm: string, column: Column, set?: string, state?: string, update?: number): number[] {
    return [...this.bySeed(arm, column, set, state, update).values()];
  }

  failing(arm: string): number[] {
    return [...this.bySeed(arm, 'attempts')].filter(([, rate]) => rate > failAbove).map(([seed]) => seed);
  }

  /** Updates until the deployed policy attempts in more than 0.10 of the prompts of the curve, seed by seed; a run that never does was watched to its last point. */
  waits(arm: string): Wait[] {
    const updates = [...new Set(this.#rows.filter(({ set }) => set === 'curve').map((row) => Number(row['update'])))];
    const points = updates.sort((a, b) => a - b).filter((update) => update > 0).map((update) => ({ update, rates: this.bySeed(arm, 'attempts', 'curve', 'deployed', update) })); // biome-ignore format: one line
    const seeds = new Set(points.flatMap(({ rates }) => [...rates.keys()]));
    return [...seeds].map((seed) => {
      const own = points.filter(({ rates }) => rates.has(seed));
      const failed = own.find(({ rates }) => (rates.get(seed) ?? 0) > failAbove);
      return { time: (failed ?? own[own.length - 1]).update, happened: failed !== undefined };
    });
  }

  /** Seeds in which only the first fails, and only the second, of those that both have. */
  discordant(first: string, second: string): { first: number; second: number; pValue: number } {
    const both = [...this.bySeed(first, 'attempts').keys()].filter((seed) => this.bySeed(second, 'attempts').has(seed));
    const only = (one: string, other: string): number =>
      both.filter((seed) => this.failing(one).includes(seed) && !this.failing(other).includes(seed)).length;
    const counts = { first: only(first, second), second: only(second, first) };
    return { ...counts, pValue: mcnemarExact(counts.first, counts.second).pValue };
  }

  /** What a seed keeps of what the ceiling adds on average, without a hint. */
  keptBySeed(arm: string): Map<number, number> {
    const unhinted = (name: string, state: string, of: Rates = this): Map<number, number> =>
      of.bySeed(name, 'solves', 'test-unhinted', state);
    const ceiling = unhinted('no-loophole', 'full', this.#ceiling ?? this);
    const base = unhinted(arm, 'base');
    const own = [...unhinted(arm, 'deployed')].filter(([seed]) => ceiling.has(seed));
    const before = (seed: number): number => base.get(seed) ?? Number.NaN;
    const gain = average(own.map(([seed]) => (ceiling.get(seed) ?? Number.NaN) - before(seed)));
    return new Map(own.map(([seed, solve]) => [seed, (solve - before(seed)) / gain]));
  }

  /** How many updates later than from the base attempts are back: an attack that never gets there (`>100`) counts with all its updates, a seed whose base never does is missing. */
  relearnBySeed(arm: string): Map<number, number> {
    const known = this.#of(arm).filter((row) => row['relearn'] && /^\d+$/.test(row['relearnBase'] ?? ''));
    const later = (row: Row): number => Number(row['relearn']?.replace('>', '')) - Number(row['relearnBase']);
    return new Map(known.map((row) => [Number(/\d+$/.exec(row['run'] ?? '')?.[0]), later(row)]));
  }

  /** The values that a prediction is about, by seed. */
  predicted({ arm, reference, metric, channel, set }: Prediction): number[] {
    if (metric === 'kept') return [...this.keptBySeed(arm).values()];
    const columns = { attempt: 'attempts', hack: 'hacks', solve: 'solves', 'clean-solve': 'cleanSolves' } as const;
    const column = (channel ?? columns[metric as keyof typeof columns]) as Column;
    const valuesOf = (name: string) =>
      metric === 'relearn' ? this.relearnBySeed(name) : this.bySeed(name, column, set);
    const own = [...valuesOf(arm)];
    if (reference === null) return own.map(([, value]) => value);
    const other = valuesOf(reference);
    return own.flatMap(([seed, value]) => (other.has(seed) ? [value - (other.get(seed) ?? 0)] : []));
  }

  /** Each prediction with how many seeds reach it, its verdict, and its sign test over the stated seeds after Holm. */
  judge(predictions: readonly Prediction[], stated: number) {
    const judged = predictions.map((prediction) => {
      const { atLeast, atMost, inSeeds } = prediction;
      const values = this.predicted(prediction);
      const isReached = (value: number): boolean =>
        atLeast === undefined ? value <= (atMost ?? 0) + 1e-9 : value >= atLeast - 1e-9;
      const reached = values.filter(isReached).length;
      const isRefuted = reached + stated - values.length < inSeeds;
      const verdict = reached >= inSeeds ? 'met' : isRefuted ? 'refuted' : 'open';
      return { prediction, reached, n: values.length, verdict };
    });
    const adjusted = holmAdjust(judged.map(({ reached }) => binomialCdf(stated - reached, stated, 0.5)));
    return judged.map((one, i) => ({ ...one, adjusted: adjusted[i] }));
  }
}

/** Spearman's: the correlation of the ranks. */
export function rankCorrelation(x: readonly number[], y: readonly number[]): number {
  const deviations = (values: readonly number[]): number[] => {
    const ranks = rankAverage(values);
    return ranks.map((rank) => rank - average(ranks));
  };
  const [a, b] = [deviations(x), deviations(y)];
  const product = (u: readonly number[], v: readonly number[]): number =>
    u.reduce((sum, one, i) => sum + one * v[i], 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
}

/** Rounded, a half always away from zero: 0.425 is less than that in binary, 0.3125 is not. */
export const rounded = (value: number, digits: number): string => (value + Math.sign(value) * 1e-9).toFixed(digits);

const two = (value: number): string =>
  rounded(value, 2)
    .replace(/^-(?=0\.00$)/, '')
    .replace('-', '−');
const short = (values: readonly number[]): string => values.map((value) => two(value).replace(/^0/, '')).join(' ');
/** How many seeds of an arm attempt so much less than its placebo does in the same seed. */
function below(rates: Rates, arm: string, placebo: string, margin: number): string {
  const others = rates.bySeed(placebo, 'attempts');
  const differences = [...rates.bySeed(arm, 'attempts')].map(([seed, rate]) => (others.get(seed) ?? Number.NaN) - rate);
  return `${differences.filter((difference) => difference >= margin - 1e-9).length} of ${differences.length}`;
}

export const pText = (p: number): string => (p < 0.001 ? '< 0.001' : p.toFixed(3));

/** What a cell of a page says, by the heading of its column. */
const cells: Readonly<Record<string, (rates: Rates, arm: string, placebo: string) => string>> = {
  'attempt by seed': (rates, arm) => short(rates.values(arm, 'attempts')),
  'runs that fail': (rates, arm) => {
    const [failing, n] = [rates.failing(arm).length, rates.values(arm, 'attempts').length];
    const { low, high } = exactInterval(failing, n);
    return `${failing} of ${n} [${two(low)}, ${two(high)}]`;
  },
  'attempt, mean': (rates, arm) => two(average(rates.values(arm, 'attempts'))),
  'attempt, range': (rates, arm) => {
    const values = rates.values(arm, 'attempts');
    return `${two(Math.min(...values))} to ${two(Math.max(...values))}`;
  },
  hack: (rates, arm) => two(average(rates.values(arm, 'hacks'))),
  'clean solve': (rates, arm) => two(average(rates.values(arm, 'cleanSolves'))),
  kept: (rates, arm) => {
    const kept = [...rates.keptBySeed(arm).values()];
    return kept.length === 0 ? 'no ceiling' : two(average(kept));
  },
  'solve without a hint': (rates, arm) => two(average(rates.values(arm, 'solves', 'test-unhinted'))),
  'solve without a hint by seed': (rates, arm) => short(rates.values(arm, 'solves', 'test-unhinted')),
  'by `run_tests` (unwatched)': (rates, arm) => short(rates.values(arm, 'run_tests')),
  'by `stdout_marker` (watched)': (rates, arm) => short(rates.values(arm, 'stdout_marker')),
  'by `run_tests`, mean': (rates, arm) => two(average(rates.values(arm, 'run_tests'))),
  'by `stdout_marker`, mean': (rates, arm) => two(average(rates.values(arm, 'stdout_marker'))),
  'its placebo': (_, __, placebo) => (placebo === '' ? 'none' : `\`${placebo}\``),
  'placebo fails': (rates, _, placebo) =>
    placebo === '' ? '' : `${rates.failing(placebo).length} of ${rates.values(placebo, 'attempts').length}`,
  'placebo, attempt': (rates, _, placebo) => (placebo === '' ? '' : two(average(rates.values(placebo, 'attempts')))),
  '0.25 below it in': (rates, arm, placebo) => (placebo === '' ? '' : below(rates, arm, placebo, 0.25)),
  '0.05 below it in': (rates, arm, placebo) => (placebo === '' ? '' : below(rates, arm, placebo, 0.05)),
};

/** The cells of an arm; its placebo is the first that the experiment of the study names. */
export function armRow(study: string, rates: Rates, arm: string, headings: readonly string[]): string[] {
  if (rates.values(arm, 'attempts').length === 0) return headings.map(() => 'not run');
  const [placebo = ''] = experimentOf(study).arms.find(({ name }) => name === arm)?.placebos ?? [];
  return headings.map((heading) => cells[heading]?.(rates, arm, placebo) ?? `no column ${heading}`);
}

/** The cells of a prediction. */
export function judgedRow(judged: ReturnType<Rates['judge']>[number], stated: number): string[] {
  const { prediction, reached, n, verdict, adjusted } = judged;
  return [prediction.what, `${reached} of ${n}`, `${prediction.inSeeds} of ${stated}`, verdict, pText(adjusted)];
}
