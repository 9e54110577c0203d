/**
 * Turns recipe files and `--set a.b=c` into a resolved config. A recipe is TOML; `extends` names another recipe that it changes.
 * Errors name the key, what is wrong with it, and the nearest valid key. The source of each value is kept.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { parse } from 'smol-toml';
import { z } from 'zod';
import { type NamedPath, shellLine, UserError } from '../../base/index.ts';
import { sha256Json } from '../../base/node/index.ts';
import { parseHubName } from '../../model/hub/cache.ts';
import { checkTogether } from './check-together.ts';
import { describeIssue, type Fault, listKeys, schemaUnder, valueAt } from './issues.ts';
import type { ConfigParts } from './parts.ts';
import { recipeFrom, recipeName, recipePath } from './recipes.ts';
import { type RunConfig, runSchema, usualKinds } from './schema.ts';
import { readToml } from './toml-file.ts';
import { handSet, unreadKeys } from './unread-keys.ts';

/** A table without a prototype, in which __proto__ is an unknown key like any other. */
type Table = { [key: string]: unknown };

export interface ResolvedConfig {
  readonly config: RunConfig;
  readonly hash: string;
  /** Key path → the source of its value: 'default', the path of a recipe or of a run, or '--set'. */
  readonly sources: ReadonlyMap<string, string>;
  /** Settings for many configs that nothing reads in this one: what each is, and when it would be read. */
  readonly unread: readonly Fault[];
}

export interface ConfigBase {
  readonly config: RunConfig;
  readonly source: string;
}

/** A config as written, not yet checked against the schema. */
export interface RawConfig {
  readonly raw: Table;
  readonly sources: Map<string, string>;
  /** Key path → how late its source came: 0 for what nobody sets now, as the config of a run. */
  readonly layers: Map<string, number>;
  /** Key path → the folder that a relative path in its value begins in; none for what is absolute already, as in the config of a run. */
  readonly folders: Map<string, string>;
  /** Paths of the keys whose settings are for many configs. */
  readonly shared: Set<string>;
  /** Absolute paths of modules to load before the config can be checked. */
  readonly plugins: readonly string[];
}

/** A setting as `--set` takes it: paths in it are relative to the folder. */
export interface FileSetting {
  readonly text: string;
  readonly folder: string;
  /** Whether it is for many configs, of which some may have no reader for it. */
  readonly shared?: boolean;
}

/** Reads the base, the recipe with those it extends, and the settings, which `option` gave; later sources win. */
export function readConfig(
  recipe: string | null,
  settings: readonly (string | FileSetting)[] = [],
  base: ConfigBase | null = null,
  option = '--set',
): RawConfig {
  const origins: Origins = { sources: new Map(), layers: new Map(), folders: new Map(), shared: new Set() };
  const raw: Table = Object.create(null);
  if (base !== null) merge(raw, { ...base.config }, { name: base.source, layer: 0 }, origins, '');
  const chain = recipe === null ? [] : readChain(recipePath(recipe));
  for (const [i, { path, table }] of chain.entries()) {
    const folder = dirname(path);
    const own = withPlugins(withArmTables(table, `recipe ${path}`), folder, pluginPaths(raw));
    merge(raw, own, { name: path, layer: i + 1, folder }, origins, '');
  }
  let source: Source = { name: option, layer: chain.length };
  for (const [i, setting] of settings.entries()) {
    const own: FileSetting = typeof setting === 'string' ? { text: setting, folder: process.cwd() } : setting;
    // What an experiment, its arms and the command line set come one after another.
    const shared = own.shared ?? false;
    if (i === 0 || source.shared !== shared) source = { name: option, layer: source.layer + 1, shared };
    const table = withArmTables(parseSetting(own.text, option), option);
    merge(raw, withPlugins(table, own.folder), { ...source, folder: own.folder }, origins, '');
  }
  return { raw, ...origins, plugins: pluginPaths(raw) };
}

