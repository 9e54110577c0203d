/**
 * A claim is what the file of an experiment states before its first run: arms with their recipes and all files, models and runs that
 * these name, seeds, and predictions. It goes by the hash of all that. The folder `register` of a study keeps each statement that runs were
 * begun under, each run that was begun, and when the blind seeds were opened. Its files are written once: neither a changed recipe nor a
 * deleted run takes anything out of it.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/index.ts';
import { makeOwnFolder, sha256Json, writeNew } from '../base/node/index.ts';
import type { Experiment } from '../report/experiment-schema.ts';
import type { RunConfig } from '../run/index.ts';
import {
  leavesOf,
  openedName,
  openedSchema,
  parseSetting,
  readRecipe,
  readStored,
  recipeFrom,
  registerName,
} from '../run/index.ts';

/** `settings`: what the call changed in every arm (`--set`); `statement`: what the hash is of, absent in entries of earlier versions. */
export type Claim = Readonly<z.infer<typeof claimSchema>>;

/** What a call changes in the recipe of an arm; paths of the file are relative to it, those of the call to where it was made. */
export function changesOf(
  { set }: Experiment,
  arm: Experiment['arms'][number],
  file: string,
  settings: readonly string[],
) {
  const folder = dirname(resolve(file));
  return [
    ...set.map((text) => ({ text, folder, by: 'experiment' as const })),
    ...arm.set.map((text) => ({ text, folder, by: 'arm' as const })),
    ...settings.map((text) => ({ text, folder: process.cwd(), by: 'call' as const })),
  ];
}

export const runFolder = (arm: string, seed: number): string => `${arm}-${seed}`;

export function statedRuns({ arms, seeds }: Experiment): string[] {
  return seeds.flatMap((seed) => arms.map(({ name }) => runFolder(name, seed)));
}

/**
 * Null for an experiment that predicts nothing. `settings`: what a call changes in every arm; `known`: configs of arms that are resolved already; `without`
 * is called with the error for which the inputs of an arm are not in the hash.
 */
export async function claimOf(
  experiment: Experiment,
  file: string,
  settings: readonly string[] = [],
  known: ReadonlyMap<string, RunConfig> = new Map(),
  without: (why: UserError) => void = () => undefined,
): Promise<Claim | null> {
  const { bar, predictions = [], arms } = experiment;
  if (bar === null && predictions.length === 0) return null;
  const folder = dirname(resolve(file));
  const recipes = Object.fromEntries(arms.map(({ recipe }) => [recipe, readRecipe(recipeFrom(folder, recipe))]));
  const inputs: Record<string, Inputs> = {};
  const bases = new Map<string, string | null>();
  for (const arm of arms) {
    const changes = changesOf(experiment, arm, file, settings);
    inputs[arm.name] = await inputsOf(recipeFrom(folder, arm.recipe), changes, bases, known.get(arm.name)).catch(
      (error) => {
        if (!(error instanceof UserError)) throw error;
        without(error);
        return null;
      },
    );
  }
  // What TOML has and JSON has not, such as dates, is hashed as its text.
  const statement = JSON.parse(JSON.stringify({ experiment, recipes, settings: inOneOrder(settings), inputs }));
  const [hash, runs] = [sha256Json(statement), statedRuns(experiment)];
  return { hash, file: resolve(file), runs, settings: [...settings], statement };
}

/** Settings whose order changes nothing are hashed in one: not those that name a key twice, or an arm both by its kind and by its parts. */
function inOneOrder(settings: readonly string[]): readonly string[] {
  const keys = settings.map((setting) => setting.split('=')[0].trim());
  const isSaid = (tables: RegExp): boolean => keys.some((key) => tables.test(key));
  const counts = new Set(keys).size < keys.length || (isSaid(/^arm\b/) && isSaid(/^(monitor|cut|remedy)\b/));
  return counts ? settings : settings.toSorted();
}

type Inputs = Awaited<ReturnType<typeof inputsOf>> | null;

/** How many arms name a model, problems or other files that are not here, so that the hash will be another once they are. */
export function countUnread({ statement }: Claim): number {
  const isUnread = (inputs: Inputs): boolean => {
    if (inputs === null) return true;
    const { pairs: _pairs, ...named } = inputs;
    return Object.values(named).some((hash) => hash === null || Object.values<unknown>(hash).includes(null));
  };
  return Object.values((statement?.['inputs'] ?? {}) as Record<string, Inputs>).filter(isUnread).length;
}

