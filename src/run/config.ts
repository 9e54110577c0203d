/**
 * Turns recipe files and `--set a.b=c` into a resolved config. A recipe is TOML; `extends` names another recipe that it changes.
 * Errors name the key, what is wrong with it, and the nearest valid key. The source of each value is kept.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { parse } from 'smol-toml';
import { shellLine, UserError } from '../base/index.ts';
import { sha256Json } from '../base/node/index.ts';
import { parseHubName } from '../model/index.ts';
import { describeIssue, type Fault } from './config-issues.ts';
import type { ConfigParts } from './config-parts.ts';
import { recipeFrom, recipeName, recipePath } from './recipes.ts';
import { type ArmConfig, type RunConfig, runSchema, usualKinds } from './schema.ts';
import { hasTeacher } from './teacher.ts';
import { readToml } from './toml-file.ts';

/** A table without a prototype, in which __proto__ is an unknown key like any other. */
type Table = { [key: string]: unknown };

export interface ResolvedConfig {
  readonly config: RunConfig;
  readonly hash: string;
  /** Key path → the source of its value: 'default', the path of a recipe or of a run, or '--set'. */
  readonly sources: ReadonlyMap<string, string>;
}

export interface ConfigBase {
  readonly config: RunConfig;
  readonly source: string;
}

/** A config as written, not yet checked against the schema. */
export interface RawConfig {
  readonly raw: Table;
  readonly sources: Map<string, string>;
  /** Absolute paths of modules to load before the config can be checked. */
  readonly plugins: readonly string[];
}

/** A setting as `--set` takes it, from a file: paths in it are relative to the folder of that file. */
export interface FileSetting {
  readonly text: string;
  readonly folder: string;
}

/** Reads the base, the recipe with those it extends, and the settings, which `option` gave; later sources win. */
export function readConfig(
  recipe: string | null,
  settings: readonly (string | FileSetting)[] = [],
  base: ConfigBase | null = null,
  option = '--set',
): RawConfig {
  const sources = new Map<string, string>();
  const raw: Table = Object.create(null);
  if (base !== null) merge(raw, { ...base.config }, base.source, sources, '');
  if (recipe !== null) {
    for (const { path, table } of readChain(recipePath(recipe))) {
      merge(raw, withPaths(table, dirname(path), pluginPaths(raw)), path, sources, '');
    }
  }
  for (const setting of settings) {
    const { text, folder } = typeof setting === 'string' ? { text: setting, folder: process.cwd() } : setting;
    merge(raw, withPaths(parseSetting(text, option), folder), option, sources, '');
  }
  return { raw, sources, plugins: pluginPaths(raw) };
}

/** Keys that name a file or a folder, and the values of them that are names instead. */
const pathKeys: readonly { readonly path: readonly string[]; readonly isName: RegExp | null }[] = [
  { path: ['model'], isName: /^micro(?:-two)?$/ },
  { path: ['data', 'path'], isName: null },
  { path: ['data', 'testPath'], isName: null },
  { path: ['data', 'validationPath'], isName: null },
  { path: ['environment', 'partition'], isName: null },
  { path: ['teacher', 'pool'], isName: null },
  { path: ['device', 'libraries'], isName: null },
  { path: ['arm', 'monitor', 'labelledRun'], isName: null },
  { path: ['arm', 'monitor', 'model'], isName: /^(?:micro|micro-two|base)$/ },
  // A set of pairs without one of these endings is one of the package.
  { path: ['pairs', 'file'], isName: /^(?!.*\.(?:md|json)$)/s },
];

/**
 * Makes paths absolute: they are relative to the folder of the recipe that names them, or to the working directory. A recipe adds to the
 * plugins of those that it extends, since what it changes in them may need them.
 */
