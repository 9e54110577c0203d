/** What asks a policy: the checkpoints of a run, or the base of a recipe before anything is trained. */
import { UserError } from '../base/index.ts';
import {
  evaluateTasks,
  evaluationKey,
  evaluationSeed,
  evaluationTasks,
  type ProbedPolicy,
  RunEvaluator,
  splitOf,
} from '../evaluate/index.ts';
import { type Sampler, samplingSettings } from '../grpo/index.ts';
import { generate } from '../model/index.ts';
import { computeTable, expectOpen, problemsHash } from '../run/index.ts';
import type { Lab } from './open.ts';
import { pluginRecords } from './plugins.ts';
import { openSampler } from './replacements.ts';

/** The most tokens that an instruction or an opening of the package adds to a prompt. */
export const probeTokens = 128;

/** `siblings`: runs with the same base, whose evaluations of it may be reused. */
export async function openEvaluator(lab: Lab, siblings: readonly string[] = []): Promise<RunEvaluator> {
  const { config, run } = lab;
  if (run === null) throw new RangeError('a config has no checkpoints to evaluate');
  expectOpen(run.path, `evaluate ${run.path}`);
  const sets = { ...(await setsOf(lab)), siblings };
  const [policy, judge] = await Promise.all([lab.policy, lab.judge]);
  const sampler = openSampler(policy, computeTable(config), lab.options.sampler);
  return new RunEvaluator({ run, config, policy, judge, sampler, ...sets });
}

/** What the sets of prompts are made of. */
async function setsOf({ model, problems, partition, parts, source }: Lab) {
  const [{ text }, { splits, use }, dealt] = await Promise.all([model, problems, partition]);
  return { splits, use, partition: dealt, loopholes: parts.loopholes, text, inWords: source.asksInWords };
}

/** The base model of a config; `path` is the folder that evaluated probes are kept in. */
export async function openBase(lab: Lab, path: string): Promise<ProbedPolicy> {
  const { config } = lab;
  const [{ decoder, text, hash }, judge, sets] = await Promise.all([lab.weights, lab.judge, setsOf(lab)]);
  const { splits, use, loopholes, inWords } = sets;
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
      identity: { model: await hash, problems: problemsHash(Object.values(splits).flat()), judge: null, sampler: null },
      plugins: pluginRecords(config.plugins),
    }),
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
