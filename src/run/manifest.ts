/** manifest.json: what a run is, with the number of its format. It is written when everything that a run needs is open. */

import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { shellLine, UserError } from '../base/index.ts';
import { readRegularText } from '../base/node/index.ts';
import type { LabelMarks } from '../model/index.ts';
import { readStamped, readStored } from './checksums.ts';
import { configHash } from './config/config.ts';
import { type RunConfig, storedConfigSchema } from './config/schema.ts';

export const runFormat = 4;

const what = 'the manifest of a run';

const problemUse = z.object({
  used: z.number().int().min(0),
  leftOut: z.array(z.object({ id: z.string(), reason: z.string() })),
});

const identitySchema = z.object({
  config: z.string(),
  plugins: z.string(),
  model: z.string(),
  problems: z.string(),
  dataFiles: z.record(z.string(), z.string()),
  partition: z.string().nullable(),
  pairs: z.string().nullable(),
  pool: z.string().nullable(),
  armModels: z.record(z.string(), z.string()),
  armRuns: z.record(z.string(), z.string()).nullable(),
  judge: z.string().nullable(),
  sampler: z.string().nullable(),
});

const manifestSchema = z.object({
  format: z.literal(runFormat),
  name: z.string(),
  config: storedConfigSchema,
  version: z.string(),
  node: z.string(),
  command: z.array(z.string()),
  created: z.string(),
  identity: identitySchema,
  problems: z.object({ train: problemUse, validation: problemUse, test: problemUse }),
  /** Held-out loopholes that the pairs show, where the config allows that (pairs.allowHeldOut); null where nobody looked. */
  heldOutPairs: z.array(z.string()).nullable().default(null),
  /** Pairs that the policy wrote itself: how many it wrote, how many are used, and their hash; null for a run without them. */
  generatedPairs: z
    .object({ attempted: z.number().int().min(0), kept: z.number().int().min(0), hash: z.string() })
    .nullable()
    .default(null),
  /** The environment outside that the tasks and rewards came from, with hashes of what it said of itself and of its tasks; absent: there was none. */
  outside: z
    .object({
      address: z.string(),
      name: z.string(),
      fingerprint: z.string(),
      tasks: z.number().int().min(1),
      hash: z.string(),
      /** Whether it told what is an attempt, a hack and a solve. */
      outcomes: z.enum(['told', 'unknown']),
    })
    .optional(),
  arm: z.string(),
  /** Whether labels reached training: the arm was given them, or demonstrations or pairs were chosen by them. */
  usesOracle: z.boolean(),
  /** What the arm was shown of rollouts beside rewards and advantages; empty: nothing. Null where nobody noted it. */
  armSees: z
    .array(z.enum(['features', 'text', 'sound', 'labels']))
    .nullable()
    .default(null),
  hasQuarantine: z.boolean(),
  /** Whether the quarantine of an earlier run is in the base, or in the adapter that a run without a quarantine was forked from; absent: none that is known of. */
  earlierQuarantine: z.enum(['kept', 'unknown']).optional(),
  plugins: z.array(z.object({ path: z.string(), hash: z.string() })),
  /** The device and what its bytes depend on (kernel variant, or GPU and precision), then the number of threads. */
  device: z.string(),
  features: z.object({ modules: z.array(z.string()), rank: z.number().int().min(1) }),
  /** The run and the update that this one was forked from; `adapterOnly`: without the state of its trainer. */
  parent: z.object({ run: z.string(), update: z.number().int().min(0), adapterOnly: z.boolean() }).nullable(),
  /** The hash of the claim under which an experiment began it, and whether its seed is blind; absent outside a claim. */
  claim: z.object({ hash: z.string(), blind: z.boolean() }).optional(),
});

const format3 = manifestSchema
  .omit({ identity: true })
  .extend({
    format: z.literal(3),
    configHash: z.string(),
    modelHash: z.string(),
    dataHash: z.string(),
    dataFiles: z.record(z.string(), z.string()),
    pairsHash: z.string().nullable(),
    poolHash: z.string().nullable(),
    partitionHash: z.string().nullable(),
    armModels: z.record(z.string(), z.string()).default({}),
    armRuns: z.record(z.string(), z.string()).nullable().default(null),
    judge: z.string().nullable(),
    sampler: z.string().nullable(),
  })
  .transform(({ configHash: config, modelHash: model, dataHash: problems, ...stored }) => {
    const { dataFiles, pairsHash: pairs, poolHash: pool, partitionHash: partition, ...others } = stored;
    const { armModels, armRuns, judge, sampler, ...manifest } = others;
    const plugins = manifest.plugins.map(({ hash }) => hash).join(' ');
    const inputs = { model, problems, dataFiles, partition, pairs, pool, armModels, armRuns };
    return { ...manifest, format: runFormat, identity: { config, plugins, ...inputs, judge, sampler } } as const;
  });

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;
type Stored = DeepReadonly<z.infer<typeof manifestSchema>>;

