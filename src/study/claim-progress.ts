/** How far a claim has come: what its study states, what was ever begun in it, what has ended, what is missing, and what does not fit. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { groupBy, UserError } from '../base/index.ts';
import { sha256Json } from '../base/node/index.ts';
import { type Experiment, experimentSchema } from '../report/experiment-schema.ts';
import type { ClaimFacts, OnReading, Results, Table } from '../report/index.ts';
import { earlierText, readResults, runsText } from '../report/index.ts';
import { hasSeal, isBlind, isRun, RunDirectory, trainedStatus } from '../run/index.ts';
import { type Register, readRegister, statedRuns } from './claim.ts';
import { type FoundRun, findExperiment } from './directory.ts';
import { failureOf } from './failures.ts';

export type BegunRun = Awaited<ReturnType<typeof begunRuns>>[number];

/** Where a study stands; `found`: its runs, those in other folders among them. */
export async function studyProgress(directory: string, experiment: Experiment, found: readonly FoundRun[]) {
  const register = readRegister(directory);
  const { stated: statements, opened } = register;
  const all = statements.length === 0 ? statedRuns(experiment) : statements.flatMap(({ runs }) => runs);
  const stated = [...new Set(all)];
  const begun = [...(await begunRuns(directory, register, stated)), ...sharedRuns(found, register, stated)];
  return {
    claim: statements.at(-1) ?? null,
    /** Also what a later statement leaves out. */
    stated,
    ...{ begun, opened },
    /** Blind runs that were begun after the opening, or were not trained by then. */
    openedEarly: openedEarly(register, experiment),
    /** Whether it was stated, or stated anew, after runs of the study had begun. */
    changed: statements.some(({ begunBefore }) => begunBefore > 0),
    missing: stated.filter((folder) => begun.every((run) => run.folder !== folder)),
    /** What the folder holds and its register does not account for, and the other way round. */
    faults: registerFaults(directory, experiment, register, begun),
  };
}

/** Every run that was ever begun in the study: those of the register, and runs in its folder, which earlier versions did not register. */
async function begunRuns(directory: string, { begun }: Register, stated: readonly string[]) {
  const found = new Map(begun.map(({ folder, arm, seed, claim }) => [folder, { arm, seed, claim }]));
  for (const folder of readdirSync(directory)) {
    if (found.has(folder) || !isRun(join(directory, folder))) continue;
    const { config, claim } = RunDirectory.open(join(directory, folder)).readManifest();
    const arm = folder.replace(new RegExp(`-${config.seed}$`), '');
    found.set(folder, { arm, seed: config.seed, claim: claim?.hash ?? null });
  }
  return Promise.all(
    [...found].map(async ([folder, { arm, seed, claim }]) => ({
      ...{ arm, seed, folder, claim },
      /** Again after it had failed, or was deleted. */
      times: Math.max(1, begun.filter((entry) => entry.folder === folder).length),
      state: await stateOf(join(directory, folder)),
      isStated: stated.includes(folder),
      isBlind: isBlind(join(directory, folder)),
      /** The folder that it was begun in, where that is not the study's. */
      sharedFrom: null as string | null,
      /** Whether it was begun there before the study was stated here. */
      isEarly: false,
    })),
  );
}

/** Finished runs of other folders that stand for runs of the study which were never begun in its own. */
function sharedRuns(found: readonly FoundRun[], { begun, stated: [first] }: Register, stated: readonly string[]) {
  return found.flatMap(({ path, arm, sharedAs: folder }): BegunRun[] => {
    if (folder === undefined || begun.some((entry) => entry.folder === folder)) return [];
    const { config, claim } = RunDirectory.open(path).readManifest();
    const there = readRegister(dirname(path)).begun.find((entry) => entry.folder === basename(path));
    const isEarly = first !== undefined && (there === undefined || there.at < first.at);
    return [
      {
        ...{ arm: arm ?? folder, seed: config.seed, folder, claim: claim?.hash ?? null, times: 1, state: 'ended' },
        ...{ isStated: stated.includes(folder), isBlind: false, sharedFrom: dirname(path), isEarly },
      },
    ];
  });
}

/** The runs that were begun in other folders, by folder, and whether some were before the study was stated. */
function runsElsewhere(begun: readonly BegunRun[]): ClaimFacts['elsewhere'] {
  const groups = groupBy(begun, ({ sharedFrom }) => sharedFrom);
  return [...groups].flatMap(([folder, own]) => {
    const runs = own.map(({ folder: run }) => run);
    return folder === null ? [] : [{ folder, runs, isEarly: own.some(({ isEarly }) => isEarly) }];
  });
}

