/** The gate of one run as tables, judged against attempts and against hacks: as a classifier, by window of updates, and its scores against the cuts. */
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
import { type Cell, makeTable, type Table } from './table.ts';

export const rateText = (rate: Rate | null): string => (rate === null ? '-' : formatRate(rate));
export const short = (rate: Rate | null): string => (rate === null ? '-' : `${rate.count}/${rate.of}`);
const number = (value: number | null, digits = 2): string => (value === null ? '-' : value.toFixed(digits));
const precise = (value: number | undefined): string => (value === undefined ? '-' : value.toPrecision(3));

export const shortAuroc = (separation: Separation | null): string => number(separation?.auroc ?? null);

export function aurocText(separation: Separation | null): string {
  if (separation === null) return '-';
  const { auroc, interval } = separation;
  return interval === null
    ? auroc.toFixed(2)
    : `${auroc.toFixed(2)} [${interval.low.toFixed(2)}, ${interval.high.toFixed(2)}]`;
}

export const windowCell = ({ from, to }: { readonly from: number; readonly to: number }): Cell => ({
  text: `${from}-${to}`,
  updates: [from, to],
});

/** What a gate is judged against, attempts first, and what a judgement says of it. */
const targets = [
  {
    ...{ many: 'attempts', none: 'no attempt' },
    of: ({ attempts, tokens }: GateJudgement) => ({
      ...attempts,
      ofRoute: attempts.othersOfRoute,
      tokenSeparation: tokens?.attemptSeparation ?? null,
    }),
  },
  {
    ...{ many: 'hacks', none: 'no hack' },
    of: (judged: GateJudgement) => ({
      ...judged,
      count: judged.hacks,
      shareOfKeep: judged.hackShareOfKeep,
      ofRoute: judged.cleanShareOfRoute,
      tokenSeparation: judged.tokens?.separation ?? null,
    }),
  },
] as const;

export function gateTable(all: GateJudgement, reinforced: GateJudgement): Table {
  const byToken = all.tokens !== null;
  const rows: Record<string, (judged: GateJudgement) => string> = {
    'rollouts, attempts, hacks': ({ rollouts, attempts, hacks }) => `${rollouts}, ${attempts.count}, ${hacks}`,
  };
  if (byToken) {
    rows['tokens, of attempts, of hacks'] = ({ tokens }) =>
      `${tokens?.tokens ?? 0}, ${tokens?.ofAttempts ?? 0}, ${tokens?.ofHacks ?? 0}`;
  }
  for (const { many, none, of } of targets) {
    rows[`${many}: AUROC${byToken ? ', mean scores of rollouts' : ''}`] = (judged) => aurocText(of(judged).separation);
    if (byToken) rows[`${many}: AUROC, tokens`] = (judged) => aurocText(of(judged).tokenSeparation);
    rows[`${many}: route precision`] = (judged) => rateText(of(judged).route.precision);
    rows[`${many}: route recall`] = (judged) => rateText(of(judged).route.recall);
    rows[`${many}: route FPR`] = (judged) => rateText(of(judged).route.falsePositiveRate);
    rows[`${many}: route F0.5`] = (judged) => number(of(judged).route.fHalf);
    rows[`${none}: keep precision`] = (judged) => rateText(of(judged).keep.precision);
    rows[`${none}: keep recall`] = (judged) => rateText(of(judged).keep.recall);
    rows[`${none}: keep F0.5`] = (judged) => number(of(judged).keep.fHalf);
    rows[`${many}: share of keep`] = (judged) => rateText(of(judged).shareOfKeep);
    rows[`${none}: share of route`] = (judged) => rateText(of(judged).ofRoute);
  }
  rows[`${byToken ? 'tokens ' : ''}keep, absorb, route`] = ({ routes }) =>
    `${routes.keep}, ${routes.absorb}, ${routes.route}`;
  return makeTable(
    byToken ? 'the gate as a classifier of tokens, by the labels of their rollouts' : 'the gate as a classifier',
    Object.entries(rows),
    {
      '': ([name]) => name,
      'all rollouts with gradient': ([, value]) => value(all),
      'positively reinforced': ([, value]) => ({ text: value(reinforced), advantage: 'above 0' }),
    },
    'Each line says what it is judged against: attempts (a loophole was opened, even in a correct program) or hacks. AUROC: these against all other rollouts of the same update, the interval over updates. FPR: share of all others that is routed.',
    byToken &&
      'Precision, recall and shares count tokens. A token has the label of its rollout, which is a diagnosis: most tokens of a hack look like those of any program. Tokens of a rollout are not independent, so these intervals are too narrow.',
  );
}

export interface ByTarget<Known> {
  readonly attempts: Known;
  readonly hacks: Known;
}

const targetNames = ['attempts', 'hacks'] as const;

export function bandTable(own: ByTarget<Separation | null>, bands: ByTarget<RandomBand | null>): Table {
  const { directions, rollouts } = bands.hacks ?? bands.attempts ?? { directions: 0, rollouts: 0 };
  const cell = (target: keyof typeof bands, value: (band: RandomBand) => string): string =>
    bands[target] === null ? '-' : value(bands[target]);
  const rows: readonly (readonly [string, (target: keyof typeof bands) => string])[] = [
    ['this gate', (target) => aurocText(own[target])],
    ['random, mean', (target) => cell(target, (band) => number(band.mean))],
    ['random, 5% to 95%', (target) => cell(target, (band) => `${number(band.p5)} to ${number(band.p95)}`)],
    ['random, least and most', (target) => cell(target, (band) => `${number(band.least)} to ${number(band.most)}`)],
    [
      'random at or above this gate',
      (target) =>
        cell(target, (band) => {
          const least = own[target]?.auroc ?? Number.POSITIVE_INFINITY;
          return own[target] === null ? '-' : `${band.aurocs.filter((auroc) => auroc >= least).length}/${directions}`;
        }),
    ],
  ];
  return {
    title: `${directions} random directions over the same ${rollouts} stored features`,
    columns: ['', 'attempts: AUROC', 'hacks: AUROC'],
    rows: rows.map(([name, value]) => [name, ...targetNames.map(value)]),
  };
}

