/** Claims that can be checked: parity with PyTorch, invariants of adapters, the environment, provenance, the label flip. */
export { type Check, stated } from './check.ts';
export { verifyAdapters } from './invariants.ts';
export { type LabelFlip, verifyLabelFlip } from './label-flip.ts';
export { type Finding, inspectMachine, isHealthy } from './machine.ts';
export { verifyParity } from './parity.ts';
export { openDecoder } from './parity-model.ts';
export { reportMarkers, reportPartition, reportRewards, reportScience, type VerifyReport } from './reports.ts';
export { reportAdapters, reportParity, reportTinyRun } from './smoke.ts';
