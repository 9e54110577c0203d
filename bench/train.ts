/**
 * Tokens per second of a 3.25M-parameter decoder (width 256, 4 layers, vocabulary 256) by kernel variant and threads:
 * forward+backward of 8 rows of 128 tokens (a pass short enough to meet a quiet moment of a shared machine) with all weights
 * learning, and with a frozen base and split adapters of rank 8; and decoding 64 rows of 128 tokens over a key/value cache.
 * `share` is the median of a run's GFLOP/s over the processor's own peak, measured right before and after it; tokens/s
 * are those of the fastest run (of decoding, of the fastest turn of each step) and of the median run.
 *   node bench/train.ts [--variant plain|relaxed|wide] [--threads N] [--seconds S] [--rows N] [--only text]
 */
import { parseArgs } from 'node:util';
import { routeCoefficients } from '../src/adapters/index.ts';
import { type BlockCoefficients, nextLogits, Scope, type Segment, Segments, Tape } from '../src/engine/index.ts';
import { createWasmDevice, type Variant, type WasmDevice } from '../src/engine/wasm/index.ts';
import type { Decoder } from '../src/model/decoder/decoder.ts';
import { KeyValueCache } from '../src/model/decoder/kv-cache.ts';
import { countParameters } from '../src/model/files/weights.ts';
import { median } from '../src/stats/index.ts';
import { findVariants } from '../test/device/variants.ts';
import {
  allWeights,
  loadRandom,
  nextTokenBatch,
  nextTokenLoss,
  qwen3Like,
  splitAdapters,
} from '../test/training/model.ts';
import { openNativePeak } from './native-peak.ts';

const [rowLength, decodeRows, rank] = [128, 64, 8];
const config = qwen3Like({
  vocabSize: 256,
  hiddenSize: 256,
  layers: 4,
  heads: 4,
  kvHeads: 4,
  headDim: 64,
  intermediateSize: 696,
  maxPositions: rowLength,
});
const inLayers = countParameters(config) - config.vocabSize * config.hiddenSize;
/** FLOP of one token's forward pass: every weight once (the tied head included), and attention over half a row. */
const forwardFlops = 2 * countParameters(config) + (4 * config.layers * config.heads * config.headDim * rowLength) / 2;

interface Result {
  readonly what: string;
  readonly tokens: number;
  readonly flopsPerToken: number;
  readonly fastest: Fastest;
}

interface Fastest {
  /** Seconds of one run: the least time of each of its parts, summed; and the median of whole runs. */
  readonly wall: number;
  readonly medianWall: number;
  /** Median over runs of seconds × the native peak beside the run: what a run costs in GFLOP of the processor. */
  readonly peakGflop: number | undefined;
}

const { values: options } = parseArgs({
  options: {
    variant: { type: 'string' },
    threads: { type: 'string', default: '1,2' },
    seconds: { type: 'string', default: '3' },
    rows: { type: 'string', default: '8' },
    only: { type: 'string', default: '' },
  },
});
const budget = Number(options.seconds);
const rows = Number(options.rows);

const peak = await openNativePeak();

/** A run has `steps` parts, each short enough to meet a quiet moment; as many runs as fit the budget, after one to warm up. */
function timeRuns(device: WasmDevice, steps: number, body: (step: number) => void): Fastest {
  const { threads } = device;
  const run = (step: number): void => {
    body(step);
    device.finish();
  };
  const least = new Float64Array(steps).fill(1e9);
  const costs: number[] = [];
  const walls: number[] = [];
  const peakNow = (): number =>
    typeof peak === 'string' ? 0 : median(Array.from({ length: 5 }, () => peak.measure(threads)));
  for (let step = 0; step < steps; step++) run(step);
  const end = performance.now() + budget * 1000;
  while (costs.length < 3 || performance.now() < end) {
    const before = peakNow();
    let total = 0;
    for (let step = 0; step < steps; step++) {
      const start = performance.now();
      run(step);
      const seconds = (performance.now() - start) / 1e3;
      least[step] = Math.min(least[step], seconds);
      total += seconds;
    }
    walls.push(total);
    costs.push((total * (before + peakNow())) / 2);
  }
  const wall = least.reduce((sum, part) => sum + part, 0);
  return { wall, medianWall: median(walls), peakGflop: typeof peak === 'string' ? undefined : median(costs) };
}

const texts = Array.from({ length: rows }, (_, row) =>
  Int32Array.from({ length: rowLength + 1 }, (_unused, t) => (t * t + 31 * row) % config.vocabSize),
);

async function trainAll(device: WasmDevice): Promise<Result> {
  using scope = new Scope(device);
  const decoder = await loadRandom(scope, config, { trainable: true });
  const parameters = allWeights(scope, decoder);
  const learn = new Map(parameters.map(({ value, gradient }) => [value, gradient]));
  const batch = nextTokenBatch(scope, config, texts);
  const fastest = timeRuns(device, 1, () => {
    using tape = new Tape(device, { learn });
    tape.backward(nextTokenLoss(tape, decoder, batch));
  });
  return { what: 'train all weights', tokens: batch.count, flopsPerToken: 3 * forwardFlops, fastest };
}

