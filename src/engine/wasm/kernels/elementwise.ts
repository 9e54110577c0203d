// One output element from one element of each input. A shard is a run of `each` elements.
import { exp4, log4, sigmoid4, tanh4 } from './functions';
import { put, putPair } from './lanes';
import { tileScratch } from './layout';
import { madd } from './tile';

@unmanaged
class ElementJob {
  size: i32;
  each: i32;
  /** The function to apply; some jobs give it another meaning. */
  kind: i32;
  out: usize;
  a: usize;
  b: usize;
  c: usize;
  d: usize;
  first: f32;
  second: f32;

  /** Byte offset and length of a shard. */
  @inline start(shard: i32): usize { return <usize>shard * this.each * 4; }
  @inline bytes(shard: i32): usize { return <usize>min(this.each, this.size - shard * this.each) * 4; }
}

/** `kind` is the pattern of four bytes to repeat; size counts 4-byte words. */
export function fill(args: usize, shard: i32): void {
  const job = changetype<ElementJob>(args);
  const out = job.out + job.start(shard);
  const bytes = job.bytes(shard);
  const value = i32x4.splat(job.kind);
  for (let i: usize = 0; i < bytes; i += 16) put(out + i, value, bytes - i);
}

/** Copies bytes as they are; size counts 4-byte words. */
export function copyWords(args: usize, shard: i32): void {
  const job = changetype<ElementJob>(args);
  memory.copy(job.out + job.start(shard), job.a + job.start(shard), job.bytes(shard));
}

export function affine(args: usize, shard: i32): void {
  const job = changetype<ElementJob>(args);
  const out = job.out + job.start(shard);
  const x = job.a + job.start(shard);
  const bytes = job.bytes(shard);
  const scale = f32x4.splat(job.first);
  const shift = f32x4.splat(job.second);
  for (let i: usize = 0; i < bytes; i += 16) put(out + i, madd(v128.load(x + i), scale, shift), bytes - i);
}

export function clamp(args: usize, shard: i32): void {
  const job = changetype<ElementJob>(args);
  const out = job.out + job.start(shard);
  const x = job.a + job.start(shard);
  const bytes = job.bytes(shard);
  const low = f32x4.splat(job.first);
  const high = f32x4.splat(job.second);
  for (let i: usize = 0; i < bytes; i += 16) {
    put(out + i, f32x4.min(f32x4.max(v128.load(x + i), low), high), bytes - i);
  }
}

export function inside(args: usize, shard: i32): void {
  const job = changetype<ElementJob>(args);
  const out = job.out + job.start(shard);
  const x = job.a + job.start(shard);
  const bytes = job.bytes(shard);
  const low = f32x4.splat(job.first);
  const high = f32x4.splat(job.second);
  const one = f32x4.splat(1);
  for (let i: usize = 0; i < bytes; i += 16) {
    const v = v128.load(x + i);
    put(out + i, v128.and(v128.and(f32x4.ge(v, low), f32x4.le(v, high)), one), bytes - i);
  }
}

/** Kinds in the order of the host's list: exp, log, sqrt, reciprocal, tanh, square. Whole pairs go first: see functions.ts. */
export function unary(args: usize, shard: i32): void {
  const job = changetype<ElementJob>(args);
  const out = job.out + job.start(shard);
  const x = job.a + job.start(shard);
  const bytes = job.bytes(shard);
  const pairs = bytes & ~31;
  const one = f32x4.splat(1);
  let i: usize = 0;
  switch (job.kind) {
    case 0:
      for (; i < pairs; i += 32) putPair(out + i, exp4(v128.load(x + i)), exp4(v128.load(x + i, 16)));
      for (; i < bytes; i += 16) put(out + i, exp4(v128.load(x + i)), bytes - i);
      break;
    case 1:
      for (; i < bytes; i += 16) put(out + i, log4(v128.load(x + i)), bytes - i);
      break;
    case 2:
      for (; i < bytes; i += 16) put(out + i, f32x4.sqrt(v128.load(x + i)), bytes - i);
      break;
    case 3:
      for (; i < bytes; i += 16) put(out + i, f32x4.div(one, v128.load(x + i)), bytes - i);
      break;
    case 4:
      for (; i < pairs; i += 32) putPair(out + i, tanh4(v128.load(x + i)), tanh4(v128.load(x + i, 16)));
      for (; i < bytes; i += 16) put(out + i, tanh4(v128.load(x + i)), bytes - i);
      break;
    case 5:
      for (; i < bytes; i += 16) put(out + i, f32x4.mul(v128.load(x + i), v128.load(x + i)), bytes - i);
      break;
    default: unreachable();
  }
}

