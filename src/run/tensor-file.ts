/** Files of named float32 tensors: the same tensors give the same bytes, and a value that is not finite is refused by name. */
import type { StoredTensor } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { findNonFinite, SafetensorsFile, writeHashedSafetensors } from '../model/index.ts';

/** Returns the hash of the file. */
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
