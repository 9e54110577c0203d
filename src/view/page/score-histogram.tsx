/** The scores of one update: clean rollouts above the line, hacks below it, and the cuts across both. */
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
  const count = (hack: boolean): number[] => {
    const counts = new Array<number>(bins).fill(0);
    for (const row of rows.filter((each) => each.hack === hack)) {
      counts[Math.min(bins - 1, Math.floor(((row.score - least) / span) * bins))] += 1;
    }
    return counts;
  };
  const [clean, hacks] = [count(false), count(true)];
  const tallest = Math.max(1, ...clean, ...hacks);
  const middle = height / 2;
  const bar = (value: number): number => (value / tallest) * (middle - 4);
  const x = (score: number): number => ((score - least) / span) * width;
  const words = `Scores of update ${update}: ${rows.length - rows.filter(({ hack }) => hack).length} clean above, ${rows.filter(({ hack }) => hack).length} hacks below`;
  return (
    <div class="paper">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={words}>
        <rect width={width} height={height} fill="#ffffff" />
        {clean.map((value, i) => (
          <rect
            key={i}
            x={(i * width) / bins}
            y={middle - bar(value)}
            width={width / bins - 1}
            height={bar(value)}
            fill={routeColours.absorb}
          />
        ))}
        {hacks.map((value, i) => (
          <rect key={i} x={(i * width) / bins} y={middle} width={width / bins - 1} height={bar(value)} fill={hackInk} />
        ))}
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
