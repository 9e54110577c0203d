/** The step table of a live run: fixed width, counts as n/d, one line per update. Hacks and solves come from the verdicts. */
import type { StepEvent } from '../../grpo/index.ts';
import type { Tally } from '../../oracle/index.ts';

const columns = [
  ['update', 7],
  ['reward', 7],
  ['hack', 8],
  ['solve', 8],
  ['skip', 6],
  ['keep', 5],
  ['absorb', 7],
  ['route', 6],
  ['qmass', 6],
  ['p50', 8],
  ['KL', 8],
  ['|g|', 8],
  ['tokens', 7],
  ['s', 6],
] as const;

export function tableHeader(): string {
  return columns.map(([name, width]) => name.padStart(width)).join('');
}

export const tableLegend = [
  'hack: exploited / rollouts whose prompt disclosed a loophole; solve: correct / all rollouts;',
  'skip: skipped groups / groups; keep, absorb, route: rollouts (or tokens) that carried gradient;',
  'qmass: share of the gradient norm in the quarantine; p50: median gate score; KL: mean k3; |g|: before clipping.',
].join('\n');

export function tableRow(event: StepEvent, { hacks, hackable, solves, graded }: Tally, seconds: number): string {
  const cells = [
    `${event.update}`,
    event.meanReward.toFixed(2),
    `${hacks}/${hackable}`,
    `${solves}/${graded}`,
    `${event.skippedGroups}/${event.groups}`,
    `${event.routes.keep}`,
    `${event.routes.absorb}`,
    `${event.routes.route}`,
    event.qmass === null ? '-' : event.qmass.toFixed(2),
    event.scores === null ? '-' : event.scores.p50.toPrecision(3),
    event.kl.toExponential(1),
    event.gradientNorm.toPrecision(3),
    event.meanTokens.toFixed(0),
    seconds.toFixed(1),
  ];
  return cells.map((cell, i) => cell.padStart(columns[i][1])).join('');
}

/** `1 h 02 min`, `3 min 05 s` or `12 s`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  if (hours > 0) return `${hours} h ${String(minutes).padStart(2, '0')} min`;
  return minutes > 0 ? `${minutes} min ${String(rest).padStart(2, '0')} s` : `${rest} s`;
}
