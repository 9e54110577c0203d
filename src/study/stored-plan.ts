/**
 * The plan of an experiment as a file in `.jobs` of its directory: whoever does one of its runs later, on whatever machine, does it
 * with the configs of the time it was planned. A config that does not have the hash of its run was changed by hand, and is refused.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/index.ts';
import { makeFolder, sha256, writeFileAtomic } from '../base/node/index.ts';
import { experimentSchema } from '../report/experiment-schema.ts';
import { configHash, type RunConfig, readStored } from '../run/index.ts';
import { claimSchema, namedRunSchema } from './claim.ts';
import type { ExperimentPlan } from './experiment.ts';

const runSchema = namedRunSchema.extend({
  folder: z.string().regex(/^[a-z0-9][a-z0-9.-]*$/),
  config: z.custom<RunConfig>((value) => typeof value === 'object' && value !== null),
  configHash: z.string(),
  // Plans of earlier versions, whose jobs may still wait, have none.
  plugins: z.string().nullable().default(null),
});
const planSchema = z.object({
  format: z.literal(1),
  directory: z.string(),
  experiment: experimentSchema,
  runs: z.array(runSchema).min(1),
  claim: claimSchema.optional(),
});

export const jobsFolder = (directory: string): string => join(directory, '.jobs');

/** Stores the plan and returns its path. Another plan has another name: jobs that wait keep theirs. */
export async function storePlan({ experiment, runs, claim }: ExperimentPlan, directory: string): Promise<string> {
  makeFolder(jobsFolder(directory));
  const text = `${JSON.stringify({ format: 1, directory, experiment, runs, claim })}\n`;
  const path = join(jobsFolder(directory), `plan-${sha256(text).slice(0, 12)}.json`);
  await writeFileAtomic(path, text);
  return path;
}

export function readPlan(path: string): { readonly plan: ExperimentPlan; readonly directory: string } {
  const { directory, experiment, runs, claim } = readStored(path, 'the plan of the jobs of an experiment', planSchema);
  const changed = runs.find((run) => configHash(run.config) !== run.configHash);
  if (changed === undefined) return { plan: { experiment, runs, claim }, directory };
  throw new UserError({
    call: `read ${path}`,
    expected: 'configs as they were planned',
    found: `another one for ${changed.folder}`,
    fix: 'Call gq experiment again: it writes the plan anew.',
  });
}
