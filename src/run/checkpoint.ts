/**
 * Checkpoints: the adapter, and the whole state of the trainer, in a folder that appears under its name only when it is
 * complete (written aside, flushed, renamed). The same state gives the same bytes. state.json has the hashes of the tensors and of what
 * the growing files held; those of the verdicts, whose durations vary, are in checksums.json of the run.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { StoredTensor } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { sha256File, syncDirectory, writeFileAtomic } from '../base/node/index.ts';
import type { ArmState, TrainerState } from '../grpo/index.ts';
import { findNonFinite, type JsonValue, SafetensorsFile, writeSafetensors } from '../model/index.ts';
import { expectHash, readStamped, stampedJson } from './checksums.ts';
import { type ExactFile, exactFiles, type FileLengths, type RunDirectory } from './directory.ts';

interface StateFile {
  readonly update: number;
  readonly directionAge: number | null;
  readonly tripwire: TrainerState['tripwire'];
  /** What the arm remembers beside its tensors; null for an arm that remembers nothing. */
  readonly arm: JsonValue;
  readonly lengths: FileLengths;
  /** Hashes of both files of tensors, and of the growing files up to their lengths. */
  readonly hashes: Readonly<Record<TensorFile | ExactFile, string>>;
}

const tensorFiles = { adapter: 'adapter.safetensors', trainer: 'trainer.safetensors' } as const;
type TensorFile = keyof typeof tensorFiles;

const count = z.number().int().min(0);

/** The part of the state that resuming needs before the trainer exists; the trainer reads the rest. */
const stateSchema = z.looseObject({
  update: count,
  lengths: z.object({ events: count, rollouts: count, features: count, directions: count, verdicts: count }),
  hashes: z.object({
    adapter: z.string(),
    trainer: z.string(),
    events: z.string(),
    rollouts: z.string(),
    features: z.string(),
    directions: z.string(),
  }),
});

/** checksums.json: for every checkpoint, by update, the hash of the verdicts until then. */
const verdictSchema = z.object({ verdicts: z.record(z.string(), z.string()) });

function readState(path: string): StateFile {
  return readStamped(path, 'the state of a checkpoint', stateSchema) as unknown as StateFile;
}

export async function saveCheckpoint(run: RunDirectory, state: TrainerState): Promise<string> {
  const path = run.checkpoint(state.update);
  if (existsSync(path)) return path;
  const aside = join(dirname(path), `.${state.update}`);
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { recursive: true });
  await writeTensors(join(aside, tensorFiles.adapter), state.adapter);
  await writeTensors(join(aside, tensorFiles.trainer), trainerTensors(state));
  const lengths = run.measureLengths();
  const file: StateFile = {
    update: state.update,
    directionAge: state.directionAge,
    tripwire: state.tripwire,
    arm: state.arm?.json ?? null,
    lengths,
    hashes: {
      adapter: await sha256File(join(aside, tensorFiles.adapter)),
      trainer: await sha256File(join(aside, tensorFiles.trainer)),
      ...run.hashGrown(lengths),
    },
  };
  await saveVerdictHash(run, state.update, lengths.verdicts);
  writeDurably(join(aside, 'state.json'), stampedJson(file));
  syncDirectory(aside);
  renameSync(aside, path);
  syncDirectory(dirname(path));
  return path;
}

/** Is written before the checkpoint that needs it; hashes of checkpoints that never came to be are replaced or never read. */
async function saveVerdictHash(run: RunDirectory, update: number, rows: number): Promise<void> {
  const path = run.file('checksums.json');
  const before = existsSync(path) ? readVerdictHashes(run) : {};
  const verdicts = { ...before, [update]: run.hashVerdicts(rows) };
  await writeFileAtomic(path, stampedJson({ verdicts }));
}

function readVerdictHashes(run: RunDirectory): Readonly<Record<string, string>> {
  return readStamped(run.file('checksums.json'), 'the checksums of a run', verdictSchema).verdicts;
}

/** Refuses a run whose growing files no longer begin with what they held at a checkpoint. */
export function expectGrown(run: RunDirectory, update: number): void {
  const { lengths, hashes } = readState(join(run.checkpoint(update), 'state.json'));
  for (const name of Object.keys(exactFiles) as ExactFile[]) {
    if (lengths[name] > 0) expectHash(run.file(exactFiles[name]), hashes[name], lengths[name]);
  }
  expectVerdicts(run, update, lengths);
}

/** Refuses a growing file that no longer begins with what it held at the run's last checkpoint. */
export function expectGrownFile(run: RunDirectory, file: string): void {
  const last = run.listCheckpoints().at(-1);
  if (last === undefined || !existsSync(join(run.checkpoint(last), 'state.json'))) return;
  const { lengths, hashes } = readState(join(run.checkpoint(last), 'state.json'));
  const name = (Object.keys(exactFiles) as ExactFile[]).find((key) => exactFiles[key] === file);
  if (name !== undefined && lengths[name] > 0) expectHash(run.file(file), hashes[name], lengths[name]);
  if (file === 'verdicts.jsonl') expectVerdicts(run, last, lengths);
}

