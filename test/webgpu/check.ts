/**
 * Checks the webgpu device in Node; needs the package webgpu and a Vulkan driver. Where the machine has none, SwiftShader of an installed
 * Chromium is taken, which computes on the processor: all of it takes minutes.
 *   node test/webgpu/check.ts [--only ops,kernels,sampling,generation,parity,training] [--all]
 * Prints one line per section with its worst check, every failed check, and a closing count. Exits 1 when a check failed, 2 when there is no
 * package or no driver, after saying which and why.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { createWebgpuDevice, inspectWebgpu } from '../../src/engine/webgpu/index.ts';
import { verifyParity } from '../../src/verify/parity.ts';
import { compareMicroRun } from '../cuda/micro-run.ts';
import { compareGeneration } from '../cuda/model-suite.ts';
import { compareSampling } from '../cuda/sampling-suite.ts';
import { opCases } from '../device/cases.ts';
import { compareKernels, kernelCases } from '../device/kernel-cases.ts';
import { each, guard, leak, runSection, type Sections } from '../device/sections.ts';
import { compareOutcomes, runCase } from '../device/suite.ts';
import { tinyModel } from '../smoke/lab.ts';

/** The bound of the cuda device in float32. */
const bound = 2e-5;
/** An eighth of the rollouts of the recipe, with the model of the tests: on SwiftShader those of the micro model take too long. */
const small = ['arm.warmupRows=4', 'sampling.promptsPerStep=2', 'sampling.group=4', `model=${await tinyModel()}`];
const golden = fileURLToPath(new URL('../golden', import.meta.url));
const { values: options } = parseArgs({ options: { only: { type: 'string' }, all: { type: 'boolean' } } });

/** The folder of a Chromium, which has the driver and the loader of Vulkan beside it. */
function chromiumFolder(): string | undefined {
  const own = process.env['CHROMIUM'];
  const places = own === undefined ? ['/usr/lib/chromium', '/opt/google/chrome'] : [dirname(own)];
  return places.find((place) => existsSync(join(place, 'vk_swiftshader_icd.json')));
}

/** Begins again with the driver of a Chromium: the system's loader reads these variables only when a program starts. */
function beginAgain(folder: string): never {
  const env = {
    ...process.env,
    VK_ICD_FILENAMES: join(folder, 'vk_swiftshader_icd.json'),
    LD_LIBRARY_PATH: [folder, process.env['LD_LIBRARY_PATH']].filter(Boolean).join(':'),
  };
  const { status } = spawnSync(process.execPath, process.argv.slice(1), { env, stdio: 'inherit' });
  process.exit(status ?? 1);
}

const report = await inspectWebgpu();
if ('missing' in report) {
  const folder = process.env['VK_ICD_FILENAMES'] === undefined ? chromiumFolder() : undefined;
  if (folder !== undefined) beginAgain(folder);
  console.error(`webgpu: NOT checked: ${report.missing}. ${report.fix}`);
  console.error(
    'Or install Chromium (Debian: apt-get install chromium), or name its program in the variable CHROMIUM.',
  );
  process.exit(2);
}

const device = await createWebgpuDevice({ arenaBytes: 2 ** 28 });
const reference = createReferenceDevice();
console.log(`webgpu: ${device.facts.name}`);

const sections: Sections = {
  kernels: () =>
    each(kernelCases(), async (kernel) => [
      ...(await compareKernels(device, reference, kernel, bound)),
      leak(kernel.name, device),
    ]),
  ops: () =>
    each(opCases(), async (op) => [
      ...compareOutcomes(op.name, await runCase(device, op), await runCase(reference, op), bound),
      leak(op.name, device),
    ]),
  sampling: () =>
    each(
      [1, 7, 1000, 32_000].map((columns) => ({ name: `sample of ${columns}`, columns })),
      ({ columns }) => compareSampling(device, 8, columns),
    ),
  generation: () => guard('generation', () => compareGeneration(device, reference, golden)),
  parity: () => guard('parity', async () => (await verifyParity(device, golden)).checks),
  training: () =>
    guard('training', () =>
      compareMicroRun(['device.kind=webgpu', 'device.arenaMiB=128'], { updates: 2, settings: small }),
    ),
};

let [passed, failed] = [0, 0];
for (const name of options.only?.split(',') ?? Object.keys(sections)) {
  const end = await runSection(sections, name, options.all === true);
  passed += end.passed;
  failed += end.failed;
}
device[Symbol.dispose]();
console.log(`webgpu: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
