/** Writes figures as files: NAME.svg, NAME.png, and NAME.csv with the numbers behind the figure. */
import { join } from 'node:path';
import { makeFolder, writeFileAtomic } from '../base/node/index.ts';
import { type Figure, renderFigure } from './chart.ts';
import { fontsFound, openPngWriter } from './png.ts';
import { csvLine } from './table.ts';

export interface WrittenFigures {
  readonly files: readonly string[];
  /** Why there are no PNG files, or what is wrong with them. */
  readonly warnings: readonly string[];
}

export async function writeFigures(figures: readonly Figure[], directory: string): Promise<WrittenFigures> {
  makeFolder(directory);
  const writer = await openPngWriter();
  const files: string[] = [];
  const write = async (name: string, content: string | Uint8Array): Promise<void> => {
    const path = join(directory, name);
    await writeFileAtomic(path, content);
    files.push(path);
  };
  for (const figure of figures) {
    const svg = renderFigure(figure);
    await write(`${figure.name}.svg`, `${svg}\n`);
    if ('render' in writer) await write(`${figure.name}.png`, writer.render(svg));
    const { columns, rows } = figure.data;
    await write(`${figure.name}.csv`, `${[columns, ...rows].map(csvLine).join('\n')}\n`);
  }
  const warnings = [
    ...('missing' in writer ? [`no PNG: ${writer.missing}`] : []),
    ...('render' in writer && !fontsFound() ? ['no fonts on this machine: the PNG files have no text'] : []),
  ];
  return { files, warnings };
}
