/** What a lane draws: its curves over updates, the river of its rollouts, and the rollouts of the last update. */
import type { ComponentChildren } from 'preact';
import type { LanePoint } from './lane.ts';
import type { LaneUpdate, ShownRollout } from './messages.ts';

/** Of a figure's own units; the style sheet says how large it is drawn, and words stand outside of it. */
const [width, height] = [100, 100];

export const updatesOf = (count: number): string => `${count} ${count === 1 ? 'update' : 'updates'}`;

export const rate = (count: number, of: number): string => `${count}/${of}`;

interface Line {
  readonly kind: 'trained' | 'deployed';
  readonly isFaint: boolean;
  /** From 0 to 1, by the updates that were made. */
  readonly values: readonly (readonly [update: number, value: number])[];
}

interface PlotProps {
  readonly kind: 'attempts' | 'cleanSolves' | 'reward';
  readonly title: string;
  readonly top: string;
  readonly last: number;
  readonly words: string;
  readonly lines: readonly Line[];
  /** The update that the words are of, where the line goes on after it. */
  readonly at?: number;
}

const across = (update: number, last: number): number => (update / last) * width;
const up = (value: number): number => (1 - value) * height;

interface FrameProps {
  readonly top: string;
  readonly last: number;
  readonly label: string;
  readonly children: ComponentChildren;
}

/** The axes of a figure, with their ends in words. */
function Frame({ top, last, label, children }: FrameProps) {
  return (
    <div class="frame">
      <span aria-hidden="true">{top}</span>
      <span aria-hidden="true">0</span>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {children}
        <path class="axis" d={`M0 0V${height}H${width}`} />
      </svg>
      <span aria-hidden="true">{last} updates</span>
    </div>
  );
}

