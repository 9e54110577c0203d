/** JSON files that a run or an experiment left on disk, read through a schema: what is damaged or foreign is named by file and key. */
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { UserError } from '../base/index.ts';

/** `what`: which file this should be, in the words of the error. */
export function readStored<Schema extends z.ZodType>(path: string, what: string, schema: Schema): z.infer<Schema> {
  return checkStored(readJson(path, what), `read ${path}`, what, schema);
}

/** A value that was read already; `call` says from where. */
export function checkStored<Schema extends z.ZodType>(
  value: unknown,
  call: string,
  what: string,
  schema: Schema,
): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const found = parsed.error.issues.map(({ path, message }) => `${keyText(path)}: ${message}`).join('; ');
  throw new UserError({ call, expected: what, found });
}

function keyText(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'the whole value' : `key ${path.map(String).join('.')}`;
}

function readJson(path: string, what: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new UserError({ call: `read ${path}`, expected: `${what}, as JSON`, found }, { cause });
  }
}
