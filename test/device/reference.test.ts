/** The reference device is the definition of correct: its gradients are checked against central differences. */
import { expect, test } from 'vitest';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { opCases } from './cases.ts';
import { compareDifferences } from './suite.ts';

const device = createReferenceDevice();

for (const op of opCases().filter(({ differences }) => differences)) {
  test(`central differences: ${op.name}`, async () => {
    const checks = await compareDifferences(device, op, 5e-3);
    expect(checks.filter(({ pass }) => !pass)).toEqual([]);
    expect(device.arena.used).toBe(0);
  });
}
