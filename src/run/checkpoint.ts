/**
 * Checkpoints: the adapter, and the whole state of the trainer, in a folder that appears under its name only when it is
 * complete (written aside, flushed, renamed). The same state gives the same bytes.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { StoredTensor } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { syncDirectory } from '../base/node/index.ts';
import type { ArmState, TrainerState } from '../grpo/index.ts';
import { type JsonValue, SafetensorsFile, writeSafetensors } from '../model/index.ts';
import type { FileLengths, RunDirectory } from './directory.ts';
import { readStored } from './stored.ts';

interface StateFile {
  readonly update: number;
  readonly directionAge: number | null;
  readonly tripwire: TrainerState['tripwire'];
  /** What the arm remembers beside its tensors; null for an arm that remembers nothing. */
  readonly arm: JsonValue;
  readonly lengths: FileLengths;
}

const count = z.number().int().min(0);

/** The part of the state that resuming needs before the trainer exists; the trainer reads the rest. */
const stateSchema = z.looseObject({
  update: count,
  lengths: z.object({ events: count, rollouts: count, features: count, directions: count, verdicts: count }),
});

function readState(path: string): StateFile {
  return readStored(path, 'the state of a checkpoint', stateSchema) as unknown as StateFile;
}

export async function saveCheckpoint(run: RunDirectory, state: TrainerState): Promise<string> {
  const path = run.checkpoint(state.update);
  if (existsSync(path)) return path;
  const aside = join(dirname(path), `.${state.update}`);
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { recursive: true });
  await writeTensors(join(aside, 'adapter.safetensors'), state.adapter);
  await writeTensors(join(aside, 'trainer.safetensors'), trainerTensors(state));
  const file: StateFile = {
    update: state.update,
    directionAge: state.directionAge,
    tripwire: state.tripwire,
    arm: state.arm?.json ?? null,
    lengths: run.measureLengths(),
  };
  writeDurably(join(aside, 'state.json'), `${JSON.stringify(file, null, 2)}\n`);
  syncDirectory(aside);
  renameSync(aside, path);
  syncDirectory(dirname(path));
  return path;
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
  const trainer = await readTensors(join(path, 'trainer.safetensors'));
  const moments = new Map<string, { m: StoredTensor; v: StoredTensor }>();
  for (const [name, m] of trainer) {
    const parameter = name.match(/^moment1\.(.*)$/)?.[1];
    if (parameter !== undefined) moments.set(parameter, { m, v: need(trainer, `moment2.${parameter}`, path) });
  }
  const state: TrainerState = {
    update: file.update,
    adapter: await readTensors(join(path, 'adapter.safetensors')),
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
  for (const [name, { shape }] of file.entries) tensors.set(name, { shape, data: await file.readFloat32(name) });
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
