/** Claims that can be checked: parity with PyTorch, invariants of adapters, the environment, provenance, the label flip. */
export { type Check, stated } from './check.ts';
export { verifyMarkers, verifyPartition, verifyRewards } from './environment-checks.ts';
export { verifyGeneratedPairs } from './generated-pair-checks.ts';
export { verifyAdapters } from './invariants.ts';
export { type LabelFlip, verifyLabelFlip } from './label-flip.ts';
export { verifyParity } from './parity.ts';
export { openDecoder } from './parity-model.ts';
export { verifyPairProvenance, verifyRunProvenance } from './provenance-checks.ts';
