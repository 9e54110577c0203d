/**
 * An experiment's directory: experiment.json (the plan, with the names of the arms) and one run directory per arm and seed. Several
 * calls, at once or one after another, may each do a part of the arms and seeds: what others planned stays in the plan, and so do
 * their arms. Refused before anything is written: a folder that holds something else, another experiment, and arms whose configs or
 * plugins differ from those of earlier runs in more than the seed. A bar that is changed after runs have begun is marked.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import { shellLine, UserError } from '../base/index.ts';
import { isDraftOf, makeFolder, sha256, waitForLock, writeFileAtomic } from '../base/node/index.ts';
import type { Design } from '../report/design.ts';
import { type Experiment, experimentSchema } from '../report/experiment-schema.ts';
import {
  folderAdvice,
  readToml,
  recipeName,
  recipeSeenFrom,
  shippedRecipe,
  shippedStudies,
} from '../run/config/recipes.ts';
import {
  armDifferences,
  configDifferences,
  configHash,
  isBlind,
  isRun,
  type RunConfig,
  RunDirectory,
  readStored,
  registerName,
} from '../run/index.ts';
import { claimSchema, namedRunSchema, readRegister, stateClaim } from './claim.ts';
import type { ExperimentPlan, PlannedRun } from './experiment.ts';

const fileName = 'experiment.json';

/** The experiment's file, seen from its directory, or the bare name of a recipe of the package. Earlier versions stored neither. */
const againSchema = z.object({ recipe: z.string(), set: z.array(z.string()) }).nullable();

/** Runs lie in the experiment's own folder, under names that every system takes. */
const runFolder = z.string().regex(/^[a-z0-9][a-z0-9.-]*$/);

const fileSchema = z.object({
  format: z.literal(1),
  experiment: experimentSchema,
  barChanged: z.boolean().default(false),
  again: againSchema.optional(),
  /** Folders, seen from this one, that have runs of the plan: these were not trained again. */
  from: z.array(z.string()).default([]),
  runs: z.array(namedRunSchema.extend({ folder: runFolder, configHash: z.string() })),
});
type ExperimentFile = z.infer<typeof fileSchema>;
type StoredRuns = ExperimentFile['runs'];

/** The plan that a folder stores; null where it has none. */
export function storedPlan(directory: string): ExperimentFile | null {
  const path = join(directory, fileName);
  return existsSync(path) ? readStored(path, 'the plan of an experiment', fileSchema) : null;
}

/** Of the runs that the folder's plan has: those that these do not repeat, and those that were started. */
function storedRuns(directory: string, runs: readonly PlannedRun[]): { others: StoredRuns; started: StoredRuns } {
  const stored = storedPlan(directory)?.runs ?? [];
  return {
    others: stored.filter(({ folder }) => !runs.some((run) => run.folder === folder)),
    started: stored.filter(({ folder }) => isRun(join(directory, folder))),
  };
}

function refuse(directory: string, expected: string, found: string, fix: string): never {
  throw new UserError({ call: `experiment in ${directory}`, expected, found, fix });
}

/** `beside`: what trains the plan elsewhere where it does not fit; the experiment by itself when absent. */
export function expectFittingPlan(
  directory: string,
  plan: ExperimentPlan,
  beside: string = besideText(directory, plan),
): void {
  const { experiment, runs } = plan;
  expectOwnFolder(directory, experiment, runs);
  const { others, started } = storedRuns(directory, runs);
  for (const run of runs) expectSameConfig(directory, run, started, beside);
  if (others.length > 0) expectSamePrompts(directory, experiment);
}

export async function writeExperiment(directory: string, plan: ExperimentPlan): Promise<void> {
  const { experiment, runs, claim, from = [] } = plan;
  expectOwnFolder(directory, experiment, runs);
  makeFolder(directory);
  const expected = 'an experiment that no other command plans at this moment';
  using _lock = await waitForLock(join(directory, 'lock.json'), { call: `experiment in ${directory}`, expected });
  // Another command may have written its plan before the lock was taken.
  expectFittingPlan(directory, plan);
  const { others, started } = storedRuns(directory, runs);
  const planned = runs.map(({ arm, seed, folder, configHash }) => ({ arm, seed, folder, configHash }));
  const barChanged = isOtherBar(directory, plan, started);
  const design = { ...experiment, arms: [...experiment.arms, ...otherArms(directory, experiment, others)] };
  const again = storedAgain(directory, plan);
  const file: ExperimentFile = {
    ...{ format: 1, experiment: design, barChanged, again },
    from: [...new Set([...(storedPlan(directory)?.from ?? []), ...from.map((folder) => seenFrom(directory, folder))])],
    runs: [...others, ...planned],
  };
  await writeFileAtomic(join(directory, fileName), `${JSON.stringify(file, null, 2)}\n`);
  const begun = [...readRegister(directory).begun, ...started].map(({ folder }) => folder);
  if (claim !== undefined) stateClaim(directory, claim, new Set(begun).size);
}

