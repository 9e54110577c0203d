/** The experiments and runs below a folder, and how each is doing. What is not listed here has no address. */
import { closeSync, existsSync, fstatSync, readdirSync, readSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import { messageOf, UserError } from '../base/index.ts';
import { openToRead } from '../base/node/index.ts';
import { EvaluationStore, lastCheckpoint, statesOf, summarise } from '../evaluate/index.ts';
import { isRun, isTraining, type Manifest, makeAgain, RunDirectory, readStamped } from '../run/index.ts';
import { findExperiment, missingAdvice, storedPlan } from '../study/directory.ts';
import { failureOf } from '../study/failures.ts';
import type { ListedRun, ShownRates } from './api.ts';

export interface FoundEntry {
  readonly kind: 'run' | 'experiment';
  readonly id: string;
  readonly path: string;
  /** The arm's name in its experiment; null for a run of its own. */
  readonly arm: string | null;
  readonly experiment: string | null;
  /** Where the run lies that stands for this one: a finished run of another folder, with the same config and seed. */
  readonly shared?: string;
}

const deepest = 3;

export function findEntries(root: string): FoundEntry[] {
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new UserError({
      call: `runs of ${root}`,
      expected: 'a folder of runs, an experiment or a run',
      found: existsSync(root) ? 'a file' : 'no such folder',
      fix: missingAdvice(root),
    });
  }
  return search(baseOf(root), resolve(root), 0);
}

/** What ids begin at: the folder that is viewed, or the one around it where that is itself a run or an experiment. */
function baseOf(root: string): string {
  const path = resolve(root);
  return isRun(path) || existsSync(join(path, planName)) ? dirname(path) : path;
}

const planName = 'experiment.json';

const idOf = (base: string, path: string): string => relative(base, path).split(sep).join('/');

function search(base: string, path: string, depth: number): FoundEntry[] {
  const id = idOf(base, path);
  const own = { id, path, arm: null, experiment: null };
  if (isRun(path)) return [{ kind: 'run', ...own }];
  if (existsSync(join(path, planName))) return [{ kind: 'experiment', ...own }, ...runsOf(base, path, id)];
  if (depth >= deepest || (depth > 0 && isPassedBy(basename(path)))) return [];
  return foldersOf(path, depth).flatMap((name) => {
    const inside = join(path, name.toString());
    if (Buffer.from(name.toString()).equals(name)) return search(base, inside, depth + 1);
    const manifest = Buffer.concat([Buffer.from(`${path}${sep}`), name, Buffer.from(`${sep}manifest.json`)]);
    return existsSync(manifest) ? [{ ...own, kind: 'run', id: idOf(base, inside), path: inside }] : [];
  });
}

/** Folders that nobody keeps runs in: what is inside is not looked at. */
const isPassedBy = (name: string): boolean => name.startsWith('.') || name === 'node_modules';

/** Names of folders in a folder, as bytes, links to others not among them. One inside that cannot be read, or is gone by now, has none. */
function foldersOf(path: string, depth: number): Buffer[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true, encoding: 'buffer' });
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort(Buffer.compare);
  } catch (error) {
    if (depth === 0) throw error;
    return [];
  }
}

function runsOf(base: string, directory: string, experiment: string): FoundEntry[] {
  try {
    const { runs, blind, missing, damaged } = findExperiment(directory);
    const others = [...blind, ...missing, ...damaged].map((path) => {
      return { path, arm: basename(path).replace(/-\d+$/, '') };
    });
    // A plan names folders inside its own; nothing else is shown, nor written into a bundle.
    const own = [...runs.filter(({ sharedAs }) => sharedAs === undefined), ...others];
    const shared = runs.flatMap(({ path, arm, sharedAs: name }) =>
      name === undefined ? [] : [{ path: join(directory, name), arm, shared: path }],
    );
    const inside = [...own, ...shared].filter(({ path }) => dirname(resolve(path)) === resolve(directory));
    return inside.map((run) => ({ kind: 'run', id: idOf(base, run.path), experiment, ...run }));
  } catch {
    // The experiment itself is listed, and says what is wrong when it is opened.
    return [];
  }
}

