export { cohenKappa } from './agreement.ts';
export { auroc, aurocInterval } from './auroc.ts';
export {
  bootstrapIndices,
  bootstrapInterval,
  bootstrapPairedDifference,
} from './bootstrap.ts';
export { countConfusion, fBeta } from './classification.ts';
export { type EquivalenceTest, equivalenceTest, meanRatio } from './equivalence.ts';

export { holmAdjust } from './multiple.ts';

export {
  mcnemarExact,
  pairedStudentTest,
  signTest,
  wilcoxonSignedRank,
} from './paired.ts';
export { signFlipTest } from './permutation.ts';
export { detectablePairedDifference, detectableProportionDifference } from './power.ts';
export {
  binomialCdf,
  exactInterval,
  fisherExact,
  wilsonInterval,
} from './proportion.ts';

export {
  meanInterval,
  oneSampleStudentTest,
} from './student.ts';
export {
  average,
  type Interval,
  mean,
  median,
  quantile,
  standardDeviation,
  standardError,
  twoPeaks,
  weightedQuantile,
  within,
} from './summary.ts';
export { kaplanMeier, logRankTest, medianTime, type Wait } from './survival.ts';