/** `gone`: there is no run in its folder, since it failed before its first update or was deleted. */
async function stateOf(path: string): Promise<'ended' | 'stopped' | 'gone'> {
  if (!isRun(path)) return 'gone';
  return (await trainedStatus(path)) === null ? 'stopped' : 'ended';
}

function openedEarly({ begun, opened }: Register, { blindSeeds = [] }: Experiment): string[] {
  if (opened === null) return [];
  const later = begun.filter(({ at, seed }) => at > opened.at && blindSeeds.includes(seed));
  return [...new Set([...opened.missing, ...later.map(({ folder }) => folder)])];
}

function registerFaults(
  directory: string,
  experiment: Experiment,
  { stated, begun, opened }: Register,
  runs: readonly BegunRun[],
): string[] {
  const hashes = stated.map(({ hash }) => hash);
  const unstated = unstatedKeys(experiment, stated.at(-1));
  const lost = Math.max(0, ...begun.map(({ before }) => before + 1)) - begun.length;
  const ofRuns = runs.flatMap(({ folder, state, sharedFrom }): string[] => {
    if (state === 'gone' || sharedFrom !== null) return [];
    const path = join(directory, folder);
    const { claim, identity } = RunDirectory.open(path).readManifest();
    const entry = begun.findLast((each) => each.folder === folder);
    const isOther =
      entry !== undefined &&
      (entry.claim !== (claim?.hash ?? null) || (entry.configHash ?? identity.config) !== identity.config);
    const isUnknown = claim !== undefined && !hashes.includes(claim.hash);
    const isKnown = claim?.blind === true && opened === null && existsSync(join(path, 'evaluations'));
    return [
      ...(entry === undefined && begun.length + stated.length > 0 ? [`no entry says that ${folder} was begun`] : []),
      ...(isOther ? [`${folder} holds another run than the one that was begun there`] : []),
      ...(isUnknown ? [`${folder} was begun under claim ${claim.hash.slice(0, 12)}, which is not registered`] : []),
      ...(isKnown ? [`${folder} is blind and was evaluated, and no entry says that it was opened`] : []),
    ];
  });
  return [
    ...stated.flatMap(({ hash, statement }) =>
      statement === undefined || sha256Json(statement) === hash
        ? []
        : [`what is stated does not have the hash ${hash.slice(0, 12)}`],
    ),
    ...(unstated.length > 0 ? [`experiment.json differs from what was stated in ${unstated.join(', ')}`] : []),
    ...(lost > 0 ? [`${lost} of the runs that were begun ${lost === 1 ? 'has' : 'have'} no entry any more`] : []),
    ...ofRuns,
  ];
}

/** The keys by which the stored plan differs from the statement; arms of earlier statements may stand beside those of the last. */
function unstatedKeys({ arms, ...plan }: Experiment, last: Register['stated'][number] | undefined): string[] {
  const parsed = experimentSchema.safeParse(last?.statement?.['experiment']);
  if (!parsed.success) return [];
  const { arms: statedArms, ...stated } = parsed.data;
  const isSame = (a: unknown, b: unknown): boolean => sha256Json(a ?? null) === sha256Json(b ?? null);
  const keys = Object.keys({ ...plan, ...stated }) as (keyof typeof plan)[];
  const changed = statedArms.filter((arm) => arms.every((each) => !isSame(each, arm)));
  return [...keys.filter((key) => !isSame(plan[key], stated[key])), ...changed.map(({ name }) => `arm ${name}`)];
}

/** Undefined where no claim was registered, and no run was begun under one. */
export async function claimFacts(
  directory: string,
  experiment: Experiment,
  found: readonly FoundRun[],
): Promise<ClaimFacts | undefined> {
  const progress = await studyProgress(directory, experiment, found);
  const { claim, changed, stated, begun, missing, opened, openedEarly: early, faults } = progress;
  const hash = claim?.hash ?? begun.find((run) => run.claim !== null)?.claim ?? null;
  if (hash === null) return undefined;
  return {
    ...{ hash, changed, missing, faults, openedEarly: early },
    stated: stated.length,
    begun: begun.length,
    notStated: begun.filter((run) => !run.isStated).length,
    elsewhere: runsElsewhere(begun),
    ended: begun.filter(({ state }) => state === 'ended').length,
    gone: begun.filter(({ state }) => state === 'gone').map(({ folder }) => folder),
    blind: begun.filter((run) => run.isBlind).map(({ folder }) => folder),
    opened: opened?.at ?? null,
  };
}

