/**
 * Everything that must hold for every adapter family on every device, whatever the weights, as checks on a tiny random model:
 * the forward pass and generation (invariants-forward.ts), the gradients of routed batches (invariants-gradients.ts).
 */
import { type Family, families } from '../adapters/index.ts';
import { type Device, Scope } from '../engine/index.ts';
import type { Check } from './check.ts';
import {
  verifyAblation,
  verifyGeneration,
  verifyPacking,
  verifyRoutedTraining,
  verifyStart,
} from './invariants-forward.ts';
import {
  verifyMixedBatch,
  verifyParameterDetach,
  verifyRouteTable,
  verifyTokenRoutes,
} from './invariants-gradients.ts';
import { type LabShape, smallLab, TinyLab } from './tiny-model.ts';

export interface InvariantOptions {
  readonly families?: readonly Family[];
  readonly shape?: LabShape;
}

export interface InvariantReport {
  readonly device: string;
  readonly checks: readonly Check[];
}

export async function verifyAdapters(device: Device, options: InvariantOptions = {}): Promise<InvariantReport> {
  const { families: chosen = families, shape = smallLab } = options;
  const checks: Check[] = [];
  for (const family of chosen) checks.push(...(await verifyFamily(device, family, shape)));
  return { device: device.name, checks };
}

/** Runs the checks in order: at the start, after training the quarantine, then with every parameter moved. */
async function verifyFamily(device: Device, family: Family, shape: LabShape): Promise<Check[]> {
  using scope = new Scope(device);
  const lab = await TinyLab.create(scope, family, shape);
  const checks = [...(await verifyStart(lab)), ...(await verifyRoutedTraining(lab))];
  await lab.disturb('everything');
  checks.push(
    ...(await verifyRouteTable(lab)),
    ...(await verifyMixedBatch(lab)),
    ...(await verifyParameterDetach(lab)),
    ...(await verifyTokenRoutes(lab)),
    ...(await verifyPacking(lab)),
    ...(await verifyGeneration(lab)),
    ...(await verifyAblation(lab)),
  );
  return checks;
}