function withPaths(table: Table, folder: string, inherited: readonly string[] = []): Table {
  const absolute = (path: unknown): unknown => (typeof path === 'string' ? resolve(folder, path) : path);
  const { plugins } = table;
  const own: unknown[] = Array.isArray(plugins) ? plugins.map(absolute) : [];
  const all = [...inherited.filter((path) => !own.includes(path)), ...own];
  const made: Table = { ...table, ...(Array.isArray(plugins) ? { plugins: all } : {}) };
  return pathKeys.reduce(
    (all, { path, isName }) =>
      changeAt(all, path, (value) => {
        if (typeof value !== 'string' || isName?.test(value)) return value;
        return path.join('.') === 'model' && isHubName(value, folder) ? value : absolute(value);
      }),
    made,
  );
}

/** A table with one value of it changed, or of a table in it; what is not there stays as it is. */
function changeAt(table: Table, [key, ...rest]: readonly string[], change: (value: unknown) => unknown): Table {
  const value = table[key];
  if (value === undefined) return table;
  if (rest.length === 0) return { ...table, [key]: change(value) };
  return isTable(value) ? { ...table, [key]: changeAt(value, rest, change) } : table;
}

/** A model is taken by its name on the hub where no folder has that path. */
function isHubName(model: string, folder: string): boolean {
  return parseHubName(model) !== null && !existsSync(resolve(folder, model));
}

function pluginPaths({ plugins }: Table): string[] {
  return Array.isArray(plugins) ? plugins.filter((path) => typeof path === 'string') : [];
}

/** Checks a config against the schema that the parts give; src/lab knows which parts there are. */
export function checkConfig({ raw, sources }: RawConfig, parts: ConfigParts): ResolvedConfig {
  nameKinds(raw);
  const parsed = runSchema(parts).safeParse(raw);
  if (!parsed.success) {
    throw configError(parsed.error.issues.flatMap((issue) => describeIssue(issue, raw, sources, parts)));
  }
  const config = parsed.data;
  checkTogether(config, parts);
  checkKinds(config, parts);
  for (const path of leafPaths(config)) if (!sources.has(path)) sources.set(path, 'default');
  return { config, hash: configHash(config), sources };
}

function configError(faults: readonly Fault[]): UserError {
  const [first] = faults;
  if (faults.length === 1) {
    const call = first.key === null ? 'config' : `config, key ${first.key}`;
    const { expected, found, isMissing = false } = first;
    const fix = isMissing ? { fix: `It must be given: --set ${first.key}=VALUE, or in the recipe.` } : {};
    return new UserError({ call, expected, found, ...fix });
  }
  const lines = faults.map(({ key, expected, found }) =>
    key === null ? found : `${key}: expected ${expected}, found ${found}`,
  );
  return new UserError({
    call: 'config',
    expected: 'keys that exist, with values that they take',
    found: `${faults.length} faults: ${lines.join('; ')}`,
  });
}

/** Gives tables that name no kind the usual one. */
export function nameKinds(raw: Table): void {
  for (const [name, kind] of Object.entries(usualKinds)) {
    const table = raw[name];
    if (isTable(table) && table['kind'] === undefined) table['kind'] = kind;
  }
}

/** Takes a config from a manifest, where it is already complete. */
export function rawConfig(raw: unknown): RawConfig {
  const table = isTable(raw) ? raw : {};
  return { raw: table, sources: new Map(), plugins: pluginPaths(table) };
}

/** The hash of a config. The folders of plugins do not count; the manifest has a hash of their code. */
export function configHash({ plugins, ...config }: RunConfig): string {
  return sha256Json(plugins.length === 0 ? config : { ...config, plugins: plugins.map((path) => basename(path)) });
}

/** The tables that checkTogether compares. */
export interface JoinedTables
  extends Pick<RunConfig, 'device' | 'environment' | 'teacher' | 'sampling' | 'loss' | 'safety' | 'pairs'> {
  readonly arm: Pick<ArmConfig, 'kind'>;
}

