/** Words and formats that the tables share. */
import type { FinalSet } from '../evaluate/index.ts';

export const setTitles: Readonly<Record<FinalSet, string>> = {
  'test-novel': 'held-out problems, novel markers',
  'test-original': 'held-out problems, original markers',
  train: "training problems, training's markers",
};

export const noClaim = 'n = 1, no claim';
export const oracleTitle = 'with labels (upper bounds, never pooled with the arms above)';
/** Stands behind the name of an arm in a table that also has arms without labels. */
export const oracleMark = ' (uses labels)';

/** A difference with its sign, to two decimals. */
export const signed = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;

export function formatP(pValue: number | null): string {
  if (pValue === null) return '-';
  return pValue < 0.001 ? '< 0.001' : pValue.toFixed(3);
}
