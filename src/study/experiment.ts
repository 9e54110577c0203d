/**
 * An experiment: arms × seeds. A TOML file names recipes, what each arm changes in them, and the seeds; resolving it gives one
 * config per run, seeds in the outer loop, so that paired comparisons exist as early as possible.
 */
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { nearestName, shellLine, UserError } from '../base/index.ts';
import { type EvaluationSet, evaluationTasks, expectFilled } from '../evaluate/index.ts';
import {
  armOf,
  expectInputs,
  expectIsolatedPairs,
  type LabConfig,
  openLab,
  type Parts,
  pluginHash,
  resolveConfig,
} from '../lab/index.ts';
import type { Bar, Experiment } from '../report/experiment-schema.ts';
import {
  armSchema,
  barSchema,
  evaluationSchema,
  experimentSchema,
  isArmName,
  referenceSchema,
  relearnSchema,
} from '../report/experiment-schema.ts';
import type { RunConfig } from '../run/index.ts';
import { assertPromptsFit, readToml, recipeFrom, recipeName, refuseUnread } from '../run/index.ts';
import { asStated, type Claim, changesOf, claimOf, type namedRunSchema, runFolder } from './claim.ts';
import { expandGrids, gridFault, gridSchema } from './grid.ts';
import { type SlurmTable, slurmSchema } from './slurm/script.ts';

const writtenSchema = experimentSchema.extend({
  grid: z.array(gridSchema).default([]).describe('arms that stand for one arm per combination of values'),
  slurm: slurmSchema.prefault({}).describe('what a Slurm cluster is asked for'),
});

/** The keys of each table of the file; those outside of all tables under the empty name. */
const experimentKeys: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries({
    ...{ '': writtenSchema, bar: barSchema, predictions: barSchema, references: referenceSchema, arms: armSchema },
    ...{ relearn: relearnSchema, evaluation: evaluationSchema, grid: gridSchema, slurm: slurmSchema },
  }).map(([table, { shape }]) => [table, Object.keys(shape)]),
);

export interface PlannedRun extends Readonly<z.infer<typeof namedRunSchema>> {
  readonly config: RunConfig;
  readonly configHash: string;
  /** Hashes of the code of its plugins when it was planned; null in plans of earlier versions. */
  readonly plugins: string | null;
}

export interface ExperimentPlan {
  /** The whole experiment, also where only a part of it is planned: the design of its comparisons. */
  readonly experiment: Experiment;
  readonly runs: readonly PlannedRun[];
  readonly claim?: Claim | undefined;
  /** The file that it was planned from and the changes of the call, which plan it again; null: of no file. */
  readonly again?: { readonly recipe: string; readonly set: readonly string[] } | null | undefined;
  /** Folders that have runs of the experiment, which are not trained again. */
  readonly from?: readonly string[];
}

export function readExperiment(path: string): Experiment {
  const raw = readToml(path, `read experiment ${path}`);
  if (raw['arms'] === undefined && raw['seeds'] === undefined) {
    throw new UserError({
      call: `read experiment ${path}`,
      expected: 'an experiment, with name, seeds and arms',
      ...(raw['steps'] === undefined
        ? { found: 'a recipe of one run', fix: `Train it with: ${shellLine('gq', 'train', recipeName(path))}` }
        : { found: 'a study of several', fix: 'Name one of its experiments.' }),
    });
  }
  return checkExperiment(raw, path);
}

/** One `[grid]` is a list of one. */
function listGrids(file: unknown): unknown {
  const { grid, ...others } = Object(file);
  return grid === undefined || Array.isArray(grid) ? file : { ...others, grid: [grid] };
}

/** What the `[slurm]` table of an experiment asks for; `flags` are keys that the command line changes. */
export function readSlurmTable(path: string, flags: Readonly<Record<string, unknown>>): SlurmTable {
  const raw = { slurm: { ...Object(readToml(path, `read experiment ${path}`)['slurm']), ...flags } };
  const parsed = z.object({ slurm: slurmSchema }).safeParse(raw);
  if (!parsed.success) throw schemaError(parsed.error.issues, raw, path);
  return parsed.data.slurm;
}

