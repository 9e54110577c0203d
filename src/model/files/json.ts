/**
 * JSON files read strictly: every complaint names the file, the key, what was expected and what was found. `Fields`
 * remembers which keys were asked for, so that a caller can say which ones nobody read.
 */
import { readFile } from 'node:fs/promises';
import { UserError } from '../../base/index.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

const longestShown = 120;

/** A value as an error shows it, cut when it is long. */
export function show(value: unknown): string {
  const text = value === undefined ? 'nothing' : (JSON.stringify(value) ?? String(value));
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : text;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function parseJson(text: string, file: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UserError({ call: `read ${file}`, expected: 'valid JSON', found: reason }, { cause });
  }
}

/** `text` must already have parsed: the scan relies on its syntax. */
export function refuseDuplicateKeys(text: string, file: string): void {
  const open: (Set<string> | null)[] = [];
  for (const [token, key] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    else if (key !== undefined) {
      const name = JSON.parse(key) as string;
      const seen = open.at(-1);
      if (seen?.has(name)) {
        throw new UserError({ call: `read ${file}`, expected: 'each key once', found: `the key ${show(name)} twice` });
      }
      seen?.add(name);
    }
  }
}

/** The text of a file that must exist. */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw missingFile(file, cause);
  }
}

export function missingFile(file: string, cause: unknown): UserError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
  const found = code === 'ENOENT' ? 'no such file' : code === 'EISDIR' ? 'a folder' : code;
  return new UserError({ call: `read ${file}`, expected: 'a readable file', found }, { cause });
}

export async function readJsonObject(file: string): Promise<JsonObject> {
  const text = await readText(file);
  const value = parseJson(text, file);
  if (!isObject(value)) throw new UserError({ call: `read ${file}`, expected: 'a JSON object', found: show(value) });
  return value;
}

interface Range {
  readonly least?: number;
  readonly most?: number;
}

function rangeText({ least, most }: Range): string {
  if (least === undefined && most === undefined) return '';
  if (most === undefined) return ` ≥ ${least}`;
  return least === undefined ? ` ≤ ${most}` : ` from ${least} to ${most}`;
}

export class Fields {
  readonly object: JsonObject;
  readonly file: string;
  readonly #path: string;
  readonly #read = new Set<string>();

  constructor(object: JsonObject, file: string, path = '') {
    this.object = object;
    this.file = file;
    this.#path = path;
  }

  complain(key: string, expected: string, found: string, fix?: string): UserError {
    const complaint = { call: `read ${this.file}, key ${this.#path}${key}`, expected, found };
    return new UserError(fix === undefined ? complaint : { ...complaint, fix });
  }

  /** The value; null and an absent key are both undefined, as in transformers. */
  value(key: string): JsonValue | undefined {
    this.#read.add(key);
    return Object.hasOwn(this.object, key) ? (this.object[key] ?? undefined) : undefined;
  }

  integer(key: string, fallback?: number, range: Range = { least: 1 }): number {
    const value = this.value(key) ?? fallback;
    if (Number.isSafeInteger(value) && this.#inside(value as number, range)) return value as number;
    throw this.complain(key, `a whole number${rangeText(range)}`, show(value));
  }

  number(key: string, fallback?: number, range: Range = {}): number {
    const value = this.value(key) ?? fallback;
    if (typeof value === 'number' && Number.isFinite(value) && this.#inside(value, range)) return value;
    throw this.complain(key, `a number${rangeText(range)}`, show(value));
  }

  boolean(key: string, fallback: boolean): boolean {
    const value = this.value(key) ?? fallback;
    if (typeof value === 'boolean') return value;
    throw this.complain(key, 'true or false', show(value));
  }

  text(key: string): string | undefined {
    const value = this.value(key);
    if (value === undefined || typeof value === 'string') return value;
    throw this.complain(key, 'a string', show(value));
  }

  nested(key: string): Fields | undefined {
    const value = this.value(key);
    if (value === undefined) return undefined;
    if (isObject(value)) return new Fields(value, this.file, `${this.#path}${key}.`);
    throw this.complain(key, 'an object', show(value));
  }

  /** A feature this project does not have: the key must be absent, null or the one value that means "off". */
  only(key: string, ...allowed: readonly JsonValue[]): void {
    const value = this.value(key);
    if (value === undefined || allowed.includes(value)) return;
    const expected =
      allowed.length === 0 ? 'no such key' : `${allowed.map(show).join(' or ')}, the only value supported`;
    throw this.complain(key, expected, show(value));
  }

  unread(): string[] {
    return Object.keys(this.object).filter((key) => !this.#read.has(key));
  }

  #inside(value: number, { least, most }: Range): boolean {
    return (least === undefined || value >= least) && (most === undefined || value <= most);
  }
}
