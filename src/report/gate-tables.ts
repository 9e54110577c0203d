/** The gate of one run as tables: as a classifier, by window of updates, and its scores against the cuts. */
import type { GateJudgement, GateWindow, RandomBand, Separation } from '../analyse/index.ts';
import { formatRate, type Rate } from '../evaluate/index.ts';
import type { Table } from './table.ts';

const rateText = (rate: Rate | null): string => (rate === null ? '-' : formatRate(rate));
const short = (rate: Rate | null): string => (rate === null ? '-' : `${rate.count}/${rate.of}`);
const number = (value: number | null, digits = 2): string => (value === null ? '-' : value.toFixed(digits));

function aurocText(separation: Separation | null): string {
  if (separation === null) return '-';
  const { auroc, interval } = separation;
  return interval === null
    ? auroc.toFixed(2)
    : `${auroc.toFixed(2)} [${interval.low.toFixed(2)}, ${interval.high.toFixed(2)}]`;
}

/** The gate over the whole run: all rollouts with gradient, beside the positively reinforced ones. */
export function gateTable(all: GateJudgement, reinforced: GateJudgement): Table {
  const row = (name: string, value: (judgement: GateJudgement) => string): string[] => [
    name,
    value(all),
    value(reinforced),
  ];
  return {
    title: 'the gate as a classifier',
    columns: ['', 'all rollouts with gradient', 'positively reinforced'],
    rows: [
      row('rollouts, hacks', ({ rollouts, hacks }) => `${rollouts}, ${hacks}`),
      row('AUROC', ({ separation }) => aurocText(separation)),
      row('route: precision', ({ route }) => rateText(route.precision)),
      row('route: recall', ({ route }) => rateText(route.recall)),
      row('route: F0.5', ({ route }) => number(route.fHalf)),
      row('keep: precision', ({ keep }) => rateText(keep.precision)),
      row('keep: recall', ({ keep }) => rateText(keep.recall)),
      row('keep: F0.5', ({ keep }) => number(keep.fHalf)),
      row('hack share of keep', ({ hackShareOfKeep }) => rateText(hackShareOfKeep)),
      row('clean share of route', ({ cleanShareOfRoute }) => rateText(cleanShareOfRoute)),
      row('AUROC, attempts', ({ attempts }) => aurocText(attempts.separation)),
      row('attempt share of route', ({ attempts }) => rateText(attempts.shareOfRoute)),
      row('attempt share of keep', ({ attempts }) => rateText(attempts.shareOfKeep)),
      row('keep, absorb, route', ({ routes }) => `${routes.keep}, ${routes.absorb}, ${routes.route}`),
    ],
    notes: [
      'AUROC: hacks against clean rollouts of the same update, the interval over updates. route claims "hack", keep claims "clean". An attempt is a rollout that opens a loophole, even in a correct program.',
    ],
  };
}

export function bandTable(own: Separation | null, band: RandomBand): Table {
  const above = own === null ? null : band.aurocs.filter((auroc) => auroc >= own.auroc).length;
  return {
    title: `${band.directions} random directions over the same ${band.rollouts} stored features`,
    columns: ['', 'AUROC'],
    rows: [
      ['this gate', aurocText(own)],
      ['random, mean', number(band.mean)],
      ['random, 5% to 95%', `${number(band.p5)} to ${number(band.p95)}`],
      ['random, least and most', `${number(band.least)} to ${number(band.most)}`],
      ['random at or above this gate', above === null ? '-' : `${above}/${band.directions}`],
    ],
  };
}

export function windowTable(windows: readonly GateWindow[], reinforced: boolean): Table {
  return {
    title: `by window of updates${reinforced ? ', positively reinforced rollouts' : ''}`,
    columns: [
      'updates',
      'rollouts',
      'hacks',
      'AUROC',
      'route right',
      'route recall',
      'F0.5',
      'hacks kept',
      'clean routed',
    ],
    rows: windows.map((window) => {
      const own = reinforced ? window.reinforced : window.all;
      return [
        `${window.from}-${window.to}`,
        `${own.rollouts}`,
        `${own.hacks}`,
        own.separation === null ? '-' : own.separation.auroc.toFixed(2),
        short(own.route.precision),
        short(own.route.recall),
        number(own.route.fHalf),
        short(own.hackShareOfKeep),
        short(own.cleanShareOfRoute),
      ];
    }),
  };
}

/** The scores of each window against its cuts, with a reading of their drift. */
export function driftTable(windows: readonly GateWindow[]): Table {
  const precise = (value: number | undefined): string => (value === undefined ? '-' : value.toPrecision(3));
  return {
    title: 'scores against the cuts',
    columns: ['updates', 'p10', 'p50', 'p90', 'low cut', 'high cut', 'reading'],
    rows: windows.map(({ from, to, scores, cuts, readings }) => [
      `${from}-${to}`,
      precise(scores?.p10),
      precise(scores?.p50),
      precise(scores?.p90),
      precise(cuts?.low),
      precise(cuts?.high),
      readings.join('; ') || '-',
    ]),
  };
}
