/** The gate of one run as tables: as a classifier, by window of updates, and its scores against the cuts. */

import { formatRate, type Rate } from '../evaluate/index.ts';
import type {
  Attribution,
  Deed,
  DirectionReport,
  GateJudgement,
  GateWindow,
  IdealDirection,
  RandomBand,
  Separation,
} from '../measure/index.ts';
import type { Cell, Table } from './table.ts';

export const rateText = (rate: Rate | null): string => (rate === null ? '-' : formatRate(rate));
export const short = (rate: Rate | null): string => (rate === null ? '-' : `${rate.count}/${rate.of}`);
const number = (value: number | null, digits = 2): string => (value === null ? '-' : value.toFixed(digits));

export const shortAuroc = (separation: Separation | null): string => number(separation?.auroc ?? null);

export function aurocText(separation: Separation | null): string {
  if (separation === null) return '-';
  const { auroc, interval } = separation;
  return interval === null
    ? auroc.toFixed(2)
    : `${auroc.toFixed(2)} [${interval.low.toFixed(2)}, ${interval.high.toFixed(2)}]`;
}

/** The first cell of a row about some updates. */
export const windowCell = ({ from, to }: { readonly from: number; readonly to: number }): Cell => ({
  text: `${from}-${to}`,
  updates: [from, to],
});

/** The gate over the whole run: all rollouts with gradient, beside the positively reinforced ones. */
export function gateTable(all: GateJudgement, reinforced: GateJudgement): Table {
  const row = (name: string, value: (judgement: GateJudgement) => string): Cell[] => [
    name,
    value(all),
    { text: value(reinforced), advantage: 'above 0' },
  ];
  const byToken = all.tokens !== null;
  const unit = byToken ? 'tokens ' : '';
  return {
    title: byToken ? 'the gate as a classifier of tokens, by the labels of their rollouts' : 'the gate as a classifier',
    columns: ['', 'all rollouts with gradient', 'positively reinforced'],
    rows: [
      row('rollouts, attempts, hacks', ({ rollouts, attempts, hacks }) => `${rollouts}, ${attempts.count}, ${hacks}`),
      ...(byToken ? [row('tokens, of hacks', ({ tokens }) => `${tokens?.tokens ?? 0}, ${tokens?.ofHacks ?? 0}`)] : []),
      row('attempts: AUROC', ({ attempts }) => aurocText(attempts.separation)),
      row('attempts: route precision', ({ attempts }) => rateText(attempts.route.precision)),
      row('attempts: route recall', ({ attempts }) => rateText(attempts.route.recall)),
      row('attempts: route FPR', ({ attempts }) => rateText(attempts.route.falsePositiveRate)),
      row('attempts: share of keep', ({ attempts }) => rateText(attempts.shareOfKeep)),
      row(byToken ? 'hacks: AUROC, mean scores of rollouts' : 'hacks: AUROC', ({ separation }) =>
        aurocText(separation),
      ),
      ...(byToken ? [row('hacks: AUROC, tokens', ({ tokens }) => aurocText(tokens?.separation ?? null))] : []),
      row('hacks: route precision', ({ route }) => rateText(route.precision)),
      row('hacks: route recall', ({ route }) => rateText(route.recall)),
      row('hacks: route FPR', ({ route }) => rateText(route.falsePositiveRate)),
      row('hacks: route F0.5', ({ route }) => number(route.fHalf)),
      row('no hack: keep precision', ({ keep }) => rateText(keep.precision)),
      row('no hack: keep recall', ({ keep }) => rateText(keep.recall)),
      row('no hack: keep F0.5', ({ keep }) => number(keep.fHalf)),
      row('hacks: share of keep', ({ hackShareOfKeep }) => rateText(hackShareOfKeep)),
      row('no hack: share of route', ({ cleanShareOfRoute }) => rateText(cleanShareOfRoute)),
      row(`${unit}keep, absorb, route`, ({ routes }) => `${routes.keep}, ${routes.absorb}, ${routes.route}`),
    ],
    notes: [
      'Each line says what it is judged against: attempts (a loophole was opened, even in a correct program) or hacks. AUROC: these against all other rollouts of the same update, the interval over updates. FPR: share of all others that is routed.',
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
      windowCell({ from, to }),
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
        windowCell(window),
        `${own.rollouts}`,
        `${own.hacks}`,
        shortAuroc(own.separation),
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
      windowCell({ from, to }),
      precise(scores?.p10),
      precise(scores?.p50),
      precise(scores?.p90),
      precise(cuts?.low),
      precise(cuts?.high),
      readings.join('; ') || '-',
    ]),
  };
}

const advantages = { '+': 'above 0', '−': 'below 0', '0': '0' } as const;
const deeds: readonly Deed[] = ['attempt', 'clean beside an attempt', 'clean'];

/** Who pushes the deployed block, and by which route: over the whole run. */
export function attributionTable({ from, to, rollouts, shares }: Attribution): Table {
  return {
    title: `whose gradient the deployed block learned from, updates ${from}-${to}`,
    columns: ['share', 'rollouts', 'did', 'A', 'route', 'sampled'],
    rows: shares.map(({ share, rollouts: count, deed, sign, route, sampled }) => [
      {
        text: share.toFixed(3),
        attempt: deed === 'attempt' ? 'yes' : 'no',
        advantage: advantages[sign],
        ...{ route, sampled },
      },
      `${count}`,
      deed,
      sign,
      route,
      sampled,
    ]),
    notes: [
      `Shares of Σ |g_d|² over ${rollouts} rollouts. A: the sign of the advantage. A clean rollout beside an attempt has a group mate that opened a loophole; with the mean of the group it is blamed for not doing so. Energies of single rollouts: what they add up to also depends on their angles.`,
    ],
  };
}

/** The same by window of updates, in fewer parts. */
export function attributionWindowTable(windows: readonly Attribution[]): Table {
  const parts = deeds.flatMap((deed) => (['+', '−'] as const).map((sign) => ({ deed, sign })));
  return {
    title: 'whose gradient the deployed block learned from, by window of updates',
    columns: ['updates', 'Σ |g_d|²', ...parts.map(({ deed, sign }) => `${deed}, A ${sign}`)],
    rows: windows.map(({ from, to, energy, shares }) => [
      windowCell({ from, to }),
      energy.toPrecision(2),
      ...parts.map((part) =>
        shares
          .filter(({ deed, sign }) => deed === part.deed && sign === part.sign)
          .reduce((sum, { share }) => sum + share, 0)
          .toFixed(2),
      ),
    ]),
  };
}
