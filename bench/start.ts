/**
 * Seconds of what `gq train` does before its first token and at its first checkpoint, part by part, on a device that computes nothing:
 * the processor's share of a start, without a GPU. The model may have fewer layers than the real one (bench/make-model.ts --layers).
 *   node bench/start.ts --model DIR --problems FILE [--recipe recipes/qwen3-4b-full-symmetric.toml] [--out FOLDER]
 *     [--layers 36]: those of the model whose memory is planned, where the folder has fewer
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findStart } from '../src/adapters/index.ts';
import { AdamW, CountingDevice, readFloats } from '../src/engine/index.ts';
import { openLab, resolveConfig } from '../src/lab/index.ts';
import { planMemory } from '../src/lab/memory/plan.ts';
import { saveCheckpoint } from '../src/run/checkpoint.ts';
import { RunDirectory } from '../src/run/index.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    problems: { type: 'string' },
    recipe: { type: 'string', default: 'recipes/qwen3-4b-full-symmetric.toml' },
    out: { type: 'string', default: tmpdir() },
    layers: { type: 'string' },
  },
});
if (values.model === undefined || values.problems === undefined)
  throw new Error('start: expected --model DIR --problems FILE');

/** Prints the wall and processor seconds of one part. */
async function part<T>(name: string, work: () => Promise<T>): Promise<T> {
  const [wall, cpu] = [performance.now(), process.cpuUsage()];
  const made = await work();
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (ms: number): string => (ms / 1000).toFixed(2).padStart(7);
  console.log(`${name.padEnd(28)}${seconds(performance.now() - wall)} s wall${seconds((user + system) / 1000)} s cpu`);
  return made;
}

const asked = [`model=${JSON.stringify(values.model)}`, `data.path=${JSON.stringify(values.problems)}`];
const { config } = await part('config', () => resolveConfig(values.recipe, asked, null));
const floats = ['bf16', 'f32'] as const;
const device = new CountingDevice({ floats, capacity: 2 ** 37 });
await using lab = await openLab({ config }, { given: { device: Promise.resolve(device) } });
const [files] = await part('inputs', () => Promise.all([lab.model, lab.judge, lab.problems, lab.pairs]));
await part('identity', () => lab.identity);
const tasks = await part('tasks', () => lab.tasks);
const layers = Number(values.layers ?? files.folder.config.layers);
await part('memory plan', () =>
  planMemory({
    ...{ config, decoder: { ...files.folder.config, layers }, tasks, floats },
    arm: lab.arm,
    start: findStart(config.adapter.family, lab.parts.starts),
    models: new Map([['base', { decoder: files.folder.config, text: files.text }]]),
  }),
);
await part('weights', () => lab.weights);
const { adapter } = await part('adapter', () => lab.policy);
const optimiser = lab.use(new AdamW(adapter.parameters));
const initial = await part('initial values', () => adapter.tensors('initial'));
const learned = await part('learned values', () => adapter.tensors('learned'));
const moments = await part('moments', async () => {
  const read = async (tensor: Parameters<typeof readFloats>[0]) => ({ shape: tensor.shape, data: await readFloats(tensor) }); // biome-ignore format: one step
  const all = new Map<string, { m: Awaited<ReturnType<typeof read>>; v: Awaited<ReturnType<typeof read>> }>();
  for (const [name, { m, v }] of optimiser.moments) all.set(name, { m: await read(m), v: await read(v) });
  return all;
});
const folder = mkdtempSync(join(values.out, 'gq-start-'));
try {
  const run = RunDirectory.create(join(folder, 'run'));
  const nothing = {
    momentsFrom: 0,
    arm: null,
    directionAge: null,
    tripwire: { first: null, last: null, tripped: null },
  };
  await part('checkpoint', () =>
    saveCheckpoint(run, { update: 0, adapter: learned, moments, ...nothing } as never, {
      keepState: 'newest',
      initial,
    }),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
