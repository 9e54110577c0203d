/** What the first figure of a report says, in a sentence: what each arm attempts when it is deployed, and did as trained. */
import { fewestSeeds } from '../measure/table.ts';
import type { Figure } from './chart.ts';

/** What solving is called where it is judged on other prompts than the rest, so that nobody takes it for the whole of which clean solves are a part. */
export const soundSolve = 'solve, no loophole open';

/** More arms than these are not said in a sentence. */
const mostSaid = 6;

/** `caution`: what is to be known before any rate is read; `informed`: arms whose settings runs with known labels suggested. */
export function foundIn(
  { data: { rows } }: Figure,
  nameOf: (arm: string) => string,
  { caution, informed }: { readonly caution: string | null; readonly informed: readonly string[] },
): string {
  const rate = (arm: unknown, what: string): string | null => {
    const found = rows.find((row) => row[0] === arm && row[1] === `attempt, ${what}`);
    return found === undefined ? null : `${(100 * Number(found[2])).toFixed(0)}%`;
  };
  const arms = [...new Set(rows.map(([arm]) => arm))];
  const said = arms.map((arm) => {
    const trained = rate(arm, 'as trained');
    return `${nameOf(`${arm}`)} ${rate(arm, 'deployed')}${trained === null ? '' : ` (${trained} as trained)`}`;
  });
  const seeds = rows.map((row) => Number(row[5]));
  const [fewest, most] = [Math.min(...seeds), Math.max(...seeds)];
  const means = `Means of ${fewest === most ? '' : `${fewest} to `}${most} seeds`;
  const basis = `${fewest === 1 ? 'One seed' : means}${fewest < fewestSeeds ? ': no claim' : ''}.`;
  const rates = arms.length > mostSaid ? basis : `Attempts when deployed: ${said.join(', ')}. ${basis}`;
  const labels = informed.length === 0 ? [] : [`Settings informed by labels: ${informed.join(', ')}.`];
  return [...(caution === null ? [] : [caution]), rates, ...labels].join(' ');
}
