/**
 * An experiment's directory: experiment.json (the plan, with the names of the arms) and one run directory per arm and seed. A plan
 * that differs from the configs its runs were started with is refused. When a later call plans other arms or seeds, runs that were
 * started earlier stay in the plan.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/index.ts';
import { makeFolder, writeFileAtomic } from '../base/node/index.ts';
import { describeChanges, RunDirectory, readStored } from '../run/index.ts';
import { type Experiment, type ExperimentPlan, experimentSchema, type PlannedRun } from './experiment.ts';

const fileName = 'experiment.json';

const fileSchema = z.object({
  format: z.literal(1),
  experiment: experimentSchema,
  runs: z.array(
    z.object({ arm: z.string(), seed: z.number().int().min(0), folder: z.string(), configHash: z.string() }),
  ),
});
type ExperimentFile = z.infer<typeof fileSchema>;

function readFile(directory: string): ExperimentFile {
  return readStored(join(directory, fileName), 'the plan of an experiment', fileSchema);
}

export async function writeExperiment(directory: string, { experiment, runs }: ExperimentPlan): Promise<void> {
  makeFolder(directory);
  for (const run of runs) expectSameConfig(directory, run);
  const planned = runs.map(({ arm, seed, folder, configHash }) => ({ arm, seed, folder, configHash }));
  const earlier = startedEarlier(directory).filter(({ folder }) => !planned.some((run) => run.folder === folder));
  const file: ExperimentFile = { format: 1, experiment, runs: [...earlier, ...planned] };
  await writeFileAtomic(join(directory, fileName), `${JSON.stringify(file, null, 2)}\n`);
}

function startedEarlier(directory: string): ExperimentFile['runs'] {
  if (!existsSync(join(directory, fileName))) return [];
  return readFile(directory).runs.filter(({ folder }) => isRun(join(directory, folder)));
}

const isRun = (path: string): boolean => existsSync(join(path, 'manifest.json'));

function expectSameConfig(directory: string, { folder, config, configHash }: PlannedRun): void {
  const path = join(directory, folder);
  if (!isRun(path)) return;
  const begun = RunDirectory.open(path).readManifest();
  if (begun.configHash === configHash) return;
  throw new UserError({
    call: `experiment in ${directory}`,
    expected: `${folder} with the config it was started with`,
    found: `other values: ${describeChanges(begun.config, config)}`,
    fix: 'The recipe changed: choose another --out, or restore it.',
  });
}

export interface FoundRun {
  readonly path: string;
  /** Name of the arm in the experiment; null outside an experiment, where the run's config names it. */
  readonly arm: string | null;
}

export interface FoundExperiment {
  readonly experiment: Experiment | null;
  readonly runs: readonly FoundRun[];
  /** Paths of the runs that are planned but not started. */
  readonly missing: readonly string[];
}

/** Finds the runs below a directory, or the directory itself when it is a run. */
export function findExperiment(directory: string): FoundExperiment {
  if (isRun(directory)) return { experiment: null, runs: [{ path: directory, arm: null }], missing: [] };
  if (existsSync(join(directory, fileName))) {
    const file = readFile(directory);
    const runs = file.runs.map(({ arm, folder }) => ({ path: join(directory, folder), arm }));
    const missing = runs.filter((run) => !isRun(run.path)).map((run) => run.path);
    return { experiment: file.experiment, runs: runs.filter((run) => isRun(run.path)), missing };
  }
  const folders = existsSync(directory) ? readdirSync(directory).sort() : [];
  const runs = folders.map((name) => join(directory, name)).filter(isRun);
  if (runs.length > 0) return { experiment: null, runs: runs.map((run) => ({ path: run, arm: null })), missing: [] };
  throw new UserError({
    call: `results of ${directory}`,
    expected: 'a run, an experiment, or a folder of runs',
    found: existsSync(directory) ? 'none of them' : 'no such folder',
  });
}