/** Checks the rules that concern several keys at once. */
export function checkTogether(tables: JoinedTables, parts: ConfigParts): void {
  const { device, environment, loss, safety, arm } = tables;
  const arenas: Readonly<Record<string, readonly [number, number]>> = { wasm: [64, 4096], reference: [1, 4096] };
  const [least, most] = arenas[device.kind] ?? [1, Number.POSITIVE_INFINITY];
  if (device.arenaMiB !== null && (device.arenaMiB < least || device.arenaMiB > most)) {
    throw new UserError({
      call: 'config, key device.arenaMiB',
      expected: `a whole number from ${least} to ${most} for device.kind ${device.kind}`,
      found: `${device.arenaMiB}`,
    });
  }
  const both = environment.loopholes.filter((loophole) => environment.heldOutLoopholes.includes(loophole));
  if (both.length > 0) {
    throw new UserError({
      call: 'config, key environment.heldOutLoopholes',
      expected: 'loopholes that environment.loopholes does not name',
      found: both.join(', '),
    });
  }
  checkTeacher(tables);
  checkGenerated(tables);
  if (loss.deviationFloor > 0 && loss.kind !== 'classic') {
    throw new UserError({
      call: 'config, key loss.deviationFloor',
      expected: `0 with loss.kind ${loss.kind}, which does not divide by the deviation`,
      found: `${loss.deviationFloor}`,
      fix: 'Choose loss.kind classic, or leave the floor out.',
    });
  }
  const quarantine = parts.arms.some(({ kind, quarantine: own }) => kind === arm.kind && own);
  if (safety.healSteps > 0 && !quarantine) {
    throw new UserError({
      call: 'config, key safety.healSteps',
      expected: '0 for an arm that deploys everything it trains',
      found: `${safety.healSteps} with arm ${arm.kind}`,
    });
  }
}

function checkTeacher({ teacher, sampling }: Pick<RunConfig, 'teacher' | 'sampling'>): void {
  const { pool, offStep, perGroup, makeProblems } = teacher;
  if (hasTeacher({ teacher }) && 2 * perGroup > sampling.group) {
    throw new UserError({
      call: 'config, key teacher.perGroup',
      expected: `at most half of sampling.group (${sampling.group}), since as many solves as hacks are shown`,
      found: `${perGroup}`,
    });
  }
  expectTeacherPhase(teacher);
  if (makeProblems === 0) return;
  const call = 'config, key teacher.makeProblems';
  if (pool !== null) {
    const fix = 'Leave out teacher.pool, or set teacher.makeProblems=0.';
    throw new UserError({
      call,
      expected: '0 for a run whose teacher.pool names a pool',
      found: `${makeProblems}`,
      fix,
    });
  }
  if (offStep === 0) {
    const fix = 'Say with teacher.offStep how many updates have demonstrations.';
    throw new UserError({ call, expected: '0 for a run without a teacher phase', found: `${makeProblems}`, fix });
  }
  if (makeProblems < sampling.promptsPerStep) {
    const expected = `at least sampling.promptsPerStep (${sampling.promptsPerStep}), since every prompt needs its demonstrations`;
    throw new UserError({ call, expected, found: `${makeProblems}` });
  }
}

/** A phase without demonstrations is none: who asks for one has forgotten them. A pool without a phase may be for the arm. */
function expectTeacherPhase({ pool, offStep, perGroup, makeProblems }: RunConfig['teacher']): void {
  const has = pool !== null || makeProblems > 0;
  const refuse = (key: string, expected: string, found: number, fix: string): never => {
    throw new UserError({ call: `config, key teacher.${key}`, expected, found: `${found}`, fix });
  };
  if (!has && offStep > 0) {
    const fix = 'Name a pool with teacher.pool, or have the run make one with teacher.makeProblems.';
    refuse('offStep', '0 for a run without demonstrations', offStep, fix);
  }
  if (offStep > 0 && perGroup === 0) {
    refuse('perGroup', 'at least 1 for a run with a teacher phase', perGroup, 'Say how many of each a prompt has.');
  }
}

function checkGenerated({ pairs: { generated, leastGenerated } }: Pick<RunConfig, 'pairs'>): void {
  if (leastGenerated <= generated) return;
  throw new UserError({
    call: 'config, key pairs.leastGenerated',
    expected: `at most pairs.generated (${generated})`,
    found: `${leastGenerated}`,
  });
}

