/**
 * Training on the cuda device: ten updates of the micro lab in float32, which must draw, reward and route as wasm does for as long as
 * rounding allows; and runs that are killed and resumed, which must leave the bytes of an unbroken run.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveBuiltin } from '../../src/lab/index.ts';
import { train } from '../../src/lab/train.ts';
import type { Sink } from '../../src/run/sink.ts';
import { mustBeZero } from '../device/sections.ts';
import { type Check, compare } from '../device/suite.ts';
import { killAndCompare } from '../resume/kill.ts';

/** The first updates, which must agree; later ones are only counted, since a draw on the edge of rounding may separate the two. */
const mustAgree = 3;
/** Difference of losses and gradient norms that rounding in float32 explains. */
const lossBound = 1e-3;

export interface MicroStep {
  readonly rewards: string;
  readonly routes: string;
  readonly numbers: Float32Array;
}

/** The steps of a run of the micro lab by a recipe. */
export async function trainMicro(recipe: string, settings: readonly string[]): Promise<MicroStep[]> {
  const home = mkdtempSync(join(tmpdir(), 'gq-micro-run-'));
  const rewards: string[] = [];
  const routes: string[] = [];
  const numbers: Float32Array[] = [];
  const collector: Sink = {
    name: 'rewards and routes',
    event(event) {
      if (event.kind === 'step') numbers.push(Float32Array.of(event.loss, event.gradientNorm));
      if (event.kind !== 'rollouts') return;
      rewards.push(JSON.stringify(event.records.map(({ reward }) => reward)));
      routes.push(JSON.stringify(event.records.map(({ route }) => route)));
    },
  };
  try {
    const { config } = resolveBuiltin(`recipes/${recipe}.toml`, ['updates=10', ...settings]);
    await train(config, join(home, 'run'), { sinks: [collector] });
    return rewards.map((own, i) => ({ rewards: own, routes: routes[i], numbers: numbers[i] }));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function agreement(quantity: string, found: readonly string[], expected: readonly string[], updates: number): Check {
  const first = found.findIndex((value, i) => value !== expected[i]);
  const same = first < 0 ? found.length : first;
  const least = Math.min(mustAgree, updates);
  const pass = found.length === updates && expected.length === updates && same >= least;
  const missing = Math.max(0, least - same);
  return {
    ...{ case: 'micro run', maxAbs: missing, maxRel: missing, bound: 0, pass },
    quantity: `${quantity} as on wasm for ${same} of ${updates} updates (${least} must be)`,
  };
}

/** Compares training on a device in float32, which `own` settings name, with training on wasm: rewards, routes, and the numbers of the first update. */
export async function compareMicroRun(
  own: readonly string[],
  { updates = 10, settings = ['arm.warmupRows=16'] }: { updates?: number; settings?: readonly string[] } = {},
): Promise<Check[]> {
  const trainGate = (...where: string[]) =>
    trainMicro('micro-activation', [`updates=${updates}`, ...settings, ...where]);
  const found = await trainGate(...own);
  return compareSteps(found, await trainGate('device.kind=wasm'), updates);
}

/** Compares the steps of a run with those of wasm. */
export function compareSteps(found: readonly MicroStep[], expected: readonly MicroStep[], updates: number): Check[] {
  const column = (steps: readonly MicroStep[], name: 'rewards' | 'routes') => steps.map((step) => step[name]);
  const routes = new Set(expected.flatMap((step) => JSON.parse(step.routes)));
  const used = ['keep', 'absorb', 'route'].filter((route) => !routes.has(route)).length;
  const [[first], [wanted]] = [found, expected];
  return [
    agreement('rewards', column(found, 'rewards'), column(expected, 'rewards'), updates),
    agreement('routes', column(found, 'routes'), column(expected, 'routes'), updates),
    compare('micro run', 'loss and gradient norm of the first update', first.numbers, wanted.numbers, lossBound),
    mustBeZero('micro run', 'routes that were never used', used),
  ];
}

const interventions = [
  ['arm.kind=steer', 'arm.scale=1'],
  ['arm.kind=ablate', 'arm.rank=3'],
  ['arm.kind=gradient-regularisation', 'arm.epsilon=1'],
  ['arm.kind=early-stop', 'arm.every=1', 'arm.prompts=8'],
  ['arm.kind=project', 'arm.every=1', 'arm.components=1'],
  ['arm.kind=project', 'arm.of=pairs'],
  ['arm.kind=screen', 'arm.monitor.kind=fingerprint'],
  ['lasting.kind=collapse', 'arm.kind=absorb', 'lasting.steps=2'],
  ['lasting.kind=undo', 'arm.kind=absorb', 'lasting.steps=2', 'lasting.batches=1'],
  ['arm.kind=inoculation-adapter', 'arm.epochs=4', 'arm.learningRate=3e-3', 'arm.leastRate=0'],
];

/** Arms that change activations, adapters and gradients: in float32 their first rewards are those of wasm, and in bf16 they train. */
export async function compareInterventions(device: string): Promise<Check[]> {
  const checks: Check[] = [];
  for (const own of interventions) {
    const settings = [...own, 'updates=2'];
    const [kind] = own;
    const expected = await trainMicro('micro-base', [...settings, 'device.kind=wasm']);
    const found = await trainMicro('micro-base', [...settings, `device.kind=${device}`, 'device.precision=f32']);
    const rounded = await trainMicro('micro-base', [...settings, `device.kind=${device}`, 'device.precision=bf16']);
    const differs = Number(found[0]?.rewards !== expected[0]?.rewards);
    const missing = Math.abs(rounded.length - expected.length);
    checks.push(
      {
        case: kind,
        quantity: 'first rewards as on wasm',
        maxAbs: differs,
        maxRel: differs,
        bound: 0,
        pass: differs === 0,
      },
      { case: kind, quantity: 'updates in bf16', maxAbs: missing, maxRel: missing, bound: 0, pass: missing === 0 },
    );
  }
  return checks;
}

/** Kills a tiny run on the device a few times, resumes it each time, and compares its files with those of an unbroken run. */
export async function compareResume(device: string, precision: 'bf16' | 'f32'): Promise<Check[]> {
  const gate = ['arm.kind=activation', 'arm.warmupRows=4', 'arm.tail=0.2', 'arm.refreshEvery=3'];
  const own = [`device.kind=${device}`, `device.precision=${precision}`, 'device.arenaMiB=1024'];
  const { kills, differences } = await killAndCompare({
    ...{ kills: 2, updates: 6, checkpointEvery: 2, seed: 3 },
    settings: [...gate, ...own],
  });
  const count = differences.length;
  const what = `files that ${kills} kills changed: ${count === 0 ? 'none' : differences.join(', ')}`;
  return [
    {
      ...{ case: `resume ${precision}`, quantity: what, maxAbs: count, maxRel: count, bound: 0 },
      pass: count === 0 && kills >= 2,
    },
  ];
}
