/** What the files of a run contain, without anything that needs Node: a page makes them too. */
import type { StoredTensor } from '../adapters/index.ts';
import { sha256 } from '../base/node/index.ts';
import type { DirectionEvent, RolloutRecord, RolloutsEvent, TrainerState } from '../grpo/index.ts';
import { type LedgerEntry, makeRow, type RolloutRow, rolloutColumns } from './columns/index.ts';

export const contentHash = (value: object): string => sha256(JSON.stringify(value));

export const stampedJson = (value: object, checksum = contentHash(value)): string =>
  `${JSON.stringify({ ...value, checksum }, null, 2)}\n`;

export type RowNotes = Omit<LedgerEntry, keyof RolloutRecord | 'byToken'> & Partial<Pick<LedgerEntry, 'byToken'>>;

export const rolloutRow = (record: RolloutRecord, notes: RowNotes): RolloutRow =>
  makeRow(rolloutColumns, { ...record, byToken: (record.routes?.length ?? 0) > 1, ...notes });

/** Where a rollout's features lie in features.f32. */
export type FeaturePlace = Pick<LedgerEntry, 'featureRow' | 'featureRows'>;
export const noFeatures: FeaturePlace = { featureRow: null, featureRows: null };

interface RowOptions {
  readonly storeTokens: boolean;
  readonly promptText: (tokens: Int32Array) => string;
  readonly place: (record: RolloutRecord) => FeaturePlace;
}

export function rolloutRows(
  { update, records }: RolloutsEvent,
  { storeTokens, promptText, place }: RowOptions,
): RolloutRow[] {
  const prompts = new Map<Int32Array, string>();
  const byToken = records.some(({ routes }) => routes !== null && routes.length > 1);
  return records.map((record) => {
    const { prompt } = record.rollout;
    const text = prompts.get(prompt) ?? promptText(prompt);
    prompts.set(prompt, text);
    return rolloutRow(record, { update, prompt: text, ...place(record), storeTokens, byToken });
  });
}

/** A row of directions.f32: the first update that uses the direction, the two mean scores of the pairs, the direction. */
export function directionRow({ update, direction, pairCuts }: DirectionEvent): Float32Array {
  const { low, high } = pairCuts ?? { low: Number.NaN, high: Number.NaN };
  return Float32Array.of(update, low, high, ...direction);
}

export const armPrefix = 'arm.';

export function trainerTensors({ moments, arm }: Pick<TrainerState, 'moments' | 'arm'>): Map<string, StoredTensor> {
  const tensors = new Map<string, StoredTensor>();
  for (const [name, { m, v }] of moments) {
    tensors.set(`moment1.${name}`, m);
    tensors.set(`moment2.${name}`, v);
  }
  for (const [name, tensor] of arm?.tensors ?? []) tensors.set(`${armPrefix}${name}`, tensor);
  return tensors;
}
