/** The identity of a run: hashes of all that decides what it computes, compared before any work under its name. */
import { existsSync } from 'node:fs';
import { UserError } from '../base/index.ts';
import { sha256File } from '../base/node/index.ts';
import type { Manifest, RunConfig, RunDirectory, RunIdentity } from '../run/index.ts';
import { configDifferences, configHash, problemsHash } from '../run/index.ts';
import { partsOf } from './config.ts';
import { replacementNames } from './judge.ts';
import { labelledHash } from './labels.ts';
import { hashOfBase } from './model.ts';
import type { Lab } from './open.ts';
import { armOf, sourceOf } from './parts.ts';
import { pluginRecords } from './plugins.ts';

type Hash = RunIdentity[keyof RunIdentity];
type Same = (pick: (config: RunConfig) => unknown) => boolean;

interface Input<Key extends keyof RunIdentity> {
  readonly words: string;
  /** Its hash, or those of its files by their names, or the name of the code that takes the place of the lab's own. */
  readonly hash: (lab: Lab) => RunIdentity[Key] | Promise<RunIdentity[Key]>;
  /** Says what has changed since a run began; absent: the input is code, of which the name is all that is known. */
  readonly change?: (begun: Manifest, config: RunConfig) => string;
  /** Whether a fork must have its parent's; absent: it may have another. */
  readonly forked?: (same: Same, config: RunConfig) => boolean;
  /** Only training compares it: others need not open it. */
  readonly onlyTraining?: true;
}

const moved = (place: (config: RunConfig) => string) => (begun: Manifest, config: RunConfig) => {
  const [before, after] = [place(begun.config), place(config)];
  return before === after ? `other content in ${after}` : `${after} in place of ${before}`;
};

const inputs: { readonly [Key in keyof RunIdentity]-?: Input<Key> } = {
  config: {
    words: 'the config',
    hash: ({ config }) => configHash(config),
    change: (begun, config) => {
      const plugins = `plugins (${begun.config.plugins.join(', ')} and ${config.plugins.join(', ')})`;
      return `other values (then and now): ${configDifferences(begun.config, config).join(', ') || plugins}`;
    },
    onlyTraining: true,
  },
  plugins: {
    words: 'the code of the plugins (key plugins)',
    hash: ({ config }) => pluginHash(config),
    change: (begun, config) => {
      const known = new Set(begun.plugins.map(({ hash }) => hash));
      const changed = pluginRecords(config.plugins).filter(({ hash }) => !known.has(hash));
      return `other content in ${changed.map(({ path }) => path).join(', ') || 'their order'}`;
    },
    forked: (same) => same(({ plugins }) => plugins),
  },
  model: {
    words: 'the model (key model)',
    hash: async (lab) => (await lab.model).hash,
    change: moved(({ model }) => model),
    forked: () => true,
  },
  problems: {
    words: 'the problems (key data)',
    hash: async (lab) => problemsHash(Object.values((await lab.problems).splits).flat()),
    change: moved(({ data }) =>
      typeof data['path'] === 'string' ? data['path'] : `the problems of kind ${data.kind}`,
    ),
    forked: (same) => same(({ data, plugins }) => [data, plugins]),
  },
  dataFiles: {
    words: 'the files of problems (key data)',
    hash: async ({ config, source }) => {
      const hashes = dataPaths(config, source).map(async ([key, path]) => [key, await sha256File(path)]);
      return Object.fromEntries(await Promise.all(hashes));
    },
    change: ({ identity }, { data }) => {
      const files = Object.keys(identity.dataFiles).map((key) => `${data[key] ?? 'no file'} (data.${key})`);
      return `other content in one of ${files.join(', ')}`;
    },
    forked: (same) => same(({ data, plugins }) => [data, plugins]),
  },
  partition: {
    words: 'the file of loopholes (key environment.partition)',
    hash: ({ config }) => hashFile(config.environment.partition, 'environment.partition'),
    change: moved(({ environment }) => environment.partition ?? 'no file'),
    forked: (same) => same(({ environment }) => environment.partition),
  },
  pairs: {
    words: 'the pairs (key pairs)',
    hash: async (lab) => (await lab.pairs).pairsHash,
    change: moved(({ pairs, data }) => pairs.file ?? `the pairs that ship for problems of kind ${data.kind}`),
    forked: (same) => same(({ pairs, data }) => [pairs, data.kind]),
  },
  pool: {
    words: 'the demonstrations (key teacher.pool, or made-pool.jsonl of the run)',
    hash: ({ pool }) => hashFile(pool, 'teacher.pool'),
    change: moved(
      ({ teacher }) => teacher.pool ?? (teacher.makeProblems > 0 ? 'made-pool.jsonl of the run' : 'no file'),
    ),
    // A fork makes a pool of its own, if its parent did.
    forked: (same, { teacher }) => teacher.makeProblems === 0 && same((config) => config.teacher.pool),
  },
  armModels: {
    words: 'the models of the arm (key arm)',
    hash: async (lab) => {
      const hashes = [...(await lab.armModels)].map(async ([name, { hash }]) => [name, await hash]);
      return Object.fromEntries(await Promise.all(hashes));
    },
    change: ({ identity }) => `other content in ${Object.keys(identity.armModels).join(', ')}`,
    onlyTraining: true,
  },
  armRuns: {
    words: 'the run that the monitor learns from (key arm.monitor.labelledRun)',
    hash: async (lab) => Object.fromEntries(await lab.armRuns),
    change: ({ identity }) => `other rollouts or labels in ${Object.keys(identity.armRuns ?? {}).join(', ')}`,
    onlyTraining: true,
  },
  judge: { words: 'the judge', hash: ({ options }) => replacementNames(options).judge, onlyTraining: true },
  sampler: { words: 'the sampler', hash: ({ options }) => replacementNames(options).sampler, onlyTraining: true },
};

