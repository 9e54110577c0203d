// Softmax attention over segments, tile by tile with a running maximum and sum (Milakov & Gimelshein 2018; Dao et al.
// 2022): for each block of keys, s = scale · q kᵀ, m' = max(m, max s), l = l · exp(m − m') + Σ exp(s − m'),
// out = out · exp(m − m') + exp(s − m') v; at the end out / l, and m + log l is kept. A shard is a group of items of the
// host's plan and some key heads; an item is a run of queries of one segment.
import { multiplyBlock } from './block';
import { exp4, expOf, logOf } from './functions';
import { broadcast, maxLanes, put, putPair, sumLanes } from './lanes';
import { scratch } from './layout';
import { packBlock } from './pack';
import { TILE_COLUMNS, madd, tile1x32 } from './tile';

@unmanaged
export class AttentionJob {
  /** First item of each group, and one past the last; then the items. */
  groups: usize;
  items: usize;
  /** Query heads, key heads, head size. */
  heads: i32;
  keyHeads: i32;
  size: i32;
  /** Key heads of one shard, a divisor of all. */
  headsEach: i32;
  q: usize;
  k: usize;
  v: usize;
  out: usize;
  logSumExp: usize;
  dOut: usize;
  dq: usize;
  dk: usize;
  dv: usize;
  scale: f32;
}

/** Query number i of an item sees the keys [prefixStart, prefixEnd) and [keyStart, keyEnd + i). */
@unmanaged
export class Item {
  queryStart: i32;
  queries: i32;
  prefixStart: i32;
  prefixEnd: i32;
  keyStart: i32;
  keyEnd: i32;
}
export const ITEM_BYTES: usize = 24;

export const KEYS: i32 = 128;
const KEYS_ROW: usize = KEYS * 4;
/** Queries of a tile, a multiple of every variant's register tile. */
const TILE_QUERIES: i32 = 24;
/** The host keeps the queries of an item times the query heads of a key head, and the head size, within these. */
export const MOST_ROWS: i32 = 1024;
export const MOST_SIZE: i32 = 1024;

// Scratch: running maxima and sums of the item's queries, scores of a tile, packed keys.
const SUMS: usize = MOST_ROWS * 4;
const SCORES: usize = SUMS + MOST_ROWS * 4;
const PACKED: usize = SCORES + TILE_QUERIES * KEYS_ROW;

/** scores [count] = q · k for one query. */
function dotKeys(q: usize, k: usize, kRow: usize, size: i32, count: i32, scores: usize): void {
  const whole = <usize>(size & ~3) * 4;
  const rest = (size & 3) != 0;
  for (let key = 0; key < count; key += 4) {
    const k0 = k + key * kRow;
    // Past the last key its own row is read again; those scores are dropped.
    const k1 = key + 1 < count ? k0 + kRow : k0;
    const k2 = key + 2 < count ? k1 + kRow : k1;
    const k3 = key + 3 < count ? k2 + kRow : k2;
    let s0 = f32x4.splat(0);
    let s1 = f32x4.splat(0);
    let s2 = f32x4.splat(0);
    let s3 = f32x4.splat(0);
    for (let i: usize = 0; i < whole; i += 16) {
      const query = v128.load(q + i);
      s0 = madd(query, v128.load(k0 + i), s0);
      s1 = madd(query, v128.load(k1 + i), s1);
      s2 = madd(query, v128.load(k2 + i), s2);
      s3 = madd(query, v128.load(k3 + i), s3);
    }
    if (rest) {
      const query = v128.load64_zero(q + whole);
      s0 = madd(query, v128.load64_zero(k0 + whole), s0);
      s1 = madd(query, v128.load64_zero(k1 + whole), s1);
      s2 = madd(query, v128.load64_zero(k2 + whole), s2);
      s3 = madd(query, v128.load64_zero(k3 + whole), s3);
    }
    const a = f32x4.add(v128.shuffle<f32>(s0, s1, 0, 4, 1, 5), v128.shuffle<f32>(s0, s1, 2, 6, 3, 7));
    const b = f32x4.add(v128.shuffle<f32>(s2, s3, 0, 4, 1, 5), v128.shuffle<f32>(s2, s3, 2, 6, 3, 7));
    v128.store(scores + key * 4, f32x4.add(v128.shuffle<f32>(a, b, 0, 1, 4, 5), v128.shuffle<f32>(a, b, 2, 3, 6, 7)));
  }
}

