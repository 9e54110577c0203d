/**
 * Reads input files of records: JSON lines, plain or .gz, the last line with or without its newline. Each record must
 * have the shape that the caller states; every refusal names the file, the line and the reason.
 */
import { createReadStream } from 'node:fs';
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

/** More text than this would not fit into one string, and unpacking without a limit lets a small file take all memory. */
const mostBytes = 256 << 20;

function refuseSize(call: string, cause?: unknown): never {
  const expected = `at most ${mostBytes >> 20} MiB of text`;
  throw new UserError({ call, expected, found: 'more', fix: 'Split the file into parts.' }, { cause });
}

async function readText(path: string): Promise<string> {
  const call = `read ${path}`;
  const bytes = await readBytes(path, call);
  if (!path.endsWith('.gz')) return bytes.toString('utf8');
  const unpacked = await promisify(gunzip)(bytes, { maxOutputLength: mostBytes }).catch((cause: Error) => {
    if ('code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE') refuseSize(call, cause);
    throw new UserError({ call, expected: 'a gzip file', found: cause.message }, { cause });
  });
  return unpacked.toString('utf8');
}

async function readBytes(path: string, call: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // The size is counted as it is read: pipes and devices do not say theirs.
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > mostBytes) refuseSize(call);
    }
    return Buffer.concat(chunks);
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new UserError({ call, expected: 'a readable file', found }, { cause });
  }
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