/** The tables of an arm that watches, which stand at the top of a recipe and in the arm `watched` of a config. */
const armTables = ['monitor', 'cut', 'remedy'];

function withArmTables(table: Table, call: string): Table {
  const given = armTables.filter((name) => table[name] !== undefined);
  if (given.length === 0) return table;
  const arm = isTable(table['arm']) ? table['arm'] : {};
  const { kind = 'watched' } = arm;
  if (kind !== 'watched') {
    throw new UserError({
      call,
      expected: 'arm.kind, or the tables [monitor], [cut] and [remedy]',
      found: `arm.kind = ${JSON.stringify(kind)} beside [${given.join('], [')}]`,
      fix: 'gq config shows what the arm means in these tables.',
    });
  }
  const twice = given.find((name) => arm[name] !== undefined);
  if (twice !== undefined) {
    const found = `[arm.${twice}] beside [${twice}]`;
    throw new UserError({ call, expected: `one table of the ${twice}`, found, fix: 'Take one of them out.' });
  }
  const others = Object.entries(table).filter(([name]) => !armTables.includes(name));
  const own = Object.fromEntries(given.map((name) => [name, table[name]]));
  return { ...Object.fromEntries(others), arm: { ...arm, kind, ...own } };
}

/** Plugins are loaded before the schema is known. A recipe adds to those that it extends, since what it changes in them may need them. */
function withPlugins(table: Table, folder: string, inherited: readonly string[] = []): Table {
  const { plugins } = table;
  if (!Array.isArray(plugins)) return table;
  const named = plugins.map((path: unknown) => (typeof path === 'string' ? resolve(folder, path) : path));
  return { ...table, plugins: [...inherited.filter((path) => !named.includes(path)), ...named] };
}

/** Makes the paths of a config absolute, whoever declared their keys: a relative one begins in the folder of its source. */
function resolvePaths({ raw, folders }: Pick<RawConfig, 'raw' | 'folders'>, parts: ConfigParts): void {
  for (const key of listKeys(parts)) {
    const how = z.globalRegistry.get(schemaUnder(key, raw))?.['namesPath'] as NamedPath | undefined;
    const folder = folders.get(key.path.join('.'));
    const table = valueAt(raw, key.path.slice(0, -1)) as Table | undefined;
    const name = key.path[key.path.length - 1];
    const value = table?.[name];
    if (how === undefined || folder === undefined || table === undefined || typeof value !== 'string') continue;
    const isName = how.unless?.test(value) || (how.isModel && isHubName(value, folder));
    if (!isName) table[name] = resolve(folder, value);
  }
}

/** A model is taken by its name on the hub where no folder has that path. */
function isHubName(model: string, folder: string): boolean {
  return parseHubName(model) !== null && !existsSync(resolve(folder, model));
}

function pluginPaths({ plugins }: Table): string[] {
  return Array.isArray(plugins) ? plugins.filter((path) => typeof path === 'string') : [];
}

/** Checks a config against the schema that the parts give; src/lab knows which parts there are. */
export function checkConfig(written: RawConfig, parts: ConfigParts): ResolvedConfig {
  const { raw, sources, layers, shared } = written;
  completeRaw(written, parts);
  const parsed = runSchema(parts).safeParse(raw);
  if (!parsed.success) {
    throw configError(parsed.error.issues.flatMap((issue) => describeIssue(issue, raw, sources, parts)));
  }
  const config = parsed.data;
  checkTogether(config, parts);
  checkKinds(config, parts);
  const unread = unreadKeys(config, { sources, layers }, parts);
  const isShared = ({ key }: Fault): boolean => key !== null && shared.has(key);
  refuseUnread(unread.filter((fault) => !isShared(fault)));
  for (const path of leafPaths(config)) if (!sources.has(path)) sources.set(path, 'default');
  return { config, hash: configHash(config), sources, unread: unread.filter(isShared) };
}

/** Refuses keys that were set and that nothing reads. */
export function refuseUnread(faults: readonly Fault[]): void {
  if (faults.length > 0) throw configError(faults, 'Leave it out, or change what decides whether it is read.');
}

