/**
 * Transcripts that other programs wrote, with a label each: JSON lines, or logs of Inspect (`.eval`, an archive, or `.json`). Whoever wrote
 * them is not trusted: sizes and numbers have limits, and nothing of an archive is written anywhere.
 */
import { crc32, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import { messageOf, UserError } from '../base/index.ts';
import { decodeText } from '../base/node/index.ts';
import { parseRecord, readInput, readRecords } from '../env/importers/records.ts';

export interface Transcript {
  readonly id: string;
  readonly prompt: string;
  readonly completion: string;
  /** Whether it shows what a monitor should find. */
  readonly isPositive: boolean;
}

const mostBytes = 256 << 20;
const mostFiles = 200_000;
const mostCharacters = 1 << 20;
const mostMembers = 10_000;
const shownFaults = 20;

/** `label`: the field of a line, or the score of a sample, that says whether it is a positive. */
export async function readTranscripts(path: string, label: string): Promise<readonly Transcript[]> {
  const transcripts = /\.(?:eval|json)$/.test(path)
    ? await readInspect(path, label)
    : await readLabelledLines(path, label);
  const long = transcripts.find(({ prompt, completion }) => prompt.length + completion.length > mostCharacters);
  if (long !== undefined) {
    const found = `${long.prompt.length + long.completion.length} in ${long.id}`;
    throw new UserError({ call: `read ${path}`, expected: `at most ${mostCharacters} characters a transcript`, found });
  }
  return transcripts;
}

// A longer list is not looked into: a schema words a complaint for each wrong member, and a file has room for millions.
const listOf = <Schema extends z.ZodType>(member: Schema) => z.array(member).max(mostMembers);
const fewKeys = z.custom<Record<string, unknown>>(
  (given) => typeof given === 'object' && given !== null && Object.keys(given).length <= mostMembers,
  `an object of at most ${mostMembers} keys`,
);
const content = z.union([z.string(), listOf(z.looseObject({ text: z.string().optional() }))]);
const messages = listOf(z.looseObject({ role: z.string(), content }));
const textOfContent = (given: z.infer<typeof content>): string =>
  typeof given === 'string' ? given : given.map(({ text = '' }) => text).join('');
const textOfMessages = (given: string | z.infer<typeof messages>): string =>
  typeof given === 'string' ? given : given.map((message) => textOfContent(message.content)).join('\n');

/** What programs write for yes and for no; Inspect's own scorers write C and I. */
const yes: readonly unknown[] = [true, 1, 'C', 'hack', 'true', '1'];
const no: readonly unknown[] = [false, 0, 'I', 'clean', 'false', '0'];

/** `fields`: everything that may be the label. */
function isYes(fields: Readonly<Record<string, unknown>>, label: string, call: string): boolean {
  const value = Object.hasOwn(fields, label) ? fields[label] : undefined;
  if (yes.includes(value)) return true;
  if (no.includes(value)) return false;
  const expected = `${label} to be one of ${[...yes, ...no].map((each) => JSON.stringify(each)).join(', ')}`;
  // What is nested may be too deep to be written.
  const found =
    typeof value === 'object' && value !== null ? 'a list or an object' : (JSON.stringify(value) ?? 'nothing');
  const names = Object.keys(fields).slice(0, 20).join(', ');
  const fix = value === undefined && names !== '' ? `Name the one that says it with --label: ${names}.` : undefined;
  throw new UserError({ call, expected, found: found.slice(0, 80), fix });
}

const line = z.looseObject({
  id: z.union([z.string(), z.int()]).optional(),
  prompt: z.union([z.string(), messages]).default(''),
  completion: z.string(),
});

async function readLabelledLines(path: string, label: string): Promise<Transcript[]> {
  return (await readRecords(path)).map((record) => {
    const { id = record.line, prompt, completion, ...fields } = parseRecord(line, record, path);
    const isPositive = isYes(fields, label, `read ${path}, line ${record.line}`);
    return { id: `${id}`, prompt: textOfMessages(prompt), completion, isPositive };
  });
}

const sample = z.looseObject({
  id: z.union([z.string(), z.number()]),
  epoch: z.number().default(1),
  input: z.union([z.string(), messages]),
  output: z.looseObject({
    completion: z.string().optional(),
    choices: listOf(z.looseObject({ message: z.looseObject({ content }) })).default([]),
  }),
  scores: fewKeys.pipe(z.record(z.string(), z.looseObject({ value: z.unknown() }))).nullish(),
});

async function readInspect(path: string, label: string): Promise<Transcript[]> {
  const call = `read ${path}`;
  const bytes = await readInput(path, call);
  const isArchive = bytes.length > 3 && bytes.readUInt32LE(0) === 0x04034b50;
  const texts = isArchive ? [...samplesOf(bytes, call)] : [];
  const samples = isArchive
    ? texts.map((text) => parse(text, call))
    : samplesIn(parse(decodeText(bytes, path), call), call);
  if (samples.length === 0) throw new UserError({ call, expected: 'samples', found: 'none' });
  return samples.map((value, i) => {
    const read = sample.safeParse(value);
    if (!read.success) {
      const found = read.error.issues
        .slice(0, shownFaults)
        .map(({ path: at, message }) => `${at.map(String).join('.')}: ${message}`);
      throw new UserError({
        call: `${call}, sample ${i + 1}`,
        expected: 'a sample of Inspect',
        found: found.join('; '),
      });
    }
    const { id, epoch, input, output, scores } = read.data;
    const told = textOfContent(output.choices[0]?.message.content ?? '');
    const values = Object.entries(scores ?? {}).map(([name, { value: score }]) => [name, score]);
    const isPositive = isYes(Object.fromEntries(values), label, `${call}, sample ${id}, scores`);
    return { id: `${id} ${epoch}`, prompt: textOfMessages(input), completion: output.completion ?? told, isPositive };
  });
}

function samplesIn(log: unknown, call: string): unknown[] {
  const list: unknown = Object(log).samples;
  if (Array.isArray(list)) return list;
  throw new UserError({ call, expected: 'a log of Inspect, with samples', found: 'something else' });
}

function parse(text: string, call: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UserError({ call, expected: 'JSON', found: messageOf(cause) }, { cause });
  }
}

