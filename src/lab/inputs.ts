/** The inputs of a run, opened before the weights are loaded and before any device is. */
import type { Judge } from '../env/index.ts';
import type { Splits, SplitUse } from '../env/sources/index.ts';
import { ModelFolder, modelText } from '../model/index.ts';
import type { RunConfig } from '../run/index.ts';
import { partsOf } from './config.ts';
import { checkRank, expectDataFiles, withModelHint } from './input-checks.ts';
import { labelledHash } from './labelled.ts';
import { beginHashing, type ModelFiles, modelDirectory, openFolder } from './model.ts';
import { type OpenedPairs, openPairs } from './pairs.ts';
import { armOf } from './parts.ts';
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
  /** The models that the arm opens beside the policy, by the names that the config has for them; only training opens them. */
  readonly armModels: ReadonlyMap<string, Omit<ModelFiles, 'device'>>;
  /** Hashes of the runs that the arm learns from, by their paths; only training reads them. */
  readonly armRuns: ReadonlyMap<string, string>;
}

export async function readInputs(
  config: RunConfig,
  resources: Resources,
  warn: Warn = silent,
  replaced: Replacements = {},
): Promise<OpenedInputs> {
  await expectDataFiles(config);
  // Processes of their own start and check problems, while the model's files are opened here.
  const starting = replaced.judge === undefined ? openJudge(config, resources) : Promise.resolve(replaced.judge);
  const opening = openFolder(config, resources);
  const checking = openProblems(config, starting, async (notice) => {
    await opening;
    await warn(notice);
  });
  for (const begun of [starting, opening, checking]) begun.catch(() => undefined);
  try {
    const files = await opening;
    checkRank(config, files.folder.config);
    const pairs = await withModelHint(config, () => openPairs(config, files.text));
    const [judge, { splits: problems, use }] = await Promise.all([starting, checking]);
    const own = { pool: config.teacher.pool, armModels: new Map(), armRuns: new Map() };
    return { judge, replaced, problems, use, files, ...pairs, ...own };
  } catch (error) {
    // What is being opened belongs to the resources before the caller closes them.
    await Promise.allSettled([starting, opening]);
    throw error;
  }
}

/** The inputs of a run that will be trained: what `readInputs` reads, and the models of the arm. */
export async function readTrainingInputs(
  config: RunConfig,
  resources: Resources,
  warn: Warn = silent,
  replaced: Replacements = {},
): Promise<OpenedInputs> {
  const { kind: _kind, ...settings } = config.arm;
  const arm = armOf(config, await partsOf(config));
  const armModels = new Map<string, Omit<ModelFiles, 'device'>>();
  for (const name of arm.models(settings).filter((each) => each !== 'base')) {
    const folder = resources.use(await ModelFolder.open(modelDirectory(name)));
    armModels.set(name, { folder, text: modelText(folder, false), hash: beginHashing(folder, resources) });
  }
  const armRuns = new Map<string, string>();
  for (const path of arm.runs(settings)) armRuns.set(path, await labelledHash(path));
  return { ...(await readInputs(config, resources, warn, replaced)), armModels, armRuns };
}
