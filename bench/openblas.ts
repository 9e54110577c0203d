/** OpenBLAS through koffi, for comparison: only where both happen to be installed. */
import { existsSync, readFileSync } from 'node:fs';
import { loadKoffi } from './koffi.ts';

export interface Sgemm {
  readonly library: string;
  setThreads(threads: number): void;
  multiply(c: Float32Array, a: Float32Array, b: Float32Array, shape: Shape): void;
}

export interface Shape {
  readonly rows: number;
  readonly depth: number;
  readonly columns: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
}

/** Variable that OpenBLAS reads when it is loaded. Without it, OpenBLAS 0.3.21 takes a processor newer than itself for one of 2004. */
const coreVariable = 'OPENBLAS_CORETYPE';

/** The fastest kernels of OpenBLAS that this processor can run; undefined where OpenBLAS may choose itself. */
export function bestOpenBlasCore(): string | undefined {
  if (process.env[coreVariable] !== undefined) return process.env[coreVariable];
  const known = existsSync('/proc/cpuinfo') ? readFileSync('/proc/cpuinfo', 'utf8') : '';
  if (known.includes('avx512vl')) return 'SkylakeX';
  return known.includes('avx2') ? 'Haswell' : undefined;
}

const libraries = ['libopenblas.so.0', 'libopenblas.so', 'libopenblas.dylib'];
const prototype =
  'void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, _Inout_ float *, int)';

/** The functions, or what is missing. */
export async function loadOpenBlas(): Promise<Sgemm | string> {
  const koffi = await loadKoffi();
  if (koffi === undefined) return 'koffi is not installed';
  const core = bestOpenBlasCore();
  if (core !== undefined) process.env[coreVariable] = core;
  for (const library of libraries) {
    try {
      const loaded = koffi.load(library);
      const sgemm = loaded.func(prototype);
      const setThreads = loaded.func('void openblas_set_num_threads(int)');
      return {
        library: `${library}, kernels for ${core ?? 'a core of its own choice'}`,
        setThreads: (threads) => void setThreads(threads),
        multiply(c, a, b, { rows, depth, columns, transposeA, transposeB }) {
          const [rowMajor, plain, turned] = [101, 111, 112];
          const [aRow, bRow] = [transposeA ? rows : depth, transposeB ? depth : columns];
          const ways = [transposeA ? turned : plain, transposeB ? turned : plain];
          sgemm(rowMajor, ...ways, rows, columns, depth, 1, a, aRow, b, bRow, 0, c, columns);
        },
      };
    } catch {
      // There is no library of this name: the next one is tried.
    }
  }
  return 'libopenblas is not installed';
}