export function listCatalogue(
  root: string,
  entries: readonly FoundEntry[] = findEntries(root),
  list: (entry: FoundEntry) => ListedRun = listRun,
) {
  return {
    title: basename(resolve(root)),
    experiments: entries.filter(({ kind }) => kind === 'experiment').map(listExperiment),
    runs: entries.filter(({ kind }) => kind === 'run').map((entry) => list(entry)),
  };
}

export function placeboArms(entries: readonly FoundEntry[]): string[] {
  const experiments = entries.filter(({ kind }) => kind === 'experiment');
  return [...new Set(experiments.flatMap(({ path }) => placebosOf(readPlan(path).plan)))];
}

type Plan = NonNullable<ReturnType<typeof storedPlan>>['experiment'];

function placebosOf(plan: Plan | null): string[] {
  const arms = [plan?.placebo, ...(plan?.arms.flatMap(({ placebos }) => placebos ?? []) ?? [])];
  return [...new Set(arms.filter((arm) => arm !== undefined && arm !== null))];
}

/** The plan of an experiment, or why it cannot be read: the experiment is listed, and says so when it is opened. */
function readPlan(path: string) {
  try {
    return { plan: storedPlan(path)?.experiment ?? null, why: '' };
  } catch (error) {
    return { plan: null, why: messageOf(error) };
  }
}

function listExperiment({ id, path }: FoundEntry) {
  const { plan, why } = readPlan(path);
  if (plan === null) return { id, name: basename(path), why, arms: [], placebos: [], seeds: [] };
  const arms = plan.arms.map((arm) => arm.name);
  return { id, name: plan.name, why: plan.why, arms, placebos: placebosOf(plan), seeds: plan.seeds };
}

export function listRun({ id, path, arm, experiment, shared }: FoundEntry): ListedRun {
  const unknown = {
    id,
    experiment,
    seed: seedOf(path),
    update: 0,
    updates: 0,
    heartbeat: null,
    curve: [],
    rates: null,
  };
  const plain = { ...unknown, arm: arm ?? basename(path), usesLabels: false, hasQuarantine: false };
  if (!isRun(path)) {
    const isNoText = basename(path).includes('\ufffd');
    const isDamaged = isNoText || existsSync(join(path, 'events.jsonl'));
    const lacks = isNoText
      ? 'The name of its folder is no UTF-8 text: rename the folder.'
      : 'The run has no manifest.json.';
    const elsewhere = shared === undefined ? '' : `Begun in ${relative(dirname(path), dirname(shared))}.`;
    const notice = isDamaged ? lacks : elsewhere;
    return failing({ ...plain, status: isDamaged ? 'damaged' : 'not started', notice }, path);
  }
  try {
    const manifest = RunDirectory.open(path).readManifest();
    const { status, update, notice } = readProgress(path, manifest);
    const { hasQuarantine } = manifest;
    const curve = readCurve(path, hasQuarantine).map(({ update: at, attempt, hack, solve, cleanSolve }) => ({
      ...{ update: at, attempt: attempt?.rate ?? null, hack: hack.rate },
      ...{ solve: solve.rate, cleanSolve: cleanSolve?.rate ?? null },
    }));
    // Evaluations are large, and those of an experiment are read by its page.
    const isAlone = experiment === null || status === 'tripwire';
    const listed = {
      id,
      experiment,
      arm: arm ?? manifest.arm,
      seed: manifest.config.seed,
      status,
      update,
      updates: manifest.config.updates,
      heartbeat: statSync(join(path, 'events.jsonl'), { throwIfNoEntry: false })?.mtimeMs ?? null,
      notice,
      usesLabels: manifest.usesOracle,
      hasQuarantine,
      curve,
      rates: lastRates(curve) ?? (isAlone ? finalRates(path, hasQuarantine) : null),
    };
    return status === 'stopped' ? failing(listed, path) : listed;
  } catch (error) {
    return { ...plain, status: 'damaged', notice: messageOf(error) };
  }
}

