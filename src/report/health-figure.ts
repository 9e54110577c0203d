/** The health of training over updates: reward, KL, gradient norm and the log-probability of the tripwire set. A collapse shows in all. */
import type { StepEvent } from '../grpo/index.ts';
import type { Results } from './aggregate.ts';
import type { Figure } from './chart.ts';
import { axisOf, bandText, overUpdates, partTitle, type SeriesOf, seriesData } from './figure-parts.ts';
import { armLegend } from './series.ts';

const measures: Readonly<Record<string, (step: StepEvent) => number | null | undefined>> = {
  reward: ({ meanReward }) => meanReward,
  'KL from the base': ({ kl }) => kl,
  'gradient norm': ({ gradientNorm }) => gradientNorm,
  'log-probability of the tripwire set': ({ tripwireLogp }) => tripwireLogp,
};

/** The updates at which a run has the value. */
const seriesOf =
  (value: (step: StepEvent) => number | null | undefined): SeriesOf =>
  ({ steps }) =>
    steps.flatMap((step) => {
      const y = value(step);
      return typeof y === 'number' && Number.isFinite(y) ? [{ x: step.update, y }] : [];
    });

export function healthFigure({ arms }: Results): Figure | null {
  const measured = Object.entries(measures)
    .map(([title, value]) => ({ title, series: seriesOf(value) }))
    .filter(({ series }) => arms.some(({ runs }) => runs.some((run) => series(run).length > 0)));
  if (measured.length === 0) return null;
  const panels = measured.map(({ title, series }) => {
    const values = arms.flatMap(({ runs }) => runs.flatMap((run) => series(run).map(({ y }) => y)));
    return overUpdates(arms, title, '', series, axisOf(values));
  });
  const stopped = arms.flatMap(({ runs }) =>
    runs.filter(({ status }) => status === 'tripwire').map(({ name }) => name),
  );
  const tripped = stopped.length === 0 ? '' : ` Stopped by the divergence tripwire: ${stopped.join(', ')}.`;
  return {
    name: 'health',
    title: `Health of training${partTitle('A4')}`,
    caption: `Every update as it was recorded, nothing cropped; averaged only where every seed of the arm has the update.${tripped} ${bandText(arms)}`,
    panels,
    legend: armLegend(arms),
    data: seriesData(arms, Object.fromEntries(measured.map(({ title, series }) => [title, series]))),
  };
}
