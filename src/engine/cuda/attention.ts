/**
 * The choice of the attention kernel: one query per row over a cache (decoding) splits the keys over blocks; bf16 with heads of at
 * most 128 runs on tensor cores, on Hopper by warpgroups; everything else takes one warp per row. All read the segments from device
 * memory.
 */
import { DeviceError } from '../../base/index.ts';
import type { Device, Kernels, Segment, Segments } from '../index.ts';
import { type DType, describeTensor, Scope, type Tensor } from '../index.ts';
import { definitionsOf, elementsPerAccess, float, type KernelArgument, type Queue, type Shape3 } from './queue.ts';

const tile = 64;
const warps = 4;
const mostHead = 256;
const mostFlashHead = 128;
/** Warpgroup kernels need exactly this compute capability, and heads of whole panels. */
const hopper = 90;
const panel = 64;
const panelAlignment = 1024;
const mostGroup = 8;
/** Bytes of the gradients of scores of a pair of tiles, how many pairs are on their way, and the share of the memory that they may take. */
const pairBytes = 2 * tile * tile;
const sumStages = 3;
const pairShare = 1 / 64;
/** Number of splits of a row's keys in float32, a constant so that a row does not depend on the batch. */
const exactSplits = 16;
const mostSplits = 64;
const blocksPerProcessor = 3;
/** Tiles of 16 keys a decoding warp has room for, and the query heads that are multiplied with one together. */
const decodeStages = 3;
const decodeQueries = 16;

interface Heads {
  readonly heads: number;
  readonly keyHeads: number;
  readonly size: number;
}

function headsOf(q: Tensor, k: Tensor): Heads {
  const [, heads, size] = q.shape;
  if (size > mostHead) {
    throw new DeviceError({
      call: 'cuda attention',
      expected: `a head size of at most ${mostHead}`,
      found: describeTensor(q),
    });
  }
  return { heads, keyHeads: k.shape[1], size };
}

/** With `independent` rows a row is computed in one way, whatever other rows there are. */
export function cudaAttentionKernels(
  queue: Queue,
  home: () => Device,
  independent: boolean,
): Pick<Kernels, 'attention' | 'attentionBackward'> {
  return {
    attention(out, logSumExp, q, k, v, segments, scale) {
      if (q.size === 0) return;
      const heads = headsOf(q, k);
      if (decodes(q, segments, heads))
        decode(queue, home(), independent, out, logSumExp, q, k, v, segments, heads, scale);
      else if (usesTensorCores(queue, q, k, v, out)) {
        const flash = flashOf(queue, heads);
        const counts = [segments.tensor, segments.list.length, heads.heads, heads.keyHeads, float(scale)];
        const parameters = [out, logSumExp, q, k, v, ...counts];
        queue.launch(flash.file, 'flash', flash.definitions, flash.forward(segments), parameters);
      } else {
        const rows = q.shape[0] * heads.heads;
        const parameters = [out, logSumExp, q, k, v, ...plainParameters(segments, rows, heads, scale)];
        queue.launch('attention', 'attend', definitionsOf(q.dtype), perWarp(rows), parameters);
      }
    },
    attentionBackward(dq, dk, dv, dOut, out, logSumExp, q, k, v, segments, scale) {
      const device = home();
      if (q.size === 0) {
        device.kernels.fill(dk, 0);
        device.kernels.fill(dv, 0);
        return;
      }
      const heads = headsOf(q, k);
      const rows = q.shape[0] * heads.heads;
      using scope = new Scope(device);
      const delta = scope.empty([rows], 'attention delta');
      const plain = definitionsOf(q.dtype);
      const lanes = queue.aligned(dOut, out) ? lanesOf(q.dtype, heads) : 0;
      const perRow = { grid: [Math.ceil((rows * (lanes || 32)) / (32 * warps))], block: 32 * warps } as const;
      queue.launch('attention', 'attendDelta', plain, perRow, [delta, dOut, out, rows, heads.size, lanes]);
      const inputs = [dOut, delta, logSumExp, q, k, v];
      if (usesTensorCores(queue, q, k, v, dOut, dq, dk, dv)) {
        flashBackward(queue, device, independent, [dq, dk, dv], inputs, segments, heads, scale);
        return;
      }
      const keyRows = k.shape[0] * heads.keyHeads;
      const common = plainParameters(segments, rows, heads, scale);
      queue.launch('attention', 'attendQueryGradient', plain, perWarp(rows), [dq, ...inputs, ...common]);
      const keyed = plainParameters(segments, keyRows, heads, scale);
      queue.launch('attention', 'attendKeyGradient', plain, perWarp(keyRows), [dk, dv, ...inputs, ...keyed]);
    },
  };
}

/**
 * Gradients on tensor cores. On Hopper the gradients of scores are stored on the way to those of keys and values, and the gradient of the
 * queries is made of them, so many key heads at a time as the memory for them allows; otherwise it computes the scores again.
 */
