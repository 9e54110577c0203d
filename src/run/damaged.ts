/** All files of a run that are missing or not as they were written. Readers stop at the first that they need. */
import { relative } from 'node:path';
import { checkpointChecks, lastStart } from './checkpoint-files.ts';
import { expectHash } from './checksums.ts';
import { exactFiles, type RunDirectory } from './directory.ts';
import { readSeal } from './seal.ts';
import { userErrorOf } from './user-error.ts';

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
    for (const file of [...Object.values(exactFiles), 'verdicts.jsonl'])
      attempt(file, () => {
        const start = lastStart(run, file);
        if (start !== null) expectHash(run.file(file), start.hash, start.bytes);
      });
  }
  return [...damaged.values()];
}