function expectVerdicts(run: RunDirectory, update: number, lengths: FileLengths): void {
  if (lengths.verdicts === 0) return;
  const bytes = run.measureVerdicts(lengths.verdicts);
  expectHash(run.ledger('verdicts'), readVerdictHashes(run)[update] ?? 'none', bytes);
}

/** The path of the adapter in a checkpoint, whose bytes are those that were saved. */
export function checkedAdapter(run: RunDirectory, update: number): string {
  const folder = run.checkpoint(update);
  const path = join(folder, tensorFiles.adapter);
  expectHash(path, readState(join(folder, 'state.json')).hashes.adapter);
  return path;
}

/** A check for each file of a checkpoint, which throws if the file is not as it was saved. */
export function checkpointChecks(run: RunDirectory, update: number): readonly (readonly [string, () => void])[] {
  const folder = run.checkpoint(update);
  const state = join(folder, 'state.json');
  const tensors = (Object.keys(tensorFiles) as TensorFile[]).map((name) => {
    const path = join(folder, tensorFiles[name]);
    return [path, () => expectHash(path, readState(state).hashes[name])] as const;
  });
  return [[state, () => void readState(state)], ...tensors];
}

export interface LoadedCheckpoint {
  readonly state: TrainerState;
  readonly lengths: FileLengths;
}

export async function loadCheckpoint(run: RunDirectory, update: number): Promise<LoadedCheckpoint> {
  const path = run.checkpoint(update);
  if (!existsSync(path)) {
    const found = `${run.listCheckpoints().join(', ') || 'none'}`;
    throw new UserError({
      call: `load checkpoint ${update} of ${run.path}`,
      expected: 'one of its checkpoints',
      found,
    });
  }
  const file = readState(join(path, 'state.json'));
  if (file.update !== update) {
    const complaint = { call: `load ${path}`, expected: `the state after ${update} updates`, found: `${file.update}` };
    throw new UserError({ ...complaint, fix: 'The folder has another name than it was saved under.' });
  }
  for (const name of Object.keys(tensorFiles) as TensorFile[]) {
    expectHash(join(path, tensorFiles[name]), file.hashes[name]);
  }
  const trainer = await readTensors(join(path, tensorFiles.trainer));
  const moments = new Map<string, { m: StoredTensor; v: StoredTensor }>();
  for (const [name, m] of trainer) {
    const parameter = name.match(/^moment1\.(.*)$/)?.[1];
    if (parameter !== undefined) moments.set(parameter, { m, v: need(trainer, `moment2.${parameter}`, path) });
  }
  const state: TrainerState = {
    update: file.update,
    adapter: await readTensors(join(path, tensorFiles.adapter)),
    moments,
    arm: armState(file.arm, trainer),
    directionAge: file.directionAge,
    tripwire: file.tripwire,
  };
  return { state, lengths: file.lengths };
}

const armPrefix = 'arm.';

function trainerTensors({ moments, arm }: TrainerState): Map<string, StoredTensor> {
  const tensors = new Map<string, StoredTensor>();
  for (const [name, { m, v }] of moments) {
    tensors.set(`moment1.${name}`, m);
    tensors.set(`moment2.${name}`, v);
  }
  for (const [name, tensor] of arm?.tensors ?? []) tensors.set(`${armPrefix}${name}`, tensor);
  return tensors;
}

/** The arm's own JSON and tensors, returned as they were saved. */
function armState(json: JsonValue, trainer: ReadonlyMap<string, StoredTensor>): ArmState | null {
  const tensors = new Map(
    [...trainer].flatMap(([name, tensor]) =>
      name.startsWith(armPrefix) ? [[name.slice(armPrefix.length), tensor] as const] : [],
    ),
  );
  return json === null && tensors.size === 0 ? null : { json, tensors };
}

function need(tensors: ReadonlyMap<string, StoredTensor>, name: string, path: string): StoredTensor {
  const tensor = tensors.get(name);
  if (tensor !== undefined) return tensor;
  throw new UserError({ call: `load ${path}`, expected: `a tensor ${name}`, found: 'none' });
}

async function writeTensors(path: string, tensors: ReadonlyMap<string, StoredTensor>): Promise<void> {
  await writeSafetensors(
    path,
    [...tensors].map(([name, { shape, data }]) => ({ name, dtype: 'F32', shape, data: () => data })),
  );
}

async function readTensors(path: string): Promise<Map<string, StoredTensor>> {
  await using file = await SafetensorsFile.open(path);
  const tensors = new Map<string, StoredTensor>();
  for (const [name, { shape }] of file.entries) {
    const data = await file.readFloat32(name);
    const bad = findNonFinite(data, 'F32');
    if (bad >= 0) {
      const found = `${data[bad]} at element ${bad}`;
      const fix = 'The file is damaged: restore it from a copy, or go on from an earlier checkpoint.';
      throw new UserError({ call: `read ${path}, tensor ${name}`, expected: 'finite values', found, fix });
    }
    tensors.set(name, { shape, data });
  }
  return tensors;
}

function writeDurably(path: string, text: string): void {
  writeFileSync(path, text);
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