function scaleRow(row: usize, size: i32, factor: f32): void {
  const by = f32x4.splat(factor);
  const bytes = <usize>size * 4;
  for (let i: usize = 0; i < bytes; i += 16) put(row + i, f32x4.mul(v128.load(row + i), by), bytes - i);
}

/**
 * Scores become weights exp(scale · s − m): `visible` of them, then zeros up to `columns`, a multiple of 8. Updates the
 * row's maximum and sum; returns the factor for what was summed before.
 */
function softmaxRow(scores: usize, visible: i32, columns: i32, scale: f32, maximum: usize, sum: usize, first: bool): f32 {
  const bytes = <usize>columns * 4;
  for (let i = <usize>visible * 4; i < bytes; i += 4) store<f32>(scores + i, -Infinity);
  const by = broadcast(scale, 0);
  let top0 = f32x4.splat(-Infinity);
  let top1 = top0;
  for (let i: usize = 0; i < bytes; i += 32) {
    top0 = f32x4.pmax(top0, v128.load(scores + i));
    top1 = f32x4.pmax(top1, v128.load(scores + i, 16));
  }
  const before: f32 = first ? -Infinity : load<f32>(maximum);
  const now = max(before, maxLanes(f32x4.pmax(top0, top1)) * scale);
  const shift = broadcast(-now, 1);
  let total0 = f32x4.splat(0);
  let total1 = total0;
  for (let i: usize = 0; i < bytes; i += 32) {
    const weight0 = exp4(madd(v128.load(scores + i), by, shift));
    const weight1 = exp4(madd(v128.load(scores + i, 16), by, shift));
    putPair(scores + i, weight0, weight1);
    total0 = f32x4.add(total0, weight0);
    total1 = f32x4.add(total1, weight1);
  }
  const factor: f32 = first ? 0 : expOf(before - now);
  store<f32>(maximum, now);
  store<f32>(sum, (first ? 0 : load<f32>(sum) * factor) + sumLanes(f32x4.add(total0, total1)));
  return factor;
}

/** One block of keys for `rows` rows of queries, whose scores lie in the scratch. Row r sees `visible + r · growth`. */
function addBlock(
  job: AttentionJob, v: usize, rows: i32, visible: i32, growth: i32, count: i32, state: usize, out: usize, outRow: usize,
  first: bool,
): void {
  const scores = scratch() + SCORES;
  const columns = min(count, visible + (rows - 1) * growth);
  const padded = (columns + 7) & ~7;
  for (let row = 0; row < rows; row++) {
    const seen = min(count, visible + row * growth);
    const at = state + row * 4;
    const factor = softmaxRow(scores + row * KEYS_ROW, seen, padded, job.scale, at, at + SUMS, first);
    if (!first && factor != 1) scaleRow(out + row * outRow, job.size, factor);
  }
  const vRow = <usize>job.keyHeads * job.size * 4;
  let done = 0;
  if (rows == 1) {
    for (; done + 32 <= job.size; done += 32) {
      tile1x32(scores, KEYS_ROW, 4, v + done * 4, vRow, out + done * 4, outRow, columns, !first);
    }
  }
  const at = <usize>done * 4;
  multiplyBlock(
    scores, KEYS_ROW, 4, v + at, vRow, TILE_COLUMNS * 4, out + at, outRow, rows, job.size - done, columns, !first,
  );
}

/** Packed keys and scores have room for whole tiles: no edge to handle apart. */
export function wholeTiles(columns: i32): i32 {
  return ((columns + TILE_COLUMNS - 1) / TILE_COLUMNS) * TILE_COLUMNS;
}

