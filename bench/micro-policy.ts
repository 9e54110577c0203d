/**
 * The policy that generate.ts and score.ts time: the micro lab's decoder (width 192, 4 layers, 6 heads, MLP 576, 96 tokens),
 * random weights, with or without a LoRA adapter of rank 16; the arithmetic of a token; and the device's own peak, measured
 * as the best rate of a 512 × 512 × 512 product with a frozen weight.
 */
import { parseArgs } from 'node:util';
import { type Adapter, createAdapter } from '../src/adapters/index.ts';
import { randomStream } from '../src/base/rng.ts';
import { type Device, Scope } from '../src/engine/index.ts';
import { createReferenceDevice } from '../src/engine/reference/index.ts';
import { createWasmDevice } from '../src/engine/wasm/index.ts';
import { Decoder, type DecoderConfig, initialTensors, modelPresets } from '../src/model/index.ts';

export const rank = 16;
const vocabSize = 96;

export interface BenchOptions {
  readonly device: Device;
  readonly secondsPerCase: number;
  readonly json: boolean;
}

/** Whether times are processor time of this process, not elapsed time: --cpu, for a machine that is busy with other things. */
let processorTime = false;

function nowMs(): number {
  if (!processorTime) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export async function readOptions(): Promise<BenchOptions> {
  const { values } = parseArgs({
    options: {
      device: { type: 'string', default: 'wasm' },
      threads: { type: 'string' },
      seconds: { type: 'string', default: '1' },
      cpu: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  processorTime = values.cpu;
  const threads = values.threads === undefined ? {} : { threads: Number(values.threads) };
  const device =
    values.device === 'reference' ? createReferenceDevice({ arenaBytes: 2 ** 29 }) : await createWasmDevice(threads);
  return { device, secondsPerCase: Number(values.seconds), json: values.json };
}

export interface MicroPolicy {
  readonly config: DecoderConfig;
  readonly decoder: Decoder;
  readonly adapter: Adapter;
}

export async function microPolicy(scope: Scope): Promise<MicroPolicy> {
  const config: DecoderConfig = { ...modelPresets.micro, vocabSize };
  const weights = initialTensors(config, 1).map(({ name, shape, data }) => ({ name, shape, data: data() }));
  const decoder = await Decoder.load(
    scope,
    config,
    weights.map(({ name, shape, data }) => ({ name, shape, dtype: 'f32' as const, data: data as Float32Array })),
  );
  return { config, decoder, adapter: await createAdapter(scope, decoder, { family: 'lora', rank, seed: 1 }) };
}

export function randomTokens(name: string, row: number, count: number): Int32Array {
  const tokens = new Int32Array(count);
  randomStream(1, name).at(0, row).fillIntegers(tokens, vocabSize);
  return tokens;
}

/** Multiplications and additions of one token's forward pass that sees `context` tokens, without and with the adapter. */
export function flopsPerToken({ config, adapter }: MicroPolicy, context: number, adapted: boolean): number {
  const { layers, heads, headDim, hiddenSize } = config;
  const linear = adapter.modules.reduce((sum, { inputs, outputs }) => sum + 2 * inputs * outputs, 0);
  const blocks = adapter.modules.reduce((sum, { inputs, outputs }) => sum + 8 * rank * (inputs + outputs), 0);
  const attention = 4 * layers * heads * headDim * context;
  return linear + 2 * hiddenSize * vocabSize + attention + (adapted ? blocks : 0);
}

/** The device's peak in FLOP/s. */
export async function measurePeak(device: Device): Promise<number> {
  using scope = new Scope(device);
  const size = 512;
  const operand = (name: string) => {
    const data = new Float32Array(size * size);
    randomStream(1, name).fillNormal(data);
    return scope.from(data, [size, size], name);
  };
  const [a, b, out] = [operand('a'), operand('b'), scope.empty([size, size], 'out')];
  device.freeze(b);
  const seconds = await fastest(device, 0.5, () =>
    device.kernels.matmul(out, a, b, { transposeA: false, transposeB: true, accumulate: false }),
  );
  return (2 * size ** 3) / seconds;
}

/** The least time of one run, in seconds, over as many as fit. */
export async function fastest(device: Device, budgetSeconds: number, run: () => void | Promise<void>): Promise<number> {
  await run();
  await device.sync();
  let least = Number.POSITIVE_INFINITY;
  const end = performance.now() + budgetSeconds * 1000;
  do {
    const start = nowMs();
    await run();
    await device.sync();
    least = Math.min(least, nowMs() - start);
  } while (performance.now() < end);
  return least / 1000;
}

export interface Measurement {
  readonly what: string;
  readonly batch: number;
  readonly tokensPerSecond: number;
  readonly shareOfPeak: number;
}

export function printMeasurements({ device, json }: BenchOptions, peak: number, rows: readonly Measurement[]): void {
  const threads = 'threads' in device ? device.threads : 1;
  const variant = 'variant' in device ? device.variant : '';
  if (json) {
    console.log(
      JSON.stringify({ device: device.name, threads, variant, peakFlops: peak, measurements: rows }, null, 2),
    );
    return;
  }
  console.log(`${device.name} ${variant}, ${threads} thread(s), matmul peak ${(peak / 1e9).toFixed(1)} GFLOP/s`);
  for (const { what, batch, tokensPerSecond, shareOfPeak } of rows) {
    const rate = Math.round(tokensPerSecond).toLocaleString('en').padStart(9);
    console.log(
      `${what.padEnd(28)} batch ${String(batch).padStart(4)} ${rate} tokens/s  ${(100 * shareOfPeak).toFixed(1).padStart(5)} % of peak`,
    );
  }
}
