/**
 * Where rollouts went: from what they were, by the grader, to the route that the gate gave them; a table tells how hard they pulled on
 * each block. Every ribbon and every count opens its rollouts.
 */
import { routeColours } from '../../report/draw/index.ts';
import type { GateRow } from '../api.ts';
import { truthOf } from '../query.ts';
import { address, changeParameters, linkTo } from './address.ts';
import { HeadRow } from './parts.tsx';

const truths = ['hack', 'solve', 'neither'] as const;
const routeNames = ['keep', 'absorb', 'route'] as const;
type Truth = (typeof truths)[number];
type RouteName = (typeof routeNames)[number];

interface Ribbon {
  readonly truth: Truth;
  readonly route: RouteName;
  readonly count: number;
  readonly weight: number;
}

const size = { width: 960, height: 260, gap: 14, left: 150, right: 150 } as const;

function ribbonsOf(rows: readonly GateRow[]): Ribbon[] {
  return truths.flatMap((truth) =>
    routeNames.map((route) => {
      const own = rows.filter((row) => row.route === route && truthOf(row) === truth);
      return { truth, route, count: own.length, weight: own.reduce((sum, row) => sum + Math.abs(row.advantage), 0) };
    }),
  );
}

/** Stacks values from the top; gives where each begins. */
function stack(values: readonly number[], scale: number): number[] {
  let at = 0;
  return values.map((value) => {
    const start = at;
    at += value * scale + size.gap;
    return start;
  });
}

export function RouteFlow({ run, rows }: { readonly run: string; readonly rows: readonly GateRow[] }) {
  const isWeighed = address.value.parameters.get('flow') === 'weight';
  const ribbons = ribbonsOf(rows);
  const measure = ({ count, weight }: Ribbon): number => (isWeighed ? weight : count);
  const total = ribbons.reduce((sum, ribbon) => sum + measure(ribbon), 0);
  if (total === 0) return null;
  return (
    <section>
      <h2>Where rollouts went</h2>
      <p>
        <label>
          <input
            type="checkbox"
            checked={isWeighed}
            onChange={(event) => changeParameters({ flow: event.currentTarget.checked ? 'weight' : null })}
          />{' '}
          by |advantage|, not by count
        </label>
      </p>
      <div class="paper">
        <Ribbons run={run} ribbons={ribbons} measure={measure} total={total} />
      </div>
      <UpdateMass run={run} rows={rows} />
    </section>
  );
}

interface RibbonsProps {
  readonly run: string;
  readonly ribbons: readonly Ribbon[];
  readonly measure: (ribbon: Ribbon) => number;
  readonly total: number;
}

function Ribbons({ run, ribbons, measure, total }: RibbonsProps) {
  const scale = (size.height - 2 * size.gap) / total;
  const sumOf = (key: 'truth' | 'route', name: string): number =>
    ribbons.filter((ribbon) => ribbon[key] === name).reduce((sum, ribbon) => sum + measure(ribbon), 0);
  const lefts = stack(
    truths.map((truth) => sumOf('truth', truth)),
    scale,
  );
  const rights = stack(
    routeNames.map((route) => sumOf('route', route)),
    scale,
  );
  const [leftAt, rightAt] = [[...lefts], [...rights]];
  const [x0, x1] = [size.left, size.width - size.right];
  const middle = (x0 + x1) / 2;
  const drawn = ribbons.map((ribbon) => {
    const [i, j] = [truths.indexOf(ribbon.truth), routeNames.indexOf(ribbon.route)];
    const height = measure(ribbon) * scale;
    const [y0, y1] = [leftAt[i], rightAt[j]];
    leftAt[i] += height;
    rightAt[j] += height;
    const d = `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}V${y1 + height}C${middle} ${y1 + height} ${middle} ${y0 + height} ${x0} ${y0 + height}Z`;
    return { ...ribbon, d };
  });
  return (
    <svg viewBox={`0 0 ${size.width} ${size.height}`} role="group" aria-label="rollouts by truth and route">
      <rect width={size.width} height={size.height} fill="#ffffff" />
      {drawn
        .filter((ribbon) => ribbon.count > 0)
        .map(({ truth, route, count, d }) => (
          <a
            key={`${truth} ${route}`}
            href={linkTo('rollouts', run, { truth, route })}
            aria-label={`${count} rollouts: ${truth}, ${route}`}
          >
            <path d={d} fill={routeColours[route]} fill-opacity={truth === 'hack' ? 0.9 : 0.4}>
              <title>
                {count} rollouts: {truth} → {route}
              </title>
            </path>
          </a>
        ))}
      {truths.map((truth, i) => (
        <text key={truth} x={x0 - 8} y={lefts[i] + 14} text-anchor="end" font-size="14" fill="#222222">
          {truth} {sumOf('truth', truth).toFixed(0)}
        </text>
      ))}
      {routeNames.map((route, j) => (
        <text key={route} x={x1 + 8} y={rights[j] + 14} font-size="14" fill="#222222">
          {route} {sumOf('route', route).toFixed(0)}
        </text>
      ))}
    </svg>
  );
}

/** Sums of the norms of the gradient of each rollout, by route and block: what the update was made of. */
function UpdateMass({ run, rows }: { readonly run: string; readonly rows: readonly GateRow[] }) {
  const known = rows.filter(({ deployedNorm, quarantineNorm }) => deployedNorm !== null && quarantineNorm !== null);
  const total = known.reduce((sum, row) => sum + (row.deployedNorm ?? 0) + (row.quarantineNorm ?? 0), 0);
  if (total === 0) return <p class="quiet">This run recorded no norms, so the mass of its updates is not known.</p>;
  const names = [
    ...truths.map((truth) => ({ truth, route: null })),
    ...routeNames.map((route) => ({ truth: null, route })),
  ];
  return (
    <div class="scroll">
      <table id="mass">
        <caption>update mass: how hard rollouts pulled on each block</caption>
        <HeadRow
          names={['rollouts', 'count', 'on the deployed block', 'on the quarantine', "the quarantine's share"]}
        />
        <tbody>
          {names.map(({ truth, route }) => {
            const own = known.filter((row) => (truth === null ? row.route === route : truthOf(row) === truth));
            const deployed = own.reduce((sum, row) => sum + (row.deployedNorm ?? 0), 0);
            const quarantine = own.reduce((sum, row) => sum + (row.quarantineNorm ?? 0), 0);
            const share = deployed + quarantine === 0 ? '-' : percent(quarantine / (deployed + quarantine));
            return (
              <tr key={`${truth} ${route}`}>
                <th scope="row" class={route === null ? '' : `route-${route}`}>
                  {truth ?? route}
                </th>
                <td>
                  <a href={linkTo('rollouts', run, { truth, route })}>{own.length}</a>
                </td>
                <td>{percent(deployed / total)}</td>
                <td>{percent(quarantine / total)}</td>
                <td>{share}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p class="quiet">Shares of the sum of gradient norms at the bottleneck, over rollouts that carried gradient.</p>
    </div>
  );
}

const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;
