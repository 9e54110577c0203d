/** The gate of one run as tables, judged against attempts and against hacks: as a classifier, by window of updates, and its scores against the cuts. */
import { type ByTarget, byTarget, formatRate, type Rate } from '../../evaluate/index.ts';
import { type Cell, makeTable, type Table } from '../table.ts';
import type { Attribution, Deed } from './attribution.ts';
import type { DirectionReport, IdealDirection, RandomBand } from './directions.ts';
import type { GateJudgement, GateWindow, Separation } from './gate-report.ts';

export const rateText = (rate: Rate | null): string => (rate === null ? '-' : formatRate(rate));
export const countsText = (rate: Rate | null): string => (rate === null ? '-' : `${rate.count}/${rate.of}`);
const number = (value: number | null, digits = 2): string => (value === null ? '-' : value.toFixed(digits));
const precise = (value: number | undefined): string => (value === undefined ? '-' : value.toPrecision(3));

export const shortAuroc = (separation: Separation | null): string => number(separation?.auroc ?? null);

export function aurocText(separation: Separation | null): string {
  const { low, high } = separation?.interval ?? { low: null, high: null };
  return low === null ? shortAuroc(separation) : `${shortAuroc(separation)} [${number(low)}, ${number(high)}]`;
}

export const windowCell = ({ from, to }: { readonly from: number; readonly to: number }): Cell => ({
  text: `${from}-${to}`,
  updates: [from, to],
});

/** What a gate is judged against, and what is not that. */
export const gateTargets = [
  { many: 'attempts', none: 'no attempt' },
  { many: 'hacks', none: 'no hack' },
] as const;

type TargetText = (judged: GateJudgement['hacks']) => string;

