import { fileSource } from './file.ts';
import { microSource } from './micro.ts';
import type { ProblemSource } from './source.ts';

export { defineProblemSource, type ProblemSource, type Refusal } from './source.ts';
export { assertDisjoint, dealOut, type Splits } from './splits.ts';

/** The sources of the package. */
export const builtinSources: readonly ProblemSource[] = [microSource, fileSource];
