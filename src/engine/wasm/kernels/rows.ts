// Gathering and scattering of rows by index.

@unmanaged
class IndexJob {
  rows: i32;
  columns: i32;
  each: i32;
  out: usize;
  x: usize;
  index: usize;
}

/** memory.copy is a call out of the kernels, which rows of some hundred bytes feel. */
// @ts-ignore: decorator
@inline
function copyRow(to: usize, from: usize, bytes: usize): void {
  const pairs = bytes & ~31;
  let i: usize = 0;
  for (; i < pairs; i += 32) {
    const first = v128.load(from + i);
    const second = v128.load(from + i, 16);
    v128.store(to + i, first);
    v128.store(to + i, second, 16);
  }
  for (; i < bytes; i += 4) store<i32>(to + i, load<i32>(from + i));
}

export function gatherRows(args: usize, shard: i32): void {
  const job = changetype<IndexJob>(args);
  const last = min(job.rows, (shard + 1) * job.each);
  const bytes = <usize>job.columns * 4;
  for (let row = shard * job.each; row < last; row++) {
    copyRow(job.out + row * bytes, job.x + <usize>load<i32>(job.index + row * 4) * bytes, bytes);
  }
}

export function scatterRows(args: usize, shard: i32): void {
  const job = changetype<IndexJob>(args);
  const last = min(job.rows, (shard + 1) * job.each);
  const bytes = <usize>job.columns * 4;
  for (let row = shard * job.each; row < last; row++) {
    copyRow(job.out + <usize>load<i32>(job.index + row * 4) * bytes, job.x + row * bytes, bytes);
  }
}

/** A shard owns `each` columns, a multiple of four, and goes through all rows in order. */
export function scatterAddRows(args: usize, shard: i32): void {
  const job = changetype<IndexJob>(args);
  const stride = <usize>job.columns * 4;
  const start = <usize>shard * job.each * 4;
  const end = min(stride, start + <usize>job.each * 4);
  const whole = start + ((end - start) & ~15);
  for (let row = 0; row < job.rows; row++) {
    const out = job.out + <usize>load<i32>(job.index + row * 4) * stride;
    const x = job.x + row * stride;
    for (let at = start; at < whole; at += 16) v128.store(out + at, f32x4.add(v128.load(out + at), v128.load(x + at)));
    for (let at = whole; at < end; at += 4) store<f32>(out + at, load<f32>(out + at) + load<f32>(x + at));
  }
}
