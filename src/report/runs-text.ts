/** Many runs in a few words: arms × seeds in place of every name. */
import { groupBy } from '../base/index.ts';

const mostNamed = 6;
const mostArms = 3;

/** Names of runs (`arm-seed`): each of a few; of many, arms of the same seeds together. */
export function runsText(names: readonly string[]): string {
  if (names.length <= mostNamed) return names.join(', ');
  const parts = names.map((name) => /^(?<arm>.+)-(?<seed>\d+)$/.exec(name)?.groups ?? { arm: name, seed: '' });
  const arms = [...groupBy(parts, ({ arm }) => arm)].map(([arm, own]) => ({
    arm,
    seeds: own.map(({ seed }) => seed).join(', '),
  }));
  const groups = [...groupBy(arms, ({ seeds }) => seeds)].map(([seeds, own]) => {
    const more = own.length - mostArms;
    const first = own.slice(0, more === 1 ? own.length : mostArms).map(({ arm }) => arm);
    const who = `${first.join(', ')}${more > 1 ? ` and ${more} more arms` : ''}`;
    return seeds === '' ? who : `${who} × seed${seeds.includes(',') ? 's' : ''} ${seeds}`;
  });
  return `${names.length} runs (${groups.join('; ')})`;
}