export type RunIdentity = DeepReadonly<z.infer<typeof identitySchema>>;

export type Manifest = Omit<Stored, 'config'> & { readonly config: RunConfig };

type Marked = Pick<Manifest, 'usesOracle' | 'config' | 'hasQuarantine' | 'earlierQuarantine'>;

/** What the weights that a run exports say of labels and of quarantines. `deletes`: the run's own quarantine is left out of them. */
export function marksOf(manifest: Marked, { deletes }: { readonly deletes: boolean }): LabelMarks {
  const { usesOracle, config, hasQuarantine, earlierQuarantine = 'none' } = manifest;
  return {
    labels: usesOracle ? 'used' : 'none',
    settings: config.notes.thresholds,
    quarantine: hasQuarantine && !deletes ? 'kept' : earlierQuarantine,
  };
}

/** Whether it is known what is an attempt, a hack and a solve of a run: an environment outside may have told rewards alone. */
export const outcomesKnown = ({ outside }: Pick<Manifest, 'outside'>): boolean => outside?.outcomes !== 'unknown';

export function readManifest(path: string): Manifest {
  const manifest = readStamped(path, what, expectFormat(path) === 3 ? format3 : manifestSchema);
  const { config } = readStored(path, what, z.object({ config: z.custom<RunConfig>() }));
  // The config as it is in the file: keys that a later version added do not count.
  const found = configHash(config);
  if (found === manifest.identity.config) return manifest;
  throw new UserError({
    call: `read ${path}`,
    expected: `a config with the hash that the manifest says (${manifest.identity.config})`,
    found: `another hash (${found})`,
    fix: 'The config was changed after the run began. Restore it, or fork the run: --fork RUN@UPDATE --set KEY=VALUE.',
  });
}

const olderFormats: Readonly<Record<number, string>> = {
  1: 'Fields have other names since format 2: read this run with gradient-quarantine 0.1.x, or train it again from its recipe.',
  2: 'Since format 3 a run stores the initial values of its adapter once: read this run with the version that wrote it, or train it again from its recipe.',
};

export function expectFormat(path: string): number {
  const { format, version } = readStored(path, what, z.object({ format: z.number(), version: z.string().optional() }));
  if (format === runFormat || format === 3) return format;
  const writer = version === undefined ? '' : `, written by gradient-quarantine ${version}`;
  throw new UserError({
    call: `open ${path}`,
    expected: `a run of format ${runFormat}`,
    found: `format ${format}${writer}`,
    fix: olderFormats[format] ?? 'Read it with the version of gradient-quarantine that wrote it.',
  });
}

export const registerName = 'register';
export const openedName = 'opened.json';

export const openedSchema = z.object({ at: z.string(), claim: z.string(), missing: z.array(z.string()) });

export const isRun = (path: string): boolean => existsSync(join(path, 'manifest.json'));

/** `path`: the folder of a run, begun or not. The study is the folder that the run is really in, whatever link leads to it. */
export function isBlind(path: string): boolean {
  if (!isRun(path) || readManifest(join(path, 'manifest.json')).claim?.blind !== true) return false;
  return !wasOpened(join(dirname(realpathSync(path)), registerName, openedName));
}

/** What is no record of an opening opens nothing. */
function wasOpened(file: string): boolean {
  try {
    return openedSchema.safeParse(JSON.parse(readRegularText(file))).success;
  } catch {
    return false;
  }
}

export function expectOpen(path: string, call: string): void {
  if (!isBlind(path)) return;
  throw new UserError({
    call,
    expected: 'a run whose outcome may be known',
    found: 'a blind seed of a claim that is not opened yet',
    fix: `Once all blind runs of the claim are trained: ${shellLine('gq', 'claim', 'open', dirname(realpathSync(resolve(path))))}`,
  });
}
