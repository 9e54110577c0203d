/** The sections of the pages of results that name a study's CSV, and how numbers are said there. */
import { readFileSync } from 'node:fs';
import { experimentOf, plain, Rates, readPredictions, root, rounded } from './rates.ts';

const [page, ...otherPages]: readonly string[] = ['results', 'micro-claim', 'baselines'].map((name) =>
  readFileSync(`${root}docs/${name}.md`, 'utf8'),
);

interface Section {
  readonly study: string;
  readonly text: string;
  readonly tables: readonly (readonly (readonly string[])[])[];
}

/** The tables of a text, their first row the headings. */
export const plainTables = (text: string): string[][][] =>
  (text.match(/(?:^\|.*\n)+/gm) ?? []).map((table) =>
    table
      .trim()
      .split('\n')
      .filter((line) => !/^\|[ :|-]+$/.test(line))
      .map((line) => line.split('|').slice(1, -1).map(plain)),
  );

/** The sections that name a CSV; a table's first row are its headings. */
export const sections: readonly Section[] = [page, ...otherPages]
  .join('\n## \n')
  .split(/^##+ /m)
  .flatMap((text) => {
    const study = /bench\/results\/([\w-]+)-rates\.csv/.exec(text)?.[1];
    if (study === undefined) return [];
    return [{ study, text: plain(text.replace(/^\|.*$/gm, '')), tables: plainTables(text) }];
  });
export const textOf = (study: string): string => sections.find((section) => section.study === study)?.text ?? '';
export const range = (values: readonly number[]): string =>
  `${rounded(Math.min(...values), 2)} to ${rounded(Math.max(...values), 2)}`;

export const words: readonly string[] = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen']; // biome-ignore format: one line

/** How many predictions of a study came out how, in words. */
export function verdictsOf(study: string): string {
  const judged = Rates.of(study).judge(readPredictions(study), experimentOf(study).seeds.length);
  const told = (['met', 'refuted', 'open'] as const).map((wanted) => {
    const { length: count } = judged.filter(({ verdict }) => verdict === wanted);
    return `${count === 0 ? 'none' : words[count]} ${count < 2 ? 'is' : 'are'} ${wanted}`;
  });
  return `${told.join(', ')}.`;
}

/** Values as a list in a sentence. */
export const list = (values: readonly (string | number)[]): string =>
  values.join(', ').replace(/, (?=[^,]*$)/, ' and ');

export { page };
