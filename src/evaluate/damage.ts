/**
 * All files of a run that are missing or not as they were written: those of training, and what was measured afterwards. Checksums are no
 * signatures: whoever changes a file and computes its checksum anew is not found by them.
 */
import { existsSync } from 'node:fs';
import { z } from 'zod';
import { type DamagedFile, type FileCheck, findDamagedFiles, type RunDirectory, readStamped } from '../run/index.ts';
import { ProbeStore } from './probe.ts';
import { EvaluationStore } from './store.ts';

const measured = ['eval-curve.json', 'prefill-curve.json', 'evasion.json'];

export function findDamage(run: RunDirectory): DamagedFile[] {
  const files = measured
    .filter((file) => existsSync(run.file(file)))
    .map((file): FileCheck => [run.file(file), () => readStamped(run.file(file), 'a measurement', z.looseObject({}))]);
  return findDamagedFiles(run, [
    ...new EvaluationStore(run.path).checks(),
    ...new ProbeStore(run.path).checks(),
    ...files,
  ]);
}
