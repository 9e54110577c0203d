/**
 * Large bf16 products through cublasLt, sums in float32. The library counts columns first, so out [M, N] = op(a) · op(b) is asked
 * for as outᵀ = op(b)ᵀ · op(a)ᵀ. What to run for a shape is looked up once and kept.
 */
import { DeviceError } from '../../base/index.ts';
import type { Handle } from './driver.ts';
import type { Library } from './libraries.ts';

type Native = (...parameters: readonly unknown[]) => number;

const types = { f32: 0, bf16: 14 } as const;
const computeFloat32 = 68;
const descriptor = { transposeA: 3, transposeB: 4 } as const;
const layoutAttribute = { batchCount: 5, batchStride: 6 } as const;
const preference = { workspaceBytes: 1, alignmentA: 5, alignmentB: 6, alignmentC: 7, alignmentD: 8 } as const;
/** A heuristic result: the algorithm (64 bytes), its workspace (8), its state (4), and what is of no interest. */
const resultBytes = 96;
const [algorithmBytes, stateOffset] = [64, 72];
const candidates = 8;
/**
 * Tiles that were measured to do more than the library's first suggestion (version 13.1 on an H200), by the least and most rows, and the least
 * columns and depth. Large products keep the GPU at its power limit, within which tiles of 128 × 160 do most; the others are decoding.
 */
const measured = [
  { rows: [2048, Number.POSITIVE_INFINITY], columns: 2048, depth: 1024, tile: 29 },
  { rows: [1, 64], columns: 8192, depth: 0, tile: 196 },
  { rows: [129, 256], columns: 65_536, depth: 0, tile: 184 },
  { rows: [129, 256], columns: 0, depth: 8192, tile: 27 },
] as const;
const configuration = { tile: 1, splits: 2 } as const;
/** Rows for which the algorithm of independent rows is chosen, and the alignment that every row has. */
const independent = { rows: 4096, alignment: 16 } as const;

export interface Product {
  readonly batch: number;
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly outType: 'f32' | 'bf16';
  /** All products of a batch have the same a. */
  readonly sharedA: boolean;
  /** Whether every row has the same bytes however many there are: one algorithm for all numbers of rows, without splits of the depth. */
  readonly independent: boolean;
  /** Largest powers of two, at most 256, that divide the addresses of a, b and out. */
  readonly alignments: readonly [number, number, number];
}

export interface Addresses {
  readonly out: number;
  /** Address of what the product is added to, of the output's shape; null for nothing. May be the output itself. */
  readonly addend: number | null;
  readonly a: number;
  readonly b: number;
}

interface Plan {
  readonly descriptor: Handle;
  readonly left: Handle;
  readonly right: Handle;
  readonly out: Handle;
  readonly algorithm: Buffer;
}

export interface Workspace {
  readonly address: number;
  readonly bytes: number;
}

export class Blas implements Disposable {
  readonly version: number;
  readonly #calls: Readonly<Record<string, Native>>;
  readonly #handle: Handle;
  readonly #stream: Handle;
  readonly #workspace: Workspace;
  readonly #plans = new Map<string, Plan | null>();
  readonly #one = Float32Array.of(1);
  readonly #zero = Float32Array.of(0);