const seenFrom = (directory: string, folder: string): string =>
  relative(resolve(directory), resolve(folder)).split(sep).join('/');

function storedAgain(directory: string, { again }: ExperimentPlan): ExperimentFile['again'] {
  if (again === undefined || again === null) return again === null ? null : storedPlan(directory)?.again;
  return { recipe: recipeSeenFrom(directory, again.recipe), set: [...again.set] };
}

/** The words of the call that plans it again, in the folder that it was found in, seen from here. */
function againFrom(directory: string, { again, experiment, runs }: ExperimentFile): FoundExperiment['again'] {
  if (again === undefined || again === null) return again;
  const file = resolve(directory, again.recipe);
  const recipe = existsSync(file) ? relative(process.cwd(), file) : again.recipe;
  const isUsual = resolve(directory) === resolve('runs', experiment.name);
  const names = experiment.arms.map(({ name }) => name);
  const planned = names.filter((name) => runs.some(({ arm }) => arm === name));
  const arms = planned.length === names.length ? {} : { arms: planned };
  return { recipe, set: again.set, out: isUsual ? null : directory, ...arms };
}

/** Arms of the stored design that the experiment has no more, with runs that stay. */
function otherArms(directory: string, { arms }: Experiment, others: StoredRuns): Experiment['arms'] {
  const isOther = (name: string): boolean =>
    others.some(({ arm }) => arm === name) && arms.every((arm) => arm.name !== name);
  return storedPlan(directory)?.experiment.arms.filter(({ name }) => isOther(name)) ?? [];
}

/**
 * Whether the bar, its seeds or the share of attempts that is a failure are, or were at an earlier call, others than those stated before the first run. Runs without the plan
 * that they began with count as such: nobody can tell.
 */
function isOtherBar(directory: string, { experiment, runs }: ExperimentPlan, started: StoredRuns): boolean {
  const file = storedPlan(directory);
  if (file === null) return experiment.bar !== null && runs.some(({ folder }) => isRun(join(directory, folder)));
  const stated = ({ bar, seeds, failAbove }: Experiment): string => JSON.stringify([bar, seeds, failAbove]);
  return started.length > 0 && (file.barChanged || stated(file.experiment) !== stated(experiment));
}

/** Refuses a folder that is neither new nor of this experiment: what it holds would be taken for the experiment's results. */
function expectOwnFolder(directory: string, { name }: Experiment, runs: readonly PlannedRun[]): void {
  const expected = `a new or empty folder, or the folder of the experiment ${name}`;
  const complain = (found: string): never => refuse(directory, expected, found, 'Choose another --out.');
  if (!existsSync(directory)) return;
  if (!statSync(directory).isDirectory()) complain('a file');
  if (isRun(directory)) complain('a run');
  const planned = storedPlan(directory)?.experiment.name;
  if (planned === name) return;
  if (planned !== undefined) complain(`the experiment ${planned}`);
  const own = ['lock.json', registerName, ...runs.map(({ folder }) => folder)];
  const isOwn = (entry: string): boolean => isDraftOf(fileName, entry) || own.includes(entry);
  const foreign = readdirSync(directory).filter((entry) => !entry.startsWith('.') && !isOwn(entry));
  if (foreign.length === 0) return;
  complain(`${foreign.slice(0, 3).join(', ')}${foreign.length > 3 ? ` and ${foreign.length - 3} more` : ''}`);
}

/** A planned run must be as it was started, and as the runs of its arm that were started earlier, but for the seed. */
function expectSameConfig(directory: string, planned: PlannedRun, started: StoredRuns, beside: string): void {
  const manifestOf = (folder: string) => RunDirectory.open(join(directory, folder)).readManifest();
  const expectNone = (differences: readonly string[], expected: string): void => {
    if (differences.length === 0) return;
    const fix = `Restore the recipe and the settings, or ${beside}`;
    refuse(directory, `${planned.folder} with ${expected}`, `others at ${differences.join(', ')}`, fix);
  };
  if (isRun(join(directory, planned.folder))) {
    const differences = configDifferences(manifestOf(planned.folder).config, planned.config);
    expectNone(differences, 'the config it was started with');
  }
  for (const { folder } of started.filter(({ arm }) => arm === planned.arm)) {
    const { config, plugins } = manifestOf(folder);
    const differences = armDifferences(config, planned.config);
    expectNone(differences, `the config of ${folder}, which is of the same arm, but for the seed`);
    const [before, now] = [plugins.map(({ hash }) => hash), planned.plugins?.split(' ') ?? []];
    if (before.join(' ') === planned.plugins) continue;
    const changed = planned.config.plugins.filter((_, i) => !before.includes(now[i]));
    const files = changed.map((path) => relative(process.cwd(), path)).join(' and ');
    const found =
      changed.length === 0 ? 'other plugins, or another order' : `changes in ${files}, or in what it imports`;
    refuse(directory, `the code of plugins that ${folder} began with`, found, `Restore it, or ${beside}`);
  }
}