async function trainAdapters(device: WasmDevice): Promise<Result> {
  using scope = new Scope(device);
  const decoder = await loadRandom(scope, config, { trainable: false });
  const adapters = splitAdapters(scope, config, rank);
  const learn = new Map(adapters.parameters.map(({ value, gradient }) => [value, gradient]));
  const batch = nextTokenBatch(scope, config, texts);
  const routes = Array.from({ length: batch.count }, (_, t) => (['keep', 'absorb', 'route'] as const)[t % 3]);
  const coefficients: BlockCoefficients = routeCoefficients(scope, routes, 'branch');
  const fastest = timeRuns(device, 1, () => {
    using tape = new Tape(device, { learn });
    tape.backward(nextTokenLoss(tape, decoder, batch, { project: adapters.project(coefficients) }));
  });
  const adapterParameters = adapters.parameters.reduce((sum, { value }) => sum + value.size, 0);
  // The base forward and its input gradients; adapters forward (both halves), their input and their own gradients.
  const flopsPerToken = 2 * forwardFlops + adapterParameters * (4 + 4 + 2);
  return { what: `train adapters of rank ${rank}`, tokens: batch.count, flopsPerToken, fastest };
}

/** One step: the next token of every row, at position `t`, over a cache of `t` tokens each. */
function decodeStep(decoder: Decoder, cache: KeyValueCache, t: number): void {
  const { device } = decoder.head;
  using scope = new Scope(device);
  using tape = new Tape(device);
  const each = (value: (row: number) => number, label: string) =>
    scope.from(
      Int32Array.from({ length: decodeRows }, (_, row) => value(row)),
      [decodeRows],
      label,
    );
  const list = Array.from({ length: decodeRows }, (_, row): Segment => {
    const { start } = cache.room(row);
    return { queryStart: row, queryEnd: row + 1, prefixStart: 0, prefixEnd: 0, keyStart: start, keyEnd: start + t + 1 };
  });
  const tokens = {
    ids: each((row) => texts[row % texts.length][t], 'ids'),
    positions: each(() => t, 'positions'),
    segments: new Segments(scope, list, decodeRows, cache.slots),
  };
  const slots = each((row) => cache.room(row).start + t, 'slots');
  const hidden = decoder.forward(tape, tokens, { keyValues: cache.store(slots, 'cache') });
  nextLogits(tape, hidden, decoder.head);
}

async function decode(device: WasmDevice): Promise<Result> {
  using scope = new Scope(device);
  const decoder = await loadRandom(scope, config, { trainable: false });
  const cache = new KeyValueCache(scope, config, 0, decodeRows, rowLength);
  const fastest = timeRuns(device, rowLength, (t) => decodeStep(decoder, cache, t));
  return { what: `decode ${decodeRows} rows`, tokens: decodeRows * rowLength, flopsPerToken: forwardFlops, fastest };
}

const { available, missing } = await findVariants();
for (const line of missing) console.log(`not measured on Node ${process.version}: ${line}`);
const variants = available.filter((variant: Variant) => options.variant === undefined || variant === options.variant);
console.log(
  `${(countParameters(config) / 1e6).toFixed(2)}M parameters (${(inLayers / 1e6).toFixed(2)}M in layers), ${rows} rows of ${rowLength}`,
);
if (typeof peak === 'string') console.log(`shares of the native peak: not measured, ${peak}`);
console.log('node      variant  threads  what                        tokens/s   median  GFLOP/s  share');
for (const variant of variants) {
  for (const threads of options.threads.split(',').map(Number)) {
    using device = await createWasmDevice({ variant, threads });
    for (const measure of [trainAll, trainAdapters, decode]) {
      if (measure.name.toLowerCase().includes(options.only.toLowerCase())) print(device, await measure(device));
    }
  }
}

function print({ variant, threads }: WasmDevice, { what, tokens, flopsPerToken, fastest }: Result): void {
  const gflop = (flopsPerToken * tokens) / 1e9;
  const [best, middle] = [fastest.wall, fastest.medianWall].map((wall) =>
    Math.round(tokens / wall).toLocaleString('en'),
  );
  const share = fastest.peakGflop === undefined ? '' : `${((100 * gflop) / fastest.peakGflop).toFixed(0)}%`;
  const place = `${process.version.padEnd(9)} ${variant.padEnd(8)} ${String(threads).padStart(7)}`;
  const rate = (gflop / fastest.wall).toFixed(1);
  const rates = `${best.padStart(9)} ${middle.padStart(8)} ${rate.padStart(8)} ${share.padStart(6)}`;
  console.log(`${place}  ${what.padEnd(26)} ${rates}`);
}
