/** Claims that can be checked: parity with PyTorch, invariants of adapters, the environment, provenance, the label flip. */
export type * from './check.ts';
export * from './label-flip.ts';
export * from './machine.ts';
export { openDecoder } from './parity-model.ts';
export * from './reports.ts';
