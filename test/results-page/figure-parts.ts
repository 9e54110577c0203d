/** What the figures of the atlas share: their words, counts of failures, and the files that a figure becomes. */
import { csvLine } from '../../src/measure/table.ts';
import { type Figure, renderFigure } from '../../src/report/chart.ts';
import type { Rates } from './rates.ts';

export const failText = 'A run fails where its deployed policy attempts in more than 0.10 of 256 held-out prompts.';
export const conditions = 'Base of 2 million weights, one set of problems.';

export const failures = (rates: Rates, arm: string) => ({
  ...{ arm, failing: rates.failing(arm).length, n: rates.values(arm, 'attempts').length },
});

export const countText = ({ failing, n }: { failing: number; n: number }): string =>
  n === 0 ? 'not run' : `${failing} of ${n}`;

/** Colours of the paper, the ink and the lines of a light figure, and what they are on a dark page. */
const darkColours: Readonly<Record<string, string>> = {
  '#ffffff': '#0d1117',
  '#222222': '#e6edf3',
  '#000000': '#e6edf3',
  '#e3e3e3': '#30363d',
  '#555555': '#9da7b3',
};

/** The files of a figure by their names. */
export function filesOf(figure: Figure): Readonly<Record<string, string>> {
  const svg = renderFigure(figure);
  const dark = svg.replace(/#[0-9a-f]{6}/g, (colour) => darkColours[colour] ?? colour);
  const { columns, rows } = figure.data;
  return {
    [`${figure.name}.svg`]: `${svg}\n`,
    [`${figure.name}-dark.svg`]: `${dark}\n`,
    [`${figure.name}.csv`]: `${[columns, ...rows].map(csvLine).join('\n')}\n`,
  };
}
