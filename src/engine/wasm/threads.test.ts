/** Threads: many jobs with pauses between them, sleep, and an end by themselves. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { DeviceError } from '../../base/errors.ts';
import { randomStream } from '../../base/rng.ts';
import { Scope } from '../scope.ts';
import { readFloats, readInts } from '../transfer.ts';
import { createWasmDevice } from './index.ts';
import { Jobs } from './jobs.ts';
import { canShareMemory, loadModuleBytes, startWorker } from './platform.ts';
import { webAssembly } from './webassembly.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('2,000 jobs with pauses in which workers fall asleep', async () => {
  using device = await createWasmDevice({ threads: 3, variant: 'plain', arenaBytes: 2 ** 27 });
  using scope = new Scope(device);
  const size = 100_000;
  const one = scope.from(new Float32Array(size).fill(1), [size], 'one');
  const total = scope.zeros([size], 'total');
  for (let job = 1; job <= 2000; job++) {
    device.kernels.add(total, one);
    if (job % 100 === 0) {
      await pause(job % 300 === 0 ? 12 : 0);
      expect((await readFloats(total)).every((value) => value === job)).toBe(true);
    }
  }
});

test('queued jobs run in order, however many they are and whatever plans they have', async () => {
  const results = await Promise.all(
    [1, 3].map(async (threads) => {
      using device = await createWasmDevice({ threads, variant: 'plain', arenaBytes: 2 ** 27 });
      using scope = new Scope(device);
      const numbers = (shape: readonly number[]) =>
        scope.from(
          Float32Array.from({ length: shape[0] * shape[1] }, (_, i) => Math.sin(i)),
          shape,
          'numbers',
        );
      const [x, first, second] = [numbers([70, 64]), numbers([64, 64]), numbers([64, 64])];
      const outs = [scope.empty([70, 64], 'out'), scope.empty([70, 64], 'out')];
      const large = scope.zeros([200_000], 'large');
      for (let round = 0; round < 300; round++) {
        device.kernels.products?.(outs, x, [first, second]);
        device.kernels.binary('add', x, outs[0], outs[1]);
        device.kernels.unary('tanh', x, x);
        device.kernels.affine(large, large, round % 2 === 0 ? 1.5 : 0.5, round);
      }
      return [await readFloats(x), await readFloats(large)];
    }),
  );
  const [alone, together] = results.map((parts) => parts.map(({ buffer }) => Buffer.from(buffer)));
  expect(together.map((part, i) => part.equals(alone[i]))).toEqual([true, true]);
});

test('what the host does itself waits for the jobs queued before it', async () => {
  using device = await createWasmDevice({ threads: 3, variant: 'plain', arenaBytes: 2 ** 27 });
  using scope = new Scope(device);
  const { kernels } = device;
  const size = 2 ** 22;
  const slow = scope.zeros([size], 'slow');
  /** Queues milliseconds of work. */
  const keepBusy = () => {
    for (let job = 0; job < 4; job++) kernels.affine(slow, slow, 1, 1);
  };
  const ints = (values: readonly number[], shape: readonly number[] = [values.length]) =>
    scope.from(Int32Array.from(values), shape, 'whole numbers');

  // A write: a queued job reads what was there before.
  const [x, copy] = [scope.from(new Float32Array(64).fill(1), [64], 'x'), scope.zeros([64], 'copy')];
  keepBusy();
  kernels.copy(copy, x);
  device.write(x, new Float32Array(64).fill(2));
  expect([...new Set(await readFloats(copy))]).toEqual([1]);

  // Counters that advance: a queued job gathers by the old ones.
  const [table, counters] = [scope.from(Float32Array.of(5, 6, 7), [3, 1], 'table'), ints([0, 1])];
  const gathered = scope.zeros([2, 1], 'gathered');
  const one = ints([1]);
  keepBusy();
  kernels.gatherRows(gathered, table, counters);
  kernels.advance(counters.view([2, 1]), one);
  expect([...(await readFloats(gathered))]).toEqual([5, 6]);

  // A draw: the logits are those that queued jobs make.
  const [logits, likely] = [scope.zeros([1, 4], 'logits'), scope.from(Float32Array.of(0, 0, 9, 0), [1, 4], 'likely')];
  const [ids, tokens, logps] = [ints([0]), ints([0], [1, 1]), scope.zeros([1, 1, 2], 'logps')];
  const [slots, rows, counts] = [ints([0]), ints([0]), ints([0])];
  const greedy = { key: randomStream(1, 'threads').key, step: 0, temperature: 0, topK: 0, topP: 1, minP: 0 };
  keepBusy();
  kernels.copy(logits, likely);
  kernels.sample(ids, tokens, logps, logits, slots, rows, counts, greedy);
  expect([...(await readInts(tokens))]).toEqual([2]);
});

