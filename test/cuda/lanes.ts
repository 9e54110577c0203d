/**
 * Runs that compute together on a GPU: whether neighbours change a byte, and where the time of a packed update goes.
 *   node test/cuda/lanes.ts [--only bytes,runs,products,stages,packs] [--to FILE] [--updates 8] [--packs 1,8,32] [--device cuda]
 * Another device than cuda rehearses the script itself, on plain loops and tiny shapes. Every line goes to the file as it is known. Exits 1 when a check failed.
 */
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Adapter, createAdapter, routeGroups, scaleRows } from '../../src/adapters/index.ts';
import { randomStream } from '../../src/base/rng.ts';
import { createCudaDevice } from '../../src/engine/cuda/index.ts';
import { add, type Device, readFloats, Scope, sum, Tape, type Tensor } from '../../src/engine/index.ts';
import { keepSandboxes, RunPack, resolveConfig, shippedRecipe, train } from '../../src/lab/index.ts';
import { type DecoderConfig, forwardLanes, generateLanes, packGroups } from '../../src/model/index.ts';
import type { Sink } from '../../src/run/index.ts';
import { createLaneDevice } from '../device/lane-device.ts';
import type { Check } from '../device/suite.ts';
import { fingerprint } from '../resume/kill.ts';
import { loadRandom } from '../training/model.ts';
import { laneProducts } from './lane-kernels-suite.ts';
import { compareLanes, laneChecks, laneShapes, shape } from './lanes-suite.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'bytes,runs,products,stages,packs' },
    to: { type: 'string' },
    updates: { type: 'string', default: '8' },
    packs: { type: 'string', default: '1,8,32' },
    device: { type: 'string', default: 'cuda' },
  },
});
const began = performance.now();
let failures = 0;

function tell(line: string): void {
  const text = `${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${line}`;
  console.log(text);
  if (options.to !== undefined) appendFileSync(options.to, `${text}\n`);
}