/** A folder beside this one that is not there yet. */
export const freeBeside = (directory: string, n = 2): string =>
  existsSync(`${directory}-${n}`) ? freeBeside(directory, n + 1) : `${directory}-${n}`;

/** What trains the changed experiment in a folder of its own. */
function besideText(directory: string, { experiment, runs, again }: ExperimentPlan): string {
  if (again === undefined || again === null) return 'choose another --out.';
  const [seeds, arms] = [new Set(runs.map(({ seed }) => seed)), new Set(runs.map(({ arm }) => arm))];
  const some = arms.size === experiment.arms.length ? [] : ['--arms', [...arms].join(',')];
  const set = again.set.flatMap((setting) => ['--set', setting]);
  const out = freeBeside(directory);
  const words = [recipeName(again.recipe), '--seeds', [...seeds].join(','), ...some, ...set, '--out', out];
  return `train it in a folder of its own: ${shellLine('gq', 'experiment', ...words)}`;
}

function expectSamePrompts(directory: string, { evaluation }: Experiment): void {
  const file = storedPlan(directory);
  if (file === null || file.experiment.evaluation.limit === evaluation.limit) return;
  refuse(
    directory,
    `evaluation.limit as for the runs that are there (${file.experiment.evaluation.limit ?? 'all prompts'})`,
    `${evaluation.limit ?? 'all prompts'}`,
    'Choose another --out, or name all seeds and arms, so that all are evaluated alike.',
  );
}

/** The arm is null outside an experiment, where the run's config names it; a shared run lies in another folder, and `sharedAs` is its name here. */
export type FoundRun = { readonly path: string; readonly arm: string | null; readonly sharedAs?: string };

export interface FoundExperiment {
  readonly experiment: Experiment | null;
  readonly barChanged: boolean;
  readonly again?: Design['again'];
  readonly runs: readonly FoundRun[];
  /** Paths of the runs whose seeds are blind and not opened yet; `runs` has none of them. */
  readonly blind: readonly string[];
  readonly missing: readonly string[];
  /** Paths of folders that hold parts of a run but no manifest. */
  readonly damaged: readonly string[];
  /** Folders that had runs of the plan and are not there any more, while runs are missing. */
  readonly gone: readonly string[];
}

/**
 * Finished runs of other folders by the hash of their config, which includes the seed: the same run need not be trained twice. Runs with plugins
 * are not among them, since that hash does not cover their code.
 */
export function sharedRuns(folders: readonly string[]): ReadonlyMap<string, string> {
  const runs = folders.flatMap((folder) => runsIn(folder).map((path) => RunDirectory.open(path)));
  const shared = runs.filter((run) => run.isSealed() && run.readManifest().plugins.length === 0);
  return new Map(shared.map((run) => [run.readManifest().identity.config, run.path]));
}

/** The folders of the experiments in this one, by name: the steps of a study, those that lost their plan among them. */
export function stepsIn(directory: string): string[] {
  if (storedPlan(directory) !== null || isRun(directory)) return [];
  const paths = readdirSync(directory).map((name) => join(directory, name));
  return paths.filter((path) => [fileName, registerName].some((name) => existsSync(join(path, name)))).sort();
}

/** Paths of the runs that lie in a folder itself, without blind ones. */
function runsIn(directory: string): string[] {
  const paths = storedPlan(directory)?.runs.map(({ folder }) => join(directory, folder));
  if (paths === undefined) return findExperiment(directory).runs.map(({ path }) => path);
  return paths.filter((path) => isRun(path) && !isHidden(path));
}

/**
 * Finds the runs below a directory, or the directory itself when it is a run. Runs that an experiment plans and has not started are taken from the folders that it
 * shared runs from when it was run, and from the folders `from`, where those have them.
 */
