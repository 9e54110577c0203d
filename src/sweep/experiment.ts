/**
 * An experiment: arms × seeds. A TOML file names recipes, what each arm changes in them, and the seeds; resolving it gives one
 * config per run, seeds in the outer loop, so that paired comparisons exist as early as possible.
 */
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { shellLine, UserError } from '../base/index.ts';
import { finalSets } from '../evaluate/index.ts';
import { expectIsolatedPairs, resolveConfig } from '../lab/index.ts';
import { type RunConfig, readToml } from '../run/index.ts';

const count = z.number().int().min(0);

const evaluationSchema = z
  .strictObject({
    sets: z
      .array(z.enum(finalSets))
      .min(1)
      .default([...finalSets])
      .describe('sets of prompts on which the last checkpoint is evaluated'),
    scales: z.array(z.number().min(0).max(1)).default([]).describe("the quarantine's scales beside 0 and 1"),
    curveEvery: count.default(10).describe('updates between the points of the curve; 0: no curve'),
    limit: z.number().int().min(1).nullable().default(null).describe('only the first prompts of each set; null: all'),
  })
  .prefault({});

export const experimentSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, 'a name of lower-case letters, digits and dashes'),
  why: z.string().default('').describe('the question that the experiment answers'),
  seeds: z.array(count).min(1).describe('one run per arm and seed'),
  baseline: z.string().default('vanilla').describe('the arm that all others are compared with'),
  placebo: z.string().nullable().default('haar').describe('a second arm that all others are compared with'),
  evaluation: evaluationSchema,
  set: z.array(z.string()).default([]).describe('changes to every arm, as --set takes them'),
  arms: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, 'a name of lower-case letters, digits and dashes'),
        recipe: z.string().describe('a recipe file, relative to this one'),
        set: z.array(z.string()).default([]).describe('changes to the recipe, as --set takes them'),
      }),
    )
    .min(1),
});

export type Experiment = z.infer<typeof experimentSchema>;
export type EvaluationPlan = Experiment['evaluation'];

export interface PlannedRun {
  readonly arm: string;
  readonly seed: number;
  /** The run's folder, inside the experiment's. */
  readonly folder: string;
  readonly config: RunConfig;
  readonly configHash: string;
}

export interface ExperimentPlan {
  readonly experiment: Experiment;
  readonly runs: readonly PlannedRun[];
}

export function readExperiment(path: string): Experiment {
  const raw = readToml(path, `read experiment ${path}`);
  if (raw['arms'] === undefined && raw['seeds'] === undefined) {
    throw new UserError({
      call: `read experiment ${path}`,
      expected: 'an experiment, with name, seeds and arms',
      found: 'a recipe of one run',
      fix: `Train it with: ${shellLine('gq', 'train', path)}`,
    });
  }
  return checkExperiment(raw, path);
}

export function checkExperiment(raw: unknown, path: string): Experiment {
  const parsed = experimentSchema.safeParse(raw);
  const complain = (expected: string, found: string): never => {
    throw new UserError({ call: `experiment ${path}`, expected, found });
  };
  if (!parsed.success) {
    const found = parsed.error.issues.map(({ path: at, message }) => `${at.join('.') || 'it'}: ${message}`).join('; ');
    return complain('name, seeds and arms that fit the schema', found);
  }
  const names = parsed.data.arms.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) complain('arms of different names', `${twice} twice`);
  if (new Set(parsed.data.seeds).size !== parsed.data.seeds.length) complain('different seeds', 'one of them twice');
  for (const key of ['baseline', 'placebo'] as const) {
    const named = Object(raw)[key];
    if (typeof named === 'string' && !names.includes(named)) complain(`${key}: one of ${names.join(', ')}`, named);
  }
  return parsed.data;
}

/** Resolves an experiment. `settings` change every run, after the arm's own changes. */
export async function planExperiment(
  experiment: Experiment,
  path: string,
  settings: readonly string[] = [],
): Promise<ExperimentPlan> {
  const folder = dirname(resolve(path));
  const runs: PlannedRun[] = [];
  for (const seed of experiment.seeds) {
    for (const { name, recipe, set } of experiment.arms) {
      const changes = [...experiment.set, ...set].map((text) => ({ text, folder }));
      const own = [...changes, ...settings, `seed=${seed}`];
      const { config, hash } = await resolveConfig(resolve(folder, recipe), own);
      if (seed === experiment.seeds[0]) await expectIsolatedPairs(config);
      runs.push({ arm: name, seed, folder: `${name}-${seed}`, config, configHash: hash });
    }
  }
  return { experiment, runs };
}
