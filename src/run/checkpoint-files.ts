/** The files of a checkpoint, and the hashes in state.json (of verdicts: in checksums.json) that they must have. */
import { existsSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/index.ts';
import { writeFileAtomic } from '../base/node/index.ts';
import type { TrainerState } from '../grpo/index.ts';
import type { JsonValue } from '../model/index.ts';
import { damagedFile, expectHash, expectHashInPieces, initialFile, readSeal, readStamped } from './checksums.ts';
import { stampedJson } from './contents.ts';
import { type ExactFile, eachExact, exactFiles, grownFiles, type RunDirectory } from './directory.ts';
import { userErrorOf } from './user-error.ts';

export const checkpointFiles = {
  adapter: 'adapter.safetensors',
  trainer: 'trainer.safetensors',
  state: 'state.json',
} as const;

const count = z.number().int().min(0);
const text = z.string();

/** What resuming reads before the trainer exists is checked; what the trainer and the arm remember is theirs. */
const stateSchema = z.looseObject({
  update: count,
  momentsFrom: count,
  directionAge: z.custom<TrainerState['directionAge']>(),
  tripwire: z.custom<TrainerState['tripwire']>(),
  arm: z.custom<JsonValue>(),
  lengths: z.object({ ...eachExact(() => count), verdicts: count }),
  hashes: z.object({ adapter: text, trainer: text, initial: text, ...eachExact(() => text) }),
});
export type StateFile = Readonly<z.infer<typeof stateSchema>>;

export function readState(run: RunDirectory, update: number): StateFile {
  const folder = run.checkpoint(update);
  if (!existsSync(folder)) {
    const there = run.listCheckpoints().join(', ') || 'none';
    throw new UserError({
      call: `load checkpoint ${update} of ${run.path}`,
      expected: `one of its checkpoints (${there})`,
      found: `${update}`,
    });
  }
  const file = readStamped(join(folder, checkpointFiles.state), 'the state of a checkpoint', stateSchema);
  if (file.update === update) return file;
  const complaint = { call: `load ${folder}`, expected: `the state after ${update} updates`, found: `${file.update}` };
  throw new UserError({ ...complaint, fix: 'The folder has another name than it was saved under.' });
}

export function checkedTensors(run: RunDirectory, update: number, name: 'adapter' | 'trainer'): string {
  const path = join(run.checkpoint(update), checkpointFiles[name]);
  expectHash(path, readState(run, update).hashes[name]);
  return path;
}

export function checkedInitial(run: RunDirectory): string | null {
  const last = run.listCheckpoints().at(-1);
  if (last === undefined) return null;
  const path = run.file(initialFile);
  expectHash(path, readState(run, last).hashes.initial);
  return path;
}

/** Whether a checkpoint has the trainer's state. The newest always has; where it is gone, the run is damaged. */
export function hasTrainerState(run: RunDirectory, update: number): boolean {
  const path = join(run.checkpoint(update), checkpointFiles.trainer);
  if (existsSync(path)) return true;
  if (update === run.listCheckpoints().at(-1)) throw damagedFile(path, 'the state of the newest checkpoint', 'no file');
  return false;
}

export function expectCheckpoint(run: RunDirectory, update: number, keepsState: boolean): void {
  for (const [, check] of checkpointChecks(run, update, keepsState)) check();
}

export function checkpointChecks(
  run: RunDirectory,
  update: number,
  keepsState: boolean,
): readonly (readonly [string, () => void])[] {
  const file = (name: keyof typeof checkpointFiles): string => join(run.checkpoint(update), checkpointFiles[name]);
  return [
    [file('state'), () => void readState(run, update)],
    [run.file(verdictHashFile), () => expectVerdictHash(run, update)],
    [run.file(initialFile), () => expectHash(run.file(initialFile), readState(run, update).hashes.initial)],
    [file('adapter'), () => void checkedTensors(run, update, 'adapter')],
    [
      file('trainer'),
      () => {
        if (keepsState || hasTrainerState(run, update)) checkedTensors(run, update, 'trainer');
      },
    ],
  ];
}

/** For every checkpoint, by update, the hash of the verdicts until then. */
const verdictHashFile = 'checksums.json';
const verdictSchema = z.object({ verdicts: z.record(z.string(), z.string()) });

/** Is written before the checkpoint that needs it; hashes of checkpoints that never came to be are replaced or never read. */
export async function saveVerdictHash(run: RunDirectory, update: number, hash: string): Promise<void> {
  const path = run.file(verdictHashFile);
  const before = existsSync(path) ? readVerdictHashes(run) : {};
  const verdicts = { ...before, [update]: hash };
  await writeFileAtomic(path, stampedJson({ verdicts }));
}

const readVerdictHashes = (run: RunDirectory): Readonly<Record<string, string>> =>
  readStamped(run.file(verdictHashFile), 'the checksums of a run', verdictSchema).verdicts;

function expectVerdictHash(run: RunDirectory, update: number): void {
  if (readVerdictHashes(run)[update] !== undefined) return;
  throw damagedFile(run.file(verdictHashFile), `the hash of the verdicts until update ${update}`, 'none');
}

/** Checks all that a checkpoint knows of the files that grow. */
export function expectGrown(run: RunDirectory, update: number): void {
  const state = readState(run, update);
  for (const file of grownFiles) expectStart(run, file, startOf(run, state, file));
}

function expectStart(run: RunDirectory, file: string, start: FileStart | null): void {
  if (start !== null) expectHash(run.file(file), start.hash, start.bytes);
}

function lastState(run: RunDirectory): StateFile | null {
  const last = run.listCheckpoints().at(-1);
  const isThere = last !== undefined && existsSync(join(run.checkpoint(last), checkpointFiles.state));
  return isThere ? readState(run, last) : null;
}

/** The hashes that the last checkpoint has of files as they are now, by name: of the initial values, and of what has not grown since. */
export function checkpointHashes(run: RunDirectory): ReadonlyMap<string, string> {
  const state = lastState(run);
  if (state === null) return new Map();
  const { lengths, hashes } = state;
  const grown = (Object.keys(exactFiles) as ExactFile[]).filter((name) => {
    const path = run.file(exactFiles[name]);
    return existsSync(path) && statSync(path).size === lengths[name];
  });
  return new Map([[initialFile, hashes.initial], ...grown.map((name) => [exactFiles[name], hashes[name]] as const)]);
}

export async function expectGrownFile(run: RunDirectory, file: string): Promise<void> {
  const start = lastStart(run, file);
  if (start !== null) await expectHashInPieces(run.file(file), start.hash, start.bytes);
}

type FileStart = { readonly hash: string; readonly bytes: number };

function lastStart(run: RunDirectory, file: string): FileStart | null {
  const state = lastState(run);
  return state === null ? null : startOf(run, state, file);
}

/** How much of a growing file there was at a checkpoint, and its hash; null where there was nothing. */
function startOf(run: RunDirectory, { update, lengths, hashes }: StateFile, file: string): FileStart | null {
  const name = (Object.keys(exactFiles) as ExactFile[]).find((key) => exactFiles[key] === file);
  if (name !== undefined) return lengths[name] === 0 ? null : { hash: hashes[name], bytes: lengths[name] };
  if (lengths.verdicts === 0) return null;
  return { hash: readVerdictHashes(run)[update] ?? 'none', bytes: run.measureVerdicts(lengths.verdicts) };
}

export type DamagedFile = { readonly file: string; readonly problem: string };

export type FileCheck = readonly [file: string, check: () => unknown];

export function findDamagedFiles(run: RunDirectory, more: readonly FileCheck[] = []): DamagedFile[] {
  const damaged = new Map<string, DamagedFile>();
  const attempt = <T>(file: string, check: () => T): T | null => {
    try {
      return check();
    } catch (error) {
      const known = userErrorOf(error);
      if (known === null) throw error;
      // A damaged state of a checkpoint is found again with each file whose hash it has.
      if (!damaged.has(known.message)) damaged.set(known.message, { file, problem: known.message });
      return null;
    }
  };
  const manifest = attempt('manifest.json', () => run.readManifest());
  const keepsState = manifest?.config.output.keepState === 'all';
  const seal = attempt('seal.json', () => readSeal(run.path));
  for (const [file, hash] of Object.entries(seal?.files ?? {})) attempt(file, () => expectHash(run.file(file), hash));
  for (const update of attempt('checkpoints', () => run.listCheckpoints()) ?? []) {
    for (const [file, check] of checkpointChecks(run, update, keepsState)) attempt(relative(run.path, file), check);
  }
  for (const [file, check] of more) attempt(relative(run.path, file), check);
  if (attempt('seal.json', () => run.isSealed()) === false) {
    for (const file of grownFiles) attempt(file, () => expectStart(run, file, lastStart(run, file)));
  }
  return [...damaged.values()];
}
