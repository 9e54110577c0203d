/** The base model of a recipe, to be probed before anything is trained: its prompts, its judge, and a folder for what is found. */
import { UserError } from '../base/index.ts';
import {
  evaluateTasks,
  evaluationKey,
  evaluationSeed,
  evaluationTasks,
  type ProbedPolicy,
  splitOf,
} from '../evaluate/index.ts';
import { type Sampler, samplingSettings } from '../grpo/index.ts';
import { generate, type ModelText } from '../model/index.ts';
import { computeTable, partitionOf, problemsHash, type RunConfig, trainingTasks } from '../run/index.ts';
import { partsOf } from './config.ts';
import { openModel } from './model.ts';
import { lengthen, probeTokens } from './open-run.ts';
import { sourceOf } from './parts.ts';
import { pluginRecords } from './plugins.ts';
import { openJudge, openProblems, silent, type Warn } from './problems.ts';
import type { Resources } from './resources.ts';

/** `path` is the folder that evaluated probes are kept in. */
export async function openBase(
  config: RunConfig,
  path: string,
  resources: Resources,
  warn: Warn = silent,
): Promise<ProbedPolicy> {
  const parts = await partsOf(config);
  const { loopholes } = parts;
  const judge = await openJudge(config, resources);
  const { splits, use } = await openProblems(config, judge, warn);
  const partition = await partitionOf(config, splits, loopholes);
  const everything = Object.values(splits).flat();
  const planned = async (text: ModelText) =>
    trainingTasks(config, everything, partition, { text, loopholes }, 'open').map((task) =>
      lengthen(task, probeTokens),
    );
  const { decoder, text, hash } = await openModel(config, resources, planned);
  const { readEvery, rowStep, tokensPerPass } = computeTable(config);
  const sampler: Sampler = {
    sample: (requests, settings, stream) =>
      generate(decoder, requests.map(({ prompt, row }) => ({ prompt, row, scale: 0 })), settings, { stream, readEvery, rowStep, tokensPerPass }), // biome-ignore format: one call
  };
  const sampling = samplingSettings(config.sampling, text.stopTokens);
  return {
    path,
    key: evaluationKey({
      config,
      modelHash: await hash,
      dataHash: problemsHash(everything),
      plugins: pluginRecords(config.plugins),
      judge: null,
      sampler: null,
    }),
    words: { text, loopholes, inWords: sourceOf(config, parts).asksInWords },
    tasks: async (set, limit) => evaluationTasks(set, { config, splits, partition, text, loopholes }, limit),
    problemsOf: (set) => use[splitOf(set)],
    async complete(tasks, { state }) {
      if (state === 'base')
        return evaluateTasks(sampler, tasks, judge, { seed: evaluationSeed, sampling, state, text });
      throw new UserError({ call: 'probe a recipe', expected: 'its base, since nothing is trained', found: state });
    },
  };
}
