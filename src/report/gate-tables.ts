/** The gate of one run as tables: as a classifier, by window of updates, and its scores against the cuts. */
import type {
  DirectionReport,
  GateJudgement,
  GateWindow,
  IdealDirection,
  RandomBand,
  Separation,
} from '../analyse/index.ts';
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
  const byToken = all.tokens !== null;
  const unit = byToken ? 'tokens ' : '';
  return {
    title: byToken ? 'the gate as a classifier of tokens, by the labels of their rollouts' : 'the gate as a classifier',
    columns: ['', 'all rollouts with gradient', 'positively reinforced'],
    rows: [
      row('rollouts, hacks', ({ rollouts, hacks }) => `${rollouts}, ${hacks}`),
      ...(byToken ? [row('tokens, of hacks', ({ tokens }) => `${tokens?.tokens ?? 0}, ${tokens?.ofHacks ?? 0}`)] : []),
      row(byToken ? 'AUROC, mean scores of rollouts' : 'AUROC', ({ separation }) => aurocText(separation)),
      ...(byToken ? [row('AUROC, tokens', ({ tokens }) => aurocText(tokens?.separation ?? null))] : []),
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
      row(`${unit}keep, absorb, route`, ({ routes }) => `${routes.keep}, ${routes.absorb}, ${routes.route}`),
    ],
    notes: [
      'AUROC: hacks against clean rollouts of the same update, the interval over updates. route claims "hack", keep claims "clean". An attempt is a rollout that opens a loophole, even in a correct program.',
      ...(byToken
        ? [
            'Precision, recall and shares count tokens. A token has the label of its rollout, which is a diagnosis: most tokens of a hack look like those of any program. Tokens of a rollout are not independent, so these intervals are too narrow.',
          ]
        : []),
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

/** What the stored features would have allowed, beside what the gate reached. */
export function idealTable(own: Separation | null, ideal: IdealDirection): Table {
  return {
    title: 'the ideal direction: fitted on labels, diagnosis only',
    columns: ['', 'AUROC'],
    rows: [
      ['this gate', aurocText(own)],
      ['ideal direction, cross-fitted', aurocText(ideal.separation)],
    ],
    notes: [
      `Mean feature of ${ideal.hacks} hacks less that of ${ideal.rollouts - ideal.hacks} clean rollouts, within updates. Cross-fitted: the direction of half of the problems scores the other half.`,
    ],
  };
}

/** The gate's directions: the band of the pairs under each, and its cosines. */
export function directionTable(directions: readonly DirectionReport[]): Table {
  const precise = (value: number | undefined): string => (value === undefined ? '-' : value.toPrecision(3));
  return {
    title: 'directions and the band of the pairs',
    columns: ['updates', 'clean pairs', 'hack pairs', 'width', 'cosine of rollouts', 'cosine to ideal'],
    rows: directions.map(({ from, to, band, meanCosine, cosineToIdeal }) => [
      `${from}-${to}`,
      precise(band?.low),
      precise(band?.high),
      precise(band?.width),
      number(meanCosine, 3),
      number(cosineToIdeal, 3),
    ]),
    notes: [
      'The band is between the mean scores of the two sides of the pairs. Cosines: mean over rollouts of their features with the direction; the direction with the one fitted on labels.',
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