export function findExperiment(directory: string, from: readonly string[] = []): FoundExperiment {
  const alone = { experiment: null, barChanged: false, blind: [], missing: [], gone: [] };
  if (isRun(directory)) return { ...alone, damaged: [], runs: [{ path: directory, arm: null }] };
  const file = storedPlan(directory);
  if (file !== null) return { ...findPlanned(directory, file, from), again: againFrom(directory, file) };
  const isFolder = existsSync(directory) && statSync(directory).isDirectory();
  const paths = (isFolder ? readdirSync(directory).sort() : []).map((name) => join(directory, name));
  const runs = paths.filter(isRun).map((path) => ({ path, arm: null }));
  if (runs.length > 0) return { ...alone, runs, damaged: paths.filter(isDamaged) };
  const steps = isFolder ? stepsIn(directory) : [];
  if (steps.length > 0) {
    const [expected, found] = ['a run, an experiment, or a folder of runs', 'a folder of experiments'];
    throw new UserError({
      call: `results of ${directory}`,
      expected,
      found,
      fix: `Name one of them: ${steps.join(', ')}`,
    });
  }
  throw new UserError({
    call: `results of ${directory}`,
    expected: 'a run, an experiment, or a folder of runs',
    found: isFolder ? 'none of them' : existsSync(directory) ? 'a file' : 'no such folder',
    fix: missingAdvice(directory),
  });
}

/** For a folder that is not there, or without runs: what goes on with its study, also where a run of a step is named, else what makes it. */
export const missingAdvice = (directory: string): string | undefined =>
  stepAdvice(directory) ?? stepAdvice(dirname(directory)) ?? folderAdvice(directory);

/** Of a step that its study has not begun, where others of its steps lie: the call that goes on with the study. */
function stepAdvice(directory: string): string | undefined {
  const [name, parent] = [basename(directory, '.toml'), dirname(resolve(directory))];
  if (existsSync(directory) || !existsSync(parent)) return undefined;
  const [begun] = stepsIn(parent)
    .map((step) => storedPlan(step)?.again)
    .filter((again) => again != null);
  const [first, ...others] = shippedStudies(name);
  if (begun === undefined || first === undefined) return undefined;
  const study = [first, ...others].find((recipe) => recipe === basename(parent)) ?? first;
  const out = parent === resolve('runs', study) ? [] : ['--out', relative(process.cwd(), parent)];
  const common = readToml(shippedRecipe(study), `read ${study}`)['set'];
  const set = begun.set.slice(Array.isArray(common) ? common.length : 0).flatMap((setting) => ['--set', setting]);
  return `This step of its study is not begun; the study goes on with: ${shellLine('gq', 'experiment', study, ...set, ...out)}`;
}

function findPlanned(directory: string, file: ExperimentFile, more: readonly string[]): FoundExperiment {
  const own = file.runs.map(({ folder }) => join(directory, folder));
  const isThere = (path: string): boolean => isRun(path) || isDamaged(path);
  const from = file.from.map((folder) => join(directory, folder));
  const [known, gone] = [true, false].map((is) => from.filter((folder) => holdsRuns(folder) === is));
  const shared = own.every(isThere) ? new Map() : sharedRuns([...known, ...more]);
  const runs = file.runs.map(({ arm, folder, configHash }, i): FoundRun => {
    const taken = isThere(own[i]) ? undefined : shared.get(configHash);
    return taken === undefined ? { path: own[i], arm } : { path: taken, arm, sharedAs: folder };
  });
  const absent = runs.map(({ path }) => path).filter((path) => !isRun(path));
  const [damaged, missing] = [true, false].map((is) => absent.filter((path) => isDamaged(path) === is));
  const blind = runs.map(({ path }) => path).filter(isHidden);
  return {
    experiment: file.experiment,
    barChanged: file.barChanged,
    runs: runs.filter(({ path }) => isRun(path) && !blind.includes(path)),
    ...{ blind, missing, damaged, gone: missing.length === 0 ? [] : gone },
  };
}

/** Whether a folder may still have runs: of one that was emptied, or made anew as something else, nothing is left. */
function holdsRuns(folder: string): boolean {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  if (isRun(folder) || existsSync(join(folder, fileName))) return true;
  return readdirSync(folder).some((name) => isRun(join(folder, name)));
}

/** Whether a run is blind. One whose manifest cannot be read is listed: whoever reads it is told what is wrong. */
export function isHidden(path: string): boolean {
  try {
    return isBlind(path);
  } catch {
    return false;
  }
}

/** Whether a folder has checkpoints or events, but not the manifest without which they cannot be read. */
function isDamaged(path: string): boolean {
  return !isRun(path) && ['checkpoints', 'events.jsonl'].some((name) => existsSync(join(path, name)));
}

const runSchema = namedRunSchema.extend({
  folder: runFolder,
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