/** Jobs over three threads, without a device around them. */
async function startJobs() {
  const memory = new webAssembly.Memory({ initial: 1024, maximum: 1024, shared: true });
  const module = await webAssembly.compile(await loadModuleBytes('plain-shared'));
  const jobs = new Jobs(new webAssembly.Instance(module, { env: { memory } }).exports, memory, 3);
  const workers = await Promise.all([1, 2].map((thread) => startWorker({ module, memory, thread })));
  return { jobs, memory, workers };
}

test('every one of many small shards runs exactly once', async () => {
  const { jobs, memory } = await startJobs();
  const [shards, each, runs] = [60_000, 4, 300];
  const size = shards * each;
  const [one, total] = [jobs.reservedBytes, jobs.reservedBytes + size * 4];
  new Float32Array(memory.buffer, one, size).fill(1);
  // total += one: a shard that ran twice or not at all would show.
  for (let run = 0; run < runs; run++) jobs.run('binary', shards, [size, each, 0, total, total, one, 0, size]);
  jobs.finish();
  expect(new Float32Array(memory.buffer, total, size).findIndex((value) => value !== runs)).toBe(-1);
  jobs.stop();
});

test('a long plan is laid down only when jobs that read the one before have ended', async () => {
  const { jobs, memory } = await startJobs();
  const [words, large] = [10_000, 4_000_000];
  const [slow, out] = [jobs.reservedBytes, jobs.reservedBytes + large * 4];
  const plans = [1, 2].map((value) => new Int32Array(words).fill(value));
  plans.forEach((plan, i) => {
    // Milliseconds of work, behind which the plan is read.
    jobs.run('fill', 3, [large, large / 2, i, slow, 0, 0, 0, 0]);
    jobs.run('copyWords', 1, [words, words, 0, out + i * words * 4, jobs.stage(plan), 0, 0, 0]);
  });
  jobs.finish();
  const found = plans.map((_, i) => new Set(new Int32Array(memory.buffer, out + i * words * 4, words)));
  expect(found.map((values) => [...values])).toEqual([[1], [2]]);
  jobs.stop();
});

test('a main thread that sleeps over the last shard goes on with the right count', async () => {
  const { jobs, memory } = await startJobs();
  jobs.allowSleep();
  const [size, runs] = [3_000_000, 200];
  const [one, total] = [jobs.reservedBytes, jobs.reservedBytes + size * 4];
  new Float32Array(memory.buffer, one, size).fill(1);
  for (let run = 0; run < runs; run++) {
    jobs.run('binary', 3, [size, size / 3, 0, total, total, one, 0, size]);
    jobs.finish();
  }
  expect(new Float32Array(memory.buffer, total, size).findIndex((value) => value !== runs)).toBe(-1);
  jobs.stop();
});

