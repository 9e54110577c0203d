/** JSON files as values. What they must look like is said by the schemas (`schema.ts`); here a file is read, parsed and shown. */
import { messageOf, UserError } from '../../base/index.ts';
import { decodeText, readRegular, systemComplaint } from '../../base/node/index.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

const longestShown = 120;

/** A value as an error shows it, cut when it is long. */
export function show(value: unknown): string {
  const text = value === undefined ? 'nothing' : textOf(value);
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : text;
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return 'a value that is nested too deep to be shown';
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function parseJson(text: string, file: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    const reason = messageOf(cause);
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

/** The bytes of a file that must exist. */
export async function readBytes(file: string): Promise<Uint8Array> {
  try {
    return readRegular(file);
  } catch (cause) {
    throw missingFile(file, cause);
  }
}

export async function readText(file: string): Promise<string> {
  return decodeText(await readBytes(file), file);
}

export function missingFile(file: string, cause: unknown): UserError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
  const found =
    code === 'ENOENT' ? 'no such file' : code === 'EISDIR' ? 'a folder' : (systemComplaint(cause)?.found ?? code);
  return new UserError({ call: `read ${file}`, expected: 'a readable file', found }, { cause });
}

export async function readJsonObject(file: string): Promise<JsonObject> {
  return parseJsonObject(await readBytes(file), file);
}

export function parseJsonObject(bytes: Uint8Array, file: string): JsonObject {
  const value = parseJson(decodeText(bytes, file), file);
  if (!isObject(value)) throw new UserError({ call: `read ${file}`, expected: 'a JSON object', found: show(value) });
  return value;
}
