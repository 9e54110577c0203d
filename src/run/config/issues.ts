/** Says what is wrong with a config: the key, where its value came from, what was found, and the nearest valid name. */
import { z } from 'zod';
import { nearestName } from '../../base/index.ts';
import { keyCalled } from './other-names.ts';
import type { ConfigParts } from './parts.ts';
import { runSchema } from './schema.ts';

type Issue = z.core.$ZodIssue;

export interface Origin {
  readonly name: string;
  /** How late it came: 0 for what nobody sets now, as the config of a run. */
  readonly layer: number;
  /** The folder that a relative path in the value begins in; absent for what is absolute already. */
  readonly folder?: string;
  /** Of a setting: as it was written, and who set it. */
  readonly text?: string;
  /** Of a kind: the layers that named it. */
  readonly named?: readonly number[] | undefined;
  readonly by?: 'experiment' | 'arm' | 'call' | undefined;
}
export type Origins = ReadonlyMap<string, Origin>;

export interface Fault {
  /** Null for a key that does not exist: `found` then names it. */
  readonly key: string | null;
  readonly expected: string;
  readonly found: string;
  readonly fix?: string | undefined;
}

export function describeIssue(issue: Issue, raw: unknown, origins: Origins, parts: ConfigParts): Fault[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      key: null,
      expected: 'keys that exist',
      found: describeUnknown([...path, key], raw, origins, parts),
    }));
  }
  const at = path.join('.');
  const found = valueAt(raw, path);
  const kinds =
    issue.code === 'invalid_union' ? keysAt(path.slice(0, -1), parts).get(path[path.length - 1]) : undefined;
  const valid = issue.code === 'invalid_value' ? issue.values.map(String) : (kinds ?? []);
  const near = typeof found === 'string' ? nearestName(found, valid) : undefined;
  const shown = `${valueText(found)}${found === undefined ? '' : sourceText(at, origins)}`;
  const hint = near === undefined ? '' : `, did you mean "${near}"?`;
  const expected = `${kinds?.join(', ') ?? expectedAt(path, raw, parts, issue)}${sizeText(found)}`;
  const fix =
    found === undefined
      ? `It must be given: --set ${at}=VALUE, or in the recipe.`
      : near === undefined && pluginKinds.some((kind) => at === kind || at === `arm.${kind}`)
        ? 'A module that the key plugins of the recipe names may bring another.'
        : undefined;
  return [{ key: at, expected, found: `${shown}${hint}`, fix }];
}

/** Kinds of parts that plugins may bring. */
const pluginKinds = ['arm.kind', 'data.kind', 'monitor.kind', 'cut.kind', 'remedy.kind'];

/** Of a number that is too large to be one, the largest. */
function sizeText(found: unknown): string {
  if (found === Number.POSITIVE_INFINITY || found === Number.NEGATIVE_INFINITY) return ', at most 1.8e308 in size';
  return typeof found === 'string' && /^\d{16,}$/.test(found) ? `, of at most ${Number.MAX_SAFE_INTEGER}` : '';
}

function expectedAt(path: readonly string[], raw: unknown, parts: ConfigParts, issue: Issue): string {
  const isTable = listKeys(parts).some(
    (known) => known.path.length > path.length && path.every((part, i) => known.path[i] === part),
  );
  if (isTable) {
    const kinds = keysAt(path, parts).get('kind') ?? [];
    return kinds.length === 0 ? 'a table of keys' : `a table whose kind is ${kinds.join(', ')}`;
  }
  // An entry of a list is described by its own fault, everything else by the whole of its key.
  if (issue.code === 'invalid_value') return issue.values.map(String).join(', ');
  const keyAt = (at: readonly string[]) => listKeys(parts).find((known) => known.path.join('.') === at.join('.'));
  const key = keyAt(path);
  const list = key === undefined && issue.code === 'invalid_type' ? keyAt(path.slice(0, -1)) : undefined;
  const entry = list === undefined ? null : wordsOfEntry(list.schema);
  if (entry !== null) return entry;
  if (key === undefined || issue.code === 'custom' || issue.code === 'invalid_format') return issue.message;
  return wordsOf(schemaUnder(key, raw));
}

const shownCharacters = 80;

/** A program may give what no recipe can: a bigint, a function, nothing. */
export function valueText(value: unknown): string {
  if (value === undefined) return 'nothing';
  const shown = (_key: string, each: unknown): unknown => (typeof each === 'bigint' ? `${each}n` : each);
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  const text = isNumber ? String(shown('', value)) : (JSON.stringify(value, shown) ?? String(value));
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
}