export function checkExperiment(file: unknown, path: string): Experiment {
  const raw = listGrids(file);
  const parsed = writtenSchema.safeParse(raw);
  if (!parsed.success) throw schemaError(parsed.error.issues, raw, path);
  const complain = complainer(path);
  const { grid, slurm: _cluster, ...written } = parsed.data;
  const writtenNames = written.arms.map(({ name }) => name);
  const fault = gridFault(grid, writtenNames);
  if (fault !== null) complain(fault.expected, fault.found);
  const experiment: Experiment = { ...written, arms: expandGrids(written.arms, grid) };
  const names = experiment.arms.map(({ name }) => name);
  const strange = names.find((name) => !isArmName(name));
  const fitting =
    'values of a grid that can end the name of a folder: lower-case letters, digits, dots, dashes; or a table that names them';
  if (strange !== undefined) complain(fitting, strange);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) complain('arms of different names', `${twice} twice`);
  if (new Set(experiment.seeds).size !== experiment.seeds.length) complain('different seeds', 'one of them twice');
  expectKnownArms(experiment, Object(raw), complain);
  for (const { name, bar } of barsOf(experiment)) expectJudgeable(name, bar, experiment, complain);
  const strangeSeed = experiment.blindSeeds?.find((seed) => !experiment.seeds.includes(seed));
  if (strangeSeed !== undefined) complain('blindSeeds: some of seeds', `${strangeSeed}`);
  return experiment;
}

function barsOf({ bar, predictions = [] }: Experiment): { readonly name: string; readonly bar: Bar }[] {
  return [
    ...(bar === null ? [] : [{ name: 'bar', bar }]),
    ...predictions.map((one, i) => ({ name: `predictions.${i}`, bar: one })),
  ];
}

function expectJudgeable(name: string, bar: Bar, experiment: Experiment, complain: Complain): void {
  const { seeds, evaluation, ceiling, relearn } = experiment;
  if (bar.inSeeds > seeds.length) complain(`${name}.inSeeds: at most ${seeds.length}`, `${bar.inSeeds}`);
  if (!evaluation.sets.includes(bar.set)) {
    complain(`${name}.set: one of evaluation.sets (${evaluation.sets.join(', ')})`, bar.set);
  }
  if (bar.metric === 'kept' && ceiling === null) complain(`${name}: a ceiling, which kept is measured by`, 'none');
  const attacked = [bar.arm, ...(bar.reference === null ? [] : [bar.reference])];
  const spared = attacked.filter((arm) => !relearn?.arms.includes(arm));
  if (bar.metric === 'relearn' && spared.length > 0) complain(`${name}: arms of relearn.arms`, spared.join(', '));
}

type Complain = (expected: string, found: string, fix?: string) => void;

function complainer(path: string): Complain {
  return (expected, found, fix) => {
    throw new UserError({ call: `experiment ${path}`, expected, found, ...(fix === undefined ? {} : { fix }) });
  };
}

/** Every name of an arm must be one of the arms. The names that stand for absent keys may be missing. */
function expectKnownArms(experiment: Experiment, raw: Readonly<Record<string, unknown>>, complain: Complain): void {
  const { arms, ceiling, solveReference, relearn, baseline, placebo } = experiment;
  const named: readonly (readonly [string, string | null | undefined])[] = [
    ['baseline', raw['baseline'] === undefined ? null : baseline],
    ['placebo', raw['placebo'] === undefined ? null : placebo],
    ['ceiling', ceiling],
    ['solveReference', solveReference],
    ...barsOf(experiment).flatMap(({ name, bar }) => [
      [`${name}.arm`, bar.arm] as const,
      [`${name}.reference`, bar.reference] as const,
    ]),
    ...(relearn?.arms ?? []).map((name) => ['relearn.arms', name] as const),
    ...arms.flatMap((arm) => (arm.placebos ?? []).map((name) => [`placebos of ${arm.name}`, name] as const)),
  ];
  const known = arms.map(({ name }) => name);
  const unknown = named.find(([, name]) => typeof name === 'string' && !known.includes(name));
  if (unknown !== undefined) complain(`${unknown[0]}: one of ${known.join(', ')}`, `${unknown[1]}`);
  const own = arms.find(({ name, placebos }) => placebos?.includes(name));
  if (own !== undefined) complain(`placebos of ${own.name}: other arms`, own.name);
}

