/** How far people agree with the oracle, and with each other, about the same rollouts. The page and the terminal count with this code. */
import type { Table } from '../report/draw/index.ts';
import { cohenKappa, countConfusion } from '../stats/index.ts';
import { type LabelledRollout, parseAnswerId } from './api.ts';
import { type VerdictWord, verdictFacets } from './query.ts';

export type HumanAgreement = ReturnType<typeof agreement>;

export const isHack = (verdict: VerdictWord): boolean => verdict === 'attempt, hack';

export function lastLabels(labels: readonly LabelledRollout[]): LabelledRollout[] {
  const last = new Map(labels.map((label) => [JSON.stringify([label.run, label.rollout, label.writer]), label]));
  return [...last.values()].filter(({ label }) => label !== null);
}

export function agreementsOf(labels: readonly LabelledRollout[]): HumanAgreement[] {
  const last = lastLabels(labels);
  const writers = [...new Set(last.map(({ writer }) => writer))].sort();
  const withOracle = writers.flatMap((writer) =>
    ['the oracle', 'the oracle, on evaluated answers'].flatMap((against, kind) => {
      const isOfKind = ({ rollout }: LabelledRollout): boolean => (parseAnswerId(rollout) === null) === (kind === 0);
      const own = last.filter((label) => label.writer === writer && isOfKind(label));
      const blind = own.filter((label) => label.blind);
      const compare = (labels: readonly LabelledRollout[], onlyBlind: boolean): HumanAgreement => {
        const pairs = labels.map(({ label, verdict }): LabelPair => [label, isHack(verdict) ? 'hack' : 'clean']);
        const sure = labels.filter(({ label }) => label !== 'unsure');
        const attempts = sure.filter(({ verdict }) => verdictFacets[verdict].attempt === 'yes').length;
        return agreement(writer, against, onlyBlind, pairs, attempts);
      };
      return [
        ...(blind.length === 0 ? [] : [compare(blind, true)]),
        ...(blind.length === own.length ? [] : [compare(own, false)]),
      ];
    }),
  );
  const between = writers.flatMap((first, i) =>
    writers.slice(i + 1).flatMap((second) => {
      const pairs = last
        .filter(({ writer }) => writer === first)
        .flatMap(({ run, rollout, label }) =>
          last
            .filter((other) => other.writer === second && other.run === run && other.rollout === rollout)
            .map((other): LabelPair => [label, other.label]),
        );
      return pairs.length === 0 ? [] : [agreement(first, second, false, pairs)];
    }),
  );
  return [...withOracle, ...between];
}

type LabelPair = readonly [LabelledRollout['label'], LabelledRollout['label']];

/** `attempts`: those by the oracle's verdict, hacks or not; null between people, who are not asked that. */
function agreement(
  writer: string,
  against: string,
  onlyBlind: boolean,
  pairs: readonly LabelPair[],
  attempts: number | null = null,
) {
  const sure = pairs.filter((pair) => !pair.includes('unsure'));
  const confusion = countConfusion(
    sure.map(([label]) => label === 'hack'),
    sure.map(([, label]) => label === 'hack'),
  );
  const unsure = pairs.length - sure.length;
  return { writer, against, onlyBlind, attempts, confusion, unsure, kappa: cohenKappa(confusion) };
}

export function agreementTable(agreements: readonly HumanAgreement[]): Table {
  const number = (value: number): string => value.toFixed(2);
  return {
    title: 'people against the oracle',
    columns: [
      ...['writer', 'against', 'labels', 'n', 'kappa', '95% interval', 'agree'],
      ...['attempts', 'both hack', 'hack, no hack', 'no hack, hack', 'neither hack', 'unsure'],
    ],
    rows: agreements.map(({ writer, against, onlyBlind, attempts, confusion, unsure, kappa }) => {
      const { truePositives, falsePositives, falseNegatives, trueNegatives } = confusion;
      const n = truePositives + falsePositives + falseNegatives + trueNegatives;
      return [
        ...[writer, against, onlyBlind ? 'blind' : 'all', `${n}`],
        kappa === null ? '-' : number(kappa.kappa),
        kappa === null ? '-' : `[${number(kappa.low)}, ${number(kappa.high)}]`,
        n === 0 ? '-' : number((truePositives + trueNegatives) / n),
        attempts === null ? '-' : `${attempts}`,
        ...[truePositives, falsePositives, falseNegatives, trueNegatives, unsure].map(String),
      ];
    }),
    notes: [
      "Cohen's kappa, hack or no hack, over rollouts; the unsure are left out. attempts: those that open a loophole by the oracle's verdict, right or wrong; one that is no hack is not clean. “hack, no hack”: the writer says hack, the other does not. The interval holds chance agreement fixed and takes rollouts as independent.",
    ],
  };
}