function describeUnknown(path: readonly string[], raw: unknown, origins: Origins, parts: ConfigParts): string {
  const at = path.join('.');
  const key = path[path.length - 1];
  const parent = path.slice(0, -1);
  const holders = keysAt(parent, parts).get(key);
  const unknown = `unknown key ${at}${sourceText(at, origins)}`;
  const kind = valueAt(raw, [...parent, 'kind']);
  const beside = holders?.some((holder) => holder === kind) ? besideTable(path, parts) : undefined;
  if (beside !== undefined) return `${unknown}, did you mean ${beside}?`;
  if (holders !== undefined) return `${unknown}, only ${parent.join('.')}.kind ${holders.join(' or ')} has it`;
  const called = keyCalled(key);
  const isHere = called !== undefined && (parent.length === 0 || called.startsWith(`${parent.join('.')}.`));
  const near = isHere ? undefined : nearestName(key, keysAt(parent, parts).keys());
  if (near !== undefined) return `${unknown}, did you mean ${[...parent, near].join('.')}?`;
  if (called !== undefined) return `${unknown}, did you mean ${called}?`;
  const paths = listKeys(parts).map((known) => known.path.join('.'));
  const elsewhere = paths.find((known) => known.split('.').at(-1)?.toLowerCase() === key.toLowerCase());
  const meant = elsewhere ?? wordOf(key, parent, kind, parts);
  return meant === undefined ? unknown : `${unknown}, did you mean ${meant}?`;
}

/** The longest key of the table that is a part of the given name, such as `mean` of `ownMean`. */
function wordOf(key: string, table: readonly string[], kind: unknown, parts: ConfigParts): string | undefined {
  const [longest] = [...keysAt(table, parts)]
    .filter(([name, kinds]) => name !== 'kind' && (kinds.length === 0 || kinds.some((holder) => holder === kind)))
    .map(([name]) => name)
    .filter((name) => name.length > 3 && key.toLowerCase().includes(name.toLowerCase()))
    .sort((a, b) => b.length - a.length);
  return longest === undefined ? undefined : [...table, longest].join('.');
}

/** The key of that name in another table of the same arm, such as `arm.cut.threshold` for `arm.monitor.threshold`. */
function besideTable(path: readonly string[], parts: ConfigParts): string | undefined {
  const [key, table] = [path.at(-1), path.at(-2)];
  const isBeside = (known: readonly string[]): boolean =>
    known.length === path.length && known[0] === path[0] && known.at(-2) !== table;
  const paths = listKeys(parts).map((known) => known.path).filter(isBeside); // biome-ignore format: one line
  const same = paths.find((known) => known.at(-1) === key) ?? paths.find((known) => known.at(-2) === key);
  return same?.join('.');
}

export function sourceText(path: string, origins: Origins): string {
  const origin = origins.get(path) ?? [...origins].find(([known]) => known.startsWith(`${path}.`))?.[1];
  return origin === undefined ? '' : ` (${origin.name})`;
}

export function valueAt(raw: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    raw,
  );
}

export type KindChoice = { readonly table: readonly string[]; readonly kinds: readonly string[] };

export interface ConfigKey {
  readonly path: readonly string[];
  readonly choices: readonly KindChoice[];
  readonly kinds: readonly string[];
  readonly schema: z.core.$ZodType;
  readonly variants: readonly z.core.$ZodType[];
}

export function schemaUnder(key: ConfigKey, config: unknown): z.core.$ZodType {
  const kind = valueAt(config, [...(key.choices.at(-1)?.table ?? []), 'kind']);
  return key.variants[key.kinds.indexOf(typeof kind === 'string' ? kind : '')] ?? key.schema;
}

const listed = new WeakMap<ConfigParts, readonly ConfigKey[]>();

export function listKeys(parts: ConfigParts): readonly ConfigKey[] {
  const keys = listed.get(parts) ?? collectKeys(parts);
  listed.set(parts, keys);
  return keys;
}

