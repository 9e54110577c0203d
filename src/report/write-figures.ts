/**
 * Writes figures as files: NAME.svg, NAME.png, and NAME.csv with the numbers behind the figure. Files that this program did not make
 * are overwritten only when forced; the SVG of a figure tells whose the three files are.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../base/index.ts';
import { makeFolder, readRegularText, writeFileAtomic } from '../base/node/index.ts';
import { type Figure, isOwnFigure, renderFigure } from './chart.ts';
import { figureNames } from './figures.ts';
import { fontsFound, openPngWriter } from './png.ts';
import { csvLine } from './table.ts';

export interface WrittenFigures {
  readonly files: readonly string[];
  /** Why there are no PNG files, or what is wrong with them. */
  readonly warnings: readonly string[];
}

const kinds = ['svg', 'png', 'csv'] as const;

/** Refuses a path that is no folder and, unless forced, a folder with files of these names that this program did not make. */
export function expectOwnFigures(directory: string, force: boolean, names: readonly string[] = figureNames): void {
  if (!existsSync(directory)) return;
  const complain = (found: string, fix: string): never => {
    throw new UserError({ call: `write figures into ${directory}`, expected: 'a folder for them', found, fix });
  };
  if (!statSync(directory).isDirectory()) complain('a file', 'Name a folder with --figures.');
  if (force) return;
  const foreign = names
    .filter((name) => !isOwn(join(directory, `${name}.svg`)))
    .flatMap((name) => kinds.map((kind) => `${name}.${kind}`))
    .find((file) => existsSync(join(directory, file)));
  if (foreign === undefined) return;
  complain(`${foreign}, which gq did not make`, 'Name another folder with --figures, or overwrite it with --force.');
}

function isOwn(svg: string): boolean {
  return existsSync(svg) && statSync(svg).isFile() && isOwnFigure(readRegularText(svg));
}

export async function writeFigures(
  figures: readonly Figure[],
  directory: string,
  { force = false }: { readonly force?: boolean } = {},
): Promise<WrittenFigures> {
  const names = figures.map(({ name }) => name);
  expectOwnFigures(directory, force, names);
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
