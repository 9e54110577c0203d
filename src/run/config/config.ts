/** Recipe files (TOML, `extends`) and `--set a.b=c` as a resolved config that knows the source of each value. */
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { parse } from 'smol-toml';
import { z } from 'zod';
import { type NamedPath, shellLine, UserError } from '../../base/index.ts';
import { sha256Json } from '../../base/node/index.ts';
import { parseHubName } from '../../model/hub/cache.ts';
import type { Fault, Origin, Origins } from './issues.ts';
import { describeIssue, listKeys, schemaUnder, valueAt, valueText } from './issues.ts';
import type { ConfigParts } from './parts.ts';
import { readToml, recipeFrom, recipeName, recipePath } from './recipes.ts';
import { brokenRules, refusedKinds } from './rules.ts';
import { type RunConfig, runSchema, usualKinds } from './schema.ts';
import { handSet, unreadKeys } from './unread-keys.ts';
import type { WrittenConfig } from './written.ts';

/** A table without a prototype, in which __proto__ is an unknown key like any other. */
type Table = { [key: string]: unknown };

export interface ResolvedConfig {
  readonly config: RunConfig;
  readonly hash: string;
  readonly sources: ReadonlyMap<string, string>;
  /** Keys without a reader that are for many configs, and who set them. */
  readonly unread: readonly (Fault & Pick<FileSetting, 'by'>)[];
}

export type ConfigBase = { readonly config: RunConfig; readonly source: string };

export interface RawConfig {
  readonly raw: Table;
  readonly origins: Origins;
  readonly plugins: readonly string[];
  /** Of the arm's tables that were written, whether they stand at the top, as [monitor], or within the arm's, as [arm.monitor]. */
  readonly atTop: ReadonlyMap<string, boolean>;
}

export interface FileSetting {
  readonly text: string;
  readonly folder: string;
  /** Who sets it in an experiment: what is not of one arm is for many configs, of which some may have no reader for it. */
  readonly by?: 'experiment' | 'arm' | 'call';
}

export function readConfig(
  recipe: string | WrittenConfig | null,
  settings: readonly (string | FileSetting)[] = [],
  base: ConfigBase | null = null,
  option = '--set',
): RawConfig {
  const origins = new Map<string, Origin>();
  const atTop = new Map<string, boolean>();
  const raw: Table = Object.create(null);
  if (base !== null) merge(raw, { ...base.config }, { name: base.source, layer: 0 }, origins, '');
  const chain = recipe === null ? [] : typeof recipe === 'string' ? readChain(recipePath(recipe)) : chainOf(recipe);
  for (const [i, { path, table }] of chain.entries()) {
    const folder = dirname(path);
    notePlaces(atTop, table);
    const own = withPlugins(withArmTables(table, `recipe ${path}`), folder, pluginPaths(raw));
    merge(raw, own, { name: path, layer: i + 1, folder }, origins, '');
  }
  let source: Origin = { name: option, layer: chain.length };
  const replacesArm = settings.some((one) => namesKind.test(typeof one === 'string' ? one : one.text));
  for (const [i, setting] of settings.entries()) {
    const own: FileSetting = typeof setting === 'string' ? { text: setting, folder: process.cwd() } : setting;
    // What an experiment, its arms and the command line set come one after another.
    const { text, by, folder } = own;
    if (i === 0 || source.by !== by) source = { name: option, layer: source.layer + 1, by };
    const parsed = parseSetting(text, option);
    if (!replacesArm) refuseOtherArm(parsed, raw, text, option);
    notePlaces(atTop, parsed);
    const table = withArmTables(parsed, option);
    merge(raw, withPlugins(table, folder), { ...source, text, folder }, origins, '');
  }
  return { raw, origins, plugins: pluginPaths(raw), atTop };
}

const armTables = ['monitor', 'cut', 'remedy'];
const namesKind = /^\s*(monitor|cut|remedy)(\.kind)?\s*=/;

