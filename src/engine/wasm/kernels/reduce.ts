// Sums and counts. Whatever the number of threads, every sum has one order: a shard's own elements in order, then the
// shards' partial results in order. Long sums are kept in f64.
import { addToDoubles, maskOf, put, sumDoubles } from './lanes';
import { SHARED_SCRATCH } from './layout';

@unmanaged
class RowsJob {
  rows: i32;
  columns: i32;
  /** Rows or columns of one shard. */
  each: i32;
  out: usize;
  x: usize;
  /** Address of another input, where the job needs one. */
  other: usize;
  accumulate: i32;
}

function sumOf(x: usize, bytes: usize): f64 {
  let total = f64x2.splat(0);
  let i: usize = 0;
  for (; i + 16 <= bytes; i += 16) total = addToDoubles(total, v128.load(x + i));
  if (i < bytes) total = addToDoubles(total, v128.and(v128.load(x + i), maskOf(bytes - i)));
  return sumDoubles(total);
}

export function sumLast(args: usize, shard: i32): void {
  const job = changetype<RowsJob>(args);
  const last = min(job.rows, (shard + 1) * job.each);
  const bytes = <usize>job.columns * 4;
  for (let row = shard * job.each; row < last; row++) {
    store<f32>(job.out + row * 4, <f32>sumOf(job.x + row * bytes, bytes));
  }
}

/** Adds up one vector of four columns over rows [from, to), in blocks of 256 rows. */
function sumColumn(x: usize, stride: usize, from: i32, to: i32): v128 {
  let total = f32x4.splat(0);
  for (let block = from; block < to; block += 256) {
    const end = min(block + 256, to);
    let sum = f32x4.splat(0);
    for (let row = block; row < end; row++) sum = f32x4.add(sum, v128.load(x + row * stride));
    total = f32x4.add(total, sum);
  }
  return total;
}

/** Adds up sixteen columns, a cache line, in the same order. */
function sumLine(out: usize, x: usize, stride: usize, from: i32, to: i32, accumulate: bool): void {
  let total0 = f32x4.splat(0);
  let total1 = total0;
  let total2 = total0;
  let total3 = total0;
  for (let block = from; block < to; block += 256) {
    const end = min(block + 256, to);
    let sum0 = f32x4.splat(0);
    let sum1 = sum0;
    let sum2 = sum0;
    let sum3 = sum0;
    for (let row = block; row < end; row++) {
      const at = x + row * stride;
      sum0 = f32x4.add(sum0, v128.load(at));
      sum1 = f32x4.add(sum1, v128.load(at, 16));
      sum2 = f32x4.add(sum2, v128.load(at, 32));
      sum3 = f32x4.add(sum3, v128.load(at, 48));
    }
    total0 = f32x4.add(total0, sum0);
    total1 = f32x4.add(total1, sum1);
    total2 = f32x4.add(total2, sum2);
    total3 = f32x4.add(total3, sum3);
  }
  v128.store(out, accumulate ? f32x4.add(v128.load(out), total0) : total0);
  v128.store(out, accumulate ? f32x4.add(v128.load(out, 16), total1) : total1, 16);
  v128.store(out, accumulate ? f32x4.add(v128.load(out, 32), total2) : total2, 32);
  v128.store(out, accumulate ? f32x4.add(v128.load(out, 48), total3) : total3, 48);
}

/** out [bytes] (+)= Σ of rows [from, to) of x. */
function sumRows(out: usize, x: usize, stride: usize, bytes: usize, from: i32, to: i32, accumulate: bool): void {
  let at: usize = 0;
  for (; at + 64 <= bytes; at += 64) sumLine(out + at, x + at, stride, from, to, accumulate);
  for (; at < bytes; at += 16) {
    const sum = sumColumn(x + at, stride, from, to);
    put(out + at, accumulate ? f32x4.add(v128.load(out + at), sum) : sum, bytes - at);
  }
}

/** A shard owns `each` columns. */
export function sumFirst(args: usize, shard: i32): void {
  const job = changetype<RowsJob>(args);
  const stride = <usize>job.columns * 4;
  const start = <usize>shard * job.each * 4;
  const end = min(stride, start + <usize>job.each * 4);
  sumRows(job.out + start, job.x + start, stride, end - start, 0, job.rows, job.accumulate != 0);
}

@unmanaged
class SegmentSumJob extends RowsJob {
  /** Columns of x, of which out takes the first `columns`. */
  width: i32;
}

/** A row of out is a segment; `other` holds the segments' first and past-the-end rows. */
export function segmentSum(args: usize, shard: i32): void {
  const job = changetype<SegmentSumJob>(args);
  const bytes = <usize>job.columns * 4;
  const last = min(job.rows, (shard + 1) * job.each);
  for (let segment = shard * job.each; segment < last; segment++) {
    const from = load<i32>(job.other + segment * 8);
    const to = load<i32>(job.other + segment * 8, 4);
    sumRows(job.out + segment * bytes, job.x, <usize>job.width * 4, bytes, from, to, false);
  }
}

/** Each shard's Σ x² as f64 in the shared scratch; `columns` is the size. */
export function sumSquares(args: usize, shard: i32): void {
  const job = changetype<RowsJob>(args);
  const start = shard * job.each;
  const bytes = <usize>min(job.each, job.columns - start) * 4;
  const x = job.x + start * 4;
  let total = f64x2.splat(0);
  let i: usize = 0;
  for (; i + 16 <= bytes; i += 16) {
    const v = v128.load(x + i);
    total = addToDoubles(total, f32x4.mul(v, v));
  }
  if (i < bytes) {
    const v = v128.and(v128.load(x + i), maskOf(bytes - i));
    total = addToDoubles(total, f32x4.mul(v, v));
  }
  store<f64>(SHARED_SCRATCH + shard * 8, sumDoubles(total));
}

/** Each shard's number of NaN and infinite elements, as f64 in the shared scratch. */
export function countNonFinite(args: usize, shard: i32): void {
  const job = changetype<RowsJob>(args);
  const start = shard * job.each;
  const bytes = <usize>min(job.each, job.columns - start) * 4;
  const x = job.x + start * 4;
  const exponent = i32x4.splat(0x7f800000);
  let counts = i32x4.splat(0);
  for (let i: usize = 0; i < bytes; i += 16) {
    const bad = i32x4.eq(v128.and(v128.load(x + i), exponent), exponent);
    counts = i32x4.sub(counts, v128.and(bad, maskOf(bytes - i)));
  }
  const total =
    i32x4.extract_lane(counts, 0) + i32x4.extract_lane(counts, 1) + i32x4.extract_lane(counts, 2) + i32x4.extract_lane(counts, 3);
  store<f64>(SHARED_SCRATCH + shard * 8, <f64>total);
}

/** out [1] (+)= the `rows` partial results; `columns` 0 gives an f32, 1 an i32. One shard. */
export function gatherPartials(args: usize, shard: i32): void {
  const job = changetype<RowsJob>(args);
  let total: f64 = 0;
  for (let i = 0; i < job.rows; i++) total += load<f64>(SHARED_SCRATCH + i * 8);
  if (job.columns == 1) store<i32>(job.out, <i32>total);
  else store<f32>(job.out, <f32>(job.accumulate ? <f64>load<f32>(job.out) + total : total));
}
