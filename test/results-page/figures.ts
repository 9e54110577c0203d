/**
 * `npm run figures [-- FOLDER]`: the figures of the atlas from the CSVs in bench/results, into docs/figures or another folder: SVG for
 * light and dark pages, and the numbers as CSV. Figures of studies that have no runs are named.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { atlasFigures } from './atlas-figures.ts';
import { filesOf } from './figure-parts.ts';
import { root } from './rates.ts';

const folder = process.argv[2] ?? `${root}docs/figures`;
mkdirSync(folder, { recursive: true });
for (const [name, figure] of Object.entries(atlasFigures())) {
  const files = figure === null ? {} : filesOf(figure);
  for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
  console.log(figure === null ? `${name}: no runs` : Object.keys(files).join(', '));
}