test('a thread that was ended from outside in the middle of its work is said, not waited for', async () => {
  /** Whether the threads were ended with a shard in their hands: they may have been between two. */
  const isStalled = async (): Promise<boolean> => {
    const { jobs, memory, workers } = await startJobs();
    jobs.allowSleep(20);
    const words = 8_000_000;
    const filled = new Int32Array(memory.buffer, jobs.reservedBytes, words);
    for (let run = 1; run <= 30; run++) jobs.run('fill', 2, [words, words / 2, run, jobs.reservedBytes, 0, 0, 0, 0]);
    while (Atomics.load(filled, 0) === 0 && Atomics.load(filled, words / 2) === 0) await pause(0);
    await Promise.all(workers.map((worker) => worker.terminate()));
    try {
      jobs.finish();
      return false;
    } catch (error) {
      expect(error).toMatchObject({ complaint: { found: expect.stringContaining('a thread that does not go on') } });
      expect(() => jobs.finish()).toThrow(DeviceError);
      return true;
    }
  };
  let found = false;
  for (let attempt = 0; attempt < 50 && !found; attempt++) found = await isStalled();
  expect(found).toBe(true);
});

test('idle workers sleep, and a stop ends them', async () => {
  const { jobs, memory } = await startJobs();
  const untilSleepers = async (count: number) => {
    while (jobs.sleepers !== count) await pause(1);
  };
  await untilSleepers(2);
  const words = 300_000;
  jobs.run('fill', 30, [words, 10_000, 7, jobs.reservedBytes, 0, 0, 0, 0]);
  jobs.finish();
  expect(new Int32Array(memory.buffer, jobs.reservedBytes, words + 1).findIndex((value) => value !== 7)).toBe(words);
  await untilSleepers(2);
  jobs.stop();
  await untilSleepers(0);
});

test('a kernel that traps is a DeviceError', async () => {
  const { jobs } = await startJobs();
  const beyond = 2 ** 31;
  jobs.run('copyWords', 1, [16, 16, 0, beyond, 0, 0, 0, 0]);
  expect(() => jobs.finish()).toThrow(DeviceError);
  jobs.run('fill', 1, [16, 16, 0, jobs.reservedBytes, 0, 0, 0, 0]);
  expect(() => jobs.finish()).toThrow(DeviceError);
  jobs.stop();
});

test('the build for unshared memory runs alone', async () => {
  const memory = new webAssembly.Memory({ initial: 1024, maximum: 1024, shared: false });
  const module = await webAssembly.compile(await loadModuleBytes('relaxed'));
  const jobs = new Jobs(new webAssembly.Instance(module, { env: { memory } }).exports, memory, 1);
  jobs.run('fill', 3, [25_000, 10_000, 9, jobs.reservedBytes, 0, 0, 0, 0]);
  expect(new Int32Array(memory.buffer, jobs.reservedBytes, 25_001).findIndex((value) => value !== 9)).toBe(25_000);
});

/** The package's own Node runs TypeScript as it is. */
async function runScript(body: string): Promise<string> {
  const modules = `import { createWasmDevice } from './src/engine/wasm/index.ts'; import { Scope } from './src/engine/scope.ts';`;
  const node = join(root, 'node_modules/.bin/node');
  const args = ['--input-type=module', '--no-warnings', '--eval', `${modules}\n${body}`];
  const { stdout } = await promisify(execFile)(node, args, { cwd: root });
  return stdout.trim();
}

const useDevice = `
  const device = await createWasmDevice({ threads: 3, arenaBytes: 2 ** 27 });
  const scope = new Scope(device);
  const x = scope.zeros([100_000], 'x');
  device.kernels.affine(x, x, 1, 2);
  console.log((await device.read(x))[99_999]);`;

test('a process with an open device ends by itself', async () => {
  expect(canShareMemory()).toBe(true);
  expect(await runScript(useDevice)).toBe('2');
});

test('a process ends after dispose, and dispose may come twice', async () => {
  const body = `${useDevice} scope[Symbol.dispose](); device[Symbol.dispose](); device[Symbol.dispose](); console.log('ended');`;
  expect(await runScript(body)).toBe('2\nended');
});
