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
import { createWebgpuDevice, inspectWebgpu } from '../../src/engine/webgpu/index.ts';
import { verifyParity } from '../../src/verify/parity.ts';
import { compareMicroRun } from '../cuda/micro-run.ts';
import { guard, runSection, type Sections } from '../device/sections.ts';
import { deviceSections } from './sections.ts';
import { smallRun } from './small-run.ts';

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
console.log(`webgpu: ${device.facts.name}`);

const sections: Sections = {
  ...deviceSections(device, golden),
  parity: () => guard('parity', async () => (await verifyParity(device, golden)).checks),
  training: () =>
    guard('training', async () =>
      compareMicroRun(['device.kind=webgpu', 'device.arenaMiB=128'], {
        updates: 2,
        settings: (await smallRun()).settings,
      }),
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