export function armTable(experiment: Experiment, stated: readonly string[], begun: readonly BegunRun[]): Table {
  const names = [...new Set([...experiment.arms.map(({ name }) => name), ...begun.map(({ arm }) => arm)])];
  const rows = names.map((arm) => {
    const own = begun.filter((run) => run.arm === arm);
    const seeds = (runs: readonly BegunRun[]): string => runs.map(({ seed }) => seed).join(' ') || '-';
    const wanted = stated.filter((folder) => folder.replace(/-\d+$/, '') === arm);
    const absent = wanted.filter((folder) => own.every((run) => run.folder !== folder));
    return [
      arm,
      `${wanted.length}`,
      `${own.length}`,
      ...(['ended', 'stopped', 'gone'] as const).map((state) => seeds(own.filter((run) => run.state === state))),
      absent.map((folder) => folder.slice(arm.length + 1)).join(' ') || '-',
      seeds(own.filter(({ isStated }) => !isStated)),
    ];
  });
  const columns = ['arm', 'stated', 'begun', 'ended', 'stopped', 'gone', 'not begun', 'not stated'];
  const none = ['stopped', 'gone', 'not stated'].filter((name) =>
    rows.every((row) => row[columns.indexOf(name)] === '-'),
  );
  const again = begun.filter(({ times }) => times > 1).map(({ folder, times }) => `${folder} (${times} times)`);
  const blind = begun.filter((run) => run.isBlind).map(({ folder }) => folder);
  const elsewhere = runsElsewhere(begun).map(
    ({ folder, runs, isEarly }) => `Begun in ${folder}${isEarly ? earlierText : ''}: ${runsText(runs)}.`,
  );
  return {
    title: 'runs by seed',
    columns: columns.filter((name) => !none.includes(name)),
    rows: rows.map((row) => row.filter((_, i) => !none.includes(columns[i]))),
    notes: [
      'ended: trained to the end, or stopped by the tripwire; gone: begun, and no run is in its folder.',
      ...(none.length === 0 ? [] : [`None: ${none.join(', ')}.`]),
      ...elsewhere,
      ...(again.length === 0 ? [] : [`Begun again: ${again.join(', ')}.`]),
      ...(blind.length === 0 ? [] : [`Blind until opened: ${blind.join(', ')}.`]),
    ],
  };
}

export async function openResults(
  directory: string,
  options: { readonly baseline?: string; readonly placebo?: string; readonly from?: readonly string[] } = {},
  onReading?: OnReading,
): Promise<Results> {
  const { experiment, barChanged, again, runs, damaged, missing, gone } = findExperiment(directory, options.from);
  const unsealed = runs.map(({ path }) => path).filter((path) => !hasSeal(path));
  // A placebo that was asked for takes the place of those that the arms name.
  const own = options.placebo === undefined ? {} : { placebos: null };
  const arms = experiment?.arms.map((arm) => ({ ...arm, ...own })) ?? [];
  const source = {
    name: experiment?.name ?? null,
    baseline: options.baseline ?? experiment?.baseline ?? null,
    placebo: options.placebo ?? (experiment === null ? 'haar' : experiment.placebo),
    arms: arms.map(({ name }) => name),
    runs,
    ...{ damaged, missing, gone, failed: failedOf(experiment === null ? [] : [...missing, ...unsealed]) },
    design:
      experiment === null
        ? undefined
        : { ...experiment, arms, barChanged, again, claim: await claimFacts(directory, experiment, runs) },
  };
  const results = await readResults(directory, source, onReading);
  for (const name of ['baseline', 'placebo'] as const) expectArm(`--${name}`, options[name], results);
  return results;
}

const failedOf = (paths: readonly string[]) =>
  paths.flatMap((path) => {
    const why = failureOf(path);
    return why === null ? [] : [{ path, why }];
  });

function expectArm(option: string, name: string | undefined, { arms }: Results): void {
  if (name === undefined || arms.some(({ arm }) => arm === name)) return;
  const expected = `an arm of these results: ${arms.map(({ arm }) => arm).join(', ')}`;
  throw new UserError({ call: option, expected, found: name });
}
