/**
 * The identity of a run: hashes of everything that decides what it computes. Whatever opens a run compares what it is about to use
 * with the manifest, before any work: an input that changed since the run began would give results that carry the run's name.
 */
import { existsSync } from 'node:fs';
import { UserError } from '../base/index.ts';
import { sha256File } from '../base/node/index.ts';
import {
  configDifferences,
  configHash,
  type Manifest,
  problemsHash,
  type RunConfig,
  type RunDirectory,
  type RunIdentity,
} from '../run/index.ts';
import type { Lab } from './open.ts';
import { pluginRecords } from './plugins.ts';
import { replacementNames } from './replacements.ts';

/** The input that a key of the config names, in the words of errors. */
export const identityWords: Readonly<Record<keyof RunIdentity, string>> = {
  config: 'the config',
  plugins: 'the code of the plugins (key plugins)',
  model: 'the model (key model)',
  problems: 'the problems (key data)',
  dataFiles: 'the files of problems (key data)',
  partition: 'the file of loopholes (key environment.partition)',
  pairs: 'the pairs (key pairs)',
  pool: 'the demonstrations (key teacher.pool, or made-pool.jsonl of the run)',
  armModels: 'the models of the arm (key arm)',
  armRuns: 'the run that the monitor learns from (key arm.monitor.labelledRun)',
  judge: 'the judge',
  sampler: 'the sampler',
};

/** The identity of a run with the config and the inputs of a lab. The hashes of models may take long. */
export async function identityOf(lab: Lab): Promise<RunIdentity> {
  const { config } = lab;
  const hashModels = async (): Promise<Record<string, string>> => {
    const hashes = [...(await lab.armModels)].map(async ([name, { hash }]) => [name, await hash] as const);
    return Object.fromEntries(await Promise.all(hashes));
  };
  const [problems, dataFiles, partition, pairs, pool, armRuns, model, armModels] = await Promise.all([
    lab.problems,
    hashDataFiles(lab),
    hashInput(config.environment.partition, 'environment.partition'),
    lab.pairs,
    hashInput(lab.pool, 'teacher.pool'),
    lab.armRuns,
    lab.model.then(({ hash }) => hash),
    hashModels(),
  ]);
  return {
    config: configHash(config),
    plugins: pluginHash(config),
    model,
    problems: problemsHash(Object.values(problems.splits).flat()),
    dataFiles,
    partition,
    pairs: pairs.pairsHash,
    pool,
    armModels,
    armRuns: Object.fromEntries(armRuns),
    ...replacementNames(lab.options),
  };
}

async function hashDataFiles({ config, source }: Lab): Promise<Readonly<Record<string, string>>> {
  const named = source.files.flatMap((key) => {
    const path = config.data[key];
    return typeof path === 'string' ? [[key, path] as const] : [];
  });
  return Object.fromEntries(await Promise.all(named.map(async ([key, path]) => [key, await sha256File(path)])));
}

export function pluginHash({ plugins }: RunConfig): string {
  return pluginRecords(plugins)
    .map(({ hash }) => hash)
    .join(' ');
}

async function hashInput(path: string | null, key: string): Promise<string | null> {
  if (path === null) return null;
  if (existsSync(path)) return sha256File(path);
  throw new UserError({
    call: `config, key ${key}`,
    expected: 'a file',
    found: `no file ${path}`,
    fix: 'If it was moved, put it back: a run names its inputs by their absolute paths.',
  });
}

/** Refuses inputs that differ from those that the run began with. `now` has those that will be used. */
export function expectIdentity(call: string, begun: Manifest, config: RunConfig, now: Partial<RunIdentity>): void {
  const stored = begun.identity;
  for (const key of Object.keys(identityWords) as (keyof RunIdentity)[]) {
    const value = now[key];
    if (value === undefined || (key === 'armRuns' && stored.armRuns === null)) continue;
    if (hashText(value) === hashText(stored[key])) continue;
    const isCode = key === 'judge' || key === 'sampler';
    throw new UserError({
      call,
      expected: `${identityWords[key]} that the run began with${isCode ? ` (${hashText(stored[key]) ?? ownPart})` : ''}`,
      found: isCode ? (hashText(value) ?? ownPart) : changeOf(key, begun, config),
      fix: isCode
        ? 'A program that names its own passes the same to train() and evaluateRun().'
        : 'Restore what was changed since, or train a new run.',
    });
  }
}