function notePlaces(atTop: Map<string, boolean>, written: Table): void {
  const inArm = isTable(written['arm']) ? written['arm'] : {};
  for (const name of armTables) {
    if (written[name] !== undefined) atTop.set(name, true);
    else if (inArm[name] !== undefined) atTop.set(name, false);
  }
}

/** Does what may complain of a config, whose keys are then named as they were written. */
function namingAsWritten<Result>({ atTop }: RawConfig, work: () => Result): Result {
  const isAtTop = (name: string): boolean => atTop.get(name) ?? [...atTop.values()].includes(true);
  const asWritten = (text: string): string =>
    text.replaceAll(/(?<![\w./-])arm\.(monitor|cut|remedy)(?![\w-])/g, (key, name) => (isAtTop(name) ? name : key));
  try {
    return work();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { call, expected, found, fix } = error.complaint;
    const named = { call: asWritten(call), expected: asWritten(expected), found: asWritten(found) };
    throw new UserError({ ...named, ...(fix === undefined ? {} : { fix: asWritten(fix) }) }, { cause: error });
  }
}

/** One key of the tables, such as remedy.others=absorb, does not make another arm of one that is said by its kind. */
function refuseOtherArm(parsed: Table, raw: Table, text: string, call: string): void {
  const kind = isTable(raw['arm']) ? raw['arm']['kind'] : undefined;
  if (kind === undefined || kind === 'watched' || !armTables.some((name) => parsed[name] !== undefined)) return;
  throw new UserError({
    call,
    expected: `keys of the arm ${JSON.stringify(kind)}`,
    found: text,
    fix: 'Its own keys begin with arm, as arm.others=absorb; another arm needs monitor.kind and remedy.kind beside this.',
  });
}

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

function resolvePaths({ raw, origins }: RawConfig, parts: ConfigParts): void {
  for (const key of listKeys(parts)) {
    const how = z.globalRegistry.get(schemaUnder(key, raw))?.['namesPath'] as NamedPath | undefined;
    const folder = origins.get(key.path.join('.'))?.folder;
    const table = valueAt(raw, key.path.slice(0, -1)) as Table | undefined;
    const name = key.path[key.path.length - 1];
    const value = table?.[name];
    if (how === undefined || folder === undefined || table === undefined || typeof value !== 'string') continue;
    const isName = how.unless?.test(value) || (how.isModel && isHubName(value, folder));
    if (!isName) table[name] = resolve(folder, value);
  }
}

const isHubName = (model: string, folder: string): boolean =>
  parseHubName(model) !== null && !existsSync(resolve(folder, model));

const pluginPaths = ({ plugins }: Table): string[] =>
  Array.isArray(plugins) ? plugins.filter((path) => typeof path === 'string') : [];

export const checkConfig = (written: RawConfig, parts: ConfigParts): ResolvedConfig =>
  namingAsWritten(written, () => checkKeys(written, parts));

function checkKeys(written: RawConfig, parts: ConfigParts): ResolvedConfig {
  const { raw, origins } = written;
  completeRaw(written, parts);
  const parsed = runSchema(parts).safeParse(raw);
  if (!parsed.success) {
    throw configError(parsed.error.issues.flatMap((issue) => describeIssue(issue, raw, origins, parts)));
  }
  const config = parsed.data;
  refuseFaults([...brokenRules(config, parts), ...refusedKinds(config, parts)]);
  const unread = unreadKeys(config, origins, parts);
  const ofMany = unread.flatMap((fault) => {
    const { by = 'arm' } = origins.get(fault.key ?? '') ?? {};
    return by === 'arm' ? [] : [{ ...fault, by }];
  });
  refuseUnread(unread.filter(({ key }) => ofMany.every((fault) => fault.key !== key)));
  const sources = new Map([...leavesOf(config).keys()].map((path) => [path, origins.get(path)?.name ?? 'default']));
  return { config, hash: configHash(config), sources, unread: ofMany };
}

