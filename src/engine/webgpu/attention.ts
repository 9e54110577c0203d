/**
 * Softmax attention over segments. A group of threads has one query and head, or in the gradient of keys and values one key and key head.
 * It goes through what that meets in blocks: each thread has the score of one of the block, then each has some of the head's numbers.
 */
import { DeviceError } from '../../base/index.ts';
import { type Kernels, type Segments, segmentColumns, type Tensor } from '../index.ts';
import { groupKernel, groupSums, lanes, least } from './kernel.ts';
import type { KernelQueue } from './queue.ts';

/** Numbers of a head that one thread has at most. */
const most = 4;

/** Row `which` of the table of segments, which all threads of a group read: lane 0 fetches it, so that all see the same. */
const segmentOf = `
var<workgroup> segment: array<u32, ${segmentColumns}>;
fn loadSegment(lane: u32, which: u32) {
  workgroupBarrier();
  if (lane < ${segmentColumns}u) { segment[lane] = memory[p.segments + which * ${segmentColumns}u + lane]; }
  workgroupBarrier();
}
/** Number of the segment that has a query: the first that ends beyond it. */
fn segmentWith(query: u32) -> u32 {
  var low = 0u;
  var high = p.segmentCount;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (memory[p.segments + middle * ${segmentColumns}u + 1u] > query) { high = middle; } else { low = middle + 1u; }
  }
  return low;
}
fn dotOf(a: u32, b: u32) -> f32 {
  var sum = 0.0;
  for (var d = 0u; d < p.size; d++) { sum += floatAt(a + d) * floatAt(b + d); }
  return sum;
}`;

/** The keys that a query sees: those of the prefix, then own ones. `keyAt(i)` is the i-th, `seen` how many there are. */
const keysOfQuery = `
  let query = group / p.heads;
  let head = group % p.heads;
  let keyHead = head * p.keyHeads / p.heads;
  let own = (query * p.heads + head) * p.size;
  loadSegment(lane, segmentWith(query));
  let queryEnd = workgroupUniformLoad(&segment[1]);
  let prefixStart = workgroupUniformLoad(&segment[2]);
  let prefix = workgroupUniformLoad(&segment[3]) - prefixStart;
  let keyStart = workgroupUniformLoad(&segment[4]);
  let keyEnd = workgroupUniformLoad(&segment[5]);
  let seen = prefix + keyEnd - (queryEnd - 1u - query) - keyStart;`;
const keyOf = `
fn keyRow(i: u32, prefix: u32, prefixStart: u32, keyStart: u32, keyHead: u32) -> u32 {
  let key = select(keyStart + i - prefix, prefixStart + i, i < prefix);
  return (key * p.keyHeads + keyHead) * p.size;
}`;

const forward = groupKernel('attention', {
  words: ['out', 'logSumExp', 'q', 'k', 'v', 'segments', 'segmentCount', 'heads', 'keyHeads', 'size'],
  floats: ['scale'],
  shared: `${groupSums}${segmentOf}${keyOf}var<workgroup> weights: array<f32, ${lanes}>;`,
  body: `${keysOfQuery}
  var top = ${least};
  var total = 0.0;
  var sums = array<f32, ${most}>();
  for (var start = 0u; start < seen; start += ${lanes}u) {
    let i = start + lane;
    var score = ${least};
    if (i < seen) { score = p.scale * dotOf(p.q + own, p.k + keyRow(i, prefix, prefixStart, keyStart, keyHead)); }
    let higher = max(top, mostOfGroup(lane, score));
    let fade = select(exp(top - higher), 0.0, start == 0u);
    let weight = select(0.0, exp(score - higher), i < seen);
    weights[lane] = weight;
    total = total * fade + sumOfGroup(lane, weight);
    top = higher;
    for (var part = 0u; part < ${most}u; part++) {
      let d = part * ${lanes}u + lane;
      if (d >= p.size) { break; }
      var sum = sums[part] * fade;
      for (var j = 0u; j < min(${lanes}u, seen - start); j++) {
        sum += weights[j] * floatAt(p.v + keyRow(start + j, prefix, prefixStart, keyStart, keyHead) + d);
      }
      sums[part] = sum;
    }
    workgroupBarrier();
  }
  if (lane == 0u) { setFloat(p.logSumExp + group, top + log(total)); }
  for (var part = 0u; part < ${most}u; part++) {
    let d = part * ${lanes}u + lane;
    if (d < p.size) { setFloat(p.out + own + d, sums[part] / total); }
  }`,
});

const backwardInputs = [
  ...(['dOut', 'out', 'logSumExp', 'q', 'k', 'v', 'segments', 'segmentCount'] as const),
  ...(['heads', 'keyHeads', 'size'] as const),
];

