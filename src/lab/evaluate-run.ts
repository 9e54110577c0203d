/** Evaluates a checkpoint of a run on sets of prompts, in every state that its arm has, beside the base. */
import { UserError } from '../base/index.ts';
import {
  type Evaluation,
  type EvaluationSet,
  EvaluationStore,
  evaluateAll,
  finalNames,
  finalSets,
  lastCheckpoint,
  statesOf,
} from '../evaluate/index.ts';
import { openRun } from './open-run.ts';
import { Resources } from './resources.ts';

export interface EvaluateOptions {
  /** All final sets unless told. */
  readonly sets?: readonly EvaluationSet[];
  /** Scales of the quarantine between 0 and 1, on the first set. */
  readonly scales?: readonly number[];
  /** The checkpoint; the last one unless told. */
  readonly update?: number;
  /** Only the first prompts of each set. */
  readonly limit?: number | null;
  /** Another device than the run was trained on. */
  readonly device?: string;
  /** Told how many evaluations are done, of how many. */
  readonly onProgress?: (done: number, of: number) => void;
  /** Looked at between evaluations: what is done is stored. */
  readonly signal?: AbortSignal;
}

export interface EvaluatedRun {
  readonly end: 'finished' | 'interrupted';
  readonly update: number;
  /** What is stored of what was asked for. */
  readonly evaluations: readonly Evaluation[];
}

export async function evaluateRun(path: string, options: EvaluateOptions = {}): Promise<EvaluatedRun> {
  const { sets = finalSets, scales = [], limit = null, device, onProgress, signal } = options;
  await using resources = new Resources();
  const open = await openRun(path, resources, device === undefined ? {} : { device });
  const update = options.update ?? lastCheckpoint(open.run);
  const known = open.run.listCheckpoints();
  if (!known.includes(update)) {
    throw new UserError({
      call: `evaluate ${path}`,
      expected: `one of its checkpoints ${known.join(', ')}`,
      found: `${update}`,
    });
  }
  const names = finalNames(statesOf(open), { update, sets, scales, limit });
  const end = await evaluateAll(open.evaluator, names, {
    onProgress: (done) => onProgress?.(done, names.length),
    ...(signal === undefined ? {} : { signal }),
  });
  const store = new EvaluationStore(path);
  return { end, update, evaluations: names.flatMap((name) => store.find(name) ?? []) };
}
