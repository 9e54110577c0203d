import { biasedJudgeSource } from './biased-judge.ts';
import { countdownSource } from './countdown.ts';
import { easySource } from './easy.ts';
import { fileSource } from './file.ts';
import { microSource } from './micro.ts';
import { openEnvSource, orsSource } from './outside.ts';
import type { ProblemSource } from './source.ts';
import { storiesSource } from './stories.ts';

export {
  expectNoKnownTest,
  expectNoTestDemonstrations,
  expectNoTestPairs,
  holdsKnownTest,
  knownTestPairs,
} from './known-tests.ts';
export { defineProblemSource, type ProblemSource, type Refusal } from './source.ts';
export { assertDisjoint, type Split, type Splits } from './splits.ts';
export { describeUse, type ProblemUse, type SplitUse, useOf } from './use.ts';

/** The sources of the package. */
export const builtinSources: readonly ProblemSource[] = [
  microSource,
  fileSource,
  easySource,
  countdownSource,
  biasedJudgeSource,
  storiesSource,
  orsSource,
  openEnvSource,
];