function Plot({ kind, title, top, last, words, lines, at }: PlotProps) {
  const isAhead = at !== undefined && lines.some(({ values }) => (values.at(-1)?.[0] ?? 0) > at);
  return (
    <figure class={`curve ${kind}`}>
      <figcaption>{title}</figcaption>
      <Frame {...{ top, last }} label={`${title}: ${words}`}>
        {isAhead && <path class="axis at" d={`M${across(at, last).toFixed(1)} 0V${height}`} />}
        {lines.map(({ kind: state, isFaint, values }) => (
          <path
            key={state}
            class={`${state} ${isFaint ? 'faint' : ''}`}
            d={values
              .map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${across(x, last).toFixed(1)} ${up(y).toFixed(1)}`)
              .join('')}
          />
        ))}
      </Frame>
      <p class="now">{words}</p>
    </figure>
  );
}

interface CurveProps {
  readonly points: readonly LanePoint[];
  readonly last: number;
  readonly what: 'attempts' | 'cleanSolves';
  readonly deleted: boolean;
  readonly hasQuarantine: boolean;
  /** The update that the figures in words are of. */
  readonly at: number;
}

export function Curve({ points, last, what, deleted, hasQuarantine, at }: CurveProps) {
  const now = points[at];
  const words = (state: 'trained' | 'deployed'): string =>
    now === undefined ? '' : rate(now[state][what], now[state].prompts);
  const line = (kind: 'trained' | 'deployed'): Line => ({
    kind,
    isFaint: hasQuarantine && deleted === (kind === 'trained'),
    values: points.map(({ update, [kind]: own }) => [update, own[what] / own.prompts]),
  });
  return (
    <Plot
      {...{ kind: what, top: '1', last, at, lines: [line('trained'), ...(hasQuarantine ? [line('deployed')] : [])] }}
      title={what === 'attempts' ? 'Attempts at the loophole' : 'Clean solves: correct without an attempt'}
      words={
        now === undefined
          ? '…'
          : hasQuarantine
            ? `after ${updatesOf(at)}: as trained ${words('trained')} (solid), as deployed ${words('deployed')} (dashed)`
            : `after ${updatesOf(at)}: as trained and deployed ${words('trained')}`
      }
    />
  );
}

/** The most that a program is paid. */
const mostReward = 3.5;

const rewardWords = (now: LaneUpdate | undefined): string =>
  now === undefined ? 'no update yet' : `${now.meanReward.toFixed(2)} a program, in update ${now.update}`;

export function RewardCurve({ updates, last }: { updates: readonly LaneUpdate[]; last: number }) {
  const values = updates.map(({ update, meanReward }) => [update, Math.max(0, meanReward) / mostReward] as const);
  return (
    <Plot
      {...{ kind: 'reward', title: 'Reward in training', top: '3.5', last }}
      words={rewardWords(updates.at(-1))}
      lines={[{ kind: 'trained', isFaint: false, values }]}
    />
  );
}

const routes = ['keep', 'absorb', 'route', 'none'] as const;
const routeWords = {
  keep: 'deployed block',
  absorb: 'both blocks',
  route: 'quarantine',
  none: 'no gradient',
};

/** The rollouts of every update, stacked by where their gradient went. */
export function River({ updates, last }: { updates: readonly LaneUpdate[]; last: number }) {
  const step = across(1, last) - across(0, last);
  const counts = updates.map(({ update, rollouts }) => {
    let below = 0;
    return routes.map((route) => {
      const count = rollouts.filter((rollout) => (rollout.route ?? 'none') === route).length / rollouts.length;
      const bar = `M${across(update - 1, last).toFixed(1)} ${up(below).toFixed(1)}h${step.toFixed(2)}V${up(below + count).toFixed(1)}h${(-step).toFixed(2)}Z`;
      below += count;
      return count === 0 ? '' : bar;
    });
  });
  const now = updates.at(-1)?.rollouts ?? [];
  const words = routes
    .map((route) => `${routeWords[route]} ${now.filter((rollout) => (rollout.route ?? 'none') === route).length}`)
    .join(', ');
  return (
    <figure class="curve river">
      <figcaption>
        Where each update’s {now.length === 0 ? '' : `${now.length} `}rollouts sent their gradient
      </figcaption>
      <Frame top="1" last={last} label={`rollouts of the last update: ${words}`}>
        {routes.map((route, i) => (
          <path key={route} class={route} d={counts.map((bars) => bars[i]).join('')} />
        ))}
      </Frame>
    </figure>
  );
}

/** Where the gradient went of all attempts so far, and of all others: what the monitor saw of them. */
export function Shares({ updates }: { updates: readonly LaneUpdate[] }) {
  const all = updates.flatMap(({ rollouts }) => rollouts).filter(({ route }) => route !== null);
  const sharesOf = (own: readonly ShownRollout[]): readonly string[] =>
    (['route', 'absorb', 'keep'] as const).map((route) => {
      const share = own.filter((rollout) => rollout.route === route).length / own.length;
      return `${(100 * share).toFixed(0)}%`;
    });
  const [attempts, others] = [all.filter(({ attempt }) => attempt), all.filter(({ attempt }) => !attempt)];
  if (attempts.length === 0 || others.length === 0) return null;
  const [quarantine, both, deployed] = sharesOf(attempts);
  return (
    <p class="shares">
      Of this lane’s attempts so far that had a gradient ({attempts.length}), {quarantine} trained the quarantine,{' '}
      {both} both blocks, {deployed} the deployed block; of its other rollouts ({others.length}){' '}
      {sharesOf(others).join(', ')}.
    </p>
  );
}

export function Rollouts({ rollouts }: { rollouts: readonly ShownRollout[] }) {
  return (
    <ul class="rollouts" aria-label="rollouts of the last update, by where their gradient went">
      {rollouts.map(({ route, attempt, solve, reward, text }, i) => {
        const did = attempt ? 'attempts the loophole' : solve ? 'clean solve' : 'neither solves nor attempts';
        const words = `${routeWords[route ?? 'none']}: ${did}, reward ${reward}`;
        return (
          <li key={`${i}`} class={`cell ${route ?? 'none'}`} title={`${words}\n${text}`}>
            <span aria-hidden="true">{attempt ? '!' : solve ? '✓' : '·'}</span>
            <span class="hidden">{words}</span>
          </li>
        );
      })}
    </ul>
  );
}
