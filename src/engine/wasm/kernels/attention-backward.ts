// Backward of softmax attention: the weights p = exp(scale · q kᵀ − logSumExp) are made again tile by tile, then
// dP = dOut vᵀ, dS = scale · p ∘ (dP − Σ dOut ∘ out), dq += dS k, dk += dSᵀ q, dv += pᵀ dOut. All items of a group that
// touch the same keys are in one shard, in order; so every sum has one order and no two shards write the same place.
import { AttentionJob, ITEM_BYTES, Item, MOST_ROWS, MOST_SIZE, wholeTiles } from './attention';
import { multiplyBlock } from './block';
import { exp4 } from './functions';
import { broadcast, putPair, sumLanes } from './lanes';
import { scratch } from './layout';
import { packBlock } from './pack';
import { TILE_COLUMNS, madd } from './tile';

const KEYS: i32 = 64;
const KEYS_ROW: usize = KEYS * 4;
const TILE_QUERIES: i32 = 24;

// Scratch: Σ dOut ∘ out of the item's queries, weights and dS of a tile, packed keys and values.
const WEIGHTS: usize = MOST_ROWS * 4;
const SLOPES: usize = WEIGHTS + TILE_QUERIES * KEYS_ROW;
const PACKED_KEYS: usize = SLOPES + TILE_QUERIES * KEYS_ROW;
const PACKED_VALUES: usize = PACKED_KEYS + MOST_SIZE * KEYS_ROW;

function dot(a: usize, b: usize, bytes: usize): f32 {
  let sum = f32x4.splat(0);
  let i: usize = 0;
  for (; i + 16 <= bytes; i += 16) sum = madd(v128.load(a + i), v128.load(b + i), sum);
  if (i < bytes) sum = madd(v128.load64_zero(a + i), v128.load64_zero(b + i), sum);
  return sumLanes(sum);
}

/** Scores become p, dP becomes dS: `visible` of each, then zeros up to `columns`, a multiple of 8. */
function slopeRow(weights: usize, slopes: usize, visible: i32, columns: i32, scale: f32, logSumExp: f32, mean: f32): void {
  const bytes = <usize>columns * 4;
  for (let i = <usize>visible * 4; i < bytes; i += 4) store<f32>(weights + i, -Infinity);
  const by = broadcast(scale, 0);
  const shift = broadcast(-logSumExp, 1);
  const middle = broadcast(mean, 2);
  for (let i: usize = 0; i < bytes; i += 32) {
    const p0 = exp4(madd(v128.load(weights + i), by, shift));
    const p1 = exp4(madd(v128.load(weights + i, 16), by, shift));
    const dS0 = f32x4.mul(f32x4.mul(p0, by), f32x4.sub(v128.load(slopes + i), middle));
    const dS1 = f32x4.mul(f32x4.mul(p1, by), f32x4.sub(v128.load(slopes + i, 16), middle));
    putPair(weights + i, p0, p1);
    putPair(slopes + i, dS0, dS1);
  }
}

