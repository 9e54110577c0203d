/**
 * The cuda device on a model of Qwen3-4B's shape with random weights, bf16: decoding by batch size with prompts of 400 tokens
 * (plainly, or with an adapter), forward and backward of 8 × 1024 tokens with a LoRA adapter, and where the time goes.
 *   node bench/cuda.ts [--only decode,adapted,train,profile] [--shape 4b|0.6b] [--rows 64,256] [--group 1] [--tokens 128] [--json FILE]
 * `--group 4`: four rows share a prompt, as completions of a task do.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { scaleGroups, scaleRows, targetModules } from '../src/adapters/index.ts';
import type { LinearAdapter } from '../src/adapters/linear-adapter.ts';
import { randomStream } from '../src/base/rng.ts';
import { type CudaDevice, createCudaDevice } from '../src/engine/cuda/index.ts';
import { AdamW, type BlockCoefficients, type Kernels, Scope, sum, Tape } from '../src/engine/index.ts';
import { countParameters, Decoder, generate, type PackedGroups, packGroups, scoreGroups } from '../src/model/index.ts';
import { qwen3Shapes, randomAdapter, randomWeights } from './qwen3-shapes.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'decode,train,profile' },
    shape: { type: 'string', default: '4b' },
    rows: { type: 'string', default: '64,256' },
    group: { type: 'string', default: '1' },
    tokens: { type: 'string', default: '128' },
    json: { type: 'string' },
  },
});

const config = qwen3Shapes[options.shape];
const rank = 32;

const tokensOf = (row: number, length: number): Int32Array => {
  const ids = new Int32Array(length);
  randomStream(1, ['bench', row]).fillIntegers(ids, 150_000);
  return ids;
};

const results: Record<string, string | number>[] = [];
function record(row: Record<string, string | number>): void {
  results.push(row);
  console.log(
    Object.entries(row)
      .map(([key, value]) => `${key} ${typeof value === 'number' ? Number(value.toPrecision(4)) : value}`)
      .join(', '),
  );
}

async function timed(device: CudaDevice, body: () => Promise<void> | void): Promise<number> {
  device.wait();
  const start = performance.now();
  await body();
  device.wait();
  return (performance.now() - start) / 1000;
}

async function benchDecode(device: CudaDevice, decoder: Decoder, adapted: boolean, profile: boolean): Promise<void> {
  const [newTokens, group] = [Number(options.tokens), Number(options.group)];
  using own = new Scope(device);
  const adapter = adapted ? randomAdapter(own, rank, targetModules(config)) : null;
  const projected =
    adapter === null
      ? {}
      : {
          project: (inner: Scope, scales: Float32Array) =>
            adapter.project({ coefficients: scaleRows(inner, [...scales]) }),
        };
  for (const rows of options.rows.split(',').map(Number)) {
    const requests = Array.from({ length: rows }, (_, row) => ({
      prompt: tokensOf(Math.floor(row / group), 400),
      row,
      scale: 1,
    }));
    const run = async (maxNewTokens: number): Promise<void> => {
      const settings = {
        temperature: 1,
        topK: 0,
        topP: 1,
        minP: 0,
        maxNewTokens,
        stopTokens: [],
        maxPromptTokens: null,
      };
      const stream = randomStream(1, 'bench');
      await generate(decoder, requests, settings, { stream, readEvery: 32, rowStep: 32, ...projected });
    };
    await run(4);
    const prefill = await timed(device, () => run(1));
    const whole = await timed(device, () => run(newTokens + 1));
    record({
      what: adapted ? 'decode with LoRA' : 'decode',
      rows,
      'rows a prompt': group,
      'tokens/s': (rows * newTokens) / (whole - prefill),
      'ms/step': ((whole - prefill) / newTokens) * 1000,
      'prefill s': prefill,
      'tokens/s with prefill': (rows * (newTokens + 1)) / whole,
    });
    if (profile) await profileDecoding(device, rows, run);
  }
}

/** Profiles 8 steps, without a graph so that every kernel can be waited for; the prefill's time is subtracted. */
async function profileDecoding(
  device: CudaDevice,
  rows: number,
  run: (tokens: number) => Promise<void>,
): Promise<void> {
  const { repeat } = device;
  device.repeat = (_key, body) => body();
  const prefill = await watchKernels(device, () => run(1));
  const times = await watchKernels(device, () => run(9));
  device.repeat = repeat;
  for (const [name, { count, ms }] of prefill) {
    const entry = times.get(name) ?? { count: 0, ms: 0 };
    times.set(name, { count: entry.count - count, ms: entry.ms - ms });
  }
  console.log(`8 steps of ${rows} rows:`);
  printTimes(times);
}

interface Pass {
  readonly packed: PackedGroups;
  readonly coefficients: BlockCoefficients;
}

/** Eight rows; every token but the first of each row is scored. */
function packRows(scope: Scope, decoder: Decoder, length: number): Pass {
  const groups = Array.from({ length: 8 }, (_, row) => ({
    prompt: tokensOf(row, 1),
    completions: [tokensOf(100 + row, length - 1)],
  }));
  const packed = packGroups(scope, decoder.config, groups);
  const coefficients = scaleGroups(
    scope,
    packed,
    groups.map(() => 1),
  );
  return { packed, coefficients };
}

function trainStep(decoder: Decoder, adapter: LinearAdapter, optimiser: AdamW, { packed, coefficients }: Pass): void {
  using tape = new Tape(decoder.head.device, { learn: optimiser.learn, recompute: true });
  const logp = scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients }) });
  tape.backward(sum(tape, logp));
}