const backwardQueries = groupKernel('attentionBackward of queries', {
  words: ['dq', ...backwardInputs],
  floats: ['scale'],
  shared: `${segmentOf}${keyOf}var<workgroup> slopes: array<f32, ${lanes}>;`,
  body: `${keysOfQuery}
  let mean = dotOf(p.dOut + own, p.out + own);
  let normaliser = floatAt(p.logSumExp + group);
  var sums = array<f32, ${most}>();
  for (var start = 0u; start < seen; start += ${lanes}u) {
    let i = start + lane;
    if (i < seen) {
      let row = keyRow(i, prefix, prefixStart, keyStart, keyHead);
      let weight = exp(p.scale * dotOf(p.q + own, p.k + row) - normaliser);
      slopes[lane] = p.scale * weight * (dotOf(p.dOut + own, p.v + row) - mean);
    }
    workgroupBarrier();
    for (var part = 0u; part < ${most}u; part++) {
      let d = part * ${lanes}u + lane;
      if (d >= p.size) { break; }
      var sum = sums[part];
      for (var j = 0u; j < min(${lanes}u, seen - start); j++) {
        sum += slopes[j] * floatAt(p.k + keyRow(start + j, prefix, prefixStart, keyStart, keyHead) + d);
      }
      sums[part] = sum;
    }
    workgroupBarrier();
  }
  for (var part = 0u; part < ${most}u; part++) {
    let d = part * ${lanes}u + lane;
    if (d < p.size) { setFloat(p.dq + own + d, sums[part]); }
  }`,
});

/** A segment's queries see a key as one of its prefix, as its own, or both: `role` 0 and 1. */
const backwardKeys = groupKernel('attentionBackward of keys', {
  words: ['dk', 'dv', ...backwardInputs],
  floats: ['scale'],
  shared: `${segmentOf}
var<workgroup> slopes: array<f32, ${lanes}>;
var<workgroup> weights: array<f32, ${lanes}>;`,
  body: `
  let key = group / p.keyHeads;
  let keyHead = group % p.keyHeads;
  let each = p.heads / p.keyHeads;
  let row = (key * p.keyHeads + keyHead) * p.size;
  var sumsK = array<f32, ${most}>();
  var sumsV = array<f32, ${most}>();
  for (var turn = 0u; turn < 2u * p.segmentCount; turn++) {
    loadSegment(lane, turn / 2u);
    let own = turn % 2u == 1u;
    let queryStart = workgroupUniformLoad(&segment[0]);
    let queryEnd = workgroupUniformLoad(&segment[1]);
    let first = select(workgroupUniformLoad(&segment[2]), workgroupUniformLoad(&segment[4]), own);
    let last = select(workgroupUniformLoad(&segment[3]), workgroupUniformLoad(&segment[5]), own);
    if (key < first || key >= last || queryStart == queryEnd) { continue; }
    // The last query sees all own keys, each one before it one less.
    var begin = queryStart;
    if (own && queryEnd - queryStart > last - key) { begin = queryEnd - (last - key); }
    let pairs = (queryEnd - begin) * each;
    for (var start = 0u; start < pairs; start += ${lanes}u) {
      let i = start + lane;
      if (i < pairs) {
        let other = (begin + i / each) * p.heads + keyHead * each + i % each;
        let at = other * p.size;
        let weight = exp(p.scale * dotOf(p.q + at, p.k + row) - floatAt(p.logSumExp + other));
        weights[lane] = weight;
        slopes[lane] = p.scale * weight * (dotOf(p.dOut + at, p.v + row) - dotOf(p.dOut + at, p.out + at));
      }
      workgroupBarrier();
      for (var part = 0u; part < ${most}u; part++) {
        let d = part * ${lanes}u + lane;
        if (d >= p.size) { break; }
        for (var j = 0u; j < min(${lanes}u, pairs - start); j++) {
          let at = ((begin + (start + j) / each) * p.heads + keyHead * each + (start + j) % each) * p.size + d;
          sumsK[part] += slopes[j] * floatAt(p.q + at);
          sumsV[part] += weights[j] * floatAt(p.dOut + at);
        }
      }
      workgroupBarrier();
    }
  }
  for (var part = 0u; part < ${most}u; part++) {
    let d = part * ${lanes}u + lane;
    if (d < p.size) {
      setFloat(p.dk + row + d, sumsK[part]);
      setFloat(p.dv + row + d, sumsV[part]);
    }
  }`,
});

function shapeOf(q: Tensor, k: Tensor, { tensor }: Segments) {
  const [, heads, size] = q.shape;
  const keyHeads = k.shape[1];
  if (size > lanes * most || heads % keyHeads !== 0) {
    throw new DeviceError({
      call: 'webgpu attention',
      expected: `a head size of at most ${lanes * most}, and as many query heads for each key head`,
      found: `size ${size}, ${heads} query and ${keyHeads} key heads`,
    });
  }
  return { heads, keyHeads, size, segments: tensor, segmentCount: tensor.shape[0] };
}

export function webgpuAttentionKernels(queue: KernelQueue): Pick<Kernels, 'attention' | 'attentionBackward'> {
  return {
    attention(out, logSumExp, q, k, v, segments, scale) {
      const count = q.shape[0] * q.shape[1];
      queue.run(forward, count, { count, out, logSumExp, q, k, v, ...shapeOf(q, k, segments), scale });
    },
    attentionBackward(dq, dk, dv, dOut, out, logSumExp, q, k, v, segments, scale) {
      const inputs = { dOut, out, logSumExp, q, k, v, ...shapeOf(q, k, segments), scale };
      const [queries, keys] = [q.shape[0] * q.shape[1], k.shape[0] * k.shape[1]];
      queue.run(backwardQueries, queries, { count: queries, dq, ...inputs });
      queue.run(backwardKeys, keys, { count: keys, dk, dv, ...inputs });
    },
  };
}