/** A tile of queries of one head against a block of keys. Row r sees `visible + r · growth` of the block's `count`. */
function backTile(
  job: AttentionJob, at: usize, firstQuery: i32, head: i32, means: usize, keyAt: usize, rows: i32, visible: i32,
  growth: i32, count: i32, first: bool,
): void {
  const headBytes = <usize>job.size * 4;
  const queryRow = job.heads * headBytes;
  const keyRow = job.keyHeads * headBytes;
  const panel = TILE_COLUMNS * headBytes;
  const step: usize = TILE_COLUMNS * 4;
  const weights = scratch() + WEIGHTS;
  const slopes = scratch() + SLOPES;
  const columns = min(count, visible + (rows - 1) * growth);
  const padded = wholeTiles(columns);
  const keys = scratch() + PACKED_KEYS;
  const values = scratch() + PACKED_VALUES;
  multiplyBlock(job.q + at, queryRow, 4, keys, step, panel, weights, KEYS_ROW, rows, padded, job.size, false);
  multiplyBlock(job.dOut + at, queryRow, 4, values, step, panel, slopes, KEYS_ROW, rows, padded, job.size, false);
  for (let row = 0; row < rows; row++) {
    const seen = min(count, visible + row * growth);
    const logSumExp = load<f32>(job.logSumExp + (<usize>(firstQuery + row) * job.heads + head) * 4);
    const offset = row * KEYS_ROW;
    slopeRow(weights + offset, slopes + offset, seen, padded, job.scale, logSumExp, load<f32>(means + row * 4));
  }
  multiplyBlock(slopes, KEYS_ROW, 4, job.k + keyAt, keyRow, step, job.dq + at, queryRow, rows, job.size, columns, !first);
  multiplyBlock(weights, 4, KEYS_ROW, job.dOut + at, queryRow, step, job.dv + keyAt, keyRow, columns, job.size, rows, true);
  multiplyBlock(slopes, 4, KEYS_ROW, job.q + at, queryRow, step, job.dk + keyAt, keyRow, columns, job.size, rows, true);
}

function backBlock(job: AttentionJob, item: Item, keyHead: i32, start: i32, count: i32, causal: bool, first: bool): void {
  const group = job.heads / job.keyHeads;
  const headBytes = <usize>job.size * 4;
  const keyRow = job.keyHeads * headBytes;
  const keyAt = start * keyRow + keyHead * headBytes;
  packBlock(job.k + keyAt, keyRow, true, scratch() + PACKED_KEYS, job.size, count);
  packBlock(job.v + keyAt, keyRow, true, scratch() + PACKED_VALUES, job.size, count);
  const firstRow = causal ? max(0, start - item.keyEnd + 1) : 0;
  for (let g = 0; g < group; g++) {
    const head = keyHead * group + g;
    for (let row = firstRow; row < item.queries; row += TILE_QUERIES) {
      const query = item.queryStart + row;
      const at = (<usize>query * job.heads + head) * headBytes;
      const means = scratch() + (g * item.queries + row) * 4;
      const rows = min(TILE_QUERIES, item.queries - row);
      const visible = causal ? item.keyEnd + row - start : count;
      backTile(job, at, query, head, means, keyAt, rows, visible, causal ? 1 : 0, count, first);
    }
  }
}

function backItem(job: AttentionJob, item: Item, keyHead: i32): void {
  const group = job.heads / job.keyHeads;
  const headBytes = <usize>job.size * 4;
  for (let g = 0; g < group; g++) {
    for (let query = 0; query < item.queries; query++) {
      const at = (<usize>(item.queryStart + query) * job.heads + keyHead * group + g) * headBytes;
      store<f32>(scratch() + (g * item.queries + query) * 4, dot(job.dOut + at, job.out + at, headBytes));
    }
  }
  let first = true;
  for (let start = item.prefixStart; start < item.prefixEnd; start += KEYS) {
    backBlock(job, item, keyHead, start, min(KEYS, item.prefixEnd - start), false, first);
    first = false;
  }
  const end = item.keyEnd + item.queries - 1;
  for (let start = item.keyStart; start < end; start += KEYS) {
    backBlock(job, item, keyHead, start, min(KEYS, end - start), true, first);
    first = false;
  }
}

export function attentionBackward(args: usize, shard: i32): void {
  const job = changetype<AttentionJob>(args);
  const blocks = job.keyHeads / job.headsEach;
  const group = job.groups + (shard / blocks) * 4;
  const firstHead = (shard % blocks) * job.headsEach;
  for (let i = load<i32>(group); i < load<i32>(group, 4); i++) {
    const item = changetype<Item>(job.items + i * ITEM_BYTES);
    for (let head = firstHead; head < firstHead + job.headsEach; head++) backItem(job, item, head);
  }
}