async function benchTrain(device: CudaDevice, decoder: Decoder, profile: boolean): Promise<void> {
  using own = new Scope(device);
  const adapter = randomAdapter(own, rank, targetModules(config));
  using optimiser = new AdamW(adapter.parameters);
  const pass = packRows(own, decoder, 1024);
  const step = (): void => trainStep(decoder, adapter, optimiser, pass);
  device.arena.peak = device.arena.used;
  step();
  await device.sync();
  const seconds: number[] = [];
  for (let i = 0; i < 5; i++) seconds.push(await timed(device, step));
  const best = Math.min(...seconds);
  record({
    what: 'forward+backward 8×1024, LoRA rank 32',
    'tokens/s': 8192 / best,
    ms: best * 1000,
    'TFLOP/s (4N)': (4 * countParameters(config) * 8192) / best / 1e12,
    'peak GB': device.arena.peak / 1e9,
  });
  await recordQueueing(device, 'queueing one pass, the driver makes the host wait', step);
  // The same kernels on few tokens: the driver takes about a thousand kernels ahead, and a GPU this fast never fills that queue.
  const few = packRows(own, decoder, 64);
  await recordQueueing(device, 'queueing one pass of 8×64 tokens: the host alone', () =>
    trainStep(decoder, adapter, optimiser, few),
  );
  if (profile) printTimes(await watchKernels(device, step));
}

/** The host's time until all of a pass is queued, and the processor's time in it: the median of five, after one that plans. */
async function recordQueueing(device: CudaDevice, what: string, step: () => void): Promise<void> {
  step();
  const seen: { ms: number; cpu: number; whole: number }[] = [];
  for (let i = 0; i < 5; i++) {
    device.wait();
    const [start, used] = [performance.now(), process.cpuUsage()];
    step();
    const [ms, { user, system }] = [performance.now() - start, process.cpuUsage(used)];
    device.wait();
    seen.push({ ms, cpu: (user + system) / 1000, whole: performance.now() - start });
  }
  const median = (key: 'ms' | 'cpu' | 'whole'): number => seen.map((one) => one[key]).sort((a, b) => a - b)[2];
  record({ what, ms: median('ms'), 'processor ms': median('cpu'), 'until done ms': median('whole') });
}

type KernelTimes = Map<string, { count: number; ms: number }>;

/** Runs with a wait after every kernel: the time by kernel (matmul by shape). */
async function watchKernels(device: CudaDevice, body: () => void | Promise<void>): Promise<KernelTimes> {
  const times: KernelTimes = new Map();
  const watched = Object.entries(device.kernels).map(([name, kernel]) => [
    name,
    (...parameters: readonly unknown[]): void => {
      device.wait();
      const start = performance.now();
      (kernel as (...given: readonly unknown[]) => void)(...parameters);
      device.wait();
      const key = `${name} ${describeCall(name, parameters)}`;
      const entry = times.get(key) ?? { count: 0, ms: 0 };
      times.set(key, { count: entry.count + 1, ms: entry.ms + performance.now() - start });
    },
  ]);
  const plain = { ...device.kernels };
  Object.assign(device.kernels, Object.fromEntries(watched));
  await body();
  Object.assign(device.kernels, plain);
  return times;
}

function printTimes(times: KernelTimes): void {
  const sorted = [...times].sort(([, a], [, b]) => b.ms - a.ms).slice(0, 40);
  for (const [name, { count, ms }] of sorted)
    console.log(`  ${ms.toFixed(2).padStart(8)} ms  ${String(count).padStart(5)} × ${name}`);
}

function describeCall(name: string, parameters: readonly unknown[]): string {
  if (name === 'matmul') return describeProduct(parameters);
  if (name !== 'blockProduct' && name !== 'products') return '';
  const [outs, x] = [parameters[0], parameters[1]].map((given) => (Array.isArray(given) ? given : [given]));
  return [...outs, x[0] ?? 'alone'].map((tensor) => tensor.shape?.join('×') ?? tensor).join(' ');
}

function describeProduct(parameters: readonly unknown[]): string {
  const [out, a, , product] = parameters as Parameters<Kernels['matmul']>;
  const [m, n] = out.shape.slice(-2);
  const k = product.transposeA ? a.shape.at(-2) : a.shape.at(-1);
  const marks = `${product.transposeA ? ' aᵀ' : ''}${product.transposeB ? ' bᵀ' : ''}${product.accumulate ? ' +=' : ''}`;
  return `${m}×${k}×${n} ${a.dtype}→${out.dtype}${marks}`;
}

const device = await createCudaDevice({ precision: 'bf16' });
{
  using scope = new Scope(device);
  const start = performance.now();
  const decoder = await Decoder.load(scope, config, randomWeights(config), { maxPositions: 4096 });
  await device.sync();
  record({ what: 'load', seconds: (performance.now() - start) / 1000, 'weights GB': device.arena.used / 1e9 });
  const only = options.only.split(',');
  const profile = only.includes('profile');
  if (only.includes('decode')) await benchDecode(device, decoder, false, profile);
  if (only.includes('adapted')) await benchDecode(device, decoder, true, profile);
  if (only.includes('train')) await benchTrain(device, decoder, profile);
}
if (options.json !== undefined)
  writeFileSync(options.json, JSON.stringify({ machine: device.facts, shape: options.shape, results }, null, 1));
device[Symbol.dispose]();
