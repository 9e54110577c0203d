export { cohenKappa, type Kappa } from './agreement.ts';
export { type AurocInterval, auroc, aurocInterval, aurocStandardError } from './auroc.ts';
export {
  type BootstrapInterval,
  type BootstrapOptions,
  bootstrapIndices,
  bootstrapInterval,
  bootstrapPairedDifference,
  type IndexStatistic,
  type Statistic,
} from './bootstrap.ts';
export { type Confusion, countConfusion, fBeta, precision, recall } from './classification.ts';
export { type EquivalenceTest, equivalenceTest, type MeanRatio, meanRatio } from './equivalence.ts';
export type { Alternative } from './hypothesis.ts';
export type { Numbers } from './inputs.ts';
export { holmAdjust } from './multiple.ts';
export { normalCdf, normalQuantile } from './normal.ts';
export {
  mcnemarExact,
  pairedDifferences,
  pairedStudentTest,
  type SignedRankTest,
  type SignTest,
  signTest,
  wilcoxonSignedRank,
} from './paired.ts';
export { type SignFlipOptions, type SignFlipTest, signFlipTest } from './permutation.ts';
export { detectablePairedDifference, detectableProportionDifference, type PowerOptions } from './power.ts';
export {
  binomialCdf,
  exactInterval,
  fisherExact,
  type ProportionInterval,
  type Successes,
  wilsonInterval,
} from './proportion.ts';
export { rankAverage } from './rank.ts';
export {
  type MeanInterval,
  meanInterval,
  noncentralStudentCdf,
  oneSampleStudentTest,
  type StudentTest,
  studentCdf,
  studentQuantile,
} from './student.ts';
export {
  average,
  type Interval,
  mean,
  median,
  type Peaks,
  quantile,
  standardDeviation,
  standardError,
  twoPeaks,
  variance,
  weightedQuantile,
} from './summary.ts';
export {
  kaplanMeier,
  type LogRankTest,
  logRankTest,
  medianTime,
  type SurvivalPoint,
  type Wait,
} from './survival.ts';
