/** The inputs of a run, opened before the weights are loaded and before any device is. */
import type { Judge } from '../env/index.ts';
import type { Splits, SplitUse } from '../env/sources/index.ts';
import type { RunConfig } from '../run/index.ts';
import { checkRank, expectDataFiles, withModelHint } from './input-checks.ts';
import { type ModelFiles, openFolder } from './model.ts';
import { type OpenedPairs, openPairs } from './pairs.ts';
import { openJudge, openProblems, silent, type Warn } from './problems.ts';
import type { Replacements } from './replacements.ts';
import type { Resources } from './resources.ts';

export interface OpenedInputs extends OpenedPairs {
  readonly judge: Judge;
  /** What the caller put in place of the lab's own. */
  readonly replaced: Replacements;
  readonly problems: Splits;
  /** What became of the problems: how many are used, and which are left out. */
  readonly use: SplitUse;
  readonly files: Omit<ModelFiles, 'device'>;
  /** The path of the demonstrations; null without any. */
  readonly pool: string | null;
}

export async function readInputs(
  config: RunConfig,
  resources: Resources,
  warn: Warn = silent,
  replaced: Replacements = {},
): Promise<OpenedInputs> {
  await expectDataFiles(config);
  const files = await openFolder(config, resources);
  checkRank(config, files.folder.config);
  const pairs = await withModelHint(config, () => openPairs(config, files.text));
  const judge = replaced.judge ?? (await openJudge(config, resources));
  const { splits: problems, use } = await openProblems(config, judge, warn);
  return { judge, replaced, problems, use, files, ...pairs, pool: config.teacher.pool };
}
