// AdamW (Loshchilov & Hutter, 2019) with clipping by the global norm, and the inverse of a small matrix.
import { rootOf } from './functions';
import { put } from './lanes';
import { SHARED_SCRATCH } from './layout';
import { madd } from './tile';

@unmanaged
class AdamWJob {
  size: i32;
  each: i32;
  parameter: usize;
  gradient: usize;
  m: usize;
  v: usize;
  /** Address of the values that decay pulls toward; 0: toward zero. */
  target: usize;
  squaredNorm: usize;
  learningRate: f32;
  beta1: f32;
  beta2: f32;
  /** 1 − β, rounded once. */
  rest1: f32;
  rest2: f32;
  /** 1 / (1 − β^step). */
  correction1: f32;
  correction2: f32;
  epsilon: f32;
  /** learningRate · decay. */
  pull: f32;
  maxNorm: f32;
}

export function adamw(args: usize, shard: i32): void {
  const job = changetype<AdamWJob>(args);
  const start = <usize>shard * job.each * 4;
  const end = start + <usize>min(job.each, job.size - shard * job.each) * 4;
  const clip = f32x4.splat(min<f32>(1, job.maxNorm / (rootOf(load<f32>(job.squaredNorm)) + 1e-6)));
  const beta1 = f32x4.splat(job.beta1);
  const beta2 = f32x4.splat(job.beta2);
  const rest1 = f32x4.splat(job.rest1);
  const rest2 = f32x4.splat(job.rest2);
  const step = f32x4.splat(job.learningRate * job.correction1);
  const correction2 = f32x4.splat(job.correction2);
  const epsilon = f32x4.splat(job.epsilon);
  const pull = f32x4.splat(-job.pull);
  const zero = f32x4.splat(0);
  for (let i = start; i < end; i += 16) {
    const g = f32x4.mul(v128.load(job.gradient + i), clip);
    const mean = madd(rest1, g, f32x4.mul(beta1, v128.load(job.m + i)));
    const square = madd(f32x4.mul(rest2, g), g, f32x4.mul(beta2, v128.load(job.v + i)));
    const size = f32x4.add(f32x4.sqrt(f32x4.mul(square, correction2)), epsilon);
    const updated = f32x4.sub(v128.load(job.parameter + i), f32x4.div(f32x4.mul(step, mean), size));
    const goal = job.target ? v128.load(job.target + i) : zero;
    put(job.m + i, mean, end - i);
    put(job.v + i, square, end - i);
    put(job.parameter + i, madd(pull, f32x4.sub(updated, goal), updated), end - i);
  }
}

@unmanaged
class InvertJob {
  size: i32;
  out: usize;
  x: usize;
}

/** Gauss–Jordan in f64 with row pivots; [x | 1] lies in the shared scratch. One shard. */
export function invert(args: usize, shard: i32): void {
  const job = changetype<InvertJob>(args);
  const size = job.size;
  const row = <usize>size * 16;
  for (let r = 0; r < size; r++) {
    for (let c = 0; c < size; c++) {
      store<f64>(SHARED_SCRATCH + r * row + c * 8, <f64>load<f32>(job.x + (r * size + c) * 4));
      store<f64>(SHARED_SCRATCH + r * row + (size + c) * 8, r == c ? 1 : 0);
    }
  }
  for (let column = 0; column < size; column++) eliminate(size, row, column);
  for (let r = 0; r < size; r++) {
    for (let c = 0; c < size; c++) {
      store<f32>(job.out + (r * size + c) * 4, <f32>load<f64>(SHARED_SCRATCH + r * row + (size + c) * 8));
    }
  }
}

function eliminate(size: i32, row: usize, column: i32): void {
  const at = SHARED_SCRATCH + column * 8;
  let pivot = column;
  for (let r = column + 1; r < size; r++) {
    if (abs(load<f64>(at + r * row)) > abs(load<f64>(at + pivot * row))) pivot = r;
  }
  const divisor = load<f64>(at + pivot * row);
  const lead = SHARED_SCRATCH + column * row;
  const other = SHARED_SCRATCH + pivot * row;
  for (let i: usize = 0; i < row; i += 8) {
    const value = load<f64>(other + i) / divisor;
    store<f64>(other + i, load<f64>(lead + i));
    store<f64>(lead + i, value);
  }
  for (let r = 0; r < size; r++) {
    if (r == column) continue;
    const target = SHARED_SCRATCH + r * row;
    const factor = load<f64>(at + r * row);
    for (let i: usize = 0; i < row; i += 8) {
      store<f64>(target + i, load<f64>(target + i) - factor * load<f64>(lead + i));
    }
  }
}
