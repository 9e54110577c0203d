/** Every check of a folder of cases laid out like test/golden. A missing file fails, an uncovered one is a note. */
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { Matrix } from 'ml-matrix';
import { z } from 'zod';
import { type Basis, cayleyRotation, cordaBasis, leadingSvd, signedDirection, toMatrix } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import type { Device } from '../engine/index.ts';
import { parseFields, readJsonObject } from '../model/index.ts';
import { type Check, Checks } from './check.ts';
import { stepFiles, verifyGrpo } from './parity-grpo.ts';
import { StoredCase, verifyModel } from './parity-model.ts';

export async function verifyParity(device: Device, directory: string) {
  const found = await stat(directory).catch(() => null);
  if (!found?.isDirectory()) {
    const what = found === null ? 'no such folder' : 'a file';
    throw new UserError({ call: `verify parity of ${directory}`, expected: 'a folder of cases', found: what });
  }
  const checks: Check[] = [];
  const notes: { case: string; note: string }[] = [];
  for (const path of await listCases(directory)) {
    const name = basename(path);
    const check = new Checks(name);
    notes.push(...(await verifyCase(device, path, check)).map((note) => ({ case: name, note })));
    checks.push(...check.list);
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

async function listCases(directory: string): Promise<string[]> {
  if (existsSync(join(directory, 'config.json')) || existsSync(join(directory, 'io.safetensors'))) {
    return [resolve(directory)];
  }
  const entries = await readdir(directory, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => resolve(directory, name));
  return folders.sort();
}

interface CasePart {
  readonly needs: readonly string[];
  readonly has?: RegExp;
  verify(device: Device, directory: string, check: Checks): Promise<string[]>;
}

const modelPart: CasePart = {
  needs: ['io.safetensors'],
  has: /^(?:config\.json|model\.safetensors(?:\.index\.json)?|model-.*\.safetensors)$/,
  verify: verifyModel,
};
const stepPart: CasePart = { needs: stepFiles, verify: verifyGrpo };
const basisPart: CasePart = {
  needs: ['io.json', 'io.safetensors'],
  verify: (_device, ...at) => verifyBasis(...at),
};

/** A file that cannot be used fails its part, and the other parts and cases still run. */
async function verifyCase(device: Device, directory: string, check: Checks): Promise<string[]> {
  const files = (await readdir(directory)).sort();
  const isModel = files.includes('config.json');
  if (!isModel && !files.includes('io.safetensors')) {
    check.fails('files', 'neither config.json nor io.safetensors');
    return [];
  }
  const hasStep = stepFiles.some((file) => files.includes(file));
  const parts = isModel ? [modelPart, ...(hasStep ? [stepPart] : [])] : [basisPart];
  const isRead = (file: string): boolean => parts.some(({ needs, has }) => needs.includes(file) || has?.test(file));
  const notes = files.filter((file) => !isRead(file)).map((file) => `not read: ${file}`);
  for (const { needs, verify } of parts) {
    const missing = needs.filter((file) => !files.includes(file));
    for (const file of missing) check.fails(file, 'no such file');
    if (missing.length > 0) continue;
    try {
      notes.push(...(await verify(device, directory, check)));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      check.fails('files', error.message);
    }
  }
  return notes;
}

const basisBound = 1e-4;
const basisFile = z.object({ ridge: z.number({ error: 'a number' }) });
const basisTensors = [
  ...['W', 'deltas', 'cayley_X', 'svd_S', 'svd_U', 'svd_Vh', 'corda_S', 'corda_U', 'corda_V'],
  ...['signed_in', 'signed_out', 'cayley_R'],
];

/**
 * Compares stored bases with this project's: SVD, CorDA basis, signed direction, Cayley rotation. Singular vectors are defined up
 * to a sign that the left and the right one share, so signs are made to agree first. Singular values and the rows of V (which C^½
 * scales) are compared relative to the largest; vectors of length 1 and rotations are compared absolutely. Returns what nothing was
 * compared with.
 */
async function verifyBasis(directory: string, check: Checks): Promise<string[]> {
  const file = join(directory, 'io.json');
  const { ridge } = parseFields(basisFile, await readJsonObject(file), file);
  await using stored = await StoredCase.open(directory, 'io.safetensors');
  const absent = basisTensors.filter((tensor) => !stored.has(tensor));
  for (const tensor of absent) check.fails(tensor, 'no such tensor in io.safetensors');
  if (absent.length > 0) return [];
  const matrix = async (tensor: string): Promise<Matrix> => {
    const [rows, columns] = stored.shape(tensor);
    return toMatrix(await stored.floats(tensor), rows, columns);
  };
  const [weight, differences] = [await matrix('W'), await matrix('deltas')];
  const source = { data: await stored.floats('W'), rows: weight.rows, columns: weight.columns };
  const compareBasis = async (
    kind: 'svd' | 'corda',
    right: string,
    find: (count: number) => Basis | Promise<Basis>,
  ) => {
    const S = await stored.floats(`${kind}_S`);
    const [U, V, found] = [await matrix(`${kind}_U`), await matrix(right), await find(S.length)];
    const signs = found.S.map((_, i) => {
      const agreement = found.U.getColumn(i).reduce((sum, value, row) => sum + value * U.get(row, i), 0);
      return agreement < 0 ? -1 : 1;
    });
    const turn = Matrix.diag(signs);
    check.relative(`${kind}_S`, found.S, S, basisBound);
    check.absolute(`${kind}_U`, found.U.mmul(turn).to1DArray(), U.to1DArray(), basisBound);
    check.relative(right, turn.mmul(found.V).to1DArray(), V.to1DArray(), basisBound);
  };
  await compareBasis('svd', 'svd_Vh', (count) => leadingSvd(weight, count));
  await compareBasis('corda', 'corda_V', (count) => cordaBasis(source, differences, ridge, count));
  const { input, output } = signedDirection(source, differences);
  const rotation = cayleyRotation(await matrix('cayley_X')).to1DArray();
  for (const [tensor, found] of Object.entries({ signed_in: input, signed_out: output, cayley_R: rotation })) {
    check.absolute(tensor, found, await stored.floats(tensor), basisBound);
  }
  return stored.unread().map((tensor) => `not compared: ${tensor}`);
}
