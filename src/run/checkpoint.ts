/**
 * Saves and loads checkpoints, in a folder that appears under its name only when it is complete. Only then do older ones lose the trainer's
 * state, so a kill at any moment leaves a newest that is whole. What a checkpoint says of growing files and of the arm is taken when asked for.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { StoredTensor } from '../adapters/index.ts';
import { mapPool, UserError } from '../base/index.ts';
import { makeOwnFolder, syncDirectory, writeNew } from '../base/node/index.ts';
import type { ArmState, TrainerState } from '../grpo/index.ts';
import { findNonFinite, type JsonValue, SafetensorsFile, writeHashedSafetensors } from '../model/index.ts';
import type { StateFile } from './checkpoint-files.ts';
import { checkedTensors, checkpointFiles, hasTrainerState, readState, saveVerdictHash } from './checkpoint-files.ts';
import { initialFile } from './checksums.ts';
import type { RunConfig } from './config/schema.ts';
import { armPrefix, stampedJson, trainerTensors } from './contents.ts';
import type { FileLengths, RunDirectory } from './directory.ts';

export interface SaveOptions {
  readonly keepState: RunConfig['output']['keepState'];
  readonly initial: ReadonlyMap<string, StoredTensor>;
}

export async function saveCheckpoint(run: RunDirectory, state: TrainerState, options: SaveOptions): Promise<string> {
  const path = run.checkpoint(state.update);
  if (!existsSync(path)) await writeFolder(run, path, state, options);
  // A kill may have come between a checkpoint and this, so that even an old checkpoint may have a state to lose.
  if (options.keepState === 'newest') {
    for (const older of run.listCheckpoints().slice(0, -1)) {
      rmSync(join(run.checkpoint(older), checkpointFiles.trainer), { force: true });
    }
  }
  return path;
}

/** Everything before the first wait is done at once: what changes when the run goes on is read here. */
async function writeFolder(run: RunDirectory, path: string, live: TrainerState, options: SaveOptions): Promise<void> {
  const state = { ...live, arm: copyArm(live.arm) };
  const lengths = run.measureLengths();
  const grown = run.hashGrown(lengths);
  const verdicts = run.hashVerdicts(lengths.verdicts);
  makeOwnFolder(dirname(path));
  const aside = join(dirname(path), `.${state.update}`);
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { recursive: true });
  const [adapter, trainer] = [join(aside, checkpointFiles.adapter), join(aside, checkpointFiles.trainer)];
  const files = [
    () => saveInitial(run, options),
    () => writeTensors(adapter, state.adapter),
    () => writeTensors(trainer, trainerTensors(state)),
  ];
  const hashes = await mapPool(files, files.length, (write) => write());
  const file: StateFile = {
    update: state.update,
    momentsFrom: state.momentsFrom,
    directionAge: state.directionAge,
    tripwire: state.tripwire,
    arm: state.arm?.json ?? null,
    lengths,
    hashes: { adapter: hashes[1], trainer: hashes[2], initial: hashes[0], ...grown },
  };
  await saveVerdictHash(run, state.update, verdicts);
  writeNew(join(aside, checkpointFiles.state), stampedJson(file));
  syncDirectory(aside);
  renameSync(aside, path);
  syncDirectory(dirname(path));
}

/** An arm may go on changing what it has given. */
function copyArm(arm: ArmState | null): ArmState | null {
  if (arm === null) return null;
  const tensors = [...arm.tensors].map(([name, { shape, data }]) => [name, { shape, data: data.slice() }] as const);
  return { json: structuredClone(arm.json), tensors: new Map(tensors) };
}

async function saveInitial(run: RunDirectory, { initial }: SaveOptions): Promise<string> {
  const last = run.listCheckpoints().at(-1);
  if (last !== undefined) return readState(run, last).hashes.initial;
  return writeTensors(run.file(initialFile), initial);
}

export type LoadedCheckpoint = { readonly state: TrainerState; readonly lengths: FileLengths };

export async function loadCheckpoint(run: RunDirectory, update: number): Promise<LoadedCheckpoint> {
  const file = readState(run, update);
  if (!hasTrainerState(run, update)) throw withoutState(run, update);
  const path = checkedTensors(run, update, 'trainer');
  const trainer = await readTensors(path);
  const moments = new Map<string, { m: StoredTensor; v: StoredTensor }>();
  for (const [name, m] of trainer) {
    const parameter = name.match(/^moment1\.(.*)$/)?.[1];
    if (parameter !== undefined) moments.set(parameter, { m, v: need(trainer, `moment2.${parameter}`, path) });
  }
  const { momentsFrom, directionAge, tripwire } = file;
  const arm = armState(file.arm, trainer);
  const adapter = await loadAdapter(run, update);
  return { state: { update, adapter, moments, momentsFrom, arm, directionAge, tripwire }, lengths: file.lengths };
}

export const loadAdapter = async (run: RunDirectory, update: number): Promise<ReadonlyMap<string, StoredTensor>> =>
  readTensors(checkedTensors(run, update, 'adapter'));

/** A checkpoint without the state of its trainer: the moments begin anew, and the arm remembers nothing. */
export async function loadAlone(run: RunDirectory, update: number): Promise<LoadedCheckpoint> {
  const { tripwire, lengths } = readState(run, update);
  const anew = { moments: new Map(), momentsFrom: update, arm: null, directionAge: null };
  return { state: { update, adapter: await loadAdapter(run, update), ...anew, tripwire }, lengths };
}

function withoutState(run: RunDirectory, update: number): UserError {
  const having = run.listCheckpoints().filter((each) => hasTrainerState(run, each));
  return new UserError({
    call: `load checkpoint ${update} of ${run.path}`,
    expected: 'a checkpoint with the state of the trainer',
    found: `the adapter alone; ${having.length === 1 ? 'the state is' : 'states are'} in checkpoint ${having.join(', ')}`,
    fix: `Fork ${run.path}@${having.at(-1)}, or begin with new moments: --fork ${run.path}@${update} --adapter-only. Runs with output.keepState = "all" keep every state.`,
  });
}

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

export function writeTensors(path: string, tensors: ReadonlyMap<string, StoredTensor>): Promise<string> {
  return writeHashedSafetensors(
    path,
    [...tensors].map(([name, { shape, data }]) => ({ name, dtype: 'F32', shape, data: () => data })),
  );
}

export async function readTensors(path: string): Promise<Map<string, StoredTensor>> {
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
