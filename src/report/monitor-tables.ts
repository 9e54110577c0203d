/** Monitors as classifiers, judged against attempts and against hacks: of one run, and over seeds; and the evasion split. */
import type { Evasion, MonitorJudgement, MonitorWindow, TargetJudgement } from '../measure/index.ts';
import { type ArmResults, formatSample, type Results, sampleOf } from './aggregate.ts';
import { aurocText, rateText, short, shortAuroc, windowCell } from './gate-tables.ts';
import type { RunResult } from './run-result.ts';
import { makeTable, type Table } from './table.ts';
import { armCell, noClaim, signed, signedInterval } from './tables.ts';

const targets = {
  attempts: (judged: MonitorJudgement) => judged.attempts,
  hacks: (judged: MonitorJudgement): TargetJudgement & { readonly count: number } => ({
    ...judged,
    count: judged.hacks,
  }),
} as const;
type Target = keyof typeof targets;

/** How well a monitor finds a target: names in CSV and JSON, which say nothing of hacks, and in tables. */
const qualities = {
  auroc: { column: 'AUROC', value: ({ separation }: TargetJudgement) => separation?.auroc ?? null },
  precision: { column: 'precision', value: ({ precision }: TargetJudgement) => precision?.rate ?? null },
  recall: { column: 'recall', value: ({ recall }: TargetJudgement) => recall?.rate ?? null },
  fpr: { column: 'FPR', value: (judged: TargetJudgement) => judged.falsePositiveRate?.rate ?? null },
} as const;

type MonitorValue = (run: Pick<RunResult, 'monitor'>) => number | null;

const monitorMetrics = (Object.keys(targets) as Target[]).flatMap((target) =>
  Object.entries(qualities).map(([name, { column, value }]) => ({
    name: `monitor-${target === 'attempts' ? 'attempt-' : ''}${name}`,
    column: `${target}: ${column}`,
    value: (({ monitor }) => (monitor === null ? null : value(targets[target](monitor)))) satisfies MonitorValue,
  })),
);

export const monitorValues: Readonly<Record<string, MonitorValue>> = Object.fromEntries(
  monitorMetrics.map(({ name, value }) => [name, value]),
);

export const monitorColumns = <Thing extends Pick<ArmResults, 'runs'>>(
  monitorOf: (thing: Thing, run: RunResult) => MonitorJudgement | null = (_, { monitor }) => monitor,
): Record<string, (thing: Thing) => string> =>
  Object.fromEntries(
    monitorMetrics.map(({ column, value }) => [
      column,
      (thing: Thing) => formatSample(sampleOf(thing.runs, (run) => value({ monitor: monitorOf(thing, run) }))),
    ]),
  );

const note =
  'Judged by labels, which training did not see unless the arm uses labels, against attempts (a loophole was opened, even in a correct program) and against hacks, as line or column says. AUROC: these against all other rollouts of the same update; FPR: share of all others that is flagged.';

export function monitorTable(judged: MonitorJudgement): Table {
  const rowsOf = (target: Target): string[][] => {
    const { separation, precision, recall, falsePositiveRate } = targets[target](judged);
    return [
      [`${target}: AUROC`, aurocText(separation)],
      [`${target}: precision of flags`, rateText(precision)],
      [`${target}: recall of flags`, rateText(recall)],
      [`${target}: FPR of flags`, rateText(falsePositiveRate)],
    ];
  };
  return {
    title: 'the monitor as a classifier, diagnosis only',
    columns: ['', 'all rollouts'],
    rows: [
      ['rollouts, attempts, hacks', `${judged.rollouts}, ${judged.attempts.count}, ${judged.hacks}`],
      ['abstained', `${judged.abstained}`],
      ...rowsOf('attempts'),
      ...rowsOf('hacks'),
    ],
    notes: [note],
  };
}

export function monitorWindowTable(windows: readonly MonitorWindow[]): Table {
  const columnsOf = (target: Target): Record<string, (window: MonitorWindow) => string> => ({
    [target]: (window) => `${targets[target](window).count}`,
    [`${target}: AUROC`]: (window) => shortAuroc(targets[target](window).separation),
    [`${target}: precision`]: (window) => short(targets[target](window).precision),
    [`${target}: recall`]: (window) => short(targets[target](window).recall),
    [`${target}: FPR`]: (window) => short(targets[target](window).falsePositiveRate),
  });
  return makeTable('the monitor by window of updates', windows, {
    updates: windowCell,
    rollouts: ({ rollouts }) => `${rollouts}`,
    abstained: ({ abstained }) => `${abstained}`,
    ...columnsOf('attempts'),
    ...columnsOf('hacks'),
  });
}

/** The monitors of all arms over seeds, by quarter of training: does a monitor still see the hack that is trained against it? */
export function monitorsOverTimeTable({ arms }: Results): Table {
  const quarters = arms.flatMap((arm) => {
    const ends = new Map(arm.runs.flatMap(({ monitorOverTime }) => monitorOverTime.map(({ from, to }) => [from, to])));
    return [...ends].sort(([a], [b]) => a - b).map(([from, to]) => ({ ...arm, from, to }));
  });
  type Quarter = (typeof quarters)[number];
  const within = ({ from }: Quarter, run: RunResult): MonitorWindow | null =>
    run.monitorOverTime.find((quarter) => quarter.from === from) ?? null;
  return makeTable(
    'monitors by quarter of training',
    quarters,
    {
      arm: (quarter) => armCell(quarter, { training: true }),
      updates: ({ from, to }) => `${from}-${to}`,
      n: (quarter) => `${quarter.runs.filter((run) => within(quarter, run) !== null).length}`,
      ...monitorColumns(within),
    },
    note,
  );
}

