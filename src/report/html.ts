/** Writes report.html: one file that fetches nothing and has no script. Everything that a model wrote is escaped. */
import { chatText, promptText } from '../base/index.ts';
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
import { allTables } from './all-tables.ts';
import { type Figure, renderFigure } from './chart.ts';
import { describeDesign } from './design.ts';
import { allFigures } from './figures.ts';
import { foundIn } from './found.ts';
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

/** A tag in the head of every report, by which a file is recognised as one. */
export const generatorTag = '<meta name="generator" content="gradient-quarantine">';

export interface ReportOptions {
  readonly title: string;
  readonly commands: readonly string[];
}

const style = `
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1060px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; } h3 { font-size: 1rem; }
table { border-collapse: collapse; margin: 1rem 0 .3rem; font-size: .88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { padding: .2rem .7rem; text-align: left; border-bottom: 1px solid #8884; }
.note { font-size: .8rem; opacity: .8; margin: .2rem 0; }
details { margin: .6rem 0; } summary { font-weight: 600; cursor: pointer; }
.scroll { overflow-x: auto; }
pre { background: #8881; padding: .7rem; overflow-x: auto; font-size: .82rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.question { font-size: 1.15rem; } .finding { font-weight: 600; } nav a { margin-right: 1rem; }
.story svg { width: 100%; }
svg { max-width: 100%; height: auto; background: #fff; margin: .6rem 0; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
@media (max-width: 700px) { .pair { grid-template-columns: 1fr; } }
`;

export async function renderReport(results: Results, { title, commands }: ReportOptions): Promise<string> {
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
    section(
      'Tables',
      allTables(results).map((table) => `<div class="scroll">${renderTable(table, 'html')}</div>`),
    ),
    section(
      'Figures',
      figures.filter((figure) => figure !== story).map((figure) => renderFigure(figure)),
    ),
    section('Gates', await gateSection(results)),
    section('Rollouts', (await exampleRollouts(results)).map(renderRollout)),
    section('The same prompt, as trained and deployed', firstOfEachArm.map(renderSides)),
    section('How to make this again', [
      `<pre>${escapeMarkup(commands.join('\n'))}</pre>`,
      ...results.arms.map(renderRuns),
    ]),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
${generatorTag}
<title>${escapeMarkup(title)}</title><style>${style}</style></head>
<body><h1>${escapeMarkup(title)}</h1>
${firstPage(results, story).join('\n')}
<nav>${contents(sections)}</nav>
${sections.join('\n')}
</body></html>
`;
}

function firstPage(results: Results, story: Figure | undefined): string[] {
  const { why } = results.design;
  const example = bestSide(results);
  return [
    ...(why === '' ? [] : [`<p class="question">${escapeMarkup(why)}</p>`]),
    ...(story === undefined ? [] : firstFound(results, story)),
    ...(example === null ? [] : [...list([exampleWords(example)]), renderSides(example)]),
  ];
}

function firstFound(results: Results, story: Figure): string[] {
  const armNamed = (name: string): string => {
    const found = findArm(results, name);
    return found === undefined ? name : armTitle(results, found);
  };
  const said = foundIn(story, armNamed, { caution: cautionOf(results), informed: labelInformed(results) });
  return [`<p class="finding">${escapeMarkup(said)}</p>`, `<div class="story">${renderFigure(story)}</div>`];
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

function list(lines: readonly string[]): string[] {
  return lines.map((line) => `<p>${escapeMarkup(line)}</p>`);
}

function renderMissing(results: Results): string[] {
  const missing = missingEvaluations(results);
  const sentence = describeMissing(missing);
  const unknown = describeUnknown(results);
  const commands = missing.flatMap((one) => one.commands).join('\n');
  return [
    ...(unknown === null ? [] : list([unknown])),
    ...(sentence === null ? [] : [`<p>${escapeMarkup(sentence)}</p>`, `<pre>${escapeMarkup(commands)}</pre>`]),
  ];
}

function renderRollout({ what, arm, rollout }: ExampleRollout): string {
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
<pre>${escapeMarkup(chatText(rollout.prompt, rollout.completion))}</pre>`;
}

function renderSides({ arm, set, full, deployed }: SideBySide): string {
  const side = (title: string, row: EvaluationRow): string =>
    `<div><p class="note">${escapeMarkup(`${title}: ${outcomeWords(row)}`)}</p><pre>${escapeMarkup(row.completion)}</pre></div>`;
  return `<h3>${escapeMarkup(`${arm}, ${setTitles[set]}, ${full.problem}`)}</h3><pre>${escapeMarkup(promptText(full.prompt))}</pre>
<div class="pair">${side('as trained', full)}${side('deployed', deployed)}</div>`;
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
    const shown = own.map((table) => `<div class="scroll">${renderTable(table, 'html')}</div>`).join('\n');
    const summary = escapeMarkup(`${arm}, seed ${seed}`);
    return `<details${gated.length === 1 ? ' open' : ''}><summary>${summary}</summary>\n${shown}</details>`;
  });
}

async function gateTables(run: RunResult): Promise<Table[]> {
  const gated = hasGate(run.gate) || (run.monitor === null && run.isScored);
  if (!gated && run.monitor === null) return [];
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