/** A run in which a and b go side by side; `step` is 16, or 0 for one value of b that meets all. */
function binaryRun(kind: i32, out: usize, a: usize, b: usize, step: usize, bytes: usize): void {
  const one = f32x4.splat(1);
  let i: usize = 0;
  switch (kind) {
    case 0: for (; i < bytes; i += 16, b += step) put(out + i, f32x4.add(v128.load(a + i), v128.load(b)), bytes - i); break;
    case 1: for (; i < bytes; i += 16, b += step) put(out + i, f32x4.sub(v128.load(a + i), v128.load(b)), bytes - i); break;
    case 2: for (; i < bytes; i += 16, b += step) put(out + i, f32x4.mul(v128.load(a + i), v128.load(b)), bytes - i); break;
    case 3: for (; i < bytes; i += 16, b += step) put(out + i, f32x4.div(v128.load(a + i), v128.load(b)), bytes - i); break;
    case 4: for (; i < bytes; i += 16, b += step) put(out + i, f32x4.min(v128.load(a + i), v128.load(b)), bytes - i); break;
    case 5: for (; i < bytes; i += 16, b += step) put(out + i, f32x4.max(v128.load(a + i), v128.load(b)), bytes - i); break;
    case 6: for (; i < bytes; i += 16, b += step) put(out + i, v128.and(f32x4.le(v128.load(a + i), v128.load(b)), one), bytes - i); break;
    default: unreachable();
  }
}

/** Kinds in the order of the host's list: add, subtract, multiply, divide, minimum, maximum, lessEqual. d = size of b. */
export function binary(args: usize, shard: i32): void {
  const job = changetype<ElementJob>(args);
  const start = job.start(shard);
  const bytes = job.bytes(shard);
  const period = job.d * 4;
  if (period == 4) {
    const value = tileScratch();
    v128.store(value, v128.load32_splat(job.b));
    return binaryRun(job.kind, job.out + start, job.a + start, value, 0, bytes);
  }
  let phase = start % period;
  for (let done: usize = 0; done < bytes; ) {
    const run = min(period - phase, bytes - done);
    binaryRun(job.kind, job.out + start + done, job.a + start + done, job.b + phase, 16, run);
    done += run;
    phase = 0;
  }
}

// @ts-ignore: decorator
@inline
function swiglu4(gate: v128, up: v128): v128 {
  return f32x4.mul(f32x4.mul(gate, sigmoid4(gate)), up);
}

/** out = gate · sigmoid(gate) · up; a = gate, b = up. */
export function swiglu(args: usize, shard: i32): void {
  const job = changetype<ElementJob>(args);
  const out = job.out + job.start(shard);
  const gate = job.a + job.start(shard);
  const up = job.b + job.start(shard);
  const bytes = job.bytes(shard);
  const pairs = bytes & ~31;
  let i: usize = 0;
  for (; i < pairs; i += 32) {
    const first = swiglu4(v128.load(gate + i), v128.load(up + i));
    putPair(out + i, first, swiglu4(v128.load(gate + i, 16), v128.load(up + i, 16)));
  }
  for (; i < bytes; i += 16) put(out + i, swiglu4(v128.load(gate + i), v128.load(up + i)), bytes - i);
}

/** out = dGate, d = dUp; a = gate, b = up, c = dy. */
export function swigluBackward(args: usize, shard: i32): void {
  const job = changetype<ElementJob>(args);
  const start = job.start(shard);
  const end = start + job.bytes(shard);
  const pairs = start + (job.bytes(shard) & ~31);
  const one = f32x4.splat(1);
  let i: usize = start;
  for (; i < pairs; i += 32) {
    const gate0 = v128.load(job.a + i);
    const gate1 = v128.load(job.a + i, 16);
    const up0 = v128.load(job.b + i);
    const up1 = v128.load(job.b + i, 16);
    const dy0 = v128.load(job.c + i);
    const dy1 = v128.load(job.c + i, 16);
    const sigmoid0 = sigmoid4(gate0);
    const sigmoid1 = sigmoid4(gate1);
    const slope0 = f32x4.mul(sigmoid0, madd(gate0, f32x4.sub(one, sigmoid0), one));
    const slope1 = f32x4.mul(sigmoid1, madd(gate1, f32x4.sub(one, sigmoid1), one));
    putPair(job.out + i, f32x4.mul(f32x4.mul(dy0, up0), slope0), f32x4.mul(f32x4.mul(dy1, up1), slope1));
    putPair(job.d + i, f32x4.mul(dy0, f32x4.mul(gate0, sigmoid0)), f32x4.mul(dy1, f32x4.mul(gate1, sigmoid1)));
  }
  for (; i < end; i += 16) {
    const gate = v128.load(job.a + i);
    const up = v128.load(job.b + i);
    const dy = v128.load(job.c + i);
    const sigmoid = sigmoid4(gate);
    const slope = f32x4.mul(sigmoid, madd(gate, f32x4.sub(one, sigmoid), one));
    put(job.out + i, f32x4.mul(f32x4.mul(dy, up), slope), end - i);
    put(job.d + i, f32x4.mul(dy, f32x4.mul(gate, sigmoid)), end - i);
  }
}