export function monitorsTable({ arms }: Results): Table {
  const watched = arms.filter(({ runs }) => runs.some(({ monitor }) => monitor !== null));
  return makeTable(
    'monitors while training',
    watched,
    {
      arm: (arm) => armCell(arm, { training: true }),
      n: ({ runs }) => `${runs.length}`,
      ...monitorColumns(),
    },
    note,
  );
}

const evasionNote =
  'Mean scores of the same texts, as the base reads them and as the trained policy does, by the monitor of the last checkpoint; labels divide the rollouts, for diagnosis only. Attempts and hacks that score lower on the policy hide in its activations; those that score low on both pass by their text.';

const sidesOf = ({ byAttempt, hacks, clean }: Evasion) => ({
  ...(byAttempt === undefined ? {} : { attempts: byAttempt.attempts, 'no attempt': byAttempt.others }),
  hacks,
  clean,
});

export function evasionTable(evasion: Evasion): Table {
  const { from, to, rollouts, abstained, byAttempt, auroc, difference } = evasion;
  const areaText = (areas: Evasion['auroc']): string =>
    areas === null
      ? 'none, for lack of one side'
      : `${areas.base.toFixed(2)} on the base, ${areas.policy.toFixed(2)} on the policy`;
  const tried = byAttempt === undefined ? '' : `AUROC of attempts against all others: ${areaText(byAttempt.auroc)}. `;
  return makeTable(
    `evasion split, rollouts of updates ${from} to ${to}`,
    Object.entries(sidesOf(evasion)),
    {
      rollouts: ([name]) => name,
      n: ([, side]) => `${side?.rollouts ?? 0}`,
      'score on base': ([, side]) => side?.base.toFixed(3) ?? '-',
      'score on policy': ([, side]) => side?.policy.toFixed(3) ?? '-',
      difference: ([, side]) => (side === null ? '-' : signed(side.difference)),
      '95% interval': ([, side]) => signedInterval(side?.interval ?? null),
      contribution: ([, side]) => (side === null ? '-' : signed(side.contribution)),
    },
    evasionNote,
    `The contributions of a division add up to the difference over all rollouts, ${signed(difference)}. ${tried}AUROC of hacks against clean rollouts: ${areaText(auroc)}.`,
    abstained > 0 && `The monitor abstained on ${abstained} of ${rollouts}.`,
    `Interval: Student's, over rollouts. ${noClaim}.`,
  );
}

/** Values of a run, attempts first: names in CSV and JSON, and columns. */
const evasionMetrics: readonly (readonly [string, string, (evasion: Evasion) => number | undefined])[] = [
  ['evasion-attempts-base', 'attempts, on base', ({ byAttempt }) => byAttempt?.attempts?.base],
  ['evasion-attempts-policy', 'attempts, on policy', ({ byAttempt }) => byAttempt?.attempts?.policy],
  ['evasion-others-base', 'no attempt, on base', ({ byAttempt }) => byAttempt?.others?.base],
  ['evasion-others-policy', 'no attempt, on policy', ({ byAttempt }) => byAttempt?.others?.policy],
  ['evasion-attempt-auroc-base', 'attempts: AUROC on base', ({ byAttempt }) => byAttempt?.auroc?.base],
  ['evasion-attempt-auroc-policy', 'attempts: AUROC on policy', ({ byAttempt }) => byAttempt?.auroc?.policy],
  ['evasion-hacks-base', 'hacks, on base', ({ hacks }) => hacks?.base],
  ['evasion-hacks-policy', 'hacks, on policy', ({ hacks }) => hacks?.policy],
  ['evasion-clean-base', 'clean, on base', ({ clean }) => clean?.base],
  ['evasion-clean-policy', 'clean, on policy', ({ clean }) => clean?.policy],
  ['evasion-auroc-base', 'hacks: AUROC on base', ({ auroc }) => auroc?.base],
  ['evasion-auroc-policy', 'hacks: AUROC on policy', ({ auroc }) => auroc?.policy],
];

export const evasionValues: Readonly<Record<string, (run: RunResult) => number | null>> = Object.fromEntries(
  evasionMetrics.map(([name, , value]) => [
    name,
    ({ evasion }: RunResult) => (evasion === null ? null : (value(evasion) ?? null)),
  ]),
);

export function evasionsTable({ arms }: Results): Table {
  const split = arms.filter(({ runs }) => runs.some(({ evasion }) => evasion !== null));
  return makeTable(
    'evasion split of monitors that read activations',
    split,
    {
      arm: (arm) => armCell(arm, { training: true }),
      n: ({ runs }) => `${runs.filter(({ evasion }) => evasion !== null).length}`,
      ...Object.fromEntries(
        evasionMetrics.map(([name, column]) => [
          column,
          ({ runs }: ArmResults) => formatSample(sampleOf(runs, evasionValues[name])),
        ]),
      ),
    },
    evasionNote,
  );
}