const ownPart = 'that of the lab';

/** A hash, or several by the keys of their files, as one text that can be compared. */
function hashText(hash: RunIdentity[keyof RunIdentity]): string | null {
  return hash === null || typeof hash === 'string' ? hash : JSON.stringify(hash);
}

type NamedInput = Exclude<keyof RunIdentity, 'judge' | 'sampler'>;

/** Says which keys have other values, or which file has other content, than when the run began. */
function changeOf(key: NamedInput, begun: Manifest, config: RunConfig): string {
  if (key === 'config') {
    const moved = `plugins (${begun.config.plugins.join(', ')} and ${config.plugins.join(', ')})`;
    return `other values (then and now): ${configDifferences(begun.config, config).join(', ') || moved}`;
  }
  if (key === 'plugins') {
    const known = new Set(begun.plugins.map(({ hash }) => hash));
    const changed = pluginRecords(config.plugins).filter(({ hash }) => !known.has(hash));
    return `other content in ${changed.map(({ path }) => path).join(', ') || 'their order'}`;
  }
  if (key === 'dataFiles') {
    const [before, after] = [begun.identity.dataFiles, config.data];
    const keys = Object.keys(before).map((name) => `${after[name] ?? 'no file'} (data.${name})`);
    return `other content in one of ${keys.join(', ')}`;
  }
  if (key === 'armModels') return `other content in ${Object.keys(begun.identity.armModels).join(', ')}`;
  if (key === 'armRuns') return `other rollouts or labels in ${Object.keys(begun.identity.armRuns ?? {}).join(', ')}`;
  const [before, after] = [placeOf[key](begun.config), placeOf[key](config)];
  return before === after ? `other content in ${after}` : `${after} in place of ${before}`;
}

/** Where an input comes from, for people. */
const placeOf: Readonly<
  Record<
    Exclude<NamedInput, 'config' | 'plugins' | 'dataFiles' | 'armModels' | 'armRuns'>,
    (config: RunConfig) => string
  >
> = {
  model: ({ model }) => model,
  problems: ({ data }) => (typeof data['path'] === 'string' ? data['path'] : `the problems of kind ${data.kind}`),
  partition: ({ environment }) => environment.partition ?? 'no file',
  pairs: ({ pairs, data }) => pairs.file ?? `the pairs that ship for problems of kind ${data.kind}`,
  pool: ({ teacher }) => teacher.pool ?? (teacher.makeProblems > 0 ? 'made-pool.jsonl of the run' : 'no file'),
};

/** Refuses a run whose plugins have changed; for readers of a run that open no other input of it. */
export function expectSamePlugins(call: string, run: RunDirectory): void {
  const manifest = run.readManifest();
  expectIdentity(call, manifest, manifest.config, { plugins: pluginHash(manifest.config) });
}

/**
 * Refuses a fork whose inputs are not its parent's. The model and the adapter must be the same, since the adapter was trained on it; another input may
 * differ if the fork's config names another one.
 */
export function expectFork(call: string, parent: Manifest, config: RunConfig, now: RunIdentity): void {
  const same = (pick: (each: RunConfig) => unknown): boolean =>
    JSON.stringify(pick(config)) === JSON.stringify(pick(parent.config));
  if (!same((each) => each.adapter)) {
    throw new UserError({
      call,
      expected: `the adapter of the parent (${JSON.stringify(parent.config.adapter)})`,
      found: JSON.stringify(config.adapter),
      fix: 'A fork goes on with the adapter that its parent trained: leave the keys of adapter as they are.',
    });
  }
  const { model, plugins, problems, dataFiles, partition, pairs, pool } = now;
  expectIdentity(call, parent, config, {
    model,
    ...(same((each) => each.plugins) ? { plugins } : {}),
    ...(same((each) => [each.data, each.plugins]) ? { problems, dataFiles } : {}),
    ...(same((each) => each.environment.partition) ? { partition } : {}),
    ...(same((each) => [each.pairs, each.data.kind]) ? { pairs } : {}),
    // A fork makes a pool of its own, if its parent did.
    ...(config.teacher.makeProblems === 0 && same((each) => each.teacher.pool) ? { pool } : {}),
  });
}
