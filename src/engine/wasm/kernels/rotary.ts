// Rotary position, alone or after the RMSNorm of each head. A shard is a run of tokens.
import { rootOf } from './functions';
import { put } from './lanes';
import { dotRow } from './layers';
import { scratch } from './layout';
import { madd } from './tile';

@unmanaged
class RotaryJob {
  tokens: i32;
  heads: i32;
  /** Half the head size. */
  half: i32;
  each: i32;
  out: usize;
  x: usize;
  positions: usize;
  table: usize;
  inverse: i32;
  /** Fields of the norm: inverseRms [tokens · heads], weight [size], and for the backward pass the gradient that arrives. */
  inverseRms: usize;
  weight: usize;
  dy: usize;
  epsilon: f32;

  /** Where the cosines of a token's position lie; its sines follow. */
  @inline cosines(token: i32): usize {
    return this.table + <usize>load<i32>(this.positions + token * 4) * this.half * 8;
  }
}

/** (a, b) → (a·cos − b·sin, b·cos + a·sin), four of each; `bytes` of half a head are left. */
// @ts-ignore: decorator
@inline
function turn(out: usize, half: usize, a: v128, b: v128, cosine: v128, sine: v128, bytes: usize): void {
  put(out, madd(a, cosine, f32x4.neg(f32x4.mul(b, sine))), bytes);
  put(out + half, madd(b, cosine, f32x4.mul(a, sine)), bytes);
}

// @ts-ignore: decorator
@inline
function turnHead(out: usize, x: usize, cosines: usize, half: usize, inverse: bool): void {
  for (let i: usize = 0; i < half; i += 16) {
    const table = v128.load(cosines + half + i);
    const sine = inverse ? f32x4.neg(table) : table;
    turn(out + i, half, v128.load(x + i), v128.load(x + half + i), v128.load(cosines + i), sine, half - i);
  }
}

export function rotary(args: usize, shard: i32): void {
  const job = changetype<RotaryJob>(args);
  const last = min(job.tokens, (shard + 1) * job.each);
  const half = <usize>job.half * 4;
  for (let token = shard * job.each; token < last; token++) {
    const cosines = job.cosines(token);
    for (let head = 0; head < job.heads; head++) {
      const at = <usize>(token * job.heads + head) * half * 2;
      turnHead(job.out + at, job.x + at, cosines, half, job.inverse != 0);
    }
  }
}

export function normRotary(args: usize, shard: i32): void {
  const job = changetype<RotaryJob>(args);
  const last = min(job.tokens, (shard + 1) * job.each);
  const half = <usize>job.half * 4;
  for (let token = shard * job.each; token < last; token++) {
    const cosines = job.cosines(token);
    for (let row = token * job.heads; row < (token + 1) * job.heads; row++) {
      const x = job.x + <usize>row * half * 2;
      const out = job.out + <usize>row * half * 2;
      const inverse: f32 = 1 / rootOf(dotRow(x, x, x, half * 2, false) / <f32>(job.half * 2) + job.epsilon);
      store<f32>(job.inverseRms + row * 4, inverse);
      const r = f32x4.splat(inverse);
      for (let i: usize = 0; i < half; i += 16) {
        const a = f32x4.mul(f32x4.mul(v128.load(x + i), r), v128.load(job.weight + i));
        const b = f32x4.mul(f32x4.mul(v128.load(x + half + i), r), v128.load(job.weight + half + i));
        turn(out + i, half, a, b, v128.load(cosines + i), v128.load(cosines + half + i), half - i);
      }
    }
  }
}

/** out = dx: what arrives is turned back, then goes through the norm, whose weight is frozen. */
export function normRotaryBackward(args: usize, shard: i32): void {
  const job = changetype<RotaryJob>(args);
  const last = min(job.tokens, (shard + 1) * job.each);
  const half = <usize>job.half * 4;
  const turned = scratch();
  for (let token = shard * job.each; token < last; token++) {
    const cosines = job.cosines(token);
    for (let row = token * job.heads; row < (token + 1) * job.heads; row++) {
      const at = <usize>row * half * 2;
      const x = job.x + at;
      turnHead(turned, job.dy + at, cosines, half, true);
      const inverse = load<f32>(job.inverseRms + row * 4);
      const mean: f32 = (dotRow(turned, x, job.weight, half * 2, true) * inverse) / <f32>(job.half * 2);
      const r = f32x4.splat(inverse);
      const back = f32x4.splat(-inverse * mean);
      for (let i: usize = 0; i < half * 2; i += 16) {
        const direct = f32x4.mul(v128.load(turned + i), v128.load(job.weight + i));
        put(job.out + at + i, f32x4.mul(r, madd(v128.load(x + i), back, direct)), half * 2 - i);
      }
    }
  }
}
