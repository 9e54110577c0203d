/**
 * Reads input files of records: JSON lines, plain or .gz, the last line with or without its newline, or .parquet, whose rows count
 * as lines. Each record must have the shape that the caller states; every refusal names the file, the line and the reason.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { z } from 'zod';
import { messageOf, UserError } from '../../base/index.ts';
import { decodeText, streamRegular, systemComplaint } from '../../base/node/index.ts';
import { readParquetTexts } from './parquet-records.ts';

export interface SourceRecord {
  readonly line: number;
  /** The line as it is in the file; of Parquet, the row as JSON. */
  readonly text: string;
  readonly value: unknown;
}

/** More text than this would not fit into one string, and unpacking without a limit lets a small file take all memory. */
const mostBytes = 256 << 20;

function refuseSize(call: string, cause?: unknown): never {
  const expected = `at most ${mostBytes >> 20} MiB of text`;
  throw new UserError({ call, expected, found: 'more', fix: 'Split the file into parts.' }, { cause });
}

async function readLines(path: string): Promise<string[]> {
  const call = `read ${path}`;
  const bytes = await readInput(path, call);
  if (path.endsWith('.parquet')) return readParquetTexts(bytes, path, mostBytes);
  if (!path.endsWith('.gz')) return decodeText(bytes, path).split('\n');
  const unpacked = await promisify(gunzip)(bytes, { maxOutputLength: mostBytes }).catch((cause: Error) => {
    if ('code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE') refuseSize(call, cause);
    throw new UserError({ call, expected: 'a gzip file', found: cause.message }, { cause });
  });
  return decodeText(unpacked, path).split('\n');
}

/** The bytes of an input file, which are limited. */
export async function readInput(path: string, call: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of streamRegular(path) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > mostBytes) refuseSize(call);
    }
    return Buffer.concat(chunks);
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    const own = messageOf(cause);
    const { found, fix } = systemComplaint(cause) ?? { found: own };
    const complaint = { call, expected: 'a readable file', found, ...(fix === undefined ? {} : { fix }) };
    throw new UserError(complaint, { cause });
  }
}

function parseJson(text: string, path: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    return new UserError({ call: `read ${path}, line ${line}`, expected: 'JSON', found: messageOf(cause) }, { cause });
  }
}

export async function readRecords(path: string): Promise<readonly SourceRecord[]> {
  const { records, faults } = await readSoundRecords(path);
  throwFaults(path, faults);
  return records;
}

/** The records that are JSON, and an error for every line that is not: a caller may find more, and tell all of them at once. */
export async function readSoundRecords(
  path: string,
): Promise<{ readonly records: readonly SourceRecord[]; readonly faults: readonly UserError[] }> {
  const records: SourceRecord[] = [];
  const faults: UserError[] = [];
  for (const [index, text] of (await readLines(path)).entries()) {
    if (text.trim() === '') continue;
    if (faults.length >= mostFaults) break;
    const line = index + 1;
    const value = parseJson(text, path, line);
    if (value instanceof UserError) faults.push(value);
    else records.push({ line, text, value });
  }
  if (records.length === 0 && faults.length === 0) {
    throw new UserError({
      call: `read ${path}`,
      expected: 'at least one record, a line of JSON',
      found: 'an empty file',
    });
  }
  return { records, faults };
}

const [shownFaults, shownLines] = [20, 5];
/** After so many lines that are no JSON a file is not read on. */
const mostFaults = 1000;

/** Throws all faults of a file as one error; none is no error. A fault that many lines share is told once, with their numbers. */
export function throwFaults(path: string, faults: readonly UserError[]): void {
  if (faults.length === 0) return;
  if (faults.length === 1) throw faults[0];
  const linesOf = new Map<string, number[]>();
  for (const { message } of faults) {
    const [, line, text] = /^line (\d+): ([\s\S]*)$/.exec(message.replace(`read ${path}, `, '')) ?? ['', '0', message];
    const lines = linesOf.get(text);
    if (lines === undefined) linesOf.set(text, [Number(line)]);
    else lines.push(Number(line));
  }
  const kinds = [...linesOf].sort(([, [one]], [, [other]]) => one - other);
  const shown = kinds.slice(0, shownFaults).map(([text, lines]) => `  ${nameLines(lines)}${text}`);
  const more = kinds.length > shownFaults ? [`  and ${kinds.length - shownFaults} more kinds of faults`] : [];
  throw new UserError({
    call: `read ${path}`,
    expected: 'records without faults',
    found: `${faults.length} faults${faults.length < mostFaults ? '' : ' or more'}:\n${[...shown, ...more].join('\n')}`,
    fix: '\ndocs/formats.md describes the format.',
  });
}

function nameLines(lines: readonly number[]): string {
  if (lines[0] === 0) return '';
  if (lines.length === 1) return `line ${lines[0]}: `;
  const more = lines.length > shownLines ? ` and ${lines.length - shownLines} more` : '';
  return `lines ${lines.slice(0, shownLines).join(', ')}${more}: `;
}

export function parseRecord<Shape extends z.ZodType>(
  shape: Shape,
  { value, line }: SourceRecord,
  path: string,
): z.infer<Shape> {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  const found = describeFaults(result.error.issues, value);
  throw new UserError({ call: `read ${path}, line ${line}`, expected: 'well-formed fields', found });
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/** What is wrong with a value, field by field, in words. */
export function describeFaults(issues: readonly z.core.$ZodIssue[], value: unknown): string {
  const faults = issues.slice(0, shownFaults).map((issue) => {
    if (issue.code === 'unrecognized_keys') return `unknown ${issue.keys.map((key) => `"${key}"`).join(', ')}`;
    const found = issue.path.reduce<unknown>((inner, key) => Object(inner)[key], value);
    const name = issue.path.length === 0 ? 'the record' : `"${issue.path.join('.')}"`;
    return `${name}: expected ${expectedWords(issue)}, found ${shownValue(found)}`;
  });
  return faults.join('; ');
}

function shownValue(value: unknown): string {
  try {
    return (JSON.stringify(value) ?? 'nothing').slice(0, 60);
  } catch (error) {
    // The stack is full.
    if (error instanceof RangeError) return 'what is nested too deeply to be shown';
    throw error;
  }
}

function expectedWords(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return issue.values.map(String).join(' or ');
  if (issue.code === 'invalid_type') return typeWords[issue.expected] ?? issue.expected;
  if (issue.code !== 'invalid_union') return issue.message;
  return [...new Set(issue.errors.flat().map(expectedWords))].join(' or ');
}
