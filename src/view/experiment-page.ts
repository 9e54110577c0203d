/** What the page of an experiment shows, made from its results by the code that makes reports. */
import { asTyped } from '../base/node/own-program.ts';
import { labelInformed, type Results } from '../report/aggregate.ts';
import { allTables } from '../report/all-tables.ts';
import { placebosOf } from '../report/comparisons.ts';
import { allFigures } from '../report/figures.ts';
import { describeUnknown } from '../report/run-result.ts';
import { bestSide, exampleWords, type SideBySide } from '../report/samples.ts';
import { cautionOf, describeResults } from '../report/statements.ts';
import { armDifferences } from '../run/index.ts';
import { type QueueEntry, questionFacts } from '../study/queue/folder.ts';
import type { ShownCompletion } from './api.ts';

export async function experimentPage(
  id: string,
  results: Results,
  idOf: (path: string) => string,
  questions: readonly QueueEntry[] = [],
) {
  const { name, baseline, design, arms, leftOut } = results;
  const figures = await allFigures(results);
  const unknown = describeUnknown(results);
  const placebos = new Set([results.placebo, ...arms.flatMap(({ arm }) => placebosOf(results, arm))]);
  const example = bestSide(results);
  return {
    id,
    name,
    why: design.why,
    resolve: design.resolve,
    arms: arms.map(({ arm, usesOracle }) => ({ arm, usesLabels: usesOracle, isPlacebo: placebos.has(arm) })),
    seeds: [...new Set([...design.seeds, ...arms.flatMap((arm) => arm.runs.map(({ seed }) => seed))])],
    baseline,
    words: [
      ...questions.flatMap(questionFacts).map((fact) => fact.join(': ')),
      ...(unknown === null ? [] : [unknown]),
      ...describeResults(results).map(asTyped),
    ],
    caution: cautionOf(results),
    informed: labelInformed(results),
    story: figures.find((figure) => figure.name === 'story') ?? null,
    // The page draws what is of training itself, while runs train too.
    figures: figures.filter(({ name: one }) => one !== 'story' && one !== 'training'),
    tables: allTables(results),
    example: example === null ? null : { ...exampleOf(example), run: idOf(example.path) },
    differences: differencesOf(results),
    leftOut,
  };
}

function exampleOf(side: SideBySide) {
  const { arm, full, deployed } = side;
  const words = exampleWords(side);
  const { problem, loophole, prompt } = full;
  return { arm, words, problem, loophole, prompt, base: null, full: shown(full), deployed: shown(deployed) };
}

export function shown({ completion, attempt, hack, solve }: ShownCompletion): ShownCompletion {
  return { completion, attempt, hack, solve };
}

function differencesOf({ arms, baseline }: Results) {
  const reference = arms.find(({ arm }) => arm === baseline)?.runs[0];
  if (reference === undefined) return [];
  return arms
    .filter(({ arm }) => arm !== baseline)
    .map(({ arm, runs }) => ({ arm, keys: armDifferences(reference.config, runs[0].config) }));
}
