/** Kernels of a device with lanes: several at once give the bytes that each gives alone, and rows do not depend on their neighbours. */
import { attention, type Device, readFloats, Scope, Segments, Tape, type Tensor } from '../../src/engine/index.ts';
import { normal } from '../device/case.ts';
import type { Check } from '../device/suite.ts';

/** Columns and depth of products in the models of the micro lab. */
export const laneProducts = [
  ...[[32, 192], [192, 16], [192, 192], [576, 192], [192, 576], [89, 192]],
  ...[[1536, 512], [512, 1536], [768, 2304], [2304, 768]],
] as [number, number][]; // biome-ignore format: a table

export function bytesCheck(name: string, quantity: string, found: Float32Array, expected: Float32Array): Check {
  const [a, b] = [
    new Int32Array(found.buffer, found.byteOffset, found.length),
    new Int32Array(expected.buffer, expected.byteOffset, expected.length),
  ];
  const differ = Array.from(a.keys()).filter((i) => a[i] !== b[i]);
  const largest = differ.reduce((most, i) => Math.max(most, Math.abs(found[i] - expected[i])), 0);
  const where = differ.length === 0 ? '' : `, first at ${differ[0]}: ${found[differ[0]]} for ${expected[differ[0]]}`;
  return {
    case: name,
    quantity: `${quantity}: ${differ.length} of ${a.length} differ${where}`,
    maxAbs: largest,
    maxRel: differ.length,
    bound: 0,
    pass: differ.length === 0 && found.length === expected.length && found.length > 0,
  };
}

function upload(scope: Scope, name: string, size: readonly number[], scale = 1): Tensor {
  const exact = scope.from(normal(name, size, scale), size, name);
  const [dtype] = scope.device.floats;
  if (dtype === 'f32') return exact;
  const out = scope.empty(size, name, dtype);
  scope.device.kernels.copy(out, exact);
  return out;
}

/** What a tensor of any float has, as float32. */
function read(x: Tensor): Promise<Float32Array> {
  if (x.dtype === 'f32') return readFloats(x);
  using scope = new Scope(x.device);
  const wide = scope.empty(x.shape, x.label);
  x.device.kernels.copy(wide, x);
  return readFloats(wide);
}

const kinds = [
  { name: 'NN', transposeA: false, transposeB: false },
  { name: 'NT', transposeA: false, transposeB: true },
  { name: 'TN', transposeA: true, transposeB: false },
] as const;

/** Products of lanes against the same products one by one, and rows of a product against fewer rows. */
export async function compareProducts(device: Device, sizes: readonly (readonly [number, number])[]): Promise<Check[]> {
  const checks: Check[] = [];
  for (const [N, K] of sizes) {
    for (const { name, transposeA, transposeB } of kinds) {
      using scope = new Scope(device);
      const label = `products ${name} ${K}→${N}`;
      const rows = [5, 0, 128, 131, 64, 300, 1, 40];
      const [width, depth] = transposeA ? [16, N] : [K, 0];
      const x = upload(scope, 'rows', [rows.reduce((total, count) => total + count, 0), width]);
      const side = transposeA ? upload(scope, 'side', [x.shape[0], depth]) : x;
      let start = 0;
      const make = () =>
        rows.map((count, lane) => {
          const a = x.rows(start, start + count);
          const b = transposeA
            ? side.rows(start, start + count)
            : upload(scope, `factor ${lane}`, transposeB ? [N, K] : [K, N], 0.1);
          start += count;
          const out = scope.zeros(transposeA ? [16, N] : [count, N], 'out');
          if (transposeA) return { out, a, b };
          const typed = scope.empty([count, N], 'out', device.floats[0]);
          device.kernels.copy(typed, out);
          return { out: typed, a, b };
        });
      const together = make();
      start = 0;
      const apart = make();
      for (const accumulate of [false, true]) {
        const options = { transposeA, transposeB, accumulate };
        device.kernels.laneProducts?.(together, options);
        for (const { out, a, b } of apart) device.kernels.matmul(out, a, b, options);
        for (const lane of rows.keys()) {
          if (together[lane].out.size === 0) continue;
          const [found, expected] = [await read(together[lane].out), await read(apart[lane].out)];
          checks.push(bytesCheck(label, `lane ${lane}${accumulate ? ', added' : ''}`, found, expected));
        }
      }
      if (transposeA) continue;
      // Rows of one product, in company of more.
      const weight = upload(scope, 'weight', transposeB ? [N, K] : [K, N], 0.1);
      const many = upload(scope, 'many rows', [1700, K]);
      const outs = [1700, 300, 64, 1].map((count) => {
        const out = scope.empty([count, N], 'out', device.floats[0]);
        device.kernels.matmul(out, many.rows(1700 - count, 1700), weight, {
          transposeA,
          transposeB,
          accumulate: false,
        });
        return out;
      });
      const whole = await read(outs[0]);
      for (const out of outs.slice(1))
        checks.push(bytesCheck(label, `${out.shape[0]} rows`, await read(out), whole.slice(whole.length - out.size)));
    }
  }
  return checks;
}