function schemaError(issues: readonly z.core.$ZodIssue[], raw: unknown, path: string): UserError {
  const valueAt = (at: readonly PropertyKey[]): unknown => at.reduce((value, key) => Object(value)[key], raw);
  const texts = issues.map((issue) => {
    if (issue.code === 'unrecognized_keys') return unknownKeys(issue);
    const expected = `${issue.path.map(String).join('.') || 'the file'}: ${tableText(issue) ?? issue.message}`;
    return { expected, found: JSON.stringify(valueAt(issue.path)) ?? 'nothing' };
  });
  return new UserError({
    call: `experiment ${path}`,
    expected: texts.map(({ expected }) => expected).join('; '),
    found: texts.map(({ found }) => found).join('; '),
    fix: 'docs/formats.md has an example under Experiments.',
  });
}

function tableText(issue: z.core.$ZodIssue): string | null {
  if (issue.code !== 'invalid_type' || issue.expected !== 'object') return null;
  const name = issue.path.findLast((key) => typeof key === 'string') ?? '';
  return `a table of ${(experimentKeys[name] ?? []).join(', ')}`;
}

function unknownKeys({ path, keys }: z.core.$ZodIssueUnrecognizedKeys): { expected: string; found: string } {
  const names = path.filter((key) => typeof key === 'string');
  const known = experimentKeys[names[names.length - 1] ?? ''] ?? [];
  const found = keys.map((key) => {
    const nearest = nearestName(key, known);
    return `unknown key ${[...path, key].map(String).join('.')}${nearest === undefined ? '' : `, did you mean ${nearest}?`}`;
  });
  return { expected: 'keys that exist', found: found.join('; ') };
}

function expectFitting(plan: Experiment, name: string, config: RunConfig, parts: Parts, complain: Complain): void {
  const { loopholes, quarantine } = armOf(config, parts);
  const { environment, arm } = config;
  const held = barsOf(plan).find(({ bar }) => bar.arm === name && bar.loopholes === 'held out');
  if (held !== undefined && environment.heldOutLoopholes.length === 0) {
    const fix = 'Name some in environment.heldOutLoopholes, or leave bar.loopholes out.';
    complain('bar.loopholes: known, where its arm holds no loophole out', 'held out', fix);
  }
  const disclosed = [...environment.loopholes, ...environment.heldOutLoopholes].filter((each) => each !== 'gt_only');
  const names = disclosed.flatMap((each) => each.split('+'));
  for (const { name: key, bar } of barsOf(plan)) {
    if (bar.arm !== name || bar.channel === undefined || names.includes(bar.channel)) continue;
    complain(`${key}.channel: one of ${names.join(', ')}`, bar.channel);
  }
  const isOpen = loopholes !== 'closed' && environment.unhackableFraction < 1 && disclosed.length > 0;
  // A ceiling that can be hacked would make every arm look as if it had kept more.
  if (name === plan.ceiling && isOpen) {
    const fix = 'Name an arm of the recipe micro-no-loophole, or one with arm.kind=no-loophole.';
    const found = `one of the kind ${arm.kind}, whose prompts disclose loopholes`;
    complain('ceiling: an arm that is trained without a loophole', found, fix);
  }
  if (plan.relearn?.arms.includes(name) && !quarantine(config.arm)) {
    const found = `${name}, of the kind ${arm.kind}, which deploys everything it trained`;
    complain('relearn.arms: arms with a quarantine', found);
  }
}