/** Hashes of the base and the pairs of an arm, and of whatever else its config names. */
async function inputsOf(
  recipe: string,
  changes: ReturnType<typeof changesOf>,
  bases: Map<string, string | null>,
  known: RunConfig | undefined,
) {
  // Who reads what was stated opens no lab.
  const { hashesOfNamed, hashOfBase, hashOfPairs, resolveConfig } = await import('../lab/index.ts');
  const config = known ?? (await resolveConfig(recipe, changes)).config;
  const named = await hashesOfNamed(config);
  // A base has gigabytes, and most arms share one.
  const model = bases.get(config.model) ?? (await hashOfBase(config));
  bases.set(config.model, model);
  return { model, pairs: await hashOfPairs(config), ...named };
}

/**
 * The statement that a study was begun under, where the claim differs from it in the order and the spelling of settings alone: whoever types the same call
 * anew, or with a version that hashed settings in the order of the call, changes nothing.
 */
export function asStated(directory: string, claim: Claim): Claim {
  const last = readRegister(directory).stated.at(-1);
  const said = ({ settings, statement }: Claim): string => {
    const leaves = inOneOrder(settings).map((text) => [...leavesOf(parseSetting(text, '--set'))]);
    return sha256Json({ ...statement, settings: leaves });
  };
  return last?.statement === undefined || said(last) !== said(claim) ? claim : claimSchema.parse(last);
}

export const claimSchema = z.object({
  hash: z.string(),
  file: z.string(),
  runs: z.array(z.string()),
  settings: z.array(z.string()).default([]),
  statement: z.record(z.string(), z.unknown()).optional(),
});
/** `begunBefore`: the runs of the study that had begun by then. */
const statedSchema = claimSchema.extend({ at: z.string(), begunBefore: z.number().int().min(0) });
export const namedRunSchema = z.object({ arm: z.string(), seed: z.number().int().min(0), folder: z.string() });
const begunSchema = namedRunSchema.extend({
  claim: z.string().nullable(),
  at: z.string(),
  /** Its config by its hash, and how many of these entries there were before it; earlier versions had neither. */
  configHash: z.string().optional(),
  before: z.number().int().min(0).default(0),
});

/** The number that ends the name of an entry: clocks go back, and two entries may have one time. */
const numberOf = (name: string): number => Number(/-(\d+)\.json$/.exec(name)?.[1] ?? 0);

function entryNames(directory: string, beginning: string): string[] {
  const folder = join(directory, registerName);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const own = names.filter((name) => name.startsWith(beginning) && name.endsWith('.json'));
  return own.sort((a, b) => numberOf(a) - numberOf(b));
}

export type Register = ReturnType<typeof readRegister>;

/**
 * Empty for a study of an earlier version, and for one that was not begun. Entries are in the order in which they were made; a run that was begun again, after it had
 * failed or was deleted, is there once for each time.
 */
export function readRegister(directory: string) {
  const read = <Entry>(beginning: string, schema: z.ZodType<Entry>): Entry[] =>
    entryNames(directory, beginning).map((name) =>
      readStored(join(directory, registerName, name), 'an entry of the register of a study', schema),
    );
  return {
    stated: read('claim-', statedSchema),
    begun: read('begun-', begunSchema).sort((a, b) => a.before - b.before),
    opened: read(openedName, openedSchema)[0] ?? null,
  };
}

/** Writes the statement down, unless the last one is the same. The caller has the lock of the study. */
export function stateClaim(directory: string, claim: Claim, begunBefore: number): void {
  const { stated } = readRegister(directory);
  if (stated.at(-1)?.hash === claim.hash) return;
  const last = numberOf(entryNames(directory, 'claim-').at(-1) ?? '');
  writeEntry(directory, `claim-${last + 1}.json`, { ...claim, begunBefore });
}

export function countBegun(
  directory: string,
  { arm, seed, folder, configHash }: z.infer<typeof namedRunSchema> & { readonly configHash?: string },
  claim: string | null,
): void {
  const entry = { arm, seed, folder, configHash, claim, before: entryNames(directory, 'begun-').length };
  for (let time = 1; !writeEntry(directory, `begun-${folder}-${time}.json`, entry); time++);
}

/** Opens the blind seeds of a study, once. `missing`: the stated runs of these seeds that are not trained. */
export function openBlind(directory: string, claim: string, missing: readonly string[]): void {
  if (writeEntry(directory, openedName, { claim, missing })) return;
  throw new UserError({
    call: `open the blind seeds of ${directory}`,
    expected: 'seeds that are still blind, since they are opened once',
    found: `opened at ${readRegister(directory).opened?.at}`,
  });
}

/** Adds an entry, which appears whole or not at all; false where one of that name is there already. */
function writeEntry(directory: string, name: string, entry: object): boolean {
  const folder = join(directory, registerName);
  makeOwnFolder(folder);
  const draft = join(folder, `.${randomUUID()}`);
  writeNew(draft, `${JSON.stringify({ ...entry, at: new Date().toISOString() }, null, 2)}\n`);
  try {
    linkSync(draft, join(folder, name));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
