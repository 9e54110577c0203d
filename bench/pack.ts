/**
 * Seconds that micro runs take alone and in a pack: one process each in turn (`alone`), one process that shares its parts and computes for
 * one run at a time (`turns`), or for all in joint batches (`joint`). Prints one JSON line. Times include the start and no evaluation.
 *   node bench/pack.ts [--mode turns] [--runs 8] [--updates 20] [--device wasm] [--arms activation,vanilla,haar] [--set KEY=VALUE]...
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { keepSandboxes, RunPack, resolveConfig, shippedRecipe, train } from '../src/lab/index.ts';
import type { Sink } from '../src/run/index.ts';

const { values } = parseArgs({
  options: {
    mode: { type: 'string', default: 'turns' },
    runs: { type: 'string', default: '8' },
    updates: { type: 'string', default: '20' },
    device: { type: 'string', default: 'wasm' },
    arms: { type: 'string', default: 'activation,vanilla,haar' },
    set: { type: 'string', multiple: true, default: [] },
  },
});
const { mode } = values;
if (!['alone', 'turns', 'joint'].includes(mode)) throw new Error(`pack: expected alone, turns or joint, found ${mode}`);
const [count, updates, arms] = [Number(values.runs), Number(values.updates), values.arms.split(',')];
const home = mkdtempSync(join(tmpdir(), 'gq-pack-'));
await using _sandboxes = keepSandboxes();

async function configOf(index: number) {
  const settings = [`updates=${updates}`, `seed=${1 + index}`, `device.kind=${values.device}`, ...values.set];
  return (await resolveConfig(shippedRecipe(`micro-${arms[index % arms.length]}`), settings)).config;
}

const phases = new Map<string, number>();
let firstStep = 0;
const clock: Sink = {
  name: 'clock',
  event: (event, seconds) => {
    if (event.kind !== 'step') return;
    if (firstStep === 0) firstStep = performance.now();
    for (const [phase, took] of Object.entries(seconds ?? {})) phases.set(phase, (phases.get(phase) ?? 0) + took);
  },
};

try {
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  if (mode === 'alone') {
    for (let i = 0; i < count; i++) await train(await configOf(i), join(home, `${i}`), { sinks: [clock] });
  } else {
    await using pack = new RunPack({ joint: mode === 'joint' });
    const places = Array.from({ length: count }, () => pack.join());
    await Promise.all(
      places.map(async (own, i) => {
        using place = own;
        await train(await configOf(i), join(home, `${i}`), { place, sinks: [clock] });
      }),
    );
  }
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const told = {
    mode,
    device: values.device,
    runs: count,
    updates,
    seconds,
    perRunUpdateMs: (1000 * seconds) / (count * updates),
  };
  const start = (firstStep - began) / 1000;
  console.log(
    JSON.stringify({
      ...told,
      toFirstStep: start,
      cpuSeconds: (user + system) / 1e6,
      phases: Object.fromEntries(phases),
    }),
  );
} finally {
  rmSync(home, { recursive: true, force: true });
}
