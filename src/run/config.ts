/**
 * From recipe files and `--set a.b=c` to a resolved config. A recipe is TOML; `extends` names another recipe it changes.
 * Errors name the key, what is wrong with it, and the nearest valid key. Where each value came from is kept.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'smol-toml';
import type { z } from 'zod';
import { UserError } from '../base/errors.ts';
import { sha256Json } from '../base/hash.ts';
import { nearestName } from '../base/nearest.ts';
import { type RunConfig, runSchema } from './schema.ts';

type Table = { [key: string]: unknown };

export interface ResolvedConfig {
  readonly config: RunConfig;
  readonly hash: string;
  /** Key path → 'default', a recipe's path, or '--set'. */
  readonly sources: ReadonlyMap<string, string>;
}

export function resolveConfig(recipe: string | null, settings: readonly string[] = []): ResolvedConfig {
  const sources = new Map<string, string>();
  const raw: Table = {};
  if (recipe !== null) for (const { path, table } of readChain(resolve(recipe))) merge(raw, table, path, sources, '');
  for (const setting of settings) merge(raw, parseSetting(setting), '--set', sources, '');
  return finish(raw, sources);
}

/** A config as it stands in a manifest. */
export function parseConfig(raw: unknown): RunConfig {
  return finish(isTable(raw) ? raw : {}, new Map()).config;
}

export function configHash(config: RunConfig): string {
  return sha256Json(config);
}

function finish(raw: Table, sources: Map<string, string>): ResolvedConfig {
  const parsed = runSchema.safeParse(raw);
  if (!parsed.success) throw complain(parsed.error.issues, sources);
  const config = parsed.data;
  for (const path of leafPaths(config)) if (!sources.has(path)) sources.set(path, 'default');
  return { config, hash: configHash(config), sources };
}

/** The recipe and those it extends, the most basic first. */
function readChain(path: string, seen: readonly string[] = []): { path: string; table: Table }[] {
  if (seen.includes(path)) {
    throw new UserError({
      call: `read recipe ${path}`,
      expected: 'recipes that do not extend each other in a circle',
      found: [...seen, path].join(' → '),
    });
  }
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new UserError({ call: `read recipe ${path}`, expected: 'a readable file', found }, { cause });
  }
  const { extends: parent, ...table } = parseToml(text, path);
  if (parent === undefined) return [{ path, table }];
  if (typeof parent !== 'string') {
    throw new UserError({ call: `recipe ${path}, key extends`, expected: 'a path', found: JSON.stringify(parent) });
  }
  return [...readChain(resolve(dirname(path), parent), [...seen, path]), { path, table }];
}

function parseToml(text: string, path: string): Table {
  try {
    return parse(text);
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new UserError({ call: `read recipe ${path}`, expected: 'TOML', found }, { cause });
  }
}

/** `a.b=c`, the value as TOML where it parses, else as text. */
function parseSetting(setting: string): Table {
  const equals = setting.indexOf('=');
  if (equals < 1) {
    throw new UserError({ call: '--set', expected: 'key.path=value', found: setting });
  }
  const keys = setting.slice(0, equals).split('.');
  const text = setting.slice(equals + 1);
  let value: unknown = text;
  try {
    value = parse(`value = ${text}`)['value'];
  } catch {
    value = text;
  }
  return keys.reduceRight<Table>((inner, key, i) => ({ [key]: i === keys.length - 1 ? value : inner }), {});
}

/** Tables are merged key by key; a table that changes its `kind` starts anew. */
function merge(into: Table, from: Table, source: string, sources: Map<string, string>, prefix: string): void {
  for (const [key, value] of Object.entries(from)) {
    const path = `${prefix}${key}`;
    const present = into[key];
    if (isTable(value)) {
      const anew = isTable(present) && value['kind'] !== undefined && present['kind'] !== value['kind'];
      const table: Table = isTable(present) && !anew ? present : {};
      into[key] = table;
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

export function leafPaths(value: unknown, prefix = ''): string[] {
  if (!isTable(value)) return [prefix.slice(0, -1)];
  return Object.entries(value).flatMap(([key, inner]) => leafPaths(inner, `${prefix}${key}.`));
}

function complain(issues: readonly z.core.$ZodIssue[], sources: ReadonlyMap<string, string>): UserError {
  const lines = issues.map((issue) => describeIssue(issue, sources));
  return new UserError({ call: 'config', expected: 'a config that fits the schema', found: lines.join('; ') });
}

function describeIssue(issue: z.core.$ZodIssue, sources: ReadonlyMap<string, string>): string {
  const at = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .map((key) => {
        const path = at === '' ? key : `${at}.${key}`;
        const near = nearestName(key, keysAt(issue.path.map(String)));
        const source = sources.get(path) ?? [...sources].find(([known]) => known.startsWith(`${path}.`))?.[1];
        const hint = near === undefined || near === null ? '' : `, did you mean ${at === '' ? near : `${at}.${near}`}?`;
        return `unknown key ${path}${source === undefined ? '' : ` (${source})`}${hint}`;
      })
      .join('; ');
  }
  return `${at}: ${issue.message}`;
}

/** Every key that any valid config has at a path. */
function keysAt(path: readonly string[]): string[] {
  const keys = new Set<string>();
  const visit = (schema: unknown, rest: readonly string[]): void => {
    if (!isTable(schema)) return;
    const options = schema['options'];
    if (Array.isArray(options)) for (const option of options) visit(option, rest);
    const shape = schema['shape'];
    if (isTable(shape)) {
      if (rest.length === 0) for (const key of Object.keys(shape)) keys.add(key);
      else visit(shape[rest[0]], rest.slice(1));
      return;
    }
    const definition = schema['def'];
    if (isTable(definition)) visit(definition['innerType'], rest);
  };
  visit(runSchema, path);
  return [...keys];
}
