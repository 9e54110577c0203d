/** Reads what a run directory holds but verdicts, whose only reader is src/oracle. Tables are JSON lines while they grow, Parquet once sealed; Parquet code is loaded when needed. */
import { closeSync, existsSync, fsyncSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import {
  followJsonl,
  openToRead,
  openToWrite,
  readJsonl,
  readRegular,
  syncDirectory,
  systemComplaint,
} from '../base/node/index.ts';
import type { Expectation, HealEvent, StepEvent, StopEvent } from '../grpo/index.ts';
import { expectGrownFile } from './checkpoint-files.ts';
import { checkStored, damagedFile, expectRows, expectSealed } from './checksums.ts';
import type { Columns, RolloutRow, TableReader } from './columns/index.ts';
import { blockRows, LinesTable, ParquetTable, rolloutColumns } from './columns/index.ts';
import { RunDirectory } from './directory.ts';
import { isRun, runFormat } from './manifest.ts';
import type { WarningEvent } from './sink.ts';

export type RunEvent = Expectation | StepEvent | HealEvent | StopEvent | WarningEvent;

const update = z.number().int().min(0);

const eventSchema = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('step'), update }),
  z.looseObject({ kind: z.literal('expectation'), name: z.string(), holds: z.boolean(), detail: z.string() }),
  z.looseObject({ kind: z.literal('heal'), update, losses: z.array(z.number()) }),
  z.looseObject({ kind: z.literal('stop'), update, reason: z.enum(['finished', 'tripwire']), detail: z.string() }),
  z.looseObject({ kind: z.literal('warning'), update, name: z.string(), message: z.string() }),
]);

async function expectIntact(run: RunDirectory, name: string): Promise<void> {
  if (run.isSealed()) await expectSealed(run.file(name));
  else await expectGrownFile(run, name);
}

export async function* readEvents(run: RunDirectory): AsyncGenerator<RunEvent> {
  await expectIntact(run, 'events.jsonl');
  for await (const event of readChecked(run.ledger('events'), 'an event', eventSchema)) {
    yield event as unknown as RunEvent;
  }
}

export const checkEvent = (value: unknown, call: string): RunEvent =>
  checkStored(value, call, 'an event', eventSchema) as unknown as RunEvent;

async function* readChecked<Schema extends z.ZodType>(
  path: string,
  what: string,
  schema: Schema,
): AsyncGenerator<z.infer<Schema>> {
  let line = 0;
  for await (const value of readJsonl(path)) {
    line += 1;
    yield checkStored(value, `read ${path}, line ${line}`, what, schema);
  }
}

export type RunStatus = 'finished' | 'tripwire' | 'unfinished';

export async function readCourse(run: RunDirectory): Promise<{ steps: StepEvent[]; status: RunStatus }> {
  const steps: StepEvent[] = [];
  let status: RunStatus | null = null;
  for await (const event of readEvents(run)) {
    if (event.kind === 'step') steps.push(event);
    if (event.kind === 'stop') status ??= event.reason;
  }
  return { steps, status: status ?? 'unfinished' };
}

export async function trainedStatus(path: string): Promise<'finished' | 'tripwire' | null> {
  if (!isRun(path)) return null;
  const run = RunDirectory.open(path);
  // A run that is over but not sealed was killed while it was being sealed: training it again seals it.
  if (!run.isSealed()) return null;
  const { status } = await readCourse(run);
  return status === 'unfinished' ? null : status;
}

export async function openRollouts(run: RunDirectory): Promise<TableReader<RolloutRow>> {
  if (!run.isSealed()) await expectGrownFile(run, 'rollouts.jsonl');
  return openTable(run.file('rollouts'));
}

export async function* readRollouts(run: RunDirectory): AsyncGenerator<RolloutRow> {
  const names = Object.keys(rolloutColumns) as (keyof RolloutRow)[];
  for await (const block of (await openRollouts(run)).blocks(names)) yield* blockRows(block);
}

const timingSchema = z.object({ update, seconds: z.record(z.string(), z.number()) });

