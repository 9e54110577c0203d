// RMSNorm, log-softmax of the target, and the scaling of adapter blocks. A shard is a run of rows.
import { exp4, expOf, logOf, rootOf } from './functions';
import { broadcast, maskOf, maxLanes, put, putPair, sumLanes } from './lanes';
import { scratch } from './layout';
import { madd } from './tile';

@unmanaged
class NormJob {
  rows: i32;
  columns: i32;
  each: i32;
  out: usize;
  inverseRms: usize;
  x: usize;
  weight: usize;
  dy: usize;
  accumulate: i32;
  epsilon: f32;
}

/** Σ a · b · c of one row, or Σ a · b where `three` is false. */
// @ts-ignore: decorator
@inline
export function dotRow(a: usize, b: usize, c: usize, bytes: usize, three: bool): f32 {
  let sum0 = f32x4.splat(0);
  let sum1 = sum0;
  let i: usize = 0;
  for (; i + 32 <= bytes; i += 32) {
    const v0 = v128.load(a + i);
    const v1 = v128.load(a + i, 16);
    sum0 = madd(three ? f32x4.mul(v0, v128.load(c + i)) : v0, v128.load(b + i), sum0);
    sum1 = madd(three ? f32x4.mul(v1, v128.load(c + i, 16)) : v1, v128.load(b + i, 16), sum1);
  }
  for (; i < bytes; i += 16) {
    const mask = maskOf(bytes - i);
    const v = v128.and(v128.load(a + i), mask);
    const w = three ? f32x4.mul(v, v128.and(v128.load(c + i), mask)) : v;
    sum0 = madd(w, v128.and(v128.load(b + i), mask), sum0);
  }
  return sumLanes(f32x4.add(sum0, sum1));
}

export function rmsNorm(args: usize, shard: i32): void {
  const job = changetype<NormJob>(args);
  const last = min(job.rows, (shard + 1) * job.each);
  const bytes = <usize>job.columns * 4;
  for (let row = shard * job.each; row < last; row++) {
    const x = job.x + row * bytes;
    const out = job.out + row * bytes;
    const inverse: f32 = 1 / rootOf(dotRow(x, x, x, bytes, false) / <f32>job.columns + job.epsilon);
    store<f32>(job.inverseRms + row * 4, inverse);
    const r = f32x4.splat(inverse);
    const weight = job.weight;
    const whole = bytes & ~15;
    let i: usize = 0;
    for (; i < whole; i += 16) v128.store(out + i, f32x4.mul(f32x4.mul(v128.load(x + i), r), v128.load(weight + i)));
    for (; i < bytes; i += 16) put(out + i, f32x4.mul(f32x4.mul(v128.load(x + i), r), v128.load(weight + i)), bytes - i);
  }
}

/** dx (+)= r · (dy · w − x · r · mean(dy · w · x · r)). */
export function rmsNormBackward(args: usize, shard: i32): void {
  const job = changetype<NormJob>(args);
  const last = min(job.rows, (shard + 1) * job.each);
  const bytes = <usize>job.columns * 4;
  for (let row = shard * job.each; row < last; row++) {
    const x = job.x + row * bytes;
    const dy = job.dy + row * bytes;
    const out = job.out + row * bytes;
    const inverse = load<f32>(job.inverseRms + row * 4);
    const mean: f32 = (dotRow(dy, x, job.weight, bytes, true) * inverse) / <f32>job.columns;
    const r = f32x4.splat(inverse);
    const back = f32x4.splat(-inverse * mean);
    for (let i: usize = 0; i < bytes; i += 16) {
      const direct = f32x4.mul(v128.load(dy + i), v128.load(job.weight + i));
      const value = f32x4.mul(r, madd(v128.load(x + i), back, direct));
      put(out + i, job.accumulate ? f32x4.add(v128.load(out + i), value) : value, bytes - i);
    }
  }
}

/** dy · r · x of one row and four columns, added to `sum`. */
// @ts-ignore: decorator
@inline
function addSlope(sum: v128, dy: usize, x: usize, r: v128): v128 {
  return madd(f32x4.mul(v128.load(dy), r), v128.load(x), sum);
}

/** dWeight [bytes] += Σ dy · x · r over rows, in blocks of 256; up to four vectors of columns at `at`. */
function sumSlopes(job: NormJob, at: usize, bytes: usize): void {
  const stride = <usize>job.columns * 4;
  let total0 = f32x4.splat(0);
  let total1 = total0;
  let total2 = total0;
  let total3 = total0;
  for (let block = 0; block < job.rows; block += 256) {
    const last = min(block + 256, job.rows);
    let sum0 = f32x4.splat(0);
    let sum1 = sum0;
    let sum2 = sum0;
    let sum3 = sum0;
    for (let row = block; row < last; row++) {
      const r = v128.load32_splat(job.inverseRms + row * 4);
      const dy = job.dy + row * stride + at;
      const x = job.x + row * stride + at;
      sum0 = addSlope(sum0, dy, x, r);
      sum1 = addSlope(sum1, dy + 16, x + 16, r);
      sum2 = addSlope(sum2, dy + 32, x + 32, r);
      sum3 = addSlope(sum3, dy + 48, x + 48, r);
    }
    total0 = f32x4.add(total0, sum0);
    total1 = f32x4.add(total1, sum1);
    total2 = f32x4.add(total2, sum2);
    total3 = f32x4.add(total3, sum3);
  }
  const out = job.out + at;
  put(out, f32x4.add(v128.load(out), total0), bytes);
  if (bytes > 16) put(out + 16, f32x4.add(v128.load(out, 16), total1), bytes - 16);
  if (bytes > 32) put(out + 32, f32x4.add(v128.load(out, 32), total2), bytes - 32);
  if (bytes > 48) put(out + 48, f32x4.add(v128.load(out, 48), total3), bytes - 48);
}