/** Attention of a lane that begins at the first row, and of the same lane behind others, forward and backward. */
export async function compareAttention(device: Device, heads: number, size: number): Promise<Check[]> {
  const lengths = [37, 130, 5, 64, 77, 1, 200];
  const own = lengths.reduce((total, length) => total + length, 0);
  const step = device.lanes ?? 1;
  const run = async (before: readonly number[], after: readonly number[]) => {
    using scope = new Scope(device);
    const start = before.reduce((total, length) => total + length, 0);
    const total = start + own + after.reduce((sum, length) => sum + length, 0);
    const rows = (name: string): Tensor => {
      const all = upload(scope, `others of ${name} ${total}`, [total, heads, size]);
      device.kernels.copy(all.rows(start, start + own), upload(scope, name, [own, heads, size]));
      return all;
    };
    const [q, k, v, up] = ['q', 'k', 'v', 'upstream'].map(rows);
    const segments = Segments.packed(scope, [...before, ...lengths, ...after]);
    using tape = new Tape(device);
    const out = attention(tape, q, k, v, segments);
    const logSumExp = scope.empty([total, heads], 'log-sum-exp');
    device.kernels.attention(out, logSumExp, q, k, v, segments, size ** -0.5);
    const [dq, dk, dv] = ['dq', 'dk', 'dv'].map((name) => scope.empty(q.shape, name, q.dtype));
    device.kernels.attentionBackward(dq, dk, dv, up, out, logSumExp, q, k, v, segments, size ** -0.5);
    const ownRows = (tensor: Tensor) => read(tensor.rows(start, start + own));
    return { out: await ownRows(out), dq: await ownRows(dq), dk: await ownRows(dk), dv: await ownRows(dv) };
  };
  const alone = await run([], []);
  const checks: Check[] = [];
  for (const [before, after] of [
    [[2 * step], [3]],
    [
      [3, step - 3, 5 * step],
      [200, 1, 9],
    ],
  ]) {
    const found = await run(
      before.filter((length) => length > 0),
      after,
    );
    for (const name of ['out', 'dq', 'dk', 'dv'] as const) {
      checks.push(
        bytesCheck(`attention ${heads}×${size}`, `${name} behind ${before.length} rows`, found[name], alone[name]),
      );
    }
  }
  return checks;
}

/** What is done for all parameters of a policy at once, against the same one by one. */
export async function compareSteps(device: Device): Promise<Check[]> {
  using scope = new Scope(device);
  const { kernels } = device;
  const make = () =>
    Array.from({ length: 70 }, (_, i) => {
      const size = [1 + ((37 * i) % 5000)];
      const tensor = (name: string): Tensor => scope.from(normal(`${name} ${i}`, size), size, name);
      const v = tensor('v');
      kernels.unary('square', v, v);
      return {
        parameter: tensor('p'),
        gradient: tensor('g'),
        m: tensor('m'),
        v,
        target: i % 3 === 0 ? null : tensor('t'),
      };
    });
  const [together, apart, sums] = [make(), make(), scope.zeros([2], 'sums')];
  const [joint, single] = [sums.rows(0, 1), sums.rows(1, 2)];
  kernels.sumSquaresOf?.(
    joint,
    together.map(({ gradient }) => gradient),
  );
  for (const { gradient } of apart) kernels.sumSquares(single, gradient, true);
  const options = { learningRate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, decay: 0.1, step: 3, maxNorm: 1 };
  kernels.adamwOf?.(together, single, options);
  for (const { parameter, gradient, m, v, target } of apart)
    kernels.adamw(parameter, gradient, m, v, target, single, options);
  const joined = async (all: typeof together, of: 'parameter' | 'm' | 'v'): Promise<Float32Array> =>
    Float32Array.from((await Promise.all(all.map((each) => readFloats(each[of])))).flatMap((data) => [...data]));
  const checks: Check[] = [];
  for (const name of ['parameter', 'm', 'v'] as const)
    checks.push(bytesCheck('AdamW of all', name, await joined(together, name), await joined(apart, name)));
  const [found, expected] = await read(sums);
  const x = upload(scope, 'squared', [300, 16]);
  const ranges = scope.from(Int32Array.of(0, 5, 5, 130, 130, 130, 131, 300), [4, 2], 'ranges');
  const out = scope.zeros([4, 16], 'squares of segments');
  kernels.segmentSquares?.(out, x, ranges);
  kernels.segmentSquares?.(out, x, ranges);
  const wide = scope.empty(x.shape, 'wide');
  kernels.copy(wide, x);
  kernels.unary('square', wide, wide);
  const each = scope.zeros([4, 16], 'sums');
  kernels.segmentSum(each, wide, ranges);
  const [squares, once] = [await read(out), await read(each)];
  const away = (a: number, b: number): number => Math.abs(a - b) / Math.max(1e-3, Math.abs(b));
  const worst = Math.max(...squares.map((value, i) => away(value, 2 * once[i])));
  const near = (quantity: string, maxRel: number): Check => ({
    ...{
      case: 'sums',
      quantity: `${quantity}, relative ${maxRel.toExponential(1)}`,
      maxAbs: maxRel,
      maxRel,
      bound: 1e-5,
    },
    pass: maxRel <= 1e-5,
  });
  return [...checks, near('Σ x² of all', away(found, expected)), near('Σ x² of segments', worst)];
}