export function refuseUnread(faults: readonly Fault[]): void {
  refuseFaults(faults.map((fault) => ({ fix: 'Leave it out, or change what decides whether it is read.', ...fault })));
}

export function refuseFaults(faults: readonly Fault[]): void {
  if (faults.length > 0) throw configError(faults);
}

/** Refuses keys of a config of unknown origin that are not as by default although nothing reads them. */
export function expectRead(config: RunConfig, parts: ConfigParts): void {
  refuseUnread(unreadKeys(config, handSet(config, parts), parts));
}

function configError(faults: readonly Fault[]): UserError {
  const [first] = faults;
  if (faults.length === 1) {
    const call = first.key === null ? 'config' : `config, key ${first.key}`;
    const { expected, found, fix } = first;
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

export function completeRaw(written: RawConfig, parts: ConfigParts): void {
  nameKinds(written.raw, parts);
  nameLoopholes(written.raw, parts);
  resolvePaths(written, parts);
}

/** Problems that ask for texts have all loopholes of their source, unless the config names some. */
function nameLoopholes(raw: Table, { problemSources }: ConfigParts): void {
  const { data, environment = {} } = raw;
  if (!isTable(data) || !isTable(environment) || environment['loopholes'] !== undefined) return;
  const { texts = null } = problemSources.find(({ kind }) => kind === data['kind']) ?? {};
  if (texts === null) return;
  const paying = texts.loopholes.flatMap(({ name, isDealt }) =>
    name === 'gt_only' || isDealt === false ? [] : [name],
  );
  raw['environment'] = { ...environment, loopholes: paying };
}

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

export function rawConfig(raw: unknown): RawConfig {
  if (!isTable(raw)) {
    throw new UserError({ call: 'config', expected: 'a table of keys', found: valueText(raw) });
  }
  return { raw, origins: new Map(), plugins: pluginPaths(raw), atTop: new Map() };
}

/** The hash of a config. The folders of plugins do not count; the manifest has a hash of their code. */
export const configHash = ({ plugins, ...config }: RunConfig): string =>
  sha256Json(plugins.length === 0 ? config : { ...config, plugins: plugins.map((path) => basename(path)) });

export const readRecipe = (path: string): Table[] => readChain(path).map(({ table }) => table);

/** A config that a program wrote begins where it is called, as a recipe does in its folder. */
const chainOf = (written: WrittenConfig): RecipeTable[] =>
  extendChain(resolve('config'), structuredClone({ ...written }));

type RecipeTable = { readonly path: string; readonly table: Table };

function readChain(path: string, seen: readonly string[] = []): RecipeTable[] {
  if (seen.includes(path)) {
    throw new UserError({
      call: `read recipe ${path}`,
      expected: 'recipes that do not extend each other in a circle',
      found: [...seen, path].join(' → '),
    });
  }
  return extendChain(path, readToml(path, `read recipe ${path}`), seen);
}

function extendChain(path: string, { extends: parent, ...table }: Table, seen: readonly string[] = []): RecipeTable[] {
  refuseExperiment(path, table);
  if (parent === undefined) return [{ path, table }];
  if (typeof parent !== 'string') {
    throw new UserError({ call: `recipe ${path}, key extends`, expected: 'a path', found: JSON.stringify(parent) });
  }
  // It is a path relative to the recipe's folder, or the bare name of a shipped recipe.
  return [...readChain(recipeFrom(dirname(path), parent), [...seen, path]), { path, table }];
}

/** An experiment's file has keys that no config has; saying so key by key would mislead. */
function refuseExperiment(path: string, table: Table): void {
  const isStudy = Array.isArray(table['steps']);
  if (!isStudy && !Array.isArray(table['arms'])) return;
  throw new UserError({
    call: `read recipe ${path}`,
    expected: 'a recipe of one run',
    found: isStudy ? 'a study of several experiments' : 'an experiment of several arms',
    fix: `Run it with: ${shellLine('gq', 'experiment', recipeName(path))}`,
  });
}

/** Parses `a.b=c`. The value is TOML if it parses, else text; the word null means null, which TOML lacks. */
export function parseSetting(setting: string, option: string): Table {
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
    return text;
  }
}

/**
 * Merges tables key by key. Another `kind` takes out of its table what recipes wrote, and what the `set`, the arm or the call that named the old kind
 * wrote for it; what others wrote stays, in whatever order. A first kind takes nothing out, nor does another kind of loss, which has the same keys.
 */
function merge(into: Table, from: Table, origin: Origin, origins: Map<string, Origin>, prefix: string): void {
  for (const [key, value] of Object.entries(from)) {
    const path = `${prefix}${key}`;
    const present = into[key];
    if (isTable(value)) {
      const table: Table = isTable(present) ? present : Object.create(null);
      const [before, after] = [table['kind'], value['kind']];
      const anew = after !== undefined && before !== undefined && before !== after && path !== 'loss';
      if (anew) loseKeys(table, { origin, named: origins.get(`${path}.kind`)?.named }, origins, `${path}.`);
      into[key] = table;
      if (Object.keys(value).length === 0) origins.set(path, origin);
      merge(table, value, origin, origins, `${path}.`);
    } else {
      into[key] = value;
      const named = [...(origins.get(path)?.named ?? []), origin.layer];
      origins.set(path, key === 'kind' ? { ...origin, named } : origin);
    }
  }
}

type OtherKind = Pick<Origin, 'named'> & { readonly origin: Origin };

function loseKeys(table: Table, by: OtherKind, origins: Map<string, Origin>, prefix: string): void {
  for (const [key, value] of Object.entries(table)) {
    const path = `${prefix}${key}`;
    const { text, layer = 0 } = origins.get(path) ?? {};
    if (isTable(value)) loseKeys(value, by, origins, `${path}.`);
    if (isTable(value) ? Object.keys(value).length > 0 : text !== undefined && !by.named?.includes(layer)) continue;
    if (text !== undefined && layer === by.origin.layer && key !== 'kind') refuseLoss(text, by.origin);
    delete table[key];
    origins.delete(path);
  }
}

/** One call that names two kinds of a table cannot say which of them its other keys are for. */
function refuseLoss(text: string, { name, text: kind }: Origin): never {
  const found = `${text}, then another kind with ${kind}`;
  const fix = 'Leave one of them out, or say the key after the kind that has it.';
  throw new UserError({ call: name, expected: 'one kind for each key', found, fix });
}

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const shownLength = 40;

export function configDifferences(first: RunConfig, second: RunConfig, except: readonly string[] = []): string[] {
  const [before, after] = [leavesOf(comparable(first)), leavesOf(comparable(second))];
  const keys = [...new Set([...before.keys(), ...after.keys()])].filter((key) => !except.includes(key));
  return keys
    .filter((key) => before.get(key) !== after.get(key))
    .map((key) => `${key} (${shown(before.get(key))} and ${shown(after.get(key))})`);
}

/** The keys in which two seeds of one arm may not differ: an arm is its config less the seed. */
export const armDifferences = (first: RunConfig, second: RunConfig): string[] =>
  configDifferences(first, second, ['seed']);

function comparable(config: RunConfig): object {
  return { ...config, plugins: config.plugins.map((path) => basename(path)) };
}

export function leavesOf(value: unknown, prefix = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return new Map([[prefix, JSON.stringify(value)]]);
  }
  const inner = Object.entries(value).filter(([, own]) => own !== undefined);
  return new Map(inner.flatMap(([key, own]) => [...leavesOf(own, prefix === '' ? key : `${prefix}.${key}`)]));
}

function shown(json: string | undefined): string {
  if (json === undefined) return 'absent';
  return json.length > shownLength ? `${json.slice(0, shownLength)}…` : json;
}
