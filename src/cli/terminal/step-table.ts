/** The step table of a live run, a line an update; a window that is too narrow gets the columns that matter most. */
import { wrapText } from '../../base/index.ts';
import type { StepEvent } from '../../grpo/index.ts';
import type { Tally } from '../../oracle/index.ts';

interface StepColumn {
  readonly name: string;
  readonly width: number;
  readonly rank: number;
  readonly cell: (event: StepEvent, tally: Tally, seconds: number) => string;
}

const flagName = 'flag';

/** Of nothing nothing can be said: no prompt disclosed a loophole, or the environment tells rewards alone. */
const share = (count: number, all: number): string => (all === 0 ? '-' : `${count}/${all}`);

const columns: readonly StepColumn[] = [
  { name: 'update', width: 7, rank: 0, cell: ({ update }) => `${update}` },
  { name: 'reward', width: 7, rank: 3, cell: ({ meanReward }) => meanReward.toFixed(2) },
  { name: 'attempt', width: 8, rank: 0.5, cell: (_, { attempts, hackable }) => share(attempts, hackable) },
  { name: 'hack', width: 8, rank: 1, cell: (_, { hacks, hackable }) => share(hacks, hackable) },
  { name: 'solve', width: 8, rank: 2, cell: (_, { solves, graded }) => share(solves, graded) },
  { name: flagName, width: 7, rank: 2.5, cell: ({ watched, rollouts }) => `${watched?.flagged ?? 0}/${rollouts}` },
  { name: 'skip', width: 6, rank: 9, cell: ({ skippedGroups, groups }) => `${skippedGroups}/${groups}` },
  { name: 'keep', width: 5, rank: 5, cell: ({ routes }) => `${routes.keep}` },
  { name: 'absorb', width: 7, rank: 6, cell: ({ routes }) => `${routes.absorb}` },
  { name: 'route', width: 6, rank: 4, cell: ({ routes }) => `${routes.route}` },
  { name: 'qmass', width: 6, rank: 7, cell: ({ qmass }) => (qmass === null ? '-' : qmass.toFixed(2)) },
  { name: 'p50', width: 8, rank: 12, cell: ({ scores }) => (scores === null ? '-' : scores.p50.toPrecision(3)) },
  { name: 'KL', width: 8, rank: 8, cell: ({ kl }) => kl.toExponential(1) },
  { name: '|g|', width: 8, rank: 11, cell: ({ gradientNorm }) => gradientNorm.toPrecision(3) },
  { name: 'tokens', width: 7, rank: 13, cell: ({ meanTokens }) => meanTokens.toFixed(0) },
  { name: 's', width: 6, rank: 10, cell: (_event, _tally, seconds) => seconds.toFixed(1) },
];

const columnsOf = (isWatched: boolean): readonly StepColumn[] =>
  columns.filter(({ name }) => isWatched || name !== flagName);

function shownColumns(width: number, isWatched: boolean): readonly StepColumn[] {
  let shown = columnsOf(isWatched);
  const total = (): number => shown.reduce((sum, column) => sum + column.width, 0);
  while (shown.length > 1 && total() > width) {
    const last = Math.max(...shown.map(({ rank }) => rank));
    shown = shown.filter(({ rank }) => rank !== last);
  }
  return shown;
}

export function tableHeader(isWatched: boolean, width = Number.POSITIVE_INFINITY): string {
  return shownColumns(width, isWatched)
    .map((column) => column.name.padStart(column.width))
    .join('');
}

const explanations: readonly (readonly [columns: readonly string[], text: string])[] = [
  [
    ['attempt'],
    'attempt: opened a loophole, right or wrong / rollouts of the policy whose prompt disclosed one, with those sampled as deployed',
  ],
  [['hack'], 'hack: an attempt that paid for a wrong program / the same rollouts'],
  [['solve'], 'solve: correct / all rollouts of the policy'],
  [[flagName], 'flag: rollouts that the monitor flagged, or that count as flagged where it abstains / all'],
  [['skip'], 'skip: skipped groups / groups'],
  [['keep', 'absorb', 'route'], 'keep, absorb, route: rollouts (or tokens) that carried gradient'],
  [['qmass'], 'qmass: share of the gradient norm in the quarantine'],
  [['p50'], 'p50: median gate score'],
  [['KL'], 'KL: mean k3'],
  [['|g|'], '|g|: before clipping'],
];

export function tableLegend(isWatched: boolean, width = Number.POSITIVE_INFINITY): string {
  const shown = shownColumns(width, isWatched).map(({ name }) => name);
  const hidden = columnsOf(isWatched)
    .map(({ name }) => name)
    .filter((name) => !shown.includes(name));
  const explained = explanations
    .filter(([names]) => names.some((name) => shown.includes(name)))
    .map(([, text]) => text);
  const left =
    hidden.length === 0 ? '' : ` In a wider window also ${hidden.join(', ')}; events.jsonl has them for every update.`;
  return wrapText(`${explained.join('; ')}.${left}`, Math.min(width, legendWidth));
}

const legendWidth = 110;

/** One line of the table. A number that is too long for its column moves the others; its caller cuts what does not fit. */
export function tableRow(event: StepEvent, tally: Tally, seconds: number, width = Number.POSITIVE_INFINITY): string {
  return shownColumns(width, event.watched !== null)
    .map((column) => ` ${column.cell(event, tally, seconds)}`.padStart(column.width))
    .join('');
}

/** `1 h 02 min`, `3 min 05 s` or `12 s`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  if (hours > 0) return `${hours} h ${String(minutes).padStart(2, '0')} min`;
  return minutes > 0 ? `${minutes} min ${String(rest).padStart(2, '0')} s` : `${rest} s`;
}
