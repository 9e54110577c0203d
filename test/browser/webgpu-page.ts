/** Runs in the page: what the webgpu device is held to, on the browser's own WebGPU, and two updates of the trainer on it. */
import { provideFile } from '../../src/base/browser/index.ts';
import { inspectWebgpu } from '../../src/engine/webgpu/find.ts';
import { createWebgpuDevice } from '../../src/engine/webgpu/index.ts';
import { TabLab, type TabOptions } from '../../src/entry/browser.ts';
import { Checks } from '../../src/verify/check.ts';
import { verifyModel } from '../../src/verify/parity-model.ts';
import { guard, runSection } from '../device/sections.ts';
import { deviceSections } from '../webgpu/sections.ts';

const read = async (path: string): Promise<Uint8Array> => {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
};

export const inspect = inspectWebgpu;

interface Ends {
  readonly passed: number;
  readonly failed: number;
}

/** Runs sections, each of which prints its lines; `files` are those of the golden cases, in folders of one name each. */
export async function runSections(names: readonly string[], files: readonly string[], all: boolean): Promise<Ends> {
  for (const path of files) provideFile(path, await read(path));
  const cases = new Set(files.map((path) => path.slice(0, path.lastIndexOf('/'))));
  using device = await createWebgpuDevice({ arenaBytes: 2 ** 28 });
  const sections = {
    ...deviceSections(device, 'golden'),
    /** Logits, log-probabilities and greedy tokens; the steps of the trainer are in `training`, and in Node's parity. */
    parity: () =>
      guard('parity', async () => {
        const checks = [...cases].map((path) => new Checks(path));
        for (const [i, path] of [...cases].entries()) await verifyModel(device, path, checks[i]);
        return checks.flatMap(({ list }) => list);
      }),
  };
  const ends: Ends[] = [];
  for (const name of names) ends.push(await runSection(sections, name, all));
  const sum = (of: 'passed' | 'failed'): number => ends.reduce((total, end) => total + end[of], 0);
  return { passed: sum('passed'), failed: sum('failed') };
}

interface ShaderMaker {
  createShaderModule(options: { readonly code: string }): unknown;
}

/** The kernel cases that fail when the WGSL of swiglu takes a sigmoid that is off by a thousandth of its argument. */
export async function plantedFailures(): Promise<readonly string[]> {
  const { prototype } = Reflect.get(globalThis, 'GPUDevice') as { prototype: ShaderMaker };
  const make = prototype.createShaderModule;
  prototype.createShaderModule = function (options) {
    return make.call(this, { ...options, code: options.code.replace('exp(-x)', 'exp(-1.001 * x)') });
  };
  try {
    using device = await createWebgpuDevice({ arenaBytes: 2 ** 28 });
    const checks = await deviceSections(device, 'golden').kernels();
    return [...new Set(checks.filter(({ pass }) => !pass).map((failed) => failed.case))];
  } finally {
    prototype.createShaderModule = make;
  }
}

/** The rewards, routes, losses and gradient norms of a run. */
export async function train(config: TabOptions['config'], names: readonly string[]) {
  const model = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await read(`model/${name}`)])));
  const pairs = new TextDecoder().decode(await read('micro.md'));
  using lab = await TabLab.open({ config, files: { model, pairs }, arenaBytes: 2 ** 27 });
  const steps: { rewards: string; routes: string; numbers: number[] }[] = [];
  let drawn = { rewards: '', routes: '' };
  for await (const event of lab.train()) {
    if (event.kind === 'rollouts') {
      const of = (what: 'reward' | 'route'): string => JSON.stringify(event.records.map((record) => record[what]));
      drawn = { rewards: of('reward'), routes: of('route') };
    }
    if (event.kind === 'step') steps.push({ ...drawn, numbers: [event.loss, event.gradientNorm] });
  }
  return { device: lab.device.name, steps };
}