function flashBackward(
  queue: Queue,
  device: Device,
  independent: boolean,
  [dq, dk, dv]: readonly Tensor[],
  inputs: readonly Tensor[],
  segments: Segments,
  heads: Heads,
  scale: number,
): void {
  const { file, definitions, forQueries, forKeys, forSums } = flashOf(queue, heads);
  const [list, keys] = [segments.list, dk.shape[0]];
  const [table, last] = [
    [segments.tensor, list.length],
    [heads.heads, heads.keyHeads, float(scale)],
  ];
  const spread = Math.max(1, list.filter((row) => row.queryEnd - row.queryStart > tile).length);
  const forKeyHeads = [dk, dv, ...inputs, ...table, keys, ...last, spread];
  const group = heads.heads / heads.keyHeads;
  const pairs = list.reduce((sum, segment) => sum + pairsOf(segment), 0);
  const share = Math.floor((device.arena.capacity * pairShare) / (group * pairs * pairBytes));
  const room = independent ? Math.max(1, share) : share;
  if (forSums === undefined || room === 0) {
    queue.launch(file, 'flashQueryGradient', definitions, forQueries(segments), [dq, ...inputs, ...table, ...last]);
    const parameters = forSums === undefined ? forKeyHeads : [...forKeyHeads, 0, null, 0];
    queue.launch(file, 'flashKeyGradient', definitions, forKeys(keys, spread, heads.keyHeads), parameters);
    return;
  }
  const most = Math.min(room, heads.keyHeads);
  using scope = new Scope(device);
  const stored = scope.empty([most * group, pairs, tile * tile], 'gradients of scores', 'bf16');
  for (let first = 0; first < heads.keyHeads; first += most) {
    const together = Math.min(most, heads.keyHeads - first);
    const parameters = [...forKeyHeads, first, stored, pairs];
    queue.launch(file, 'flashKeyGradient', definitions, forKeys(keys, spread, together), parameters);
    const sums = [dq, stored, pairs, inputs[4], ...table, keys, ...last, first];
    queue.launch('queries', 'flashQuerySums', definitions, forSums(segments, together * group), sums);
  }
}

/** Pairs of a tile of queries and a tile of keys that a segment has, of one head: as in flash.cuh. */
function pairsOf({ queryStart, queryEnd, prefixStart, prefixEnd, keyStart, keyEnd }: Segment): number {
  const tiles = (from: number, until: number): number =>
    until > from ? Math.ceil(until / tile) - Math.floor(from / tile) : 0;
  const joined = prefixEnd === keyStart;
  const keyTiles = joined ? tiles(prefixStart, keyEnd) : tiles(prefixStart, prefixEnd) + tiles(keyStart, keyEnd);
  return Math.ceil((queryEnd - queryStart) / tile) * keyTiles;
}

function plainParameters(segments: Segments, rows: number, heads: Heads, scale: number): KernelArgument[] {
  return [segments.tensor, segments.list.length, rows, heads.heads, heads.keyHeads, heads.size, float(scale)];
}

function perWarp(rows: number): Shape3 {
  return { grid: [Math.ceil(rows / warps)], block: 32 * warps };
}

/** Whether tensor cores apply. Heads of a multiple of 8 are copied 16 bytes at a time, other sizes element by element. */
function usesTensorCores(queue: Queue, q: Tensor, ...others: readonly Tensor[]): boolean {
  return q.dtype === 'bf16' && q.shape[2] <= mostFlashHead && queue.aligned(q, ...others);
}

/** The kernels on tensor cores: which file, compiled for what, and their blocks. */
interface Flash {
  readonly file: 'flash' | 'hopper';
  readonly definitions: readonly string[];
  forward(segments: Segments): Shape3;
  forQueries(segments: Segments): Shape3;
  /** Blocks of the gradient of so many key heads; the first tile of each of `spread` parts of the keys goes first. */
  forKeys(keys: number, spread: number, keyHeads: number): Shape3;
  /** Blocks of the gradient of so many query heads, made of stored gradients of scores; absent where these are not stored. */
  readonly forSums?: (segments: Segments, heads: number) => Shape3;
}

