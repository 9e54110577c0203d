/** JSON files that a run or an experiment left on disk, read through a schema: what is damaged or foreign is named by file and key. */
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { UserError } from '../base/index.ts';

/** `what`: which file this should be, in the words of the error. `fix`: what to do when it is another. */
export function readStored<Schema extends z.ZodType>(
  path: string,
  what: string,
  schema: Schema,
  fix?: string,
): z.infer<Schema> {
  const call = `read ${path}`;
  return checkStored(readJson(path, call, what, fix), call, what, schema, fix);
}

/** A value that was read already; `call` says from where. */
export function checkStored<Schema extends z.ZodType>(
  value: unknown,
  call: string,
  what: string,
  schema: Schema,
  fix?: string,
): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const found = parsed.error.issues.map(({ path, message }) => `${keyText(path)}: ${message}`).join('; ');
  throw new UserError({ call, expected: what, found, ...(fix === undefined ? {} : { fix }) });
}

function keyText(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'the whole value' : `key ${path.map(String).join('.')}`;
}

function readJson(path: string, call: string, what: string, fix?: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    const complaint = { call, expected: `${what}, as JSON`, found, ...(fix === undefined ? {} : { fix }) };
    throw new UserError(complaint, { cause });
  }
}
