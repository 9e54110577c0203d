/**
 * Reads input files of records: JSON lines, plain or .gz, the last line with or without its newline. Each record must
 * have the shape that the caller states; every refusal names the file, the line and the reason.
 */
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { z } from 'zod';
import { UserError } from '../../base/index.ts';

export interface SourceRecord {
  readonly line: number;
  /** The line as it is in the file. */
  readonly text: string;
  readonly value: unknown;
}

async function readText(path: string): Promise<string> {
  const call = `read ${path}`;
  const bytes = await readFile(path).catch((cause: Error) => {
    throw new UserError({ call, expected: 'a readable file', found: cause.message }, { cause });
  });
  if (!path.endsWith('.gz')) return bytes.toString('utf8');
  const unpacked = await promisify(gunzip)(bytes).catch((cause: Error) => {
    throw new UserError({ call, expected: 'a gzip file', found: cause.message }, { cause });
  });
  return unpacked.toString('utf8');
}

function parseJson(text: string, path: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new UserError({ call: `read ${path}`, expected: `JSON on line ${line}`, found }, { cause });
  }
}

export async function readRecords(path: string): Promise<readonly SourceRecord[]> {
  const lines = (await readText(path)).split('\n');
  return lines.flatMap((text, index) =>
    text.trim() === '' ? [] : [{ line: index + 1, text, value: parseJson(text, path, index + 1) }],
  );
}

export function parseRecord<Shape extends z.ZodType>(
  shape: Shape,
  { value, line }: SourceRecord,
  path: string,
): z.infer<Shape> {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue.path.length === 0 ? 'the record' : `"${issue.path.join('.')}"`;
  throw new UserError({ call: `read ${path}, line ${line}`, expected: `a well-formed ${field}`, found: issue.message });
}
