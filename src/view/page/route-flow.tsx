/** Where rollouts went: from verdict to route to the block that learned from them. A ribbon opens its rollouts. */
import { routeColours } from '../../report/draw/index.ts';
import type { GateRow } from '../api.ts';
import { type FlowMeasure, type FlowPart, flowBlocks, flowMeasures, flowOf, flowRoutes } from '../flow.ts';
import { verdictFacets, verdictWords } from '../query.ts';
import { address, linkTo } from './address.ts';
import { Choices } from './parts.tsx';

const size = { width: 960, height: 260, gap: 14, left: 170, middle: 470, right: 800, edge: 8 } as const;
const measureWords: Readonly<Record<FlowMeasure, string>> = {
  count: 'count',
  weight: '|advantage|',
  mass: 'gradient norm',
};

type Column = 'verdict' | 'route' | 'block';
const columns = { verdict: verdictWords, route: flowRoutes, block: flowBlocks } as const;

const sumOf = (parts: readonly FlowPart[]): number => parts.reduce((sum, { value }) => sum + value, 0);

export function RouteFlow({ run, rows }: { readonly run: string; readonly rows: readonly GateRow[] }) {
  const asked = address.value.parameters.get('flow');
  const measure = flowMeasures.find((name) => name === asked) ?? 'count';
  const parts = flowOf(rows, measure).filter(({ value }) => value > 0);
  return (
    <section>
      <h2>Where rollouts went</h2>
      <Choices
        legend="by"
        parameter="flow"
        values={flowMeasures}
        chosen={measure}
        wordsOf={(name) => measureWords[name as FlowMeasure]}
      />
      {parts.length === 0 ? (
        <p class="quiet">This run recorded no norms.</p>
      ) : (
        <div class="paper">
          <Ribbons run={run} parts={parts} />
        </div>
      )}
      <p class="quiet">
        From the verdict to the route to the block that learned from it. Attempts open a loophole; of them hacks are
        paid for a wrong program. A rollout goes to both blocks by how hard it pulled on each.
      </p>
    </section>
  );
}

function topsOf(parts: readonly FlowPart[], column: Column, scale: number): Map<string, number> {
  let at = 0;
  return new Map(
    columns[column].map((name) => {
      const top = at;
      at += sumOf(parts.filter((part) => part[column] === name)) * scale + size.gap;
      return [name, top];
    }),
  );
}

type Between = { readonly run: string; readonly parts: readonly FlowPart[]; readonly scale: number };

/** Ribbons between two columns; each begins and ends where the last of its boxes left off. */
function ribbonsBetween({ run, parts, scale }: Between, from: Column, to: Column) {
  const [tops, ends] = [topsOf(parts, from, scale), topsOf(parts, to, scale)];
  const [x0, x1] = from === 'verdict' ? [size.left, size.middle - 60] : [size.middle + 56, size.right];
  const middle = (x0 + x1) / 2;
  return columns[from].flatMap((start) =>
    columns[to].flatMap((end) => {
      const own = parts.filter((part) => part[from] === start && part[to] === end);
      const [first] = own;
      if (first === undefined) return [];
      const height = sumOf(own) * scale;
      const [y0, y1] = [tops.get(start) ?? 0, ends.get(end) ?? 0];
      tops.set(start, y0 + height);
      ends.set(end, y1 + height);
      const { route, verdict, rollouts } = first;
      // A rollout is in two parts where both blocks learned from it; to its route it goes once.
      const count = from === 'verdict' ? rollouts : own.reduce((sum, part) => sum + part.count, 0);
      const words = `${count} rollouts: ${start} → ${end}, ${((100 * sumOf(own)) / sumOf(parts)).toFixed(1)}%`;
      const facets = from === 'verdict' ? verdictFacets[verdict] : { attempt: 'no' };
      const opacity = facets.attempt === 'no' ? 0.4 : verdict === 'attempt, hack' ? 0.9 : 0.65;
      const door = linkTo('rollouts', run, { ...(from === 'verdict' ? facets : {}), route });
      const d = `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}V${y1 + height}C${middle} ${y1 + height} ${middle} ${y0 + height} ${x0} ${y0 + height}Z`;
      return (
        <a key={words} href={door} aria-label={words}>
          <path d={d} fill={routeColours[route]} fill-opacity={opacity}>
            <title>{words}</title>
          </path>
        </a>
      );
    }),
  );
}

function Ribbons({ run, parts }: { readonly run: string; readonly parts: readonly FlowPart[] }) {
  const scale = (size.height - (verdictWords.length - 1) * size.gap) / sumOf(parts);
  const places = { verdict: size.left - 8, route: size.middle - 52, block: size.right + 8 } as const;
  return (
    <svg
      viewBox={`0 ${-size.edge} ${size.width} ${size.height + 2 * size.edge}`}
      role="group"
      aria-label="rollouts by verdict, route and the block that learned from them"
    >
      <rect y={-size.edge} width={size.width} height={size.height + 2 * size.edge} fill="#ffffff" />
      {ribbonsBetween({ run, parts, scale }, 'verdict', 'route')}
      {ribbonsBetween({ run, parts, scale }, 'route', 'block')}
      {(['verdict', 'route', 'block'] as const).flatMap((column) =>
        [...topsOf(parts, column, scale)].flatMap(([name, top]) => {
          const value = sumOf(parts.filter((part) => part[column] === name));
          if (value === 0) return [];
          const anchor = column === 'verdict' ? 'end' : 'start';
          return (
            <text key={name} x={places[column]} y={top + 14} text-anchor={anchor} font-size="14" fill="#222222">
              {name} {value < 10 ? value.toPrecision(2) : value.toFixed(0)}
            </text>
          );
        }),
      )}
    </svg>
  );
}
