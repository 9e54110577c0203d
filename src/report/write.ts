/** Writes report.html, the files of figures and traces.md. What this program did not make is overwritten only with --force. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { longestBackticks, messageOf, UserError, visible, visibleLine } from '../base/index.ts';
import { makeFolder, readRegularText, writeFileAtomic } from '../base/node/index.ts';
import { csvLine } from '../measure/table.ts';
import type { Results } from './aggregate.ts';
import { type Figure, isOwnFigure, renderFigure } from './chart.ts';
import { figureNames } from './figures.ts';
import { generatorTag, type ReportOptions, renderReport } from './html.ts';
import { type ExampleRollout, loopholeExamples } from './samples.ts';

export async function writeReport(
  file: string,
  results: Results,
  options: ReportOptions & { readonly force: boolean },
) {
  expectOwnFile(file, options.force);
  const html = Buffer.from(await renderReport(results, options));
  makeFolder(dirname(file));
  await writeFileAtomic(file, html);
  return { file, bytes: html.length };
}

export function expectOwnFile(file: string, force: boolean): void {
  const isFile = !existsSync(file) || statSync(file).isFile();
  if (isFile && (force || isMadeHere(file, (text) => text.includes(generatorTag)))) return;
  throw new UserError({
    call: `write ${file}`,
    expected: 'no such file, or a report that gq made',
    found: isFile ? 'a file that gq did not make' : 'a folder',
    fix: isFile ? 'Name another with --out, or overwrite it with --force.' : 'Name a file with --out.',
  });
}

/** Whether there is no such file, or one that this program wrote. */
const isMadeHere = (path: string, isOwn: (text: string) => boolean): boolean =>
  !existsSync(path) || (statSync(path).isFile() && isOwn(readRegularText(path)));

const kinds = ['svg', 'png', 'csv'] as const;

export function expectOwnFigures(directory: string, force: boolean, names: readonly string[] = figureNames): void {
  if (!existsSync(directory)) return;
  const call = `write figures into ${directory}`;
  if (!statSync(directory).isDirectory()) {
    throw new UserError({ call, expected: 'a folder for them', found: 'a file', fix: 'Name a folder with --figures.' });
  }
  const foreign = names
    .filter(
      (name) => !existsSync(join(directory, `${name}.svg`)) || !isMadeHere(join(directory, `${name}.svg`), isOwnFigure),
    )
    .flatMap((name) => kinds.map((kind) => `${name}.${kind}`))
    .find((file) => existsSync(join(directory, file)));
  if (force || foreign === undefined) return;
  const found = `${foreign}, which gq did not make`;
  throw new UserError({ call, expected: 'a folder for them', found, fix: anotherFolder });
}

const anotherFolder = 'Name another folder with --figures, or overwrite it with --force.';

/** `warnings`: why there are no PNG files, or what is wrong with them. */
export async function writeFigures(
  figures: readonly Figure[],
  directory: string,
  { force = false }: { readonly force?: boolean } = {},
) {
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
  const hasFonts = fontFolders.some((folder) => existsSync(folder));
  const warnings = [
    ...('missing' in writer ? [`no PNG: ${writer.missing}`] : []),
    ...('render' in writer && !hasFonts ? ['no fonts on this machine: the PNG files have no text'] : []),
  ];
  return { files, warnings };
}

const fileName = 'traces.md';
const heading = '# Traces, loophole by loophole';

export function expectOwnTraces(directory: string, force: boolean): void {
  const path = join(directory, fileName);
  if (force || isMadeHere(path, (text) => text.startsWith(heading))) return;
  const expected = 'no such file, or the traces that gq wrote';
  throw new UserError({ call: `write ${path}`, expected, found: 'something else', fix: anotherFolder });
}

export async function writeTraces(results: Results, directory: string, force: boolean): Promise<string[]> {
  const examples = await loopholeExamples(results);
  if (examples.length === 0) return [];
  expectOwnTraces(directory, force);
  makeFolder(directory);
  const path = join(directory, fileName);
  await writeFileAtomic(path, `${[heading, ...examples.map(renderExample)].join('\n\n')}\n`);
  return [path];
}

function renderExample({ what, arm, rollout }: ExampleRollout): string {
  const { id, update, reward, prompt, completion, evidence } = rollout;
  const facts = `${arm}, rollout ${id}, update ${update}, reward ${reward}; evidence: ${evidence || 'none'}.`;
  const texts = ['Prompt:', fenced(visible(prompt.trimEnd())), 'Completion:', fenced(visible(completion))];
  return [`## ${plainLine(what)}`, plainLine(facts), ...texts].join('\n\n');
}

/** Names of loopholes and evidence come from files: outside a fence nothing in them is a tag, nor hidden. */
const plainLine = (text: string): string => visibleLine(text).replaceAll('<', '&lt;');

function fenced(text: string): string {
  const fence = '`'.repeat(Math.max(2, longestBackticks(text)) + 1);
  return `${fence}text\n${text}\n${fence}`;
}

async function openPngWriter(): Promise<{ render(svg: string): Uint8Array } | { readonly missing: string }> {
  let resvg: typeof import('@resvg/resvg-js');
  try {
    resvg = await import('@resvg/resvg-js');
  } catch (error) {
    return { missing: `@resvg/resvg-js cannot be loaded: ${messageOf(error)}` };
  }
  const font = { loadSystemFonts: true, defaultFontFamily: 'DejaVu Sans' };
  const look = { fitTo: { mode: 'zoom', value: 2 }, font, background: '#ffffff' } as const;
  return { render: (svg) => new resvg.Resvg(svg, look).render().asPng() };
}

/** Without any fonts on the machine the PNG has no text, but the SVG has. */
const fontFolders = ['/usr/share/fonts', '/usr/local/share/fonts', '/System/Library/Fonts', 'C:\\Windows\\Fonts'];