/** Seconds of each phase, by update. Of an update that was done twice the newest counts. */
export async function readPhases(run: RunDirectory): Promise<ReadonlyMap<number, Readonly<Record<string, number>>>> {
  const path = run.file('timings.jsonl');
  const phases = new Map<number, Readonly<Record<string, number>>>();
  if (!existsSync(path)) return phases;
  if (run.isSealed()) await expectSealed(path);
  for await (const row of readChecked(path, 'the timings of an update', timingSchema))
    phases.set(row.update, row.seconds);
  return phases;
}

export async function readTimings(run: RunDirectory): Promise<number[]> {
  const total = (seconds: Readonly<Record<string, number>>): number =>
    Object.values(seconds).reduce((sum, part) => sum + part, 0);
  return [...(await readPhases(run)).values()].map(total);
}

/** Rows of modules · rank values; `RolloutRow.featureRow` counts them. */
export async function readFeatures(run: RunDirectory): Promise<Float32Array> {
  const { modules, rank } = run.readManifest().features;
  return readRows(run, 'features.f32', modules.length * rank);
}

/** `update`: the first that was routed by it; `pairCuts`: mean scores of the clean and of the hack sides of the pairs. */
export type StoredDirection = Awaited<ReturnType<typeof readDirections>>[number];

export async function readDirections(run: RunDirectory) {
  const { modules, rank } = run.readManifest().features;
  const width = 3 + modules.length * rank;
  const values = await readRows(run, 'directions.f32', width);
  return Array.from({ length: values.length / width }, (_, row) => ({
    update: values[row * width],
    pairCuts: { low: values[row * width + 1], high: values[row * width + 2] },
    direction: values.slice(row * width + 3, (row + 1) * width),
  }));
}

async function readRows(run: RunDirectory, name: string, width: number): Promise<Float32Array> {
  await expectIntact(run, name);
  const path = run.file(name);
  if (!existsSync(path)) return new Float32Array(0);
  expectRows(path, 4 * width);
  const bytes = readRegular(path);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

const rowsPerGroup = 4096;
/** Bytes of a page before it is compressed: about what is read for one rollout, of each of its long columns. */
const pageBytes = 1 << 15;

export async function sealTable(path: string, columns: Columns): Promise<void> {
  const { fileWriter, parquetWriteRows } = await import('hyparquet-writer');
  const temporary = `${path}.parquet.tmp`;
  // The writer opens this name itself, and would follow a link.
  await rm(temporary, { force: true });
  await parquetWriteRows({
    writer: fileWriter(temporary),
    rows: readJsonl(`${path}.jsonl`) as AsyncIterable<Record<string, unknown>>,
    // Lines of an earlier version may lack any column.
    columns: Object.entries(columns).map(([name, { type }]) => ({ name, type, nullable: true })),
    rowGroupSize: rowsPerGroup,
    pageSize: pageBytes,
    kvMetadata: [{ key: 'gradient-quarantine.format', value: `${runFormat}` }],
  });
  const file = openToWrite(temporary, 'change');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  await rename(temporary, `${path}.parquet`);
  syncDirectory(dirname(path));
}

export async function dropLines(path: string): Promise<void> {
  if (existsSync(`${path}.parquet`)) await rm(`${path}.jsonl`, { force: true });
}

export async function openTable<Row>(path: string): Promise<TableReader<Row>> {
  const sealed = `${path}.parquet`;
  if (await expectSealed(sealed)) return new ParquetTable<Row>(sealed, () => openParquet(sealed), systemComplaint);
  if (existsSync(`${path}.jsonl`)) {
    return new LinesTable<Row>(() => {
      const follower = followJsonl(`${path}.jsonl`);
      return () => follower.read();
    });
  }
  if (!existsSync(sealed)) throw damagedFile(path, 'a .parquet or a .jsonl file', 'neither');
  throw damagedFile(sealed, 'a seal.json beside it that has its hash', 'none');
}

async function openParquet(path: string) {
  const { asyncBufferFromFile } = await import('hyparquet');
  // The reader opens this name itself, and would wait for a pipe.
  closeSync(openToRead(path));
  return asyncBufferFromFile(path);
}
