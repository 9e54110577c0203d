/** The scores of one update: clean rollouts above the line, attempts below it, hacks first and solid, and the cuts across both. */
import { hackInk, routeColours } from '../../report/draw/index.ts';
import type { GateRow } from '../api.ts';

interface ScoreHistogramProps {
  readonly rows: readonly GateRow[];
  readonly cuts: { readonly low: number; readonly high: number } | undefined;
  readonly update: number;
}

const [bins, width, height] = [32, 960, 120];

export function ScoreHistogram({ rows, cuts, update }: ScoreHistogramProps) {
  if (rows.length === 0) return null;
  const values = [...rows.map(({ score }) => score), ...(cuts === undefined ? [] : [cuts.low, cuts.high])];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const span = most - least || 1;
  const count = (holds: (row: GateRow) => boolean): number[] => {
    const counts = new Array<number>(bins).fill(0);
    for (const { score } of rows.filter(holds)) {
      counts[Math.min(bins - 1, Math.floor(((score - least) / span) * bins))] += 1;
    }
    return counts;
  };
  const clean = count(({ attempt }) => !attempt);
  const attempts = count(({ attempt }) => attempt);
  const hacks = count(({ hack }) => hack);
  const tallest = Math.max(1, ...clean, ...attempts);
  const middle = height / 2;
  const bar = (value: number): number => (value / tallest) * (middle - 4);
  const x = (score: number): number => ((score - least) / span) * width;
  const total = (counts: readonly number[]): number => counts.reduce((sum, each) => sum + each, 0);
  const words = `Scores of update ${update}: ${total(clean)} clean above, ${total(attempts)} attempts below, of them ${total(hacks)} hacks (solid)`;
  const bars = (counts: readonly number[], top: (bin: number) => number, fill: string, opacity = 1) =>
    counts.map((value, i) => (
      <rect
        key={i}
        x={(i * width) / bins}
        y={top(i)}
        width={width / bins - 1}
        height={bar(value)}
        fill={fill}
        fill-opacity={opacity}
      />
    ));
  const others = attempts.map((value, i) => value - hacks[i]);
  return (
    <div class="paper">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={words}>
        <rect width={width} height={height} fill="#ffffff" />
        {bars(clean, (i) => middle - bar(clean[i]), routeColours.absorb)}
        {bars(hacks, () => middle, hackInk)}
        {bars(others, (i) => middle + bar(hacks[i]), hackInk, 0.4)}
        {cuts !== undefined && (
          <>
            <path d={`M${x(cuts.low)} 0V${height}`} stroke={routeColours.keep} stroke-width="2.5" />
            <path d={`M${x(cuts.high)} 0V${height}`} stroke={routeColours.route} stroke-width="2.5" />
          </>
        )}
      </svg>
      <p class="in-paper">{words}</p>
    </div>
  );
}