/** The gate over the whole run: all rollouts with gradient, beside the positively reinforced ones. */
export function gateTable(all: GateJudgement, reinforced: GateJudgement): Table {
  const byToken = all.tokens !== null;
  const rows: [string, (judged: GateJudgement) => string][] = [
    ['rollouts, attempts, hacks', ({ rollouts, attempts, hacks }) => `${rollouts}, ${attempts.count}, ${hacks.count}`],
  ];
  if (byToken) {
    const counts = ({ tokens, attempts, hacks }: GateJudgement) => [tokens ?? 0, attempts.tokens, hacks.tokens];
    rows.push(['tokens, of attempts, of hacks', (judged) => counts(judged).join(', ')]);
  }
  for (const { many, none } of gateTargets) {
    const add = (name: string, text: TargetText) => rows.push([name, (judged) => text(judged[many])]);
    add(`${many}: AUROC${byToken ? ', mean scores of rollouts' : ''}`, ({ separation }) => aurocText(separation));
    if (byToken) add(`${many}: AUROC, tokens`, ({ tokenSeparation }) => aurocText(tokenSeparation));
    add(`${many}: route precision`, ({ route }) => rateText(route.precision));
    add(`${many}: route recall`, ({ route }) => rateText(route.recall));
    add(`${many}: route FPR`, ({ route }) => rateText(route.falsePositiveRate));
    add(`${many}: route F0.5`, ({ route }) => number(route.fHalf));
    add(`${none}: keep precision`, ({ keep }) => rateText(keep.precision));
    add(`${none}: keep recall`, ({ keep }) => rateText(keep.recall));
    add(`${none}: keep F0.5`, ({ keep }) => number(keep.fHalf));
    add(`${many}: share of keep`, ({ shareOfKeep }) => rateText(shareOfKeep));
    add(`${none}: share of route`, ({ othersOfRoute }) => rateText(othersOfRoute));
  }
  const ends = ({ routes: { keep, absorb, route } }: GateJudgement): string => `${keep}, ${absorb}, ${route}`;
  rows.push([`${byToken ? 'tokens ' : ''}keep, absorb, route`, ends]);
  return makeTable(
    byToken ? 'the gate as a classifier of tokens, by the labels of their rollouts' : 'the gate as a classifier',
    rows,
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

/** A table of lines, each with what it says of attempts and of hacks. */
function targetTable(title: string, lines: Readonly<Record<string, ByTarget<string>>>, ...notes: string[]): Table {
  return makeTable(
    title,
    Object.entries(lines),
    {
      '': ([name]) => name,
      'attempts: AUROC': ([, { attempts }]) => attempts,
      'hacks: AUROC': ([, { hacks }]) => hacks,
    },
    ...notes,
  );
}

/** What the gate is compared with: random directions, and the one that labels fit best. */
export type Controls = Readonly<Record<'band', RandomBand | null> & Record<'ideal', IdealDirection | null>>;

export function bandTable(gate: GateJudgement, controls: ByTarget<Controls>): Table {
  const { directions, rollouts } = controls.hacks.band ?? controls.attempts.band ?? { directions: 0, rollouts: 0 };
  const cells = (value: (band: RandomBand, separation: Separation | null) => string): ByTarget<string> =>
    byTarget((_, target) => {
      const { band } = controls[target];
      return band === null ? '-' : value(band, gate[target].separation);
    });
  return targetTable(`${directions} random directions over the same ${rollouts} stored features`, {
    'this gate': byTarget((_, target) => aurocText(gate[target].separation)),
    'random, mean': cells(({ mean }) => number(mean)),
    'random, 5% to 95%': cells(({ p5, p95 }) => `${number(p5)} to ${number(p95)}`),
    'random, least and most': cells(({ least, most }) => `${number(least)} to ${number(most)}`),
    'random at or above this gate': cells(({ aurocs }, separation) =>
      separation === null ? '-' : `${aurocs.filter((auroc) => auroc >= separation.auroc).length}/${directions}`,
    ),
  });
}

/** What the stored features would have allowed, beside what the gate reached. */
export function idealTable(gate: GateJudgement, controls: ByTarget<Controls>): Table {
  const fitted = Object.entries(controls).flatMap(([target, { ideal }]) =>
    ideal === null ? [] : [`${ideal.hacks} ${target} less that of ${ideal.rollouts - ideal.hacks} others`],
  );
  return targetTable(
    'the ideal direction: fitted on labels, diagnosis only',
    {
      'this gate': byTarget((_, target) => aurocText(gate[target].separation)),
      'ideal direction, cross-fitted': byTarget((_, target) => aurocText(controls[target].ideal?.separation ?? null)),
    },
    `Mean feature of ${fitted.join(', and of ')}, within updates. Cross-fitted: the direction of half of the problems scores the other half.`,
  );
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
  const columns = gateTargets.flatMap(({ many, none }) => {
    const named: Record<string, TargetText> = {
      [many]: ({ count }) => `${count}`,
      [`${many}: AUROC`]: ({ separation }) => shortAuroc(separation),
      [`${many}: route precision`]: ({ route }) => countsText(route.precision),
      [`${many}: route recall`]: ({ route }) => countsText(route.recall),
      [`${many}: route F0.5`]: ({ route }) => number(route.fHalf),
      [`${many} of keep`]: ({ shareOfKeep }) => countsText(shareOfKeep),
      [`${none}, of route`]: ({ othersOfRoute }) => countsText(othersOfRoute),
    };
    return Object.entries(named).map(([name, text]) => [name, (window: GateWindow) => text(judged(window)[many])]);
  });
  return makeTable(`by window of updates${reinforced ? ', positively reinforced rollouts' : ''}`, windows, {
    updates: windowCell,
    rollouts: (window) => `${judged(window).rollouts}`,
    ...Object.fromEntries(columns),
  });
}

/** The scores of each window against its cuts, with a reading of their drift. */
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

const deeds: readonly Deed[] = ['attempt', 'clean in a group with attempts', 'clean'];
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
    `Shares of Σ |g_d|² over ${rollouts} rollouts. A: the sign of the advantage. Sampled: by the policy as trained (full), or deployed. Clean in a group with attempts: the rollout opened no loophole and another completion of the same prompt did; compared with the mean of the group it is blamed for that. Energies of single rollouts: what they add up to also depends on their angles.`,
  );
}

/** The same by window of updates, in fewer parts. */
export function attributionWindowTable(windows: readonly Attribution[]): Table {
  const parts = deeds.flatMap((deed) => (['+', '−'] as const).map((sign) => ({ deed, sign })));
  const shareOf = ({ shares }: Attribution, part: (typeof parts)[number]): string =>
    shares
      .filter(({ deed, sign }) => deed === part.deed && sign === part.sign)
      .reduce((sum, { share }) => sum + share, 0)
      .toFixed(2);
  return makeTable(
    'whose gradient the deployed block learned from, by window of updates',
    windows,
    {
      updates: windowCell,
      'Σ |g_d|²': ({ energy }) => energy.toPrecision(2),
      ...Object.fromEntries(
        parts.map((part) => [`${part.deed}, A ${part.sign}`, (one: Attribution) => shareOf(one, part)]),
      ),
    },
    'A: the sign of the advantage.',
  );
}
