/** Curves of an experiment: of arms with enough seeds the mean with a band and the seeds faintly behind it, of others each seed. */
import { armStyle, averageSeries, spreadSeeds } from '../../report/draw/index.ts';
import type { ExperimentPage, TrainingPage } from '../api.ts';
import { linkTo } from './address.ts';
import { Charts, type Line } from './chart.tsx';
import { Answered, LeftOut } from './parts.tsx';
import { useAsked } from './source.ts';

interface SeedSeries {
  readonly arm: string;
  readonly seed: number | null;
  readonly points: readonly { readonly x: number; readonly y: number | null }[];
}

/** `names` are the arms in the order of their colours. */
function armLines(series: readonly SeedSeries[], names: readonly string[]): Line[] {
  return names.flatMap((arm, i) => {
    const { colour, dash } = armStyle(i);
    const seeds = series.flatMap(({ arm: name, seed, points }) => {
      const known = points.flatMap(({ x, y }) => (y === null ? [] : [{ x, y }]));
      return name === arm && known.length > 0 ? [{ seed, points: known }] : [];
    });
    const isBand = seeds.length >= spreadSeeds;
    const lines = seeds.map(({ seed, points }) => ({
      ...{ label: `${arm}, seed ${seed}`, points, isGhost: isBand, colour, dash },
    }));
    if (!isBand) return lines;
    const mean = averageSeries(seeds.map(({ points }) => points));
    const points = mean.map(({ x, y, sem, n }) => ({ x, y, spread: sem ?? 0, n }));
    return [...lines, { label: `${arm}, mean of ${seeds.length} seeds`, points, colour, dash }];
  });
}

const bandWords = `With ${spreadSeeds} seeds and more: the mean where every seed has the update, its band ± SEM, and each seed faintly.`;

export const updateDoor = (id: string) => (update: number) => linkTo('rollouts', id, { from: update, to: update });

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
    return { title, ...(metric === 'reward' ? { unit: 'reward' } : {}), lines: armLines(series, names) };
  });
  if (charts.every(({ lines }) => lines.length === 0)) return null;
  return (
    <>
      <h2>While training</h2>
      <Charts title="Rates and rewards over updates" charts={charts} doorOf={updateDoor(page.id)} />
      <p class="quiet">
        As sampled; rates over the last {training.window} updates. {bandWords} It grows while runs train.
      </p>
      <LeftOut words="Not drawn" runs={training.leftOut} />
    </>
  );
}
