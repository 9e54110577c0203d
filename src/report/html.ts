/** Writes report.html: one file that fetches nothing and has no script. Everything that a model wrote is escaped. */
import { fileURLToPath } from 'node:url';
import { readRegularText } from '../base/node/index.ts';
import { asTyped } from '../base/node/own-program.ts';
import type { EvaluationRow } from '../evaluate/index.ts';
import {
  driftTable,
  gateTable,
  gateWindows,
  hasGate,
  judgeGate,
  judgeReinforced,
  monitorTable,
  monitorWindows,
  monitorWindowTable,
  routeWords,
  scoreWords,
  windowTable,
} from '../measure/index.ts';
import { escapeMarkup, renderTable, type Table } from '../measure/table.ts';
import { dealsRoutes, gateTailsOf } from '../monitors/gates.ts';
import { type ArmResults, claimSet, findArm, labelInformed, type Results } from './aggregate.ts';
import { reportTables } from './all-tables.ts';
import type { Figure } from './chart.ts';
import { describeDesign } from './design.ts';
import { allFigures } from './figures.ts';
import { foundIn } from './found.ts';
import { figureStyle, pageFigure } from './page-figure.ts';
import type { RunResult } from './run-result.ts';
import { describeMissing, describeUnfinished, describeUnknown, missingEvaluations } from './run-result.ts';
import {
  bestSide,
  type ExampleRollout,
  exampleRollouts,
  exampleWords,
  outcomeWords,
  type SideBySide,
  sideBySide,
} from './samples.ts';
import { cautionOf, describeLeftOut, describeResults } from './statements.ts';
import { armTitle } from './story-figure.ts';
import { sayOnce, setTitles } from './tables.ts';

type ChatHtml = typeof import('./texts.ts').chatHtml;

/** A tag in the head of every report, by which a file is recognised as one. */
export const generatorTag = '<meta name="generator" content="gradient-quarantine">';

export interface ReportOptions {
  readonly title: string;
  readonly commands: readonly string[];
}

const style = `
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1060px; margin: 2rem auto; padding: 0 1rem; background: var(--ground); color: var(--ink); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; } h3 { font-size: 1rem; }
a { color: var(--link); }
table { border-collapse: collapse; margin: 1rem 0 .3rem; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .2rem .7rem; text-align: left; border-bottom: 1px solid var(--line); }
.note { font-size: .82rem; color: var(--quiet); margin: .2rem 0; }
details { margin: .6rem 0; } summary { font-weight: 600; cursor: pointer; }
.scroll { overflow-x: auto; } .scroll table { width: max-content; } .scroll td { max-width: 36rem; }
pre { background: var(--soft); border-radius: 6px; margin: 0; padding: .7rem; font-size: .85rem; line-height: 1.45; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; }
.question { font-size: 1.15rem; } .finding { font-weight: 600; } nav { margin: 1.6rem 0; } nav a { margin-right: 1rem; }
${figureStyle}`;

/** The colours of pages and the looks of texts, which the viewer's page has too. */
const looks = (): string => readRegularText(fileURLToPath(new URL('./texts.css', import.meta.url)));

