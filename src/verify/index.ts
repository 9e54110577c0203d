/** Claims that can be checked: parity with PyTorch, invariants of adapters, the environment, provenance, the label flip. */
export type { Check } from './check.ts';
export { verifyLabelFlip } from './label-flip.ts';
export { type Finding, inspectMachine, isHealthy } from './machine.ts';
export { openDecoder } from './parity-model.ts';
export {
  reportAdapters,
  reportArm,
  reportMarkers,
  reportParity,
  reportPartition,
  reportRewards,
  reportScience,
  smokeParts,
  type VerifyReport,
} from './reports.ts';
