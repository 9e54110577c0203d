/** The lab's figures. Each is made from results alone, says its n in the caption, and carries the numbers behind it. */
import { groupBy } from '../base/index.ts';
import { armNamed } from '../measure/table.ts';
import { gateSettingsOf } from '../monitors/gates.ts';
import { type ArmResults, claimSet, evaluatedSeeds, loopholeSummary, type Results, sampleOf } from './aggregate.ts';
import { barKey, type Figure, type Mark, type Panel } from './chart.ts';
import { baselinesFigure, keptFigure } from './kept-figure.ts';
import type { RunResult } from './run-result.ts';
import { curveFigure, healthFigure, scaleFigure, trainingFigure } from './series-figures.ts';
import { doseFigure, leakageFigure, storyFigure } from './story-figure.ts';
import { armStyle, otherColour, rateColours, routeColours } from './svg.ts';
import { setTitles } from './tables.ts';

const makers = {
  ...{ story: storyFigure, curves: curveFigure, training: trainingFigure, health: healthFigure, scores: scoreFigure },
  ...{ routes: routeFigure, loopholes: loopholeFigure, scale: scaleFigure, kept: keptFigure },
  ...{ baselines: baselinesFigure, leakage: leakageFigure, dose: doseFigure },
} as const satisfies Record<string, (results: Results) => Figure | null | Promise<Figure | null>>;
export const figureNames = Object.keys(makers) as (keyof typeof makers)[];

/** All figures for which there is data. */
export async function allFigures(results: Results): Promise<Figure[]> {
  const figures = await Promise.all(Object.values(makers).map((make) => make(results)));
  return figures.filter((figure) => figure !== null);
}

/** The scores that met the cuts, each measured from those of its own update: of rollouts, or of tokens where the gate decides by token. */
async function relativeScores({ runs }: ArmResults) {
  const rollouts = await Promise.all(runs.filter(({ isScored }) => isScored).map((run) => run.rollouts()));
  return rollouts.flatMap((rows) =>
    rows.flatMap(({ attempt, hack, score, low, high, tokenRoutes, tokenScores }) => {
      if (score === null || low === null || high === null) return [];
      const met = tokenRoutes === null ? [score] : (tokenScores ?? []);
      return met.map((one) => ({ attempt, hack, at: relativeScore(one, low, high) }));
    }),
  );
}

const scoreBins = { low: -1.5, high: 2.5, count: 32 } as const;