/** Refuses keys of a config of unknown origin that are not as by default although nothing reads them. */
export function expectRead(config: RunConfig, parts: ConfigParts): void {
  refuseUnread(unreadKeys(config, handSet(config, parts), parts));
}

function configError(faults: readonly Fault[], usualFix?: string): UserError {
  const [first] = faults;
  if (faults.length === 1) {
    const call = first.key === null ? 'config' : `config, key ${first.key}`;
    const { expected, found, isMissing = false } = first;
    const fix = isMissing ? `It must be given: --set ${first.key}=VALUE, or in the recipe.` : usualFix;
    return new UserError({ call, expected, found, fix });
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

/** Names the kinds that are not named, and makes paths absolute. */
export function completeRaw(written: RawConfig, parts: ConfigParts): void {
  nameKinds(written.raw, parts);
  resolvePaths(written, parts);
}

/** Gives tables that name no kind the usual one; of an arm, those that its other tables decide. */
function nameKinds(raw: Table, { arms }: ConfigParts): void {
  for (const [name, kind] of Object.entries(usualKinds)) {
    const table = raw[name];
    if (isTable(table) && table['kind'] === undefined) table['kind'] = kind;
  }
  const { arm } = raw;
  if (!isTable(arm)) return;
  const usual = arms.find(({ kind }) => kind === arm['kind'])?.usual?.(arm) ?? {};
  for (const [name, table] of Object.entries(usual)) {
    const given = arm[name] ?? Object.create(null);
    if (isTable(given) && given['kind'] === undefined) arm[name] = { ...table, ...given };
  }
}

/** Takes a config from a manifest, where it is already complete. */
export function rawConfig(raw: unknown): RawConfig {
  const table = isTable(raw) ? raw : {};
  const origins: Origins = { sources: new Map(), layers: new Map(), folders: new Map(), shared: new Set() };
  return { raw: table, ...origins, plugins: pluginPaths(table) };
}

/** The hash of a config. The folders of plugins do not count; the manifest has a hash of their code. */
export function configHash({ plugins, ...config }: RunConfig): string {
  return sha256Json(plugins.length === 0 ? config : { ...config, plugins: plugins.map((path) => basename(path)) });
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

/** The tables of a recipe and of those that it extends, the farthest first, as they are written. */
export function readRecipe(path: string): Table[] {
  return readChain(path).map(({ table }) => table);
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

interface Source {
  readonly name: string;
  readonly layer: number;
  readonly folder?: string;
  readonly shared?: boolean;
}

type Origins = Pick<RawConfig, 'sources' | 'layers' | 'folders' | 'shared'>;

/** Notes where the value of a key came from. */
function trace(path: string, { name, layer, folder, shared = false }: Source, origins: Origins): void {
  origins.sources.set(path, name);
  origins.layers.set(path, layer);
  if (folder === undefined) origins.folders.delete(path);
  else origins.folders.set(path, folder);
  if (shared) origins.shared.add(path);
  else origins.shared.delete(path);
}

/** Merges tables key by key; a table that changes its `kind` loses the keys it had. */
function merge(into: Table, from: Table, source: Source, origins: Origins, prefix: string): void {
  for (const [key, value] of Object.entries(from)) {
    const path = `${prefix}${key}`;
    const present = into[key];
    if (isTable(value)) {
      const anew = isTable(present) && value['kind'] !== undefined && present['kind'] !== value['kind'];
      const table: Table = isTable(present) && !anew ? present : Object.create(null);
      for (const lost of anew ? leafPaths(present, `${path}.`) : []) {
        for (const origin of [origins.sources, origins.layers, origins.folders, origins.shared]) origin.delete(lost);
      }
      into[key] = table;
      if (Object.keys(value).length === 0) trace(path, source, origins);
      merge(table, value, source, origins, `${path}.`);
    } else {
      into[key] = value;
      trace(path, source, origins);
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