async function check(name: string, body: () => Promise<readonly Check[]>): Promise<void> {
  try {
    const checks = await body();
    const bad = checks.filter(({ pass }) => !pass);
    failures += bad.length;
    tell(`${name}: ${checks.length - bad.length} equal, ${bad.length} differ`);
    for (const { case: label, quantity, maxAbs } of bad.slice(0, 12)) {
      tell(`  differs: ${label}: ${quantity}, by up to ${maxAbs.toExponential(1)}`);
    }
  } catch (error) {
    failures++;
    tell(`${name}: FAILED ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
}

const memoryBytes = 24 * 2 ** 30;
const onGpu = options.device === 'cuda';

interface TimedDevice extends Device {
  /** Blocks until everything queued is done. */
  wait(): void;
}

async function openDevice(asked: Parameters<typeof createCudaDevice>[0]): Promise<TimedDevice> {
  return onGpu ? createCudaDevice(asked) : { ...createLaneDevice(), wait: () => undefined };
}

const shapes = onGpu ? laneShapes : { tiny: shape(16, 2, 2) };

async function checkBytes(): Promise<void> {
  using device = await openDevice({ lanes: true, memoryBytes });
  const checks = laneChecks(device, shapes, onGpu ? laneProducts : laneProducts.slice(0, 1));
  for (const [name, body] of Object.entries(checks)) await check(name, body);
  if (device.arena.used > 0) tell(`${device.arena.used} bytes left in use`);
  using exact = await openDevice({ lanes: true, precision: 'f32', memoryBytes });
  await check('float32: 2M', () => compareLanes(exact, '2M in float32', Object.values(shapes)[0]));
}

const arms = ['activation', 'vanilla', 'haar'];

async function configOf(index: number, updates: number, ...settings: readonly string[]) {
  const own = [
    `updates=${updates}`,
    `seed=${1 + index}`,
    ...(onGpu ? ['device.kind=cuda', 'device.arenaMiB=16384'] : ['device.threads=1', 'device.variant=plain']),
    ...settings,
  ];
  return (await resolveConfig(shippedRecipe(`micro-${arms[index % arms.length]}`), own)).config;
}

/** Trains micro runs in a pack, some with settings of their own; what each came to. */
async function trainPack(
  home: string,
  runs: readonly number[],
  updates: number,
  settingsOf: (run: number) => readonly string[] = () => [],
) {
  await using pack = new RunPack({ joint: true });
  const places = runs.map(() => pack.join());
  // The pack is closed when its runs have ended.
  return await Promise.allSettled(
    places.map(async (own, i) => {
      using place = own;
      return await train(await configOf(runs[i], updates, ...settingsOf(runs[i])), join(home, `${runs[i]}`), { place });
    }),
  );
}

const outcome = (result: PromiseSettledResult<unknown>): string =>
  result.status === 'fulfilled' ? 'ended' : `failed (${String(result.reason).slice(0, 300).replaceAll('\n', ' ')})`;

/** Real micro runs: alone, in a pack of one, among neighbours, among others, and beside one that diverges. */
async function checkRuns(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'gq-lanes-'));
  const updates = 4;
  try {
    const expected = new Map<number, ReadonlyMap<string, string>>();
    for (const run of [0, 1, 2]) {
      await train(await configOf(run, updates), join(home, 'alone', `${run}`));
      expected.set(run, await fingerprint(join(home, 'alone', `${run}`)));
    }
    tell('three micro runs trained alone');
    const packs: readonly (readonly [string, readonly number[], number | null])[] = [
      ['one', [0], null],
      ['three', [0, 1, 2], null],
      ['five, others', [3, 2, 4, 0, 5], null],
      ['three, one diverges', [0, 4, 1], 4],
    ];
    for (const [name, runs, diverging] of packs) {
      await check(`pack of ${name}`, async () => {
        const ended = await trainPack(join(home, name), runs, updates, (run) =>
          run === diverging
            ? ['optimiser.learningRate=1e30', 'optimiser.warmupUpdates=0', 'optimiser.maxGradientNorm=1e30']
            : [],
        );
        tell(`  ${runs.map((run, i) => `${run}: ${outcome(ended[i])}`).join(', ')}`);
        const checks: Check[] = [];
        for (const run of runs) {
          const alone = expected.get(run);
          if (alone === undefined) continue;
          const found = await fingerprint(join(home, name, `${run}`));
          const differ = [...alone.keys()].filter((file) => alone.get(file) !== found.get(file));
          const quantity = `files that differ from the run alone: ${differ.length === 0 ? 'none' : differ.join(', ')}`;
          checks.push({
            case: `run ${run}`,
            quantity,
            maxAbs: differ.length,
            maxRel: 0,
            bound: 0,
            pass: differ.length === 0,
          });
        }
        return checks;
      });
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function time(device: TimedDevice, times: number, body: () => void): number {
  body();
  device.wait();
  const start = performance.now();
  for (let i = 0; i < times; i++) body();
  device.wait();
  return (performance.now() - start) / times;
}

/** TFLOP/s of products with the base weights. */
async function timeProducts(): Promise<void> {
  for (const lanes of [false, true]) {
    using device = await openDevice({ lanes, memoryBytes });
    using scope = new Scope(device);
    const parts: string[] = [];
    for (const M of onGpu ? [512, 32_768] : [2]) {
      for (const [N, K] of [
        [192, 192],
        [576, 192],
        [192, 576],
        [512, 512],
        [1536, 512],
        [512, 1536],
        [768, 768],
        [2304, 768],
        [768, 2304],
      ]) {
        // biome-ignore format: a table
        const [a, b, out] = [[M, K], [N, K], [M, N]].map((size) => scope.empty(size, 'timed', device.floats[0])); // biome-ignore format: one line
        const ms = time(device, 20, () =>
          device.kernels.matmul(out, a, b, { transposeA: false, transposeB: true, accumulate: true }),
        );
        parts.push(`${M}×${K}→${N} ${((2 * M * N * K) / ms / 1e9).toFixed(0)} TF (${(1000 * ms).toFixed(0)} µs)`);
      }
    }
    tell(`products, lanes ${lanes}: ${parts.join(', ')}`);
  }
}

function tokensOf(seed: number, name: string, length: number): Int32Array {
  const ids = new Uint32Array(length);
  randomStream(seed, ['tokens', name]).fillIntegers(ids, 80);
  return Int32Array.from(ids, (id) => id + 3);
}

/** Milliseconds of the stages of an update on the device for so many lanes: the host's part, and all. */
async function timeStages(name: string, config: DecoderConfig, counts: readonly number[]): Promise<void> {
  using device = await openDevice({ lanes: true, memoryBytes: 60 * 2 ** 30 });
  using scope = new Scope(device);
  const decoder = await loadRandom(scope, config, { trainable: false });
  for (const count of counts) {
    using inner = new Scope(device);
    const adapters: Adapter[] = [];
    for (let i = 0; i < count; i++)
      adapters.push(await createAdapter(inner, decoder, { family: 'lora', rank: 8, seed: i }));
    const groups = adapters.map((_, lane) =>
      Array.from({ length: 8 }, (__, g) => ({
        prompt: tokensOf(lane, `p ${g}`, 90),
        completions: Array.from({ length: 8 }, (___, c) => tokensOf(lane, `c ${g} ${c}`, 24 + ((c + g) % 24))),
      })),
    );
    const generation = async (): Promise<void> => {
      const settings = {
        temperature: 1,
        topK: 0,
        topP: 1,
        minP: 0,
        maxNewTokens: 48,
        stopTokens: [2],
        maxPromptTokens: null,
      };
      await generateLanes(
        decoder,
        adapters.map((adapter, lane) => ({
          requests: groups[lane].flatMap(({ prompt }, g) =>
            Array.from({ length: 8 }, (_, row) => ({ prompt, row: 8 * g + row, scale: 1 })),
          ),
          stream: randomStream(lane, 'time', 1),
          project: (own: Scope, scales: Float32Array) =>
            adapter.project({ coefficients: scaleRows(own, Array.from(scales)) }),
        })),
        settings,
        { readEvery: 16, rowStep: 32, tokensPerPass: 8192 },
      );
    };
    const pass = (learns: boolean) => async (): Promise<void> => {
      using own = new Scope(device);
      const learn = new Map<Tensor, Tensor>();
      const parts = adapters.map((adapter, lane) => {
        const packed = packGroups(own, config, groups[lane]);
        const coefficients = routeGroups(
          own,
          packed,
          groups[lane].map(() => 'absorb' as const),
          'branch',
        );
        if (learns) for (const { value, gradient } of adapter.parameters) learn.set(value, gradient);
        return { groups: groups[lane], packed, project: adapter.project({ coefficients }) };
      });
      using tape = new Tape(device, { learn });
      const losses = forwardLanes(tape, decoder, parts, {}, true).map((logp) => sum(tape, logp));
      if (learns) tape.backward(losses.reduce((total, loss) => add(tape, total, loss)));
      await readFloats(losses[0]);
    };
    const line: string[] = [];
    for (const [stage, body] of [
      ['generate', generation],
      ['score', pass(false)],
      ['learn', pass(true)],
    ] as const) {
      // biome-ignore format: one line
      await body();
      const [start, cpu] = [performance.now(), process.cpuUsage()];
      await body();
      await body();
      device.wait();
      const { user, system } = process.cpuUsage(cpu);
      line.push(
        `${stage} ${((performance.now() - start) / 2).toFixed(1)} ms (cpu ${((user + system) / 2000).toFixed(1)})`,
      );
    }
    const peak = device.arena.peak / 2 ** 30;
    tell(`stages of ${name}, ${count} lanes: ${line.join(', ')}; memory up to ${peak.toFixed(2)} GiB`);
  }
}

/** Whole micro runs in packs: milliseconds of an update of a run, and its phases. */
async function timePack(count: number, updates: number): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'gq-lanes-'));
  try {
    await using pack = new RunPack({ joint: true });
    const phases = new Map<string, number>();
    let [first, last] = [0, 0];
    const clock: Sink = {
      name: 'clock',
      event: (event, seconds) => {
        if (event.kind !== 'step') return;
        last = performance.now();
        if (first === 0) first = last;
        for (const [phase, took] of Object.entries(seconds ?? {}))
          phases.set(phase, (phases.get(phase) ?? 0) + took / count);
      },
    };
    const [start, cpu] = [performance.now(), process.cpuUsage()];
    const places = Array.from({ length: count }, () => pack.join());
    await Promise.all(
      places.map(async (own, i) => {
        using place = own;
        await train(await configOf(i, updates), join(home, `${i}`), { place, sinks: [clock] });
      }),
    );
    const { user, system } = process.cpuUsage(cpu);
    const each = (last - first) / (updates - 1) / count;
    const shares = [...phases]
      .map(([phase, seconds]) => `${phase} ${((1000 * seconds) / updates).toFixed(0)}`)
      .join(', ');
    tell(
      `pack of ${count}: ${((performance.now() - start) / 1000).toFixed(1)} s for ${updates} updates, first after ${((first - start) / 1000).toFixed(1)} s, ` +
        `then ${each.toFixed(1)} ms for an update of a run; cpu ${((user + system) / 1e6).toFixed(1)} s; an update of the pack in ms: ${shares}`,
    );
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const chosen = options.only.split(',');
const sandboxes = keepSandboxes();
if (chosen.includes('bytes')) await checkBytes();
if (chosen.includes('runs')) await checkRuns();
if (chosen.includes('products')) await timeProducts();
if (chosen.includes('stages')) {
  if (onGpu) {
    await timeStages('2M', laneShapes['2M'], [1, 8, 32]);
    await timeStages('27M', shape(512, 8, 8), [1, 8, 16]);
    await timeStages('100M', shape(768, 12, 13), [1, 8]);
  } else await timeStages('tiny', shape(16, 2, 1), [1, 2]);
}
if (chosen.includes('packs'))
  for (const count of options.packs.split(',')) await timePack(Number(count), Number(options.updates));
tell(`${failures} failures`);
await sandboxes[Symbol.asyncDispose]();
process.exit(failures === 0 ? 0 : 1);