/** A score measured from its cuts. Where both cuts are one value, scores up to it are beyond the low cut, as the gate takes them. */
function relativeScore(score: number, low: number, high: number): number {
  if (high > low) return (score - low) / (high - low);
  return score <= low ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

const scored = { attempt: 'no attempt', hack: 'clean' } as const;

async function scoreFigure({ arms }: Results): Promise<Figure | null> {
  const scores = await Promise.all(arms.map(relativeScores));
  const gated = arms
    .map((own, i) => ({ arm: own.arm, unit: routedUnit(own), scores: scores[i] }))
    .filter((one) => one.scores.length > 0);
  if (gated.length === 0) return null;
  const { low, high, count } = scoreBins;
  const width = (high - low) / count;
  const density = (places: readonly number[]): number[] => {
    const bins = new Array<number>(count).fill(0);
    // The first and last bins also hold what lies beyond them.
    for (const at of places) bins[Math.min(count - 1, Math.max(0, Math.floor((at - low) / width)))] += 1;
    return bins.map((value) => value / Math.max(1, places.length) / width);
  };
  const drawn = gated.flatMap(({ arm, unit, scores: own }) =>
    (['attempt', 'hack'] as const).map((target) => {
      const [others, targets] = [false, true].map((value) =>
        own.filter((one) => one[target] === value).map(({ at }) => at),
      );
      const counted = `${targets.length} ${unit === 'tokens' ? `tokens of ${target}s` : `${target}s`}`;
      return {
        ...{ arm, target, densities: { [scored[target]]: density(others), [target]: density(targets) } },
        title: `${arm}: ${counted}, ${others.length} others`,
      };
    }),
  );
  const bars = (bins: readonly number[]) =>
    bins.map((y1, i) => ({ x0: low + i * width, x1: low + (i + 1) * width, y0: 0, y1 }));
  return {
    name: 'scores',
    title: 'Gate scores against the two cuts',
    caption:
      'Rollouts (or tokens of a gate by token) that carried gradient, all seeds pooled, each measured from the cuts of its own update; the outermost bars hold what lies beyond.',
    panels: drawn.map(({ title, target, densities }) => ({
      ...{ title, xLabel: 'score, 0 = low cut, 1 = high cut', yLabel: 'density', x: [low, high] },
      // Room above the bars for the names of the cuts.
      y: [0, 1.1 * Math.max(0.5, ...Object.values(densities).flat())],
      marks: [
        { kind: 'bars', bars: bars(densities[scored[target]]), colour: otherColour },
        { kind: 'bars', bars: bars(densities[target]), colour: rateColours[target], hatched: target === 'hack' },
        { kind: 'rule', x: 0, label: 'keep ≤' },
        { kind: 'rule', x: 1, label: '≥ route' },
      ],
    })),
    legend: [
      barKey('no attempt, or no hack', otherColour),
      barKey('attempt', rateColours.attempt),
      { label: 'hack', colour: rateColours.hack, hatched: true },
    ],
    data: {
      columns: ['arm', 'what', 'from', 'density'],
      rows: drawn.flatMap(({ arm, densities }) =>
        Object.entries(densities).flatMap(([what, bins]) =>
          bins.map((value, i) => [arm, what, (low + i * width).toFixed(3), value.toFixed(4)]),
        ),
      ),
    },
  };
}

const routeWindow = 5;

function routedUnit({ runs }: ArmResults): 'rollouts' | 'tokens' {
  return runs.some(({ config }) => gateSettingsOf(config.arm)?.granularity === 'token') ? 'tokens' : 'rollouts';
}

function routeFigure({ arms }: Results): Figure | null {
  const routed = arms.filter(({ runs }) =>
    runs.some(({ steps }) => steps.some(({ routes }) => routes.keep + routes.route > 0)),
  );
  if (routed.length === 0) return null;
  const rows: string[][] = [];
  const units = [...new Set(routed.map(routedUnit))].sort();
  const panels = routed.map((own): Panel => {
    const { arm, runs } = own;
    const unit = routedUnit(own);
    const all = runs.flatMap(({ steps }) => steps);
    const windows = groupBy(all, ({ update }) => Math.floor((update - 1) / routeWindow));
    const shares = [...windows].flatMap(([window, steps]) => {
      const count = (route: keyof typeof routeColours): number =>
        steps.reduce((sum, step) => sum + step.routes[route], 0);
      const counts = { keep: count('keep'), absorb: count('absorb'), route: count('route') };
      const total = counts.keep + counts.absorb + counts.route;
      return total === 0 ? [] : [{ from: window * routeWindow, counts, total }];
    });
    const bars = (route: keyof typeof routeColours): Mark => ({
      kind: 'bars',
      colour: routeColours[route],
      bars: shares.map(({ from, counts, total }) => {
        const below = route === 'keep' ? 0 : route === 'absorb' ? counts.keep : counts.keep + counts.absorb;
        return { x0: from, x1: from + routeWindow, y0: below / total, y1: (below + counts[route]) / total };
      }),
    });
    for (const { from, counts, total } of shares) {
      rows.push([arm, `${from + 1}`, `${counts.keep}`, `${counts.absorb}`, `${counts.route}`, `${total}`]);
    }
    const last = Math.max(routeWindow, ...shares.map(({ from }) => from + routeWindow));
    const marks = (['keep', 'absorb', 'route'] as const).map(bars);
    return { title: arm, xLabel: 'updates completed', yLabel: `share of ${unit}`, x: [0, last], y: [0, 1], marks };
  });
  return {
    name: 'routes',
    title: `Where ${units.join(' and ')} went`,
    caption: `Shares of the ${units.join(' or ')} that carried gradient, ${routeWindow} updates at a time, all seeds pooled.`,
    panels,
    legend: Object.entries(routeColours).map(([label, colour]) => barKey(label, colour)),
    data: { columns: ['arm', 'from update', 'keep', 'absorb', 'route', units.join(' or ')], rows },
  };
}

function loopholeFigure(results: Results): Figure | null {
  const { arms } = results;
  const set = claimSet(results);
  if (set === undefined) return null;
  const rows = arms.flatMap(({ runs }) => runs.flatMap(({ final }) => final[set]?.deployed ?? []));
  const loopholes = [...new Set(rows.map(({ loophole }) => loophole))].sort();
  if (loopholes.length < 2) return null;
  const drawn = arms.flatMap((arm, i) =>
    (['attempt', 'hack'] as const).map((metric) => {
      const rate = (state: 'full' | 'deployed', loophole: string) =>
        sampleOf(arm.runs, (run) => loopholeSummary(run, set, state, loophole)?.[metric].rate ?? null);
      const points = loopholes.map((loophole, x) => ({
        ...{ x, loophole, deployed: rate('deployed', loophole), full: rate('full', loophole) },
      }));
      return { ...arm, metric, points, colour: armStyle(i).colour };
    }),
  );
  const panels = drawn.map(
    ({ arm, runs, metric, points, colour }): Panel => ({
      ...{ title: `${arm} (n = ${evaluatedSeeds(runs, set)})`, xLabel: '', yLabel: metric },
      ...{ x: [-0.5, loopholes.length - 0.5], y: [0, 1] },
      xNames: points.map(({ x, loophole }) => ({ x, name: `${loophole}${heldOutMark(runs, loophole)}` })),
      marks: [
        {
          kind: 'bars',
          bars: points.map(({ x, deployed }) => ({ x0: x - 0.3, x1: x + 0.3, y0: 0, y1: deployed?.mean ?? 0 })),
          colour,
        },
        {
          kind: 'dots',
          points: points.flatMap(({ x, full }) => (full === null ? [] : [{ x, y: full.mean }])),
          ...{ colour, open: true },
        },
      ],
    }),
  );
  return {
    name: 'loopholes',
    title: 'Attempt and hack by loophole',
    caption: `${setTitles[set]}. Bars: deployed; circles: as trained. ${heldOutText(panels)}`.trim(),
    panels,
    legend: [],
    data: {
      columns: ['arm', 'loophole', 'what', 'deployed', 'full', 'n'],
      rows: drawn.flatMap(({ arm, metric, points }) =>
        points.map(({ loophole, deployed, full }) => [
          armNamed(arm, { loophole }),
          ...[loophole, metric, `${deployed?.mean ?? ''}`, `${full?.mean ?? ''}`, `${deployed?.n ?? 0}`],
        ]),
      ),
    },
  };
}

const heldOutMarks: readonly (readonly [mark: string, text: string])[] = [
  [' *', '* held out: no pair of this arm shows it.'],
  [' †', '† held out, but pairs of this arm show it (pairs.allowHeldOut).'],
  [' ?', '? held out; whether a pair of this arm shows it was not recorded.'],
];

function heldOutMark(runs: readonly RunResult[], loophole: string): string {
  const own = runs.filter(({ config }) => config.environment.heldOutLoopholes.includes(loophole));
  if (own.length === 0) return '';
  if (own.some(({ manifest }) => manifest.heldOutPairs?.includes(loophole))) return ' †';
  return own.some(({ manifest }) => manifest.heldOutPairs === null) ? ' ?' : ' *';
}

function heldOutText(panels: readonly Panel[]): string {
  const names = panels.flatMap(({ xNames = [] }) => xNames.map(({ name }) => name));
  const used = heldOutMarks.filter(([mark]) => names.some((name) => name.endsWith(mark)));
  return used.map(([, text]) => text).join(' ');
}