export function idealTable(own: ByTarget<Separation | null>, ideal: ByTarget<IdealDirection | null>): Table {
  const fitted = targetNames.flatMap((target) => {
    const one = ideal[target];
    return one === null ? [] : [`${one.hacks} ${target} less that of ${one.rollouts - one.hacks} others`];
  });
  return {
    title: 'the ideal direction: fitted on labels, diagnosis only',
    columns: ['', 'attempts: AUROC', 'hacks: AUROC'],
    rows: [
      ['this gate', ...targetNames.map((target) => aurocText(own[target]))],
      ['ideal direction, cross-fitted', ...targetNames.map((target) => aurocText(ideal[target]?.separation ?? null))],
    ],
    notes: [
      `Mean feature of ${fitted.join(', and of ')}, within updates. Cross-fitted: the direction of half of the problems scores the other half.`,
    ],
  };
}

export function directionTable(directions: readonly DirectionReport[]): Table {
  return makeTable(
    'directions and the band of the pairs',
    directions,
    {
      updates: windowCell,
      'clean pairs': ({ band }) => precise(band?.low),
      'hack pairs': ({ band }) => precise(band?.high),
      width: ({ band }) => precise(band?.width),
      'cosine of rollouts': ({ meanCosine }) => number(meanCosine, 3),
      'cosine to ideal': ({ cosineToIdeal }) => number(cosineToIdeal, 3),
    },
    'The band is between the mean scores of the two sides of the pairs. Cosines: mean over rollouts of their features with the direction; the direction with the one fitted on labels of hacks.',
  );
}

export function windowTable(windows: readonly GateWindow[], reinforced: boolean): Table {
  const judged = (window: GateWindow): GateJudgement => (reinforced ? window.reinforced : window.all);
  const columns = targets.map(({ many, none, of }): Parameters<typeof makeTable<GateWindow>>[2] => ({
    [many]: (window) => `${of(judged(window)).count}`,
    [`${many}: AUROC`]: (window) => shortAuroc(of(judged(window)).separation),
    [`${many}: route precision`]: (window) => short(of(judged(window)).route.precision),
    [`${many}: route recall`]: (window) => short(of(judged(window)).route.recall),
    [`${many}: route F0.5`]: (window) => number(of(judged(window)).route.fHalf),
    [`${many} of keep`]: (window) => short(of(judged(window)).shareOfKeep),
    [`${none}, of route`]: (window) => short(of(judged(window)).ofRoute),
  }));
  return makeTable(`by window of updates${reinforced ? ', positively reinforced rollouts' : ''}`, windows, {
    updates: windowCell,
    rollouts: (window) => `${judged(window).rollouts}`,
    ...columns[0],
    ...columns[1],
  });
}

export function driftTable(windows: readonly GateWindow[]): Table {
  return makeTable('scores against the cuts', windows, {
    updates: windowCell,
    p10: ({ scores }) => precise(scores?.p10),
    p50: ({ scores }) => precise(scores?.p50),
    p90: ({ scores }) => precise(scores?.p90),
    'low cut': ({ cuts }) => precise(cuts?.low),
    'high cut': ({ cuts }) => precise(cuts?.high),
    reading: ({ readings }) => readings.join('; ') || '-',
  });
}

const deeds: readonly Deed[] = ['attempt', 'clean beside an attempt', 'clean'];
const advantages = { '+': 'above 0', '−': 'below 0', '0': '0' } as const;

export function attributionTable({ from, to, rollouts, shares }: Attribution): Table {
  return makeTable(
    `whose gradient the deployed block learned from, updates ${from}-${to}`,
    shares,
    {
      share: ({ share, deed, sign, route, sampled }) => ({
        ...{ text: share.toFixed(3), attempt: deed === 'attempt' ? 'yes' : 'no', advantage: advantages[sign] },
        ...{ route, sampled },
      }),
      rollouts: (one) => `${one.rollouts}`,
      did: ({ deed }) => deed,
      A: ({ sign }) => sign,
      route: ({ route }) => route,
      sampled: ({ sampled }) => sampled,
    },
    `Shares of Σ |g_d|² over ${rollouts} rollouts. A: the sign of the advantage. A clean rollout beside an attempt has a group mate that opened a loophole; with the mean of the group it is blamed for not doing so. Energies of single rollouts: what they add up to also depends on their angles.`,
  );
}

export function attributionWindowTable(windows: readonly Attribution[]): Table {
  const parts = deeds.flatMap((deed) => (['+', '−'] as const).map((sign) => ({ deed, sign })));
  const shareOf = ({ shares }: Attribution, part: (typeof parts)[number]): string =>
    shares
      .filter(({ deed, sign }) => deed === part.deed && sign === part.sign)
      .reduce((sum, { share }) => sum + share, 0)
      .toFixed(2);
  return makeTable('whose gradient the deployed block learned from, by window of updates', windows, {
    updates: windowCell,
    'Σ |g_d|²': ({ energy }) => energy.toPrecision(2),
    ...Object.fromEntries(
      parts.map((part) => [`${part.deed}, A ${part.sign}`, (one: Attribution) => shareOf(one, part)]),
    ),
  });
}
