/**
 * A kernel is WGSL with named numbers. Every kernel sees the same two bindings: `memory`, the device's whole slab in words of 32 bits, and
 * `p`, its own numbers. One binding for all tensors is what allows writing in place and views: WebGPU refuses two bindings of one buffer
 * where one of them is written. Words are unsigned because a float's NaN and infinities must pass through untouched, which WGSL promises
 * for integers only.
 */
/** Threads of a group of a kernel that treats elements, and of one that sums along a row. */
export const threads = 256;
export const lanes = 64;

export interface Kernel<Word extends string = string, Float extends string = string> {
  readonly name: string;
  readonly words: readonly Word[];
  readonly floats: readonly Float[];
  readonly code: string;
}

interface Parts<Word extends string, Float extends string> {
  /** Offsets, sizes and flags. */
  readonly words: readonly Word[];
  readonly floats?: readonly Float[];
  /** Functions and shared variables that the body uses. */
  readonly shared?: string;
  readonly body: string;
}

const access = `
@group(0) @binding(0) var<storage, read_write> memory: array<u32>;
fn floatAt(at: u32) -> f32 { return bitcast<f32>(memory[at]); }
fn setFloat(at: u32, value: f32) { memory[at] = bitcast<u32>(value); }
fn intAt(at: u32) -> i32 { return bitcast<i32>(memory[at]); }
fn halfAt(at: u32) -> u32 { return (memory[at / 2u] >> (16u * (at % 2u))) & 0xffffu; }
`;

function kernelOf<Word extends string, Float extends string>(
  name: string,
  { words, floats = [], shared = '', body }: Parts<Word, Float>,
  start: string,
  size: number,
): Kernel<Word, Float> {
  const fields = [...words.map((word) => `${word}: u32`), ...floats.map((float) => `${float}: f32`)];
  const code = `${access}
struct Numbers { ${fields.join(', ')} }
@group(0) @binding(1) var<uniform> p: Numbers;
${shared}
@compute @workgroup_size(${size})
fn main(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let group = id.y * groups.x + id.x;
  ${start}
  ${body}
}
`;
  return { name, words, floats, code };
}

/** A kernel with a thread for each `i` below the number `size`. */
export function elementKernel<Word extends string, Float extends string = never>(
  name: string,
  parts: Parts<Word, Float>,
): Kernel<Word | 'size', Float> {
  const words = ['size' as const, ...parts.words];
  return kernelOf(
    name,
    { ...parts, words },
    `let i = group * ${threads}u + lane; if (i >= p.size) { return; }`,
    threads,
  );
}

/** A kernel with a group of threads, `lane` being the number of one, for each `group` below the number `count`. */
export function groupKernel<Word extends string, Float extends string = never>(
  name: string,
  parts: Parts<Word, Float>,
): Kernel<Word | 'count', Float> {
  const words = ['count' as const, ...parts.words];
  return kernelOf(name, { ...parts, words }, 'if (group >= p.count) { return; }', lanes);
}

/** Sum and maximum over the threads of a group, in an order that is always the same; every thread gets it. */
export const groupSums = `
var<workgroup> shares: array<f32, ${lanes}>;
fn sumOfGroup(lane: u32, value: f32) -> f32 {
  shares[lane] = value;
  workgroupBarrier();
  for (var step = ${lanes / 2}u; step > 0u; step /= 2u) {
    if (lane < step) { shares[lane] += shares[lane + step]; }
    workgroupBarrier();
  }
  return workgroupUniformLoad(&shares[0]);
}
fn mostOfGroup(lane: u32, value: f32) -> f32 {
  shares[lane] = value;
  workgroupBarrier();
  for (var step = ${lanes / 2}u; step > 0u; step /= 2u) {
    if (lane < step) { shares[lane] = max(shares[lane], shares[lane + step]); }
    workgroupBarrier();
  }
  return workgroupUniformLoad(&shares[0]);
}
`;

/** Stands for −∞, which WGSL may assume never to meet. */
export const least = '-3.4028234e38f';