/** A curve of an earlier version has no attempts, and no rate of hacks stands without them. */
function lastRates(curve: ListedRun['curve']): ShownRates | null {
  const last = curve.at(-1);
  if (last === undefined || last.attempt === null) return null;
  const { update: _, ...rates } = last;
  return rates;
}

/** Held-out problems with the markers of training, which every shipped experiment evaluates. */
export const evaluatedSet = 'test-original';

/** Of the last checkpoint as it is deployed, on most prompts; null where it is not evaluated. */
export function finalRates(path: string, hasQuarantine: boolean): ShownRates | null {
  const update = lastCheckpoint(RunDirectory.open(path));
  const state = statesOf({ hasQuarantine }).at(-1);
  const [most] = new EvaluationStore(path)
    .all()
    .filter((one) => one.update === update && one.set === evaluatedSet && one.state === state)
    .sort((a, b) => b.rows.length - a.rows.length);
  if (most === undefined) return null;
  const { attempt, hack, solve, cleanSolve } = summarise(most.rows);
  return { attempt: attempt.rate, hack: hack.rate, solve: solve.rate, cleanSolve: cleanSolve.rate };
}

function failing(run: ListedRun, path: string): ListedRun {
  const failure = run.experiment === null ? null : failureOf(path);
  if (failure === null) return run;
  return { ...run, failure, notice: `${run.notice === '' ? '' : `${run.notice} `}failed: ${failure}` };
}

function seedOf(path: string): number | null {
  const found = /-(\d+)$/.exec(basename(path))?.[1];
  return found === undefined ? null : Number(found);
}

function readProgress(path: string, { config }: Manifest): Pick<ListedRun, 'status' | 'update' | 'notice'> {
  const events = readLastEvents(join(path, 'events.jsonl'));
  const update = events.findLast((event) => event.kind === 'step')?.update ?? 0;
  const stop = events.findLast((event) => event.kind === 'stop');
  const warning = events.findLast((event) => event.kind === 'warning')?.message ?? '';
  if (stop?.reason === 'finished') return { status: 'finished', update, notice: warning };
  if (stop !== undefined) return { status: 'tripwire', update, notice: stop.detail ?? '' };
  if (isTraining(path)) return { status: 'running', update, notice: warning };
  // What was made after the last checkpoint is made again.
  const saved = lastCheckpoint(RunDirectory.open(path));
  const notice =
    saved < update
      ? `Stopped: ${update} of ${config.updates} updates made, ${saved} saved.`
      : `Stopped after update ${update} of ${config.updates}.`;
  return { status: 'stopped', update, notice };
}

const lastBytes = 1 << 16;

const lastEvent = z.looseObject({
  kind: z.string(),
  update: z.number().optional(),
  reason: z.string().optional(),
  detail: z.string().optional().catch(undefined),
  message: z.string().optional(),
});

/** The events in the last part of the file; a line that is not whole is left out. */
function readLastEvents(path: string): z.infer<typeof lastEvent>[] {
  if (!existsSync(path)) return [];
  const file = openToRead(path);
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, lastBytes));
    const read = readSync(file, bytes, 0, bytes.length, size - bytes.length);
    const lines = bytes.toString('utf8', 0, read).split('\n');
    return lines.flatMap((line) => {
      try {
        return [lastEvent.parse(JSON.parse(line))];
      } catch {
        return [];
      }
    });
  } finally {
    closeSync(file);
  }
}

const rateSchema = z.looseObject({ rate: z.number() });
const pointSchema = z.looseObject({
  ...{ update: z.number(), state: z.string(), hack: rateSchema, solve: rateSchema },
  // Curves of earlier versions have none.
  ...{ attempt: rateSchema.optional(), cleanSolve: rateSchema.optional() },
});
const curveSchema = z.looseObject({ sets: z.record(z.string(), z.array(pointSchema)) });

function readCurve(path: string, hasQuarantine: boolean) {
  const file = join(path, 'eval-curve.json');
  if (!existsSync(file)) return [];
  const points = readStamped(file, 'curves of a run', curveSchema, makeAgain('gq eval --curve')).sets['curve'] ?? [];
  const wanted = hasQuarantine ? 'deployed' : 'full';
  return points.filter(({ state }) => state === wanted || state === 'base');
}
