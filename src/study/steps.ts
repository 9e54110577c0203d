/**
 * A study: a TOML file that names experiments in the order in which they are done, each in a folder of the study's own. A step with
 * advice decides: where the bar of its experiment is not met, nothing after it is begun. Runs that an earlier step has, with the same
 * config and seed, are not trained again.
 */
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { shellLine, UserError } from '../base/index.ts';
import { folderName, settings } from '../report/experiment-schema.ts';
import { countText, judgeBar } from '../report/index.ts';
import { studiesWith } from '../run/config/recipes.ts';
import { expectAllSealed, isRun, RunDirectory, readToml, recipeFrom, recipeName } from '../run/index.ts';
import { openResults } from './claim-progress.ts';
import { expectFittingPlan, freeBeside } from './directory.ts';
import {
  checkInputs,
  type ExperimentPlan,
  type PlannedRun,
  planExperiment,
  readExperiment,
  type Tell,
} from './experiment.ts';
import type { AssumedRate } from './forecast.ts';

const seconds = z.number().positive();
const assumed = z
  .strictObject({ updateSeconds: seconds, more: z.record(z.string(), seconds).optional(), evaluationSeconds: seconds })
  .optional()
  .describe('seconds of a run elsewhere, for the plan of a machine that has measured none like it');

const studySchema = z.strictObject({
  name: folderName,
  set: settings.describe('changes to every run of every step, as --set takes them'),
  assumed,
  steps: z
    .array(
      z.strictObject({
        experiment: z.string('the file of an experiment').describe('relative to this file, or a name of the package'),
        advice: z
          .string('what to do where its bar is not met')
          .optional()
          .describe('makes the step decide: nothing after it is begun where its bar is not met'),
        assumed,
      }),
      'a list of tables',
    )
    .min(1, 'at least one step'),
});
export type Study = z.infer<typeof studySchema> & { readonly path: string };

/** Null for a file that is no study. */
export function readStudy(path: string): Study | null {
  const raw = readToml(path, `read ${path}`);
  if (raw['steps'] === undefined) return null;
  const parsed = studySchema.safeParse(raw);
  if (parsed.success) return { ...parsed.data, path };
  const [{ path: key, message }] = parsed.error.issues;
  throw new UserError({
    call: `study ${path}`,
    expected: `${key.map(String).join('.') || 'keys name, set and steps'}: ${message}`,
    found: 'something else',
    fix: 'docs/formats.md has an example under Studies.',
  });
}

/** What the first study beside an experiment that has it as a step, by name, assumes of its runs. */
export function assumedOf(recipe: string): AssumedRate | undefined {
  const [first] = studiesWith(recipe);
  const study = first === undefined ? null : readStudy(first);
  const step = study?.steps.find(({ experiment }) => basename(experiment, '.toml') === basename(recipe, '.toml'));
  return step?.assumed ?? study?.assumed;
}

export interface StudyStep {
  /** The file of its experiment. */
  readonly recipe: string;
  readonly directory: string;
  readonly plan: ExperimentPlan;
  /** The runs that no earlier step has. */
  readonly own: readonly PlannedRun[];
  readonly advice: string | undefined;
  readonly assumed: AssumedRate | undefined;
  /** What does the study with these settings where it was begun with others. */
  readonly elsewhere: string;
}

/** Resolves every step, so that what is wrong with the last is known before the first begins. */
export async function planStudy(
  { path, set, steps, assumed: everywhere }: Study,
  directory: string,
  { set: more, seeds }: { readonly set: readonly string[]; readonly seeds?: readonly number[] | undefined },
  tell?: Tell,
): Promise<StudyStep[]> {
  const earlier = new Set<string>();
  const some = seeds === undefined ? [] : ['--seeds', seeds.join(',')];
  const changes = more.flatMap((setting) => ['--set', setting]);
  const words = [recipeName(path), ...some, ...changes, '--out', freeBeside(directory)];
  const elsewhere = `do the study in a folder of its own: ${shellLine('gq', 'experiment', ...words)}`;
  const planned: StudyStep[] = [];
  for (const { experiment: named, advice, assumed = everywhere } of steps) {
    const recipe = recipeFrom(dirname(resolve(path)), named);
    const experiment = readExperiment(recipe);
    if (advice !== undefined && experiment.bar === null) {
      const expected = 'steps.advice: only where the experiment has a bar, which decides';
      throw new UserError({ call: `study ${path}`, expected, found: `${named} without one` });
    }
    const folder = join(directory, experiment.name);
    const plan = await planExperiment(experiment, recipe, [...set, ...more], { seeds, directory: folder }, tell);
    const own = plan.runs.filter(({ config, configHash }) => config.plugins.length > 0 || !earlier.has(configHash));
    for (const { configHash } of own) earlier.add(configHash);
    planned.push({ recipe, directory: folder, plan, own, advice, assumed, elsewhere });
  }
  const twice = planned.find((step, i) => planned.findIndex(({ directory: own }) => own === step.directory) !== i);
  if (twice === undefined) return planned;
  throw new UserError({
    call: `study ${path}`,
    expected: 'experiments of different names',
    found: `${basename(twice.directory)} twice`,
  });
}

/** Refuses what would stop a later step: problems and prompts, runs that were begun with other configs than the files have now, and finished runs whose files were changed. Says in lines what is there. */
export async function checkStudy(steps: readonly StudyStep[], tell?: Tell): Promise<string[]> {
  const facts: string[] = [];
  const checked = new Map();
  for (const { directory, plan, elsewhere } of steps) {
    expectFittingPlan(directory, plan, elsewhere);
    const found = (await checkInputs(plan, tell, checked)).map(({ model, splits }) => {
      const counts = Object.entries(splits).map(([split, count]) => `${count} ${split}`);
      return `inputs   ${model}; problems: ${counts.join(', ')}`;
    });
    facts.push(...found.filter((line) => !facts.includes(line)));
  }
  const ended = steps
    .flatMap(({ directory, plan }) => plan.runs.map(({ folder }) => join(directory, folder)))
    .filter((path) => isRun(path) && RunDirectory.open(path).isSealed());
  for (const path of ended) {
    tell?.(`checks the files of ${path}`);
    expectAllSealed(path);
  }
  return [...facts, `seals    ${ended.length} finished runs, each with the files that it was sealed with`];
}

/** What speaks against going on after this step, and what to do; null where the step does not decide, or its bar is met. */
export async function stopsStudy({
  directory,
  advice,
}: Pick<StudyStep, 'directory' | 'advice'>): Promise<string | null> {
  if (advice === undefined) return null;
  const results = await openResults(directory);
  const [unread] = results.leftOut;
  if (unread !== undefined) {
    return `whether "${results.design.bar?.what}" is met cannot be told without ${unread.path}: ${unread.why}`;
  }
  const verdict = judgeBar(results);
  if (verdict === null || verdict.verdict === 'met') return null;
  return `"${results.design.bar?.what}" is ${verdict.verdict}, ${countText(verdict)}.\n${advice}`;
}
