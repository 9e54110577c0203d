/**
 * The zod schemas that files of a model are made of, and what is said when one does not fit. The message of a schema here is
 * what was expected, as a noun phrase; `parseFields` adds the file, the key and the value that was found. A key that is null
 * counts as absent, as in transformers.
 */
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import { isObject, show } from './json.ts';

interface NumberRange {
  readonly least?: number;
  readonly most?: number;
}

function rangeText({ least, most }: NumberRange): string {
  if (least === undefined && most === undefined) return '';
  if (most === undefined) return ` ≥ ${least}`;
  return least === undefined ? ` ≤ ${most}` : ` from ${least} to ${most}`;
}

function within(schema: z.ZodNumber, { least, most }: NumberRange, error: string): z.ZodNumber {
  const above = least === undefined ? schema : schema.min(least, { error });
  return most === undefined ? above : above.max(most, { error });
}

export function wholeNumber(range: NumberRange = { least: 1 }): z.ZodNumber {
  const error = `a whole number${rangeText(range)}`;
  return within(z.number({ error }).int({ error }), range, error);
}

/** A finite number, whose value is kept exactly. */
export function realNumber(range: NumberRange = {}): z.ZodNumber {
  const error = `a number${rangeText(range)}`;
  return within(z.number({ error }), range, error);
}

export const positiveNumber = z.number({ error: 'a number above 0' }).positive({ error: 'a number above 0' });
export const yesOrNo = z.boolean({ error: 'true or false' });
export const plainText = z.string({ error: 'a string' });

/** A feature this project does not have: the key must be absent or have the one value that means "off". */
export function onlyValue(value: string | number | boolean) {
  return z.literal(value, { error: `${show(value)}, the only value supported` }).optional();
}

/** A feature this project does not have, which no value turns off. */
export const noSuchKey = z.undefined({ error: 'no such key' }).optional();

export const tokenId = wholeNumber({ least: 0 });

/** One id, a list of ids, or none. */
export const tokenIdList = z
  .union([tokenId, z.array(tokenId)], { error: 'a token id or a list of token ids' })
  .optional()
  .transform((ids): readonly number[] => (ids === undefined ? [] : typeof ids === 'number' ? [ids] : ids));

/** A complaint about one key of a file. */
export function keyError(file: string, key: string, expected: string, found: string): UserError {
  return new UserError({ call: `read ${file}, key ${key}`, expected, found });
}

/** The value, once it fits the schema. `inside` is the key of `file` that holds it, where it is not the whole file. */
export function parseFields<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  file: string,
  inside: readonly PropertyKey[] = [],
): z.output<Schema> {
  const result = schema.safeParse(withoutNulls(value));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = [...inside, ...issue.path];
  const found = show(valueAt(value, issue.path));
  if (path.length === 0) throw new UserError({ call: `read ${file}`, expected: issue.message, found });
  throw keyError(file, keyText(path), issue.message, found);
}

function withoutNulls(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return (
    path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | null | undefined)?.[key], value) ??
    undefined
  );
}

/** A path of keys as text, such as `rope_parameters.rope_type` or `architectures[0]`. */
function keyText(path: readonly PropertyKey[]): string {
  return path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i === 0 ? '' : '.'}${String(key)}`)).join('');
}