function flashOf({ gpu }: Queue, { heads, keyHeads, size }: Heads): Flash {
  const block = 32 * warps;
  const spreadTiles = (keys: number, each: number, spread: number): number => Math.ceil(keys / each / spread) * spread;
  if (gpu.facts.capability === hopper && size % panel === 0) {
    // Pairs of query heads share keys where there are pairs; buffers are four stages of two tiles.
    const sharing = (heads / keyHeads) % 2 === 0 ? 2 : 1;
    const bytes = (tiles: number): number => tiles * tile * size * 2 + panelAlignment;
    return {
      file: 'hopper',
      definitions: ['REAL_BF16', `HEAD=${size}`, `SHARING=${sharing}`],
      forward: (segments) => ({ grid: [queryTiles(segments), heads], block, sharedBytes: bytes(3) }),
      forQueries: (segments) => ({
        grid: [queryTiles(segments), heads / sharing],
        block: sharing * block,
        sharedBytes: bytes(2 * sharing + 8),
      }),
      forKeys: (keys, spread, together) => ({
        grid: [together, spreadTiles(keys, 2 * tile, spread)],
        block: 2 * block,
        sharedBytes: bytes(12),
      }),
      forSums: (segments, together) => ({
        grid: [queryTiles(segments), together / sharing],
        block: sharing * block,
        sharedBytes: sumStages * (tile * size * 2 + sharing * pairBytes) + panelAlignment,
      }),
    };
  }
  const bytes = (tiles: number): number => tiles * tile * (Math.ceil(size / 16) * 16 + 8) * 2;
  return {
    file: 'flash',
    definitions: ['REAL_BF16', `HEAD=${size}`],
    forward: (segments) => ({ grid: [queryTiles(segments), heads], block, sharedBytes: bytes(3) }),
    forQueries: (segments) => ({ grid: [queryTiles(segments), heads], block, sharedBytes: bytes(4) }),
    forKeys: (keys, spread, together) => ({
      grid: [together, spreadTiles(keys, tile, spread)],
      block,
      sharedBytes: bytes(6),
    }),
  };
}

/** Every segment starts a tile of its own: at most one partial tile each. */
function queryTiles({ list }: Segments): number {
  return list.reduce((sum, { queryStart, queryEnd }) => sum + Math.ceil((queryEnd - queryStart) / tile), 0);
}

/** How many lanes of a warp hold a head, 16 bytes each; 0 where they cannot. */
function lanesOf(dtype: DType, { size }: Heads): number {
  const lanes = size / elementsPerAccess(dtype);
  return [2, 4, 8, 16, 32].includes(lanes) ? lanes : 0;
}

/** Whether every segment has one query, and a head's values spread evenly over the lanes of a warp. */
function decodes(q: Tensor, segments: Segments, heads: Heads): boolean {
  const fits = lanesOf(q.dtype, heads) > 0 && heads.heads / heads.keyHeads <= mostGroup;
  return fits && segments.list.every(({ queryStart, queryEnd }) => queryEnd - queryStart === 1);
}

/** Number of pieces that decode together: up to `most` neighbouring rows with the same prefix. */
function sharingPieces({ list }: Segments, most: number): number {
  let [pieces, inPiece] = [0, 0];
  list.forEach(({ prefixStart, prefixEnd }, i) => {
    const before = list[i - 1];
    const shares = prefixEnd > prefixStart && before?.prefixStart === prefixStart && before.prefixEnd === prefixEnd;
    inPiece = shares && inPiece < most ? inPiece + 1 : 1;
    if (inPiece === 1) pieces++;
  });
  return pieces;
}

function decode(
  queue: Queue,
  device: Device,
  independent: boolean,
  out: Tensor,
  logSumExp: Tensor,
  q: Tensor,
  k: Tensor,
  v: Tensor,
  segments: Segments,
  { heads, keyHeads, size }: Heads,
  scale: number,
): void {
  const rows = q.shape[0];
  const byTiles = q.dtype === 'bf16' && size <= mostFlashHead && queue.aligned(q, k, v);
  const mostRows = Math.floor((decodeQueries * keyHeads) / heads);
  const pieces = byTiles ? sharingPieces(segments, mostRows) : rows;
  const wanted = Math.ceil((blocksPerProcessor * queue.gpu.facts.multiprocessors) / (pieces * keyHeads));
  const best = independent ? 1 : Math.max(1, Math.min(mostSplits, wanted));
  const splits = q.dtype === 'f32' ? exactSplits : best;
  const definitions = [...definitionsOf(q.dtype), `HEAD=${size}`, `GROUP=${heads / keyHeads}`];
  using scope = new Scope(device);
  const partial = scope.empty([splits > 1 ? rows * heads * splits * (size + 2) : 0], 'parts of decoding');
  const shape = { grid: [splits, keyHeads, pieces], block: 32 * warps, follows: byTiles } as const;
  const parameters = [out, logSumExp, partial, q, k, v, segments.tensor, keyHeads, float(scale)];
  if (byTiles) {
    const sharedBytes = warps * decodeStages * 2 * 16 * (size + 8) * 2;
    const allWhole = pieces * mostRows === rows ? 1 : 0;
    queue.launch('decode', 'decodeTiles', definitions, { ...shape, sharedBytes }, [...parameters, rows, allWhole]);
  } else queue.launch('decode', 'decodeParts', definitions, shape, parameters);
  if (splits === 1) return;
  const join = { grid: [rows * heads], block: Math.ceil(size / 32) * 32, follows: true } as const;
  queue.launch('decode', 'decodeJoin', definitions, join, [out, logSumExp, partial, splits]);
}
