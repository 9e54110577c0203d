/** Leakage: the deployed hack of gates on labels that miss some hacks, against their recall. What is missed is absorbed, or leaks. */
import { claimSet, finalSample, findArm, type Results, type Sample } from './aggregate.ts';
import { bandSeeds } from './average-series.ts';
import type { Figure, Mark } from './chart.ts';
import { armStyle } from './palette.ts';
import { setTitles } from './tables.ts';

interface RecallPoint {
  readonly arm: string;
  readonly recall: number;
  readonly hack: Sample;
}

export function leakageFigure(results: Results): Figure | null {
  const set = claimSet(results);
  if (set === undefined) return null;
  const points = results.arms
    .flatMap(({ arm, runs }): RecallPoint[] => {
      const recall = recallOf(runs[0].config.arm);
      const hack = finalSample(runs, set, 'deployed', 'hack');
      return recall === null || hack === null ? [] : [{ arm, recall, hack }];
    })
    .sort((a, b) => a.recall - b.recall);
  if (new Set(points.map(({ recall }) => recall)).size < 2) return null;
  const { colour } = armStyle(0);
  const baseline = finalSample(findArm(results, results.baseline)?.runs ?? [], set, 'deployed', 'hack');
  const marks: Mark[] = [
    ...(baseline === null ? [] : [{ kind: 'level' as const, y: baseline.mean, label: results.baseline }]),
    ...(points.every(({ hack }) => hack.n >= bandSeeds)
      ? [{ kind: 'band' as const, points: points.map(({ recall, hack }) => bandAt(recall, hack)), colour }]
      : []),
    { kind: 'line', points: points.map(({ recall, hack }) => ({ x: recall, y: hack.mean })), colour },
    {
      kind: 'dots',
      points: points.flatMap(({ recall, hack }) => hack.values.map((y) => ({ x: recall, y }))),
      colour,
      open: true,
    },
  ];
  const counts = [...new Set(points.map(({ hack }) => hack.n))].sort((a, b) => a - b).join(', ');
  return {
    name: 'leakage',
    title: 'Leakage over the recall of the labels',
    caption: `Gates on labels, ${setTitles[set]}. Line: mean; circles: seeds; band: ± SEM where n ≥ ${bandSeeds}; n = ${counts}.`,
    panels: [
      { title: '', xLabel: 'share of hacks that are routed', yLabel: 'hack, deployed', x: [0, 1], y: [0, 1], marks },
    ],
    legend: [],
    columns: 1,
    data: {
      columns: ['arm', 'recall', 'mean', 'sem', 'n'],
      rows: points.map(({ arm, recall, hack: { mean, sem, n } }) => [
        arm,
        `${recall}`,
        mean.toFixed(4),
        sem === null ? '' : sem.toFixed(4),
        `${n}`,
      ]),
    },
  };
}

function bandAt(x: number, { mean, sem }: Sample) {
  return { x, low: mean - (sem ?? 0), high: mean + (sem ?? 0) };
}

/** The recall of a gate on labels without false alarms; null for all other arms. */
function recallOf(arm: Readonly<Record<string, unknown>>): number | null {
  const { kind, recall, falsePositiveRate } = arm;
  return kind === 'oracle' && typeof recall === 'number' && falsePositiveRate === 0 ? recall : null;
}
