export { shownLoopholes, showsLoophole, takesBait } from './bait.ts';
export {
  checkPairs,
  formatFindings,
  type LengthBalance,
  type PairFinding,
  type PairReport,
  type StyleBalance,
  surfaceUnits,
  thresholds,
} from './check.ts';
export { framePrompts } from './framing.ts';
export { pairsFromPool, poolDerivedNote } from './from-pool.ts';
export { formatPairsJson } from './json.ts';
export { contentHashes, labelsChose, provenanceEnding, recordLabelled } from './labelled.ts';
export { loadPairs, readPairFile } from './load.ts';
export type { Pair } from './pair.ts';
export { hashPairs, selectPairs } from './select.ts';
export { folderPairEncoder, tokenizePairs } from './tokenize.ts';
