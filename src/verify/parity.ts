/**
 * Runs every check found in a folder of cases laid out like test/golden (its README describes the files): a folder with a
 * config.json is a model, with or without a GRPO step; a folder with io.safetensors and no config.json holds bases. Nothing
 * is assumed about shapes, ranks or lengths. A missing file is a failed check; what no check covers is a note.
 */
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { UserError } from '../base/index.ts';
import type { Device } from '../engine/index.ts';
import { type Check, failedCheck } from './check.ts';
import { verifyBasis } from './parity-basis.ts';
import { verifyGrpo } from './parity-grpo.ts';
import { type CaseReport, verifyModel } from './parity-model.ts';
import { stepFiles } from './parity-step.ts';

export interface ParityReport {
  readonly device: string;
  readonly checks: readonly Check[];
  /** Files and tensors that no check covers, with their case. */
  readonly notes: readonly { readonly case: string; readonly note: string }[];
}

type Verify = (directory: string, name: string) => Promise<CaseReport>;

const modelFiles = ['config.json', 'io.safetensors', 'model.safetensors', 'model.safetensors.index.json'];
const basisFiles = ['io.json', 'io.safetensors'];

export async function verifyParity(device: Device, directory: string): Promise<ParityReport> {
  const found = await stat(directory).catch(() => null);
  if (!found?.isDirectory()) {
    const what = found === null ? 'no such folder' : 'a file';
    throw new UserError({ call: `verify parity of ${directory}`, expected: 'a folder of cases', found: what });
  }
  const checks: Check[] = [];
  const notes: { case: string; note: string }[] = [];
  for (const path of await listCases(directory)) {
    const name = basename(path);
    const report = await verifyCase(device, path, name);
    checks.push(...report.checks);
    notes.push(...report.notes.map((note) => ({ case: name, note })));
  }
  if (checks.length === 0) {
    throw new UserError({
      call: `verify parity of ${directory}`,
      expected: 'folders with config.json or io.safetensors',
      found: 'none',
      fix: 'Name a folder laid out like test/golden.',
    });
  }
  return { device: device.name, checks, notes };
}

/** The subfolders of the folder, or the folder itself if it is a case. */
async function listCases(directory: string): Promise<string[]> {
  if (existsSync(join(directory, 'config.json')) || existsSync(join(directory, 'io.safetensors'))) {
    return [resolve(directory)];
  }
  const entries = await readdir(directory, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => resolve(directory, name));
  return folders.sort();
}

async function verifyCase(device: Device, directory: string, name: string): Promise<CaseReport> {
  const files = (await readdir(directory)).sort();
  const isModel = files.includes('config.json');
  if (!isModel && !files.includes('io.safetensors')) {
    return { checks: [failedCheck(name, 'files', 'neither config.json nor io.safetensors')], notes: [] };
  }
  const hasStep = stepFiles.some((file) => files.includes(file));
  const parts: Verify[] = isModel
    ? [
        (...at) => verifyModel(device, ...at),
        ...(hasStep ? [(...at: [string, string]) => verifyGrpo(device, ...at)] : []),
      ]
    : [verifyBasis];
  const known = new Set(isModel ? [...modelFiles, ...(hasStep ? stepFiles : [])] : basisFiles);
  const unknown = files.filter((file) => !known.has(file) && !(isModel && /^model-.*\.safetensors$/.test(file)));
  const reports = [];
  for (const verify of parts) reports.push(await reportOf(verify, directory, name));
  return {
    checks: reports.flatMap(({ checks }) => checks),
    notes: [...unknown.map((file) => `not read: ${file}`), ...reports.flatMap(({ notes }) => notes)],
  };
}

/** Runs one check. A file that cannot be used fails its case, and the other cases still run. */
async function reportOf(verify: Verify, directory: string, name: string): Promise<CaseReport> {
  try {
    return await verify(directory, name);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { checks: [failedCheck(name, 'files', error.message)], notes: [] };
  }
}