  constructor(library: Library, stream: Handle, workspace: Workspace) {
    const attribute = (object: string): Native =>
      library.func(`int cublasLt${object}SetAttribute(void *object, int which, const void *value, size_t bytes)`);
    this.#calls = {
      create: library.func('int cublasLtCreate(_Out_ void **handle)'),
      destroy: library.func('int cublasLtDestroy(void *handle)'),
      describe: library.func('int cublasLtMatmulDescCreate(_Out_ void **descriptor, int compute, int scale)'),
      setDescriptor: attribute('MatmulDesc'),
      layout: library.func(
        'int cublasLtMatrixLayoutCreate(_Out_ void **layout, int type, uint64 rows, uint64 columns, int64 leading)',
      ),
      setLayout: attribute('MatrixLayout'),
      prefer: library.func('int cublasLtMatmulPreferenceCreate(_Out_ void **preference)'),
      setPreference: attribute('MatmulPreference'),
      forget: library.func('int cublasLtMatmulPreferenceDestroy(void *preference)'),
      choose: library.func(
        'int cublasLtMatmulAlgoGetHeuristic(void *handle, void *descriptor, void *a, void *b, void *c, void *d, void *preference, int asked, void *results, _Out_ int *found)',
      ),
      configuration: library.func(
        'int cublasLtMatmulAlgoConfigGetAttribute(const void *algorithm, int which, void *value, size_t bytes, _Out_ size_t *written)',
      ),
      multiply: library.func(
        'int cublasLtMatmul(void *handle, void *descriptor, const void *alpha, uint64 a, void *la, uint64 b, void *lb, const void *beta, uint64 c, void *lc, uint64 d, void *ld, const void *algorithm, uint64 workspace, size_t bytes, void *stream)',
      ),
    };
    this.version = Number(library.func('size_t cublasLtGetVersion()')());
    this.#stream = stream;
    this.#workspace = workspace;
    this.#handle = this.#make('create');
  }

  /** Queues a product; false where the library has nothing for the shape. */
  multiply(product: Product, { out, addend, a, b }: Addresses): boolean {
    const key = Object.values(product).join(' ');
    let plan = this.#plans.get(key);
    if (plan === undefined) {
      plan = this.#plan(product);
      this.#plans.set(key, plan);
    }
    if (plan === null) return false;
    const { descriptor: description, left, right, out: target, algorithm } = plan;
    const { address, bytes } = this.#workspace;
    const beta = addend === null ? this.#zero : this.#one;
    const code = this.#calls['multiply'](
      ...[this.#handle, description, this.#one, b, left, a, right, beta, addend ?? out, target, out, target],
      ...[algorithm, address, bytes, this.#stream],
    );
    if (code !== 0) this.#fail('cublasLtMatmul', key, code);
    return true;
  }

  #plan(product: Product): Plan | null {
    const { alignment, rows } = independent;
    const alignments = [alignment, alignment, alignment] as const;
    const algorithm = this.#choose(product.independent ? { ...product, rows, alignments } : product);
    return algorithm === null ? null : { ...this.#describe(product), algorithm };
  }

  #describe({ batch, rows, columns, depth, transposeA, transposeB, outType, sharedA }: Product) {
    const description = this.#make('describe', computeFloat32, types.f32);
    this.#set('setDescriptor', description, descriptor.transposeA, Int32Array.of(transposeB ? 1 : 0));
    this.#set('setDescriptor', description, descriptor.transposeB, Int32Array.of(transposeA ? 1 : 0));
    const left = this.#layout('bf16', transposeB ? [depth, columns] : [columns, depth], batch);
    const right = this.#layout('bf16', transposeA ? [rows, depth] : [depth, rows], batch, sharedA);
    return { descriptor: description, left, right, out: this.#layout(outType, [columns, rows], batch) };
  }

  #choose(product: Product): Buffer | null {
    const { rows, columns, depth } = product;
    const { descriptor: description, left, right, out } = this.#describe(product);
    const wish = this.#make('prefer');
    const [alignA, alignB, alignOut] = product.alignments;
    this.#set('setPreference', wish, preference.workspaceBytes, BigUint64Array.of(BigInt(this.#workspace.bytes)));
    this.#set('setPreference', wish, preference.alignmentA, Uint32Array.of(alignB));
    this.#set('setPreference', wish, preference.alignmentB, Uint32Array.of(alignA));
    this.#set('setPreference', wish, preference.alignmentC, Uint32Array.of(alignOut));
    this.#set('setPreference', wish, preference.alignmentD, Uint32Array.of(alignOut));
    const results = Buffer.alloc(resultBytes * candidates);
    const found = [0];
    const layouts = [left, right, out, out];
    const code = this.#calls['choose'](this.#handle, description, ...layouts, wish, candidates, results, found);
    this.#calls['forget'](wish);
    if (code !== 0) return null;
    const suggested = Array.from({ length: found[0] }, (_, i) =>
      results.subarray(i * resultBytes, (i + 1) * resultBytes),
    )
      .filter((result) => result.readInt32LE(stateOffset) === 0)
      .map((result) => Buffer.from(result.subarray(0, algorithmBytes)));
    const unsplit = (algorithm: Buffer): boolean => this.#configured(algorithm, 'splits') === 1;
    if (product.independent) return suggested.find(unsplit) ?? null;
    const rule = measured.find(
      (each) => rows >= each.rows[0] && rows <= each.rows[1] && columns >= each.columns && depth >= each.depth,
    );
    const better = suggested.find(
      (algorithm) => this.#configured(algorithm, 'tile') === rule?.tile && unsplit(algorithm),
    );
    return better ?? suggested[0] ?? null;
  }

  #configured(algorithm: Buffer, which: keyof typeof configuration): number {
    const value = Int32Array.of(0);
    this.#calls['configuration'](algorithm, configuration[which], value, value.byteLength, [0]);
    return value[0];
  }

  #layout(type: keyof typeof types, shape: readonly [number, number], batch: number, shared = false): Handle {
    const [rows, columns] = shape;
    const layout = this.#make('layout', types[type], rows, columns, rows);
    if (batch > 1) {
      this.#set('setLayout', layout, layoutAttribute.batchCount, Int32Array.of(batch));
      this.#set(
        'setLayout',
        layout,
        layoutAttribute.batchStride,
        BigInt64Array.of(BigInt(shared ? 0 : rows * columns)),
      );
    }
    return layout;
  }

  #make(call: string, ...parameters: readonly unknown[]): Handle {
    const out: [Handle] = [null];
    const code = this.#calls[call](out, ...parameters);
    if (code !== 0) this.#fail(`cublasLt ${call}`, parameters.join(' '), code);
    return out[0];
  }

  #set(call: string, object: Handle, which: number, value: NodeJS.TypedArray): void {
    const code = this.#calls[call](object, which, value, value.byteLength);
    if (code !== 0) this.#fail(`cublasLt ${call}`, `attribute ${which}`, code);
  }

  #fail(call: string, what: string, code: number): never {
    throw new DeviceError({ call: `cuda ${call}, ${what}`, expected: 'success', found: `cuBLAS status ${code}` });
  }

  [Symbol.dispose](): void {
    this.#calls['destroy'](this.#handle);
  }
}
