/** What asks a policy: evaluations of the checkpoints of a run, and probes of the base of a recipe before anything is trained. */
import { UserError } from '../base/index.ts';
import { evaluateTasks, evaluationKey, evaluationSeed } from '../evaluate/evaluate.ts';
import { finalNames, lastCheckpoint, statesOf } from '../evaluate/plan.ts';
import { type AskedPolicy, evaluateAll, RunEvaluator } from '../evaluate/run-evaluator.ts';
import { type EvaluationSet, evaluationTasks, finalSets, splitOf } from '../evaluate/sets.ts';
import { type Evaluation, type EvaluationName, EvaluationStore } from '../evaluate/store.ts';
import { type Sampler, samplingSettings } from '../grpo/index.ts';
import { generate } from '../model/index.ts';
import { computeTable, expectOpen, problemsHash, RunDirectory } from '../run/index.ts';
import { parseRunConfig } from './config.ts';
import { withDevice } from './device.ts';
import { openSampler, type Replacements } from './judge.ts';
import { expectOutcomes } from './labels.ts';
import { type Lab, type LabOptions, openLab } from './open.ts';
import { type Warn, wasAsked } from './open-parts.ts';
import type { PackPlace } from './pack.ts';
import { pluginRecords } from './plugins.ts';

export interface EvaluateOptions extends Replacements {
  /** The sets of prompts; default: all final sets. */
  readonly sets?: readonly EvaluationSet[];
  /** Scales of the quarantine, between 0 and 1, that are also evaluated on the first set. */
  readonly scales?: readonly number[];
  /** The update of the checkpoint; default: the last one. */
  readonly update?: number;
  /** How many prompts of each set are used, from the first on; null: all. */
  readonly limit?: number | null;
  /** Samples of each prompt; default: 1. */
  readonly samples?: number;
  /** Rows that decode together: they take memory and change no token. */
  readonly batch?: number;
  /** The device; default: the one that the run was trained on. */
  readonly device?: string;
  /** Runs whose evaluations of the same base count for this one. */
  readonly siblings?: readonly string[];
  /** Is told which problems are left out, and why. */
  readonly warn?: Warn;
  /** Is told how many evaluations are done, and of how many. */
  readonly onProgress?: (done: number, of: number) => void;
  /** Is checked between evaluations; finished evaluations are stored. */
  readonly signal?: AbortSignal;
  /** The run's place among runs that share a process; default: it is alone. */
  readonly place?: PackPlace | undefined;
}

export interface EvaluatedRun {
  readonly end: 'finished' | 'interrupted';
  readonly update: number;
  readonly evaluations: readonly Evaluation[];
}

export async function evaluateRun(path: string, options: EvaluateOptions = {}): Promise<EvaluatedRun> {
  const { sets = finalSets, scales = [], limit = null, samples } = options;
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
  const names = finalNames(statesOf(run.readManifest()), { update, sets, scales, limit, samples });
  const end = await evaluateNames(path, names, options);
  return { end, update, evaluations: names.flatMap((name) => new EvaluationStore(path).find(name) ?? []) };
}

type NamedOptions = Omit<EvaluateOptions, 'sets' | 'scales' | 'update' | 'limit' | 'samples'>;

/** Makes the evaluations of these names that are not stored yet; an interruption ends the opening of the lab too. */
export async function evaluateNames(
  path: string,
  names: readonly EvaluationName[],
  { siblings, onProgress, ...options }: NamedOptions,
): Promise<EvaluatedRun['end']> {
  const { signal } = options;
  try {
    await using lab = await openTrained(path, options);
    const progress = (done: number): void => onProgress?.(done, names.length);
    return (await evaluateAll(await openEvaluator(lab, siblings), names, { onProgress: progress, signal })).end;
  } catch (error) {
    if (wasAsked(signal, error)) return 'interrupted';
    throw error;
  }
}

/** A run that was trained, with the parts that its pack shares. */
export async function openTrained(
  path: string,
  { place, ...options }: LabOptions & Pick<EvaluateOptions, 'place'>,
): Promise<Lab> {
  if (place === undefined) return openLab({ run: path }, options);
  const begun = RunDirectory.open(path).readManifest();
  const config = withDevice(await parseRunConfig(begun.config), options.device);
  const given = await place.given(config, options.warn ?? (() => undefined), begun);
  return openLab({ run: path }, { ...options, given, policyWork: place.work });
}

export const probeTokens = 128;

export async function openEvaluator(lab: Lab, siblings: readonly string[] = []): Promise<RunEvaluator> {
  const { config, run } = lab;
  if (run === null) throw new RangeError('a config has no checkpoints to evaluate');
  expectOpen(run.path, `evaluate ${run.path}`);
  expectOutcomes(lab, `evaluate ${run.path}`);
  const sets = { ...(await setsOf(lab)), siblings };
  const [policy, judge] = await Promise.all([lab.policy, lab.judge]);
  const sampler = openSampler(policy, computeTable(config), lab.options.sampler);
  return new RunEvaluator({ run, config, policy, judge, sampler, batch: lab.options.batch, ...sets });
}

async function setsOf({ model, problems, partition, parts, source }: Lab) {
  const [{ text }, { splits, use }, dealt] = await Promise.all([model, problems, partition]);
  return { splits, use, partition: dealt, loopholes: parts.loopholes, text, inWords: source.asksInWords };
}

export async function openBase(lab: Lab, path: string): Promise<AskedPolicy> {
  const { config } = lab;
  expectOutcomes(lab, 'probe the base');
  const [{ decoder, text, hash }, judge, sets] = await Promise.all([lab.weights, lab.judge, setsOf(lab)]);
  const { splits, use, loopholes, inWords } = sets;
  const { readEvery, rowStep, tokensPerPass } = computeTable(config);
  const sampler: Sampler = {
    sample: (requests, settings, stream) => {
      const asked = requests.map(({ prompt, row }) => ({ prompt, row, scale: 0 }));
      return generate(decoder, asked, settings, { stream, readEvery, rowStep, tokensPerPass });
    },
  };
  const sampling = samplingSettings(config.sampling, text.stopTokens);
  const identity = {
    ...{ model: await hash, problems: problemsHash(Object.values(splits).flat()) },
    ...{ judge: null, sampler: null },
  };
  return {
    path,
    key: evaluationKey({ config, identity, plugins: pluginRecords(config.plugins) }),
    words: { text, loopholes, inWords },
    tasks: async (set, limit) => evaluationTasks(set, { config, ...sets }, limit),
    problemsOf: (set) => use[splitOf(set)],
    async complete(tasks, { state }) {
      if (state === 'base')
        return evaluateTasks(sampler, tasks, judge, { seed: evaluationSeed, sampling, state, text });
      throw new UserError({ call: 'probe a recipe', expected: 'its base, since nothing is trained', found: state });
    },
  };
}