/** One block of keys for all queries of an item, for every query head of a key head. */
function attendBlock(job: AttentionJob, item: Item, keyHead: i32, start: i32, count: i32, causal: bool, first: bool): void {
  const group = job.heads / job.keyHeads;
  const headBytes = <usize>job.size * 4;
  const keyRow = job.keyHeads * headBytes;
  const queryRow = job.heads * headBytes;
  const k = job.k + start * keyRow + keyHead * headBytes;
  const v = job.v + start * keyRow + keyHead * headBytes;
  const head = keyHead * group;
  const query = <usize>item.queryStart * queryRow + head * headBytes;
  if (item.queries == 1) {
    // One query: its heads are the rows, each a dot product with every key.
    for (let g = 0; g < group; g += TILE_QUERIES) {
      const rows = min(TILE_QUERIES, group - g);
      const at = query + g * headBytes;
      for (let row = 0; row < rows; row++) {
        dotKeys(job.q + at + row * headBytes, k, keyRow, job.size, count, scratch() + SCORES + row * KEYS_ROW);
      }
      addBlock(job, v, rows, count, 0, count, scratch() + g * 4, job.out + at, headBytes, first);
    }
    return;
  }
  packBlock(k, keyRow, true, scratch() + PACKED, job.size, count);
  const panel = TILE_COLUMNS * headBytes;
  // Rows before this one see nothing of the block.
  const firstRow = causal ? max(0, start - item.keyEnd + 1) : 0;
  for (let g = 0; g < group; g++) {
    for (let row = firstRow; row < item.queries; row += TILE_QUERIES) {
      const rows = min(TILE_QUERIES, item.queries - row);
      const visible = causal ? item.keyEnd + row - start : count;
      const columns = wholeTiles(causal ? min(count, visible + rows - 1) : count);
      const at = query + row * queryRow + g * headBytes;
      multiplyBlock(
        job.q + at, queryRow, 4, scratch() + PACKED, TILE_COLUMNS * 4, panel, scratch() + SCORES, KEYS_ROW, rows, columns,
        job.size, false,
      );
      const state = scratch() + (g * item.queries + row) * 4;
      addBlock(job, v, rows, visible, causal ? 1 : 0, count, state, job.out + at, queryRow, first);
    }
  }
}

function finish(job: AttentionJob, item: Item, keyHead: i32): void {
  const group = job.heads / job.keyHeads;
  for (let g = 0; g < group; g++) {
    for (let query = 0; query < item.queries; query++) {
      const state = scratch() + (g * item.queries + query) * 4;
      const row = <usize>(item.queryStart + query) * job.heads + keyHead * group + g;
      const sum = load<f32>(state + SUMS);
      scaleRow(job.out + row * job.size * 4, job.size, 1 / sum);
      store<f32>(job.logSumExp + row * 4, load<f32>(state) + logOf(sum));
    }
  }
}

function attendItem(job: AttentionJob, item: Item, keyHead: i32): void {
  let first = true;
  for (let start = item.prefixStart; start < item.prefixEnd; start += KEYS) {
    attendBlock(job, item, keyHead, start, min(KEYS, item.prefixEnd - start), false, first);
    first = false;
  }
  const end = item.keyEnd + item.queries - 1;
  for (let start = item.keyStart; start < end; start += KEYS) {
    attendBlock(job, item, keyHead, start, min(KEYS, end - start), true, first);
    first = false;
  }
  finish(job, item, keyHead);
}

export function attention(args: usize, shard: i32): void {
  const job = changetype<AttentionJob>(args);
  const blocks = job.keyHeads / job.headsEach;
  const group = job.groups + (shard / blocks) * 4;
  const firstHead = (shard % blocks) * job.headsEach;
  for (let i = load<i32>(group); i < load<i32>(group, 4); i++) {
    const item = changetype<Item>(job.items + i * ITEM_BYTES);
    for (let head = firstHead; head < firstHead + job.headsEach; head++) attendItem(job, item, head);
  }
}