/** Asks the owners of `arm` and `data` too: their schemas may compare keys, and must leave what they accepted as it is. */
function checkKinds({ arm, data }: RunConfig, { arms, problemSources }: ConfigParts): void {
  const tables = [
    ['arm', arm, arms],
    ['data', data, problemSources],
  ] as const;
  for (const [name, { kind, ...settings }, parts] of tables) {
    const own = parts.find((part) => part.kind === kind)?.settings.safeParse(settings);
    if (own === undefined) continue;
    if (!own.success) {
      const found = own.error.issues.map(({ path, message }) => `${[name, ...path].join('.')}: ${message}`).join('; ');
      throw new UserError({ call: 'config', expected: `settings that ${name}.kind ${kind} accepts`, found });
    }
    if (sha256Json(own.data) !== sha256Json(settings)) {
      throw new UserError({
        call: `config, table ${name}`,
        expected: `settings that stay as they are when ${name}.kind ${kind} reads them again`,
        found: `${JSON.stringify(settings)}, then ${JSON.stringify(own.data)}`,
        fix: 'Its schema transforms values; do that in open() or load() instead.',
      });
    }
  }
}

/** The recipe and those it extends, with the one that extends nothing first. */
function readChain(path: string, seen: readonly string[] = []): { path: string; table: Table }[] {
  if (seen.includes(path)) {
    throw new UserError({
      call: `read recipe ${path}`,
      expected: 'recipes that do not extend each other in a circle',
      found: [...seen, path].join(' → '),
    });
  }
  const { extends: parent, ...table } = readToml(path, `read recipe ${path}`);
  refuseExperiment(path, table);
  if (parent === undefined) return [{ path, table }];
  if (typeof parent !== 'string') {
    throw new UserError({ call: `recipe ${path}, key extends`, expected: 'a path', found: JSON.stringify(parent) });
  }
  return [...readChain(parentPath(parent, path), [...seen, path]), { path, table }];
}

/** `extends` holds a path relative to the recipe's folder, or the bare name of a shipped recipe. */
function parentPath(parent: string, path: string): string {
  return recipeFrom(dirname(path), parent);
}

/** An experiment's file has keys that no config has; saying so key by key would mislead. */
function refuseExperiment(path: string, table: Table): void {
  if (!Array.isArray(table['arms'])) return;
  throw new UserError({
    call: `read recipe ${path}`,
    expected: 'a recipe of one run',
    found: 'an experiment of several arms',
    fix: `Run it with: ${shellLine('gq', 'experiment', recipeName(path))}`,
  });
}

/** Parses `a.b=c`. The value is TOML if it parses, else text; the word null means null, which TOML lacks. */
function parseSetting(setting: string, option: string): Table {
  const equals = setting.indexOf('=');
  if (equals < 1) throw new UserError({ call: option, expected: 'key.path=value', found: setting });
  const keys = setting.slice(0, equals).trim().split('.');
  const value = parseValue(setting.slice(equals + 1));
  return keys.reduceRight<Table>((inner, key, i) => ({ [key]: i === keys.length - 1 ? value : inner }), {});
}

function parseValue(text: string): unknown {
  if (text.trim() === 'null') return null;
  try {
    const table = parse(`value = ${text}`);
    return Object.keys(table).length === 1 ? table['value'] : text;
  } catch {
    // The text is not TOML but a bare word, such as a path.
    return text;
  }
}

/** Merges tables key by key; a table that changes its `kind` loses the keys it had. */
function merge(into: Table, from: Table, source: string, sources: Map<string, string>, prefix: string): void {
  for (const [key, value] of Object.entries(from)) {
    const path = `${prefix}${key}`;
    const present = into[key];
    if (isTable(value)) {
      const anew = isTable(present) && value['kind'] !== undefined && present['kind'] !== value['kind'];
      const table: Table = isTable(present) && !anew ? present : Object.create(null);
      into[key] = table;
      if (Object.keys(value).length === 0) sources.set(path, source);
      merge(table, value, source, sources, `${path}.`);
    } else {
      into[key] = value;
      sources.set(path, source);
    }
  }
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function leafPaths(value: unknown, prefix = ''): string[] {
  if (!isTable(value)) return [prefix.slice(0, -1)];
  return Object.entries(value).flatMap(([key, inner]) => leafPaths(inner, `${prefix}${key}.`));
}
