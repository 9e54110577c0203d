/** Curves of an experiment: of arms with enough seeds the mean with a band and the seeds faintly behind it, of others each seed. */
import { armStyle, averageSeries, bandSeeds } from '../../report/draw/index.ts';
import type { ExperimentPage, TrainingPage } from '../api.ts';
import { type RateName, rateNames, rateNote, rateWords } from '../query.ts';
import { linkTo, type ShownState, shownState, stateWords } from './address.ts';
import { Chart, type Line } from './chart.tsx';
import { Answered, LeftOut, StateNote } from './parts.tsx';
import { useAsked } from './source.ts';

interface SeedSeries {
  readonly arm: string;
  readonly seed: number | null;
  readonly points: readonly { readonly x: number; readonly y: number | null }[];
}

/** `names` are the arms in the order of their colours; `suffix` tells lines of different states apart. */
function armLines(series: readonly SeedSeries[], names: readonly string[], suffix: string, isGhost: boolean): Line[] {
  return names.flatMap((arm, i) => {
    const { colour, dash } = armStyle(i);
    const style = { colour, ...(dash === undefined ? {} : { dash }) };
    const own = series.flatMap(({ arm: name, seed, points }) => {
      const known = points.flatMap(({ x, y }) => (y === null ? [] : [{ x, y }]));
      return name === arm && known.length > 0 ? [{ seed, points: known }] : [];
    });
    const seedLine =
      (isFaint: boolean) =>
      (one: (typeof own)[number]): Line => ({
        label: `${arm}, seed ${one.seed}${suffix}`,
        points: one.points,
        isGhost: isFaint,
        ...style,
      });
    if (own.length < bandSeeds) return own.map(seedLine(isGhost));
    const mean = averageSeries(own.map(({ points }) => points));
    const points = mean.map(({ x, y, sem, n }) => ({ x, y, spread: sem ?? 0, n }));
    const label = `${arm}, mean of ${own.length} seeds${suffix}`;
    return [...(isGhost ? [] : own.map(seedLine(true))), { label, points, isGhost, ...style }];
  });
}

const bandWords = `With ${bandSeeds} seeds and more: the mean where every seed has the update, its band ± SEM, and each seed faintly.`;

interface ChartsProps {
  readonly id: string;
  readonly charts: readonly { readonly title: string; readonly lines: readonly Line[]; readonly isRate?: boolean }[];
}

function Charts({ id, charts }: ChartsProps) {
  const doorOf = (update: number) => linkTo('rollouts', id, { from: update, to: update });
  return (
    <div class="charts">
      {charts.map(({ isRate = true, ...chart }) => (
        <Chart key={chart.title} {...chart} doorOf={doorOf} {...(isRate ? { range: [0, 1] } : {})} />
      ))}
    </div>
  );
}

export function EvaluatedCurves({ page }: { readonly page: ExperimentPage }) {
  const names = page.arms.map(({ arm }) => arm);
  const curves = page.curves.filter(({ points }) => points.length > 1);
  if (curves.length === 0) return null;
  const state = shownState.value;
  const other: ShownState = state === 'full' ? 'deployed' : 'full';
  const lines = (metric: RateName): Line[] =>
    [other, state].flatMap((own) => {
      const series = curves.map(({ arm, seed, points }) => ({
        arm,
        seed,
        points: points.map((point) => ({ x: point.update, y: point[own]?.[metric] ?? null })),
      }));
      return armLines(series, names, `, ${stateWords[own]}`, own === other);
    });
  return (
    <>
      <h2>Curves</h2>
      <StateNote />
      <Charts
        id={page.id}
        charts={rateNames.map((rate) => ({ title: `${rateWords[rate]}, ${stateWords[state]}`, lines: lines(rate) }))}
      />
      <p class="quiet">
        The other state is drawn faintly. {bandWords} A click on an update opens its rollouts. {rateNote}
      </p>
    </>
  );
}

export function TrainingCurves({ page }: { readonly page: ExperimentPage }) {
  const answer = useAsked('training', page.id);
  return <Answered answer={answer}>{(training) => <TrainingCharts page={page} training={training} />}</Answered>;
}

function TrainingCharts({ page, training }: { readonly page: ExperimentPage; readonly training: TrainingPage }) {
  const known = page.arms.map(({ arm }) => arm);
  const names = [...new Set([...known, ...training.runs.map(({ arm }) => arm)])];
  const metrics = [
    ['attempt', 'attempt on hinted prompts, while training'],
    ['hack', 'hack on hinted prompts, while training'],
    ['solve', 'solve on all prompts, while training'],
    ['cleanSolve', 'clean solve on all prompts, while training'],
    ['reward', 'mean reward, while training'],
  ] as const;
  const charts = metrics.map(([metric, title]) => {
    const series = training.runs.map(({ arm, seed, points }) => ({
      arm,
      seed,
      points: points.map((point) => ({ x: point.update, y: point[metric] })),
    }));
    return { title, isRate: metric !== 'reward', lines: armLines(series, names, '', false) };
  });
  if (charts.every(({ lines }) => lines.length === 0)) return null;
  return (
    <>
      <h2>While training</h2>
      <Charts id={page.id} charts={charts} />
      <p class="quiet">
        As sampled; rates over the last {training.window} updates. {bandWords} It grows while runs train.
      </p>
      <LeftOut words="Not drawn" runs={training.leftOut} />
    </>
  );
}
