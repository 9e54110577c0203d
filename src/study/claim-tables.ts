/** What `gq claim` shows of a study: its runs by seed, begun, ended and missing, and its predictions with their verdicts. */
import type { judgePredictions, Table } from '../report/index.ts';
import type { BegunRun } from './claim-progress.ts';
import type { Experiment } from './experiment-schema.ts';

export function armTable(experiment: Experiment, stated: readonly string[], begun: readonly BegunRun[]): Table {
  const names = [...new Set([...experiment.arms.map(({ name }) => name), ...begun.map(({ arm }) => arm)])];
  const rows = names.map((arm) => {
    const own = begun.filter((run) => run.arm === arm);
    const seeds = (runs: readonly BegunRun[]): string => runs.map(({ seed }) => seed).join(' ') || '-';
    const wanted = stated.filter((folder) => folder.replace(/-\d+$/, '') === arm);
    const absent = wanted.filter((folder) => own.every((run) => run.folder !== folder));
    return [
      arm,
      `${wanted.length}`,
      `${own.length}`,
      ...(['ended', 'stopped', 'gone'] as const).map((state) => seeds(own.filter((run) => run.state === state))),
      absent.map((folder) => folder.slice(arm.length + 1)).join(' ') || '-',
      seeds(own.filter(({ isStated }) => !isStated)),
    ];
  });
  const columns = ['arm', 'stated', 'begun', 'ended', 'stopped', 'gone', 'not begun', 'not stated'];
  const again = begun.filter(({ times }) => times > 1).map(({ folder, times }) => `${folder} (${times} times)`);
  const blind = begun.filter((run) => run.isBlind).map(({ folder }) => folder);
  return {
    title: 'runs by seed',
    columns,
    rows,
    notes: [
      'ended: trained to the end, or stopped by the tripwire; gone: begun, and no run is in its folder.',
      ...(again.length === 0 ? [] : [`Begun again: ${again.join(', ')}.`]),
      ...(blind.length === 0 ? [] : [`Blind until opened: ${blind.join(', ')}.`]),
    ],
  };
}

interface JudgedPrediction extends Omit<ReturnType<typeof judgePredictions>[number], 'bar' | 'verdict'> {
  readonly what: string;
  readonly inSeeds: number;
  readonly verdict: string;
}

/** A sentence for each; `refuted`: the seeds that are missing could not change it any more, `open`: they could. */
export function describePredictions(predictions: readonly JudgedPrediction[]): string[] {
  return predictions.map(({ what, inSeeds, met, values, planned, verdict }) => {
    const bySeed = values.map(({ seed, value }) => `${seed}: ${value.toFixed(3).replace('-', '−')}`).join(', ');
    const reached = `Reached in ${met} of ${values.length} seeds that are evaluated, needed in ${inSeeds} of ${planned}`;
    return `${verdict}: ${what} ${reached}${bySeed === '' ? '' : ` (${bySeed})`}.`;
  });
}