/** The texts of the samples of an archive, by its list of files. All of them together have a limit, whatever the list says of their sizes. */
function* samplesOf(bytes: Buffer, call: string): Generator<string> {
  const refuse = (found: string): never => {
    throw new UserError({ call, expected: 'an archive that Inspect wrote, packed by deflate', found });
  };
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end < 0 || end + 22 > bytes.length) return refuse('no list of files at its end');
  const count = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  if (count > mostFiles || count === 0xffff) return refuse(`${count} files or more`);
  let left = mostBytes;
  for (let i = 0; i < count; i += 1) {
    if (at + 46 > end || bytes.readUInt32LE(at) !== 0x02014b50) return refuse('a list of files that ends too early');
    const [flags, method] = [bytes.readUInt16LE(at + 8), bytes.readUInt16LE(at + 10)];
    const [sum, packed, start] = [16, 20, 42].map((place) => bytes.readUInt32LE(at + place));
    const [named, extra, remark] = [28, 30, 32].map((place) => bytes.readUInt16LE(at + place));
    const name = bytes.toString('utf8', at + 46, at + 46 + named);
    at += 46 + named + extra + remark;
    if (!/^samples\/[^/]+\.json$/.test(name)) continue;
    if ((flags & 1) !== 0) return refuse(`${name}, which is encrypted`);
    if (start + 30 > bytes.length || bytes.readUInt32LE(start) !== 0x04034b50)
      return refuse(`${name}, which is nowhere`);
    const from = start + 30 + bytes.readUInt16LE(start + 26) + bytes.readUInt16LE(start + 28);
    if (from + packed > bytes.length) return refuse(`${name}, which ends after the archive`);
    const data = unpack(bytes.subarray(from, from + packed), method, left, (found) => refuse(`${name}, ${found}`));
    if (crc32(data) !== sum)
      return refuse(`${name}, which is damaged: its bytes have another CRC-32 than the list says`);
    left -= data.length;
    yield decodeText(data, name);
  }
}

function unpack(data: Buffer, method: number, most: number, refuse: (found: string) => never): Buffer {
  if (method !== 0 && method !== 8) return refuse(`packed in another way (${method})`);
  if (method === 0) return data.length > most ? refuse('with more than 256 MiB before it') : data;
  try {
    return inflateRawSync(data, { maxOutputLength: Math.max(1, most) });
  } catch (cause) {
    const isLarge = cause instanceof RangeError || Object(cause).code === 'ERR_BUFFER_TOO_LARGE';
    return refuse(isLarge ? 'with which the samples have more than 256 MiB' : 'which cannot be unpacked');
  }
}