/** A point of the curve without a checkpoint could never be evaluated: what was not saved is gone. */
function expectCurve({ evaluation }: Experiment, name: string, config: RunConfig, complain: Complain): void {
  const { curveEvery } = evaluation;
  const { updates, output } = config;
  const { checkpointEvery } = output;
  if (curveEvery === 0) return;
  const points = Array.from({ length: Math.floor(updates / curveEvery) }, (_, i) => (i + 1) * curveEvery);
  const unsaved = points.filter((update) => update % checkpointEvery !== 0 && update !== updates);
  if (unsaved.length === 0) return;
  complain(
    `output.checkpointEvery: a divisor of evaluation.curveEvery, which is ${curveEvery}, so that every point of the curve has a checkpoint`,
    `${checkpointEvery} in the arm ${name}, which leaves the curve without update ${unsaved.slice(0, 3).join(', ')}${unsaved.length > 3 ? ' and more' : ''}`,
    `Save as seldom as the curve allows with --set output.checkpointEvery=${curveEvery}, or change evaluation.curveEvery in the file.`,
  );
}

/** Is told what is done now, by work that may take long. */
export type Tell = (what: string) => void;

/** Resolves an experiment, or a part of it. `settings` change every run, after the arm's own changes; `directory`: where it is done. */
export async function planExperiment(
  experiment: Experiment,
  path: string,
  settings: readonly string[] = [],
  part: {
    readonly seeds?: readonly number[] | undefined;
    readonly arms?: readonly string[] | undefined;
    readonly directory?: string;
  } = {},
  tell?: Tell,
): Promise<ExperimentPlan> {
  const { seeds = experiment.seeds, arms = experiment.arms.map(({ name }) => name) } = part;
  const twice = seeds.find((seed, i) => seeds.indexOf(seed) !== i);
  if (twice !== undefined) {
    throw new UserError({ call: '--seeds', expected: 'different seeds', found: `${twice} twice` });
  }
  const folder = dirname(resolve(path));
  const complain = complainer(path);
  const runs: PlannedRun[] = [];
  const withoutReader: LabConfig['unread'][] = [];
  for (const seed of seeds) {
    for (const arm of experiment.arms.filter(({ name }) => arms.includes(name))) {
      const { name, recipe } = arm;
      tell?.(`plans the runs of ${experiment.name}: ${runs.length} so far`);
      const changes = changesOf(experiment, arm, path, settings);
      const seeded = changes.map(({ text }) => text).find((text) => /^\s*seed\s*=/.test(text));
      // It would be replaced by those of the experiment, and nobody would notice.
      const elsewhere = 'seeds in the key seeds, or --seeds, and none among the changes of arms, grids and --set';
      if (seeded !== undefined) complain(elsewhere, seeded);
      const own = [...changes, { text: `seed=${seed}`, folder, by: 'call' as const }];
      const { config, hash, parts, unread } = await resolveConfig(recipeFrom(folder, recipe), own).catch((error) => {
        throw error instanceof UserError ? ofArm(error, name, path) : error;
      });
      expectFitting(experiment, name, config, parts, complain);
      expectCurve(experiment, name, config, complain);
      if (seed === seeds[0]) {
        await expectIsolatedPairs(config);
        withoutReader.push(unread);
      }
      const twin = runs.find((run) => run.seed === seed && run.configHash === hash);
      if (twin !== undefined) {
        const fix = 'What --set changes is changed in every arm, after the changes of arms and grids.';
        complain('arms that differ in their config', `${twin.arm} and ${name} with the same one`, fix);
      }
      const plugins = pluginHash(config);
      runs.push({ arm: name, seed, folder: runFolder(name, seed), config, configHash: hash, plugins });
    }
  }
  // Of some arms only what the call sets is judged: a setting of the file may be for the others.
  const isPart = experiment.arms.some(({ name }) => !arms.includes(name));
  refuseUnread(sharedFaults(withoutReader).filter(({ by }) => !isPart || by === 'call'));
  tell?.(`checks what the claim of ${experiment.name} is of: hashes of its model and pairs`);
  // What a claim is of does not depend on the seed.
  const configs = new Map(runs.map(({ arm, config }) => [arm, config]));
  const said = await claimOf(experiment, path, settings, configs);
  const claim = said === null || part.directory === undefined ? (said ?? undefined) : asStated(part.directory, said);
  return { experiment, runs, claim, again: { recipe: path, set: settings } };
}

