/**
 * The rows and columns of a quarantine block, by hash of their bytes, to look for them in files that must not hold them. A vector
 * and its negative count as the same; zero vectors are left out. The vectors are the learned and the initial values of linear
 * families, and the frozen directions of antipasto, both as stored and as scaled by its gains.
 */
import type { AdapterCheckpoint, StoredTensor } from '../adapters/index.ts';
import { transpose } from '../adapters/index.ts';
import { sha256 } from '../base/node/index.ts';

/** Hash and name of every non-zero row of data [rows, ·], from row `first` on. */
export function* vectorsOf(
  name: string,
  data: Float32Array,
  rows: number,
  first = 0,
): Generator<readonly [hash: string, name: string]> {
  const width = data.length / rows;
  for (let row = first; row < rows; row++) {
    const hash = hashDirection(data.subarray(row * width, (row + 1) * width));
    if (hash !== undefined) yield [hash, `${name} ${row}`];
  }
}

/** Hash of a vector after making its first non-zero value positive; undefined for a vector of zeros. */
function hashDirection(vector: Float32Array): string | undefined {
  const lead = vector.find((value) => value !== 0);
  if (lead === undefined) return undefined;
  const turned = vector.map((value) => (lead < 0 ? -value : value) + 0);
  return sha256(new Uint8Array(turned.buffer));
}

export function quarantineVectors({ rank, modules, tensors }: AdapterCheckpoint): Map<string, string> {
  const vectors = new Map<string, string>();
  const collect = (name: string, data: Float32Array): void => {
    for (const [hash, at] of vectorsOf(name, data, 2 * rank, rank)) vectors.set(hash, at);
  };
  for (const module of modules) {
    const tensor = (suffix: string): StoredTensor =>
      tensors.get(`${module}.${suffix}`) ?? { shape: [], data: new Float32Array() };
    if (tensors.has(`${module}.gain`)) {
      const [down, up, gain] = [tensor('down'), tensor('up'), tensor('gain')];
      collect(`${module}.down row`, down.data);
      collect(`${module}.up row`, up.data);
      const width = up.data.length / (2 * rank);
      const scaled = up.data.map((value, i) => value * Math.tanh(gain.data[Math.floor(i / width)]));
      collect(`${module}.up row, scaled,`, scaled);
      continue;
    }
    for (const suffix of ['A', 'A0']) collect(`${module}.${suffix} row`, tensor(suffix).data);
    // A B that is frozen is B0, and not stored itself.
    for (const suffix of tensors.has(`${module}.B`) ? ['B', 'B0'] : ['B0']) {
      const { shape, data } = tensor(suffix);
      collect(`${module}.${suffix} column`, transpose(data, shape[0], 2 * rank));
    }
  }
  return vectors;
}
