/** How far people agree with the oracle, and with each other, about the same rollouts. The page and the terminal count with this code. */
import type { Table } from '../report/draw/index.ts';
import { type Confusion, cohenKappa, countConfusion, type Kappa } from '../stats/index.ts';
import { type LabelledRollout, parseAnswerId } from './api.ts';

export interface HumanAgreement {
  readonly writer: string;
  /** Whom the writer is compared with: the oracle, or another writer. */
  readonly against: string;
  /** Whether only labels given without seeing the verdict count. */
  readonly onlyBlind: boolean;
  /** The writer's hacks are the predictions. */
  readonly confusion: Confusion;
  /** Rollouts of which the writer is unsure; they are in no other count. */
  readonly unsure: number;
  readonly kappa: Kappa | null;
}

const oracle = 'the oracle';
const oracleOfAnswers = 'the oracle, on evaluated answers';

/** The last label of each writer for each rollout; what was taken back is left out. */
export function lastLabels(labels: readonly LabelledRollout[]): LabelledRollout[] {
  const last = new Map(labels.map((label) => [JSON.stringify([label.run, label.rollout, label.writer]), label]));
  return [...last.values()].filter(({ label }) => label !== null);
}

/** Every writer against the oracle, blind and in all, and every two writers against each other. */
export function agreementsOf(labels: readonly LabelledRollout[]): HumanAgreement[] {
  const last = lastLabels(labels);
  const writers = [...new Set(last.map(({ writer }) => writer))].sort();
  const isOfAnswer = ({ rollout }: LabelledRollout): boolean => parseAnswerId(rollout) !== null;
  const kinds = [
    [oracle, last.filter((label) => !isOfAnswer(label))],
    [oracleOfAnswers, last.filter(isOfAnswer)],
  ] as const;
  const withOracle = writers.flatMap((writer) =>
    kinds.flatMap(([against, labelled]) => {
      const own = labelled.filter((label) => label.writer === writer);
      const blind = own.filter((label) => label.blind);
      const rows = blind.length === own.length ? [] : [againstOracle(writer, against, own, false)];
      return blind.length === 0 ? rows : [againstOracle(writer, against, blind, true), ...rows];
    }),
  );
  return [
    ...withOracle,
    ...writers.flatMap((first, i) => writers.slice(i + 1).flatMap((second) => between(last, first, second))),
  ];
}

function againstOracle(
  writer: string,
  against: string,
  own: readonly LabelledRollout[],
  onlyBlind: boolean,
): HumanAgreement {
  const sure = own.filter(({ label }) => label !== 'unsure');
  const confusion = countConfusion(
    sure.map(({ label }) => label === 'hack'),
    sure.map(({ hack }) => hack),
  );
  const unsure = own.length - sure.length;
  return { writer, against, onlyBlind, confusion, unsure, kappa: cohenKappa(confusion) };
}

function between(last: readonly LabelledRollout[], first: string, second: string): HumanAgreement[] {
  const keyOf = ({ run, rollout }: LabelledRollout): string => JSON.stringify([run, rollout]);
  const others = new Map(last.filter(({ writer }) => writer === second).map((label) => [keyOf(label), label]));
  const pairs = last
    .filter(({ writer }) => writer === first)
    .flatMap((label): [LabelledRollout, LabelledRollout][] => {
      const other = others.get(keyOf(label));
      return other === undefined ? [] : [[label, other]];
    });
  const sure = pairs.filter((pair) => pair.every(({ label }) => label !== 'unsure'));
  if (pairs.length === 0) return [];
  const confusion = countConfusion(
    sure.map(([label]) => label.label === 'hack'),
    sure.map(([, label]) => label.label === 'hack'),
  );
  const unsure = pairs.length - sure.length;
  return [{ writer: first, against: second, onlyBlind: false, confusion, unsure, kappa: cohenKappa(confusion) }];
}

export function agreementTable(agreements: readonly HumanAgreement[]): Table {
  const number = (value: number): string => value.toFixed(2);
  return {
    title: 'people against the oracle',
    columns: [
      'writer',
      'against',
      'labels',
      'n',
      'kappa',
      '95% interval',
      'agree',
      'both hack',
      'hack, clean',
      'clean, hack',
      'both clean',
      'unsure',
    ],
    rows: agreements.map(({ writer, against, onlyBlind, confusion, unsure, kappa }) => {
      const { truePositives, falsePositives, falseNegatives, trueNegatives } = confusion;
      const n = truePositives + falsePositives + falseNegatives + trueNegatives;
      return [
        writer,
        against,
        onlyBlind ? 'blind' : 'all',
        `${n}`,
        kappa === null ? '-' : number(kappa.kappa),
        kappa === null ? '-' : `[${number(kappa.low)}, ${number(kappa.high)}]`,
        n === 0 ? '-' : number((truePositives + trueNegatives) / n),
        ...[truePositives, falsePositives, falseNegatives, trueNegatives, unsure].map(String),
      ];
    }),
    notes: [
      "Cohen's kappa, hack against clean, over rollouts; the unsure are left out. “hack, clean”: the writer says hack, the other says clean. The interval holds chance agreement fixed and takes rollouts as independent.",
    ],
  };
}
