/** JSON files that evaluation wrote, read back: what is not as it was written is refused, with the file and the key. */
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { UserError } from '../base/index.ts';

/** `again`: the command that makes the file once more. */
export function readStored<Shape extends z.ZodType>(path: string, shape: Shape, again: string): z.infer<Shape> {
  const result = shape.safeParse(parse(path, again));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const keys = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]] : issue.path;
  throw damaged(path, `a valid ${keys.map(String).join('.') || 'object'}`, issue.message, again);
}

function parse(path: string, again: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw damaged(path, 'JSON', error instanceof Error ? error.message : String(error), again);
  }
}

export function damaged(path: string, expected: string, found: string, again: string): UserError {
  const fix = `The file was damaged, or something else wrote it: delete it, and ${again} makes it again.`;
  return new UserError({ call: `read ${path}`, expected, found, fix });
}