const keys = Object.keys(inputs) as (keyof RunIdentity)[];

export const identityWords = keys.map((key) => [key, inputs[key].words] as const);

export async function identityOf(lab: Lab): Promise<RunIdentity> {
  const hashes = await Promise.all(keys.map(async (key) => [key, await inputs[key].hash(lab)]));
  return Object.fromEntries(hashes);
}

function dataPaths({ data }: RunConfig, { files }: Lab['source']): [string, string][] {
  return files.flatMap((key): [string, string][] => {
    const path = data[key];
    return typeof path === 'string' ? [[key, path]] : [];
  });
}

/** Hashes of the code, the files, the models and the runs that a config names beside its base and its pairs, without those that it does not name; null: not on this machine. */
export async function hashesOfNamed(config: RunConfig) {
  const parts = await partsOf(config);
  const arm = armOf(config, parts);
  const { kind: _kind, ...settings } = config.arm;
  const data = Object.fromEntries(dataPaths(config, sourceOf(config, parts)));
  const { partition } = config.environment;
  const { pool } = config.teacher;
  const models = arm.models(settings).filter((name) => name !== 'base');
  const hashFiles = async (paths: Readonly<Record<string, string>>) => {
    const hashes = Object.entries(paths).map(async ([key, path]) => [
      key,
      existsSync(path) ? await sha256File(path) : null,
    ]);
    return Object.fromEntries(await Promise.all(hashes));
  };
  const named = {
    plugins: config.plugins.length === 0 ? [] : pluginHash(config),
    dataFiles: await hashFiles(data),
    files: await hashFiles({ ...(partition && { partition }), ...(pool && { pool }) }),
    armModels: await Promise.all(models.map((model) => hashOfBase({ model }))),
    armRuns: await Promise.all(arm.runs(settings).map(labelledHash)),
  };
  return Object.fromEntries(Object.entries(named).filter(([, hashes]) => Object.keys(hashes).length > 0));
}

export function pluginHash({ plugins }: RunConfig): string {
  const hashes = pluginRecords(plugins).map(({ hash }) => hash);
  return hashes.join(' ');
}

async function hashFile(path: string | null, key: string): Promise<string | null> {
  if (path === null) return null;
  if (existsSync(path)) return sha256File(path);
  throw new UserError({
    call: `config, key ${key}`,
    expected: 'a file',
    found: `no file ${path}`,
    fix: 'If it was moved, put it back: a run names its inputs by their absolute paths.',
  });
}

const hashText = (hash: Hash): string | null =>
  hash === null || typeof hash === 'string' ? hash : JSON.stringify(hash);

export function expectIdentity(call: string, begun: Manifest, config: RunConfig, now: Partial<RunIdentity>): void {
  const { identity } = begun;
  for (const key of keys) {
    const hash = now[key];
    if (hash === undefined || (key === 'armRuns' && identity.armRuns === null)) continue;
    if (hashText(hash) === hashText(identity[key])) continue;
    const { words, change } = inputs[key];
    const expected = `${words} that the run began with`;
    if (change !== undefined) {
      const fix = 'Restore what was changed since, or train a new run.';
      throw new UserError({ call, expected, found: change(begun, config), fix });
    }
    const nameOf = (name: Hash): string => hashText(name) ?? 'that of the lab';
    const fix = 'A program that names its own passes the same to train() and evaluateRun().';
    throw new UserError({ call, expected: `${expected} (${nameOf(identity[key])})`, found: nameOf(hash), fix });
  }
}

export async function expectUnchanged(lab: Lab): Promise<void> {
  const { manifest, config, options } = lab;
  if (manifest === null) return;
  const files = only(await lab.identity, (key) => inputs[key].onlyTraining !== true);
  expectIdentity(options.call ?? '', manifest, config, files);
}

export function expectSamePlugins(call: string, run: RunDirectory): void {
  const manifest = run.readManifest();
  expectIdentity(call, manifest, manifest.config, { plugins: pluginHash(manifest.config) });
}

/** The adapter was trained on its parent's model; another input may differ if the fork's config names another one. */
export function expectFork(call: string, parent: Manifest, config: RunConfig, now: RunIdentity): void {
  const same: Same = (pick) => JSON.stringify(pick(config)) === JSON.stringify(pick(parent.config));
  if (!same(({ adapter }) => adapter)) {
    throw new UserError({
      call,
      expected: `the adapter of the parent (${JSON.stringify(parent.config.adapter)})`,
      found: JSON.stringify(config.adapter),
      fix: 'A fork goes on with the adapter that its parent trained: leave the keys of adapter as they are.',
    });
  }
  expectSettingsOf(call, parent, config);
  expectIdentity(
    call,
    parent,
    config,
    only(now, (key) => inputs[key].forked?.(same, config) === true),
  );
}

/** What labels informed in the parent has informed the fork: its tables and exports would say that nothing did. */
function expectSettingsOf(call: string, parent: Manifest, { notes }: RunConfig): void {
  const informed = ['label-informed', 'labels'];
  if (!informed.includes(parent.config.notes.thresholds) || informed.includes(notes.thresholds)) return;
  throw new UserError({
    call,
    expected: `notes.thresholds as of the parent, whose training the fork goes on with ("${parent.config.notes.thresholds}")`,
    found: JSON.stringify(notes.thresholds),
    fix: 'Leave notes.thresholds as it is.',
  });
}

const only = (identity: RunIdentity, isCompared: (key: keyof RunIdentity) => boolean): Partial<RunIdentity> =>
  Object.fromEntries(keys.filter(isCompared).map((key) => [key, identity[key]]));