/** out = dWeight. A shard owns `each` columns, a multiple of 16. */
export function rmsNormWeight(args: usize, shard: i32): void {
  const job = changetype<NormJob>(args);
  const start = <usize>shard * job.each * 4;
  const end = min(<usize>job.columns * 4, start + <usize>job.each * 4);
  for (let at = start; at < end; at += 64) sumSlopes(job, at, end - at);
}

@unmanaged
class LogProbJob {
  rows: i32;
  columns: i32;
  each: i32;
  logits: usize;
  logSumExp: usize;
  targets: usize;
  /** logp forward, dLogp backward. */
  logp: usize;
}

function maxRow(x: usize, bytes: usize): f32 {
  let top = f32x4.splat(-Infinity);
  let i: usize = 0;
  for (; i + 16 <= bytes; i += 16) top = f32x4.pmax(top, v128.load(x + i));
  let result = maxLanes(top);
  for (; i < bytes; i += 4) result = max(result, load<f32>(x + i));
  return result;
}

/** Σ exp(x − top): blocks of 4 KiB, whose terms go through the scratch, in f32; their sum in f64. */
function sumExpRow(x: usize, bytes: usize, top: f32): f64 {
  const shift = broadcast(top, 0);
  const terms = scratch();
  let total: f64 = 0;
  for (let block: usize = 0; block < bytes; block += 4096) {
    const size = min<usize>(4096, bytes - block);
    const from = x + block;
    for (let i: usize = 0; i < size; i += 32) {
      const first = exp4(f32x4.sub(v128.load(from + i), shift));
      putPair(terms + i, first, exp4(f32x4.sub(v128.load(from + i, 16), shift)));
    }
    let sum = f32x4.splat(0);
    let i: usize = 0;
    for (; i + 16 <= size; i += 16) sum = f32x4.add(sum, v128.load(terms + i));
    if (i < size) sum = f32x4.add(sum, v128.and(v128.load(terms + i), maskOf(size - i)));
    total += <f64>sumLanes(sum);
  }
  return total;
}

export function logSoftmaxGather(args: usize, shard: i32): void {
  const job = changetype<LogProbJob>(args);
  const last = min(job.rows, (shard + 1) * job.each);
  const bytes = <usize>job.columns * 4;
  for (let row = shard * job.each; row < last; row++) {
    const x = job.logits + row * bytes;
    const top = maxRow(x, bytes);
    const rest = logOf(<f32>sumExpRow(x, bytes, top));
    store<f32>(job.logSumExp + row * 4, top + rest);
    store<f32>(job.logp + row * 4, load<f32>(x + <usize>load<i32>(job.targets + row * 4) * 4) - top - rest);
  }
}

/** logits = dLogp · (1[target] − exp(logits − logSumExp)). */
export function logSoftmaxGatherBackward(args: usize, shard: i32): void {
  const job = changetype<LogProbJob>(args);
  const last = min(job.rows, (shard + 1) * job.each);
  const bytes = <usize>job.columns * 4;
  for (let row = shard * job.each; row < last; row++) {
    const x = job.logits + row * bytes;
    const logSumExp = load<f32>(job.logSumExp + row * 4);
    const upstream = load<f32>(job.logp + row * 4);
    const atTarget = x + <usize>load<i32>(job.targets + row * 4) * 4;
    const hit = upstream * (1 - expOf(load<f32>(atTarget) - logSumExp));
    const shift = broadcast(logSumExp, 0);
    const factor = broadcast(-upstream, 1);
    const pairs = bytes & ~31;
    let i: usize = 0;
    for (; i < pairs; i += 32) {
      const first = f32x4.mul(factor, exp4(f32x4.sub(v128.load(x + i), shift)));
      putPair(x + i, first, f32x4.mul(factor, exp4(f32x4.sub(v128.load(x + i, 16), shift))));
    }
    for (; i < bytes; i += 16) put(x + i, f32x4.mul(factor, exp4(f32x4.sub(v128.load(x + i), shift))), bytes - i);
    store<f32>(atTarget, hit);
  }
}

@unmanaged
class BlocksJob {
  tokens: i32;
  /** Columns of out and of h, the first column taken, and the rank of a block. */
  width: i32;
  columns: i32;
  first: i32;
  rank: i32;
  each: i32;
  out: usize;
  h: usize;
  coefficients: usize;
}

/** out [rows, width] = ± c ∘ h of `rows` tokens from `token` on; `columns` of h a token, taken from column `first` on. */
export function scaleBlockRows(
  out: usize, h: usize, coefficients: usize, token: i32, rows: i32, columns: i32, first: i32, width: i32, rank: i32,
): void {
  const block = <usize>rank * 4;
  for (const last = token + rows; token < last; token++) {
    let from = h + (<usize>token * columns + first) * 4;
    for (let column = first; column < first + width; column += rank) {
      const coefficient = load<f32>(coefficients + token * 8 + ((column / rank) & 1) * 4);
      const factor = f32x4.splat(column < 2 * rank ? coefficient : -coefficient);
      for (let i: usize = 0; i < block; i += 16) put(out + i, f32x4.mul(v128.load(from + i), factor), block - i);
      out += block;
      from += block;
    }
  }
}

export function scaleBlocks(args: usize, shard: i32): void {
  const job = changetype<BlocksJob>(args);
  const token = shard * job.each;
  const rows = min(job.each, job.tokens - token);
  const out = job.out + <usize>token * job.width * 4;
  scaleBlockRows(out, job.h, job.coefficients, token, rows, job.columns, job.first, job.width, job.rank);
}
