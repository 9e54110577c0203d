/** Reads JSON files of a run or an experiment through a schema; an error names the file and the key that are wrong. */
import type { z } from 'zod';
import { UserError } from '../base/index.ts';
import { readRegularText } from '../base/node/index.ts';

export function readStored<Schema extends z.ZodType>(
  path: string,
  what: string,
  schema: Schema,
  fix?: string,
): z.infer<Schema> {
  const call = `read ${path}`;
  return checkStored(readJsonText(path, call, what, fix).value, call, what, schema, fix);
}

export function checkStored<Schema extends z.ZodType>(
  value: unknown,
  call: string,
  what: string,
  schema: Schema,
  fix?: string,
): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const found = parsed.error.issues.map(({ path, message }) => {
    return `${path.length === 0 ? 'the whole value' : `key ${path.map(String).join('.')}`}: ${message}`;
  });
  throw new UserError({ call, expected: what, found: found.join('; '), fix });
}

export function readJsonText(
  path: string,
  call: string,
  what: string,
  fix?: string,
): { readonly value: unknown; readonly text: string } {
  try {
    const text = readRegularText(path);
    return { value: JSON.parse(text), text };
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new UserError({ call, expected: `${what}, as JSON`, found, fix }, { cause });
  }
}