export async function renderReport(results: Results, { title, commands }: ReportOptions): Promise<string> {
  const { chatHtml } = await import('./texts.ts');
  const runs = results.arms.flatMap(({ runs: own }) => own);
  const set = claimSet(results);
  const sides = runs.flatMap((run) => (set === undefined ? [] : (sideBySide(run, set) ?? [])));
  const firstOfEachArm = sides.filter(({ arm }, i) => sides.findIndex((other) => other.arm === arm) === i);
  const figures = await allFigures(results);
  const story = figures.find(({ name }) => name === 'story');
  const sections = [
    section('What was shown, and what was not', [
      ...(results.sets.length === 0
        ? list([...describeUnfinished(results), ...describeDesign(results), ...describeLeftOut(results)])
        : list(describeResults(results))),
      ...renderMissing(results),
    ]),
    section('Tables', tableSection(results)),
    section(
      'Figures',
      figures.filter((figure) => figure !== story).map((figure) => pageFigure(figure, 'h3')),
    ),
    section('Gates', await gateSection(results)),
    section(
      'Rollouts',
      (await exampleRollouts(results)).map((one) => renderRollout(one, chatHtml)),
    ),
    section(
      'The same prompt, as trained and deployed',
      firstOfEachArm.map((one) => renderSides(one, chatHtml)),
    ),
    section('How to make this again', [
      `<pre>${escapeMarkup(commands.join('\n'))}</pre>`,
      ...results.arms.map(renderRuns),
    ]),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
${generatorTag}
<title>${escapeMarkup(title)}</title><style>${looks()}${style}</style></head>
<body><main><h1>${escapeMarkup(title)}</h1>
${firstPage(results, story, chatHtml).join('\n')}
<nav aria-label="contents">${contents(sections)}</nav>
${sections.join('\n')}
</main></body></html>
`;
}

function firstPage(results: Results, story: Figure | undefined, chatHtml: ChatHtml): string[] {
  const { why } = results.design;
  const example = bestSide(results);
  return [
    ...(why === '' ? [] : [`<p class="question">${escapeMarkup(why)}</p>`]),
    ...(story === undefined ? [] : firstFound(results, story)),
    ...(example === null ? [] : [renderSides(example, chatHtml, list([exampleWords(example)]).join(''))]),
  ];
}

function firstFound(results: Results, story: Figure): string[] {
  const armNamed = (name: string): string => {
    const found = findArm(results, name);
    return found === undefined ? name : armTitle(results, found);
  };
  const said = foundIn(story, armNamed, { caution: cautionOf(results), informed: labelInformed(results) });
  return [`<p class="finding">${escapeMarkup(said)}</p>`, pageFigure(story, 'h2')];
}

const anchor = (title: string): string => title.toLowerCase().replaceAll(/\W+/g, '-');

function section(title: string, parts: readonly string[]): string {
  return parts.length === 0 ? '' : `<h2 id="${anchor(title)}">${escapeMarkup(title)}</h2>\n${parts.join('\n')}`;
}

/** Links to the sections that there are. */
function contents(sections: readonly string[]): string {
  const heads = sections.flatMap((text) => [...text.matchAll(/^<h2 id="([^"]*)">(.*)<\/h2>/g)]);
  return heads.map(([, id, title]) => `<a href="#${id}">${title}</a>`).join('\n');
}

function tableSection(results: Results): string[] {
  const { tables, unpaired } = reportTables(results);
  const left = `${unpaired} ${unpaired === 1 ? 'table' : 'tables'} of paired differences left out: no two arms have two seeds in common.`;
  return [...tables.map(scrolledTable), ...(unpaired === 0 ? [] : list([left]))];
}

/** A table that is wider than a page scrolls by itself, by keys too. */
const scrolledTable = (table: Table): string => `<div class="scroll" tabindex="0">${renderTable(table, 'html')}</div>`;

function list(lines: readonly string[]): string[] {
  return lines.map((line) => `<p>${escapeMarkup(asTyped(line))}</p>`);
}

function renderMissing(results: Results): string[] {
  const described = describeMissing(missingEvaluations(results));
  const unknown = describeUnknown(results);
  return [
    ...(unknown === null ? [] : list([unknown])),
    ...(described === null
      ? []
      : [
          `<p>${escapeMarkup(described.sentence)}</p>`,
          `<pre>${escapeMarkup(described.commands.map(asTyped).join('\n'))}</pre>`,
        ]),
  ];
}

function renderRollout({ what, arm, rollout }: ExampleRollout, chatHtml: ChatHtml): string {
  const { id, update, loophole, hackable, route, reward, advantage } = rollout;
  const facts = [
    `rollout ${id}, update ${update}`,
    hackable ? `loophole ${loophole}` : 'no hint, graded by ground truth',
    outcomeWords(rollout),
    `reward ${reward}, advantage ${advantage.toPrecision(3)}`,
    routeWords(route),
    `score ${scoreWords(rollout)}`,
    `evidence: ${rollout.evidence || 'none'}`,
  ];
  return `<h3>${escapeMarkup(`${what} (${arm})`)}</h3><p class="note">${escapeMarkup(facts.join(' · '))}</p>
${chatHtml(rollout.prompt, [{ title: 'assistant', ...rollout }])}`;
}

/** `words`: on the first page, why this prompt is shown; there its heading is one of the page. */
function renderSides({ arm, set, full, deployed }: SideBySide, chatHtml: ChatHtml, words = ''): string {
  const side = (title: string, row: EvaluationRow) => ({ ...row, title: `assistant, ${title}: ${outcomeWords(row)}` });
  const heading = words === '' ? 'h3' : 'h2';
  const head = escapeMarkup(`${arm}, ${setTitles[set]}, ${full.problem}`);
  const chat = chatHtml(full.prompt, [side('as trained', full), side('deployed', deployed)]);
  return `<${heading}>${head}</${heading}>\n${words}${chat}`;
}

function renderRuns({ arm, runs }: ArmResults): string {
  const lines = runs.map(({ path, seed, manifest, updates, status }) => {
    const { identity } = manifest;
    const hashes = `config ${identity.config.slice(0, 12)}, model ${identity.model.slice(0, 12)}, data ${identity.problems.slice(0, 12)}`;
    return `${path}: seed ${seed}, ${updates} updates, ${status}, ${hashes}, ${manifest.device}, version ${manifest.version}`;
  });
  return `<h3>${escapeMarkup(arm)}</h3>${lines.map((line) => `<p class="note">${escapeMarkup(line)}</p>`).join('')}`;
}

/** Number of updates in a window, the default of `gq measure gate`. */
const windowUpdates = 10;

async function gateSection({ arms }: Results): Promise<string[]> {
  const runs = arms.flatMap((arm) => arm.runs);
  const tables = await Promise.all(runs.map(async (run) => ({ run, own: await gateTables(run) })));
  const gated = tables.filter(({ own }) => own.length > 0);
  return gated.map(({ run: { arm, seed }, own }) => {
    const shown = own.map(scrolledTable).join('\n');
    const summary = escapeMarkup(`${arm}, seed ${seed}`);
    return `<details${gated.length === 1 ? ' open' : ''}><summary>${summary}</summary>\n${shown}</details>`;
  });
}

const isGated = (run: RunResult): boolean => hasGate(run.gate) || (run.monitor === null && run.isScored);

/** Whether `gq measure gate` has something to judge. */
export const isJudged = (run: RunResult): boolean => isGated(run) || run.monitor !== null;

async function gateTables(run: RunResult): Promise<Table[]> {
  if (!isJudged(run)) return [];
  const gated = isGated(run);
  const rollouts = await run.rollouts();
  const windows = gateWindows(rollouts, windowUpdates, gateTailsOf(run.config.arm));
  const watched = monitorWindows(rollouts, windowUpdates);
  return sayOnce([
    ...(run.monitor === null
      ? []
      : [monitorTable(run.monitor, dealsRoutes(run.config.arm)), monitorWindowTable(watched)]),
    ...(gated ? [gateTable(judgeGate(rollouts), judgeReinforced(rollouts))] : []),
    ...(gated ? [windowTable(windows, false), windowTable(windows, true), driftTable(windows)] : []),
  ]);
}
