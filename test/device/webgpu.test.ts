/**
 * A few ops on the webgpu device, where this machine has the package and a driver of Vulkan; else it is said what is missing, and that is
 * what is tested. `npm run check:webgpu` has every case.
 */
import { expect, test } from 'vitest';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { createWebgpuDevice, inspectWebgpu } from '../../src/engine/webgpu/index.ts';
import { opCases } from './cases.ts';
import { compareOutcomes, runCase } from './suite.ts';

const few = ['rmsNorm 5×7', 'linear 5×7→3', 'swiglu 5×7', 'logProb 9×5→7'];
const report = await inspectWebgpu();

if ('missing' in report) {
  console.warn(`webgpu NOT tested on this machine: ${report.missing}`);
  test('without a package or a driver the device says what is missing and what to do', async () => {
    await expect(createWebgpuDevice()).rejects.toThrow(
      report.missing.includes('no adapter') ? /VK_ICD_FILENAMES/ : /npm install webgpu/,
    );
  });
} else {
  test(`a few ops on ${report.adapter}`, async () => {
    using device = await createWebgpuDevice({ arenaBytes: 2 ** 24 });
    const reference = createReferenceDevice();
    const cases = opCases().filter(({ name }) => few.includes(name));
    expect(cases.map(({ name }) => name).sort()).toEqual([...few].sort());
    for (const op of cases) {
      const checks = compareOutcomes(op.name, await runCase(device, op), await runCase(reference, op), 2e-5);
      expect(checks.filter(({ pass }) => !pass)).toEqual([]);
    }
    expect(device.arena.used).toBe(0);
  });
}