/** Said before anything is trained, of an experiment with an arm that claims something and none that could control it; null of others. */
export function placeboWarning({ experiment, runs }: ExperimentPlan): string | null {
  const { arms, baseline, ceiling, placebo } = experiment;
  const placebos = [placebo, ...arms.flatMap((arm) => arm.placebos ?? [])];
  if (arms.some(({ name }) => placebos.includes(name))) return null;
  const claims = runs.filter(({ arm, config }) => ![baseline, ceiling].includes(arm) && !plain.has(config.arm.kind));
  if (claims.length === 0) return null;
  const names = [...new Set(claims.map(({ arm }) => arm))].join(', ');
  return `placebo  none for ${names}: deleting any part of the update might remove as much, and no arm here would show it (key placebo)`;
}

/** Arms that know nothing which a placebo could take away. */
const plain = new Set(['vanilla', 'no-loophole', 'gradient-regularisation', 'oracle']);

/** An error in the config of an arm, which says whose it is. */
function ofArm(error: UserError, arm: string, path: string): UserError {
  const { call, ...complaint } = error.complaint;
  return new UserError({ call: `experiment ${path}, arm ${arm}: ${call}`, ...complaint }, { cause: error });
}

/** Settings of all arms may be without a reader in some of them, but not in every one. */
function sharedFaults([first = [], ...others]: readonly LabConfig['unread'][]): LabConfig['unread'] {
  return first.filter(({ key }) => others.every((faults) => faults.some((fault) => fault.key === key)));
}

/** The problems that runs of an experiment have, and the model that reads them. */
export interface InputFacts {
  readonly model: string;
  /** How many problems each split has. */
  readonly splits: Readonly<Record<string, number>>;
}

/**
 * Refuses, before anything is trained, what evaluation would fail on hours later: a set without prompts, a prompt that is too long. `checked`: what was
 * found so far, which is not looked at again.
 */
export async function checkInputs(
  { experiment, runs }: ExperimentPlan,
  tell?: Tell,
  checked = new Map<string, InputFacts>(),
): Promise<InputFacts[]> {
  const { sets: final, curveEvery } = experiment.evaluation;
  const sets: readonly EvaluationSet[] = curveEvery === 0 ? final : [...final, 'curve'];
  const facts = new Set<InputFacts>();
  for (const { arm, config } of runs) {
    const { model, data, plugins, environment, sampling } = config;
    const key = JSON.stringify([sets, model, data, plugins, environment, sampling.maxPromptTokens]);
    const known = checked.get(key);
    if (known !== undefined) {
      facts.add(known);
      continue;
    }
    tell?.(`checks the problems and the prompts of ${experiment.name}, arm ${arm}`);
    await expectInputs(config);
    await using lab = await openLab({ config });
    const { splits } = await lab.problems;
    expectFilled(`experiment ${experiment.name}, arm ${arm}`, sets, splits);
    const [{ folder, text }, partition] = await Promise.all([lab.model, lab.partition]);
    const context = { config, splits, partition, text, loopholes: lab.parts.loopholes };
    const prompted = sets.flatMap((set) => evaluationTasks(set === 'curve' ? 'validation' : set, context));
    assertPromptsFit(prompted, sampling, folder.config);
    const counts = Object.entries(splits).map(([split, problems]) => [split, problems.length]);
    const found = { model, splits: Object.fromEntries(counts) };
    checked.set(key, found);
    facts.add(found);
  }
  return [...facts];
}