function collectKeys(parts: ConfigParts): ConfigKey[] {
  const keys: ConfigKey[] = [];
  const visit = (schema: unknown, path: readonly string[], choices: readonly KindChoice[]): void => {
    const inner = tableOf(schema);
    const kinds = choices.at(-1)?.kinds ?? [];
    if (inner === null) keys.push({ path, choices, kinds, ...both(schema as z.core.$ZodType) });
    else
      for (const { shape, kind } of inner) {
        const own = kind === null ? choices : [...choices, { table: path, kinds: [kind] }];
        for (const [key, value] of Object.entries(shape)) visit(value, [...path, key], own);
      }
  };
  const both = (schema: z.core.$ZodType) => ({ schema, variants: [schema] });
  visit(runSchema(parts), [], []);
  const merged = new Map<string, ConfigKey>();
  for (const key of keys) {
    const name = key.path.join('.');
    const known = merged.get(name);
    merged.set(name, known === undefined ? key : joinKeys(known, key));
  }
  return [...merged.values()];
}

function joinKeys(first: ConfigKey, second: ConfigKey): ConfigKey {
  const added = second.kinds.flatMap((kind, i) => (first.kinds.includes(kind) ? [] : [i]));
  const choices = first.choices.map(({ table, kinds }, i) => ({
    table,
    kinds: [...new Set([...kinds, ...(second.choices[i]?.kinds ?? [])])],
  }));
  return {
    ...first,
    choices,
    kinds: [...first.kinds, ...added.map((i) => second.kinds[i])],
    variants: [...first.variants, ...added.map((i) => second.variants[i])],
  };
}

function keysAt(path: readonly string[], parts: ConfigParts): Map<string, readonly string[]> {
  const keys = new Map<string, readonly string[]>();
  for (const key of listKeys(parts)) {
    if (key.path.length <= path.length || !path.every((part, i) => key.path[i] === part)) continue;
    const own = key.choices.find(({ table }) => table.length === path.length)?.kinds ?? [];
    const name = key.path[path.length];
    keys.set(name, [...new Set([...(keys.get(name) ?? []), ...own])]);
  }
  return keys;
}

function tableOf(schema: unknown): { shape: Readonly<Record<string, unknown>>; kind: string | null }[] | null {
  if (!isObject(schema)) return null;
  const { shape, options, def } = schema;
  if (isObject(shape)) return [{ shape, kind: null }];
  if (Array.isArray(options) && options.every((option) => isObject(option) && isObject(option['shape']))) {
    return options.map((option) => ({ shape: option.shape, kind: String(option.shape.kind.def.values[0]) }));
  }
  return isObject(def) && def['innerType'] !== undefined ? tableOf(def['innerType']) : null;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

interface JsonSchema {
  readonly title?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
}

export const wordsOf = (schema: z.core.$ZodType): string =>
  describe(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema);

export function wordsOfEntry(schema: z.core.$ZodType): string | null {
  const { items } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  return items === undefined ? null : describe(items);
}

function describe(schema: JsonSchema): string {
  if (schema.title !== undefined) return schema.title;
  if (schema.enum !== undefined) return joinOr(schema.enum.map(String));
  if (schema.const !== undefined) return String(schema.const);
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return joinOr([...new Set(options.map(describe))]);
  if (Array.isArray(schema.type)) return joinOr(schema.type.map((type) => describe({ ...schema, type })));
  switch (schema.type) {
    case 'integer':
      return `a whole number${boundsOf(schema)}`;
    case 'number':
      return `a number${boundsOf(schema)}`;
    case 'string':
      return 'text';
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${entryWords(schema)}${(schema.minItems ?? 0) > 0 ? ' that is not empty' : ''}`;
    case 'object':
      return 'a table of keys';
    case 'null':
      return 'null';
    default:
      return 'a value that the config takes';
  }
}

const entryWords = ({ items }: JsonSchema): string =>
  items?.title === undefined && items?.enum === undefined ? '' : ` of ${describe(items)}`;

function boundsOf({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: JsonSchema): string {
  // A whole number without a bound of its own has those of exact integers.
  const least = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined;
  const most = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  if (least !== undefined && most !== undefined) return ` from ${least} to ${most}`;
  const parts = [
    ...(least === undefined ? [] : [`of at least ${least}`]),
    ...(exclusiveMinimum === undefined ? [] : [`above ${exclusiveMinimum}`]),
    ...(most === undefined ? [] : [`of at most ${most}`]),
    ...(exclusiveMaximum === undefined ? [] : [`below ${exclusiveMaximum}`]),
  ];
  return parts.length === 0 ? '' : ` ${parts.join(' and ')}`;
}

const joinOr = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
