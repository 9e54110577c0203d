/** Evaluates a checkpoint of a run on sets of prompts, in the base state and in every state that its arm has. */
import { UserError } from '../base/index.ts';
import {
  type Evaluation,
  type EvaluationName,
  type EvaluationSet,
  EvaluationStore,
  evaluateAll,
  finalNames,
  finalSets,
  lastCheckpoint,
  statesOf,
} from '../evaluate/index.ts';
import { RunDirectory } from '../run/index.ts';
import { openEvaluator } from './evaluator.ts';
import { openLab } from './open.ts';
import { wasAsked } from './open-parts.ts';
import type { Warn } from './problems.ts';
import type { Replacements } from './replacements.ts';

export interface EvaluateOptions extends Replacements {
  /** The sets of prompts; default: all final sets. */
  readonly sets?: readonly EvaluationSet[];
  /** Scales of the quarantine, between 0 and 1, that are also evaluated on the first set. */
  readonly scales?: readonly number[];
  /** The update of the checkpoint; default: the last one. */
  readonly update?: number;
  /** How many prompts of each set are used, from the first on; null: all. */
  readonly limit?: number | null;
  /** The device; default: the one that the run was trained on. */
  readonly device?: string;
  /** Is told which problems are left out, and why. */
  readonly warn?: Warn;
  /** Is told how many evaluations are done, and of how many. */
  readonly onProgress?: (done: number, of: number) => void;
  /** Is checked between evaluations; finished evaluations are stored. */
  readonly signal?: AbortSignal;
}

export interface EvaluatedRun {
  readonly end: 'finished' | 'interrupted';
  readonly update: number;
  /** The requested evaluations, as far as they are done. */
  readonly evaluations: readonly Evaluation[];
}

export async function evaluateRun(path: string, options: EvaluateOptions = {}): Promise<EvaluatedRun> {
  const { sets = finalSets, scales = [], limit = null, signal } = options;
  const run = RunDirectory.open(path);
  const update = options.update ?? lastCheckpoint(run);
  const known = run.listCheckpoints();
  // This is checked before the model is loaded, and before the base is evaluated.
  if (!known.includes(update)) {
    throw new UserError({
      call: `evaluate ${path}`,
      expected: `the update of one of its checkpoints: ${known.join(', ') || 'none yet'}`,
      found: `${update}`,
    });
  }
  const names = finalNames(statesOf(run.readManifest()), { update, sets, scales, limit });
  const end = await evaluateOpened(path, names, options).catch((error: unknown) => {
    if (wasAsked(signal, error)) return 'interrupted' as const;
    throw error;
  });
  const store = new EvaluationStore(path);
  return { end, update, evaluations: names.flatMap((name) => store.find(name) ?? []) };
}

async function evaluateOpened(
  path: string,
  names: readonly EvaluationName[],
  { judge, sampler, device, warn, onProgress, signal }: EvaluateOptions,
): Promise<'finished' | 'interrupted'> {
  await using lab = await openLab({ run: path }, { judge, sampler, device, warn, signal });
  return await evaluateAll(await openEvaluator(lab), names, {
    onProgress: (done) => onProgress?.(done, names.length),
    ...(signal === undefined ? {} : { signal }),
  });
}
