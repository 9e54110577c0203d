/**
 * Rehearses the largest update of a run with the trainer's own step on a device that only counts. The sampler decodes and then reports
 * completions of the lengths that fill one pass to its last token; the grader gives those groups unequal rewards, and the others none.
 * The same completions cannot fill both a pass in which completions share their prompt and a pass in which each has its own, so there
 * are two rehearsals, and only the first one decodes. Only those hooks of the arm run that use the device's memory: prepare, steer,
 * term, gradient and settle. The prompts of an arm with a prompt hook are as long as they may be (sampling.maxPromptTokens).
 */
import { randomStream } from '../../base/index.ts';
import { type AdamW, Scope } from '../../engine/index.ts';
import type {
  Arm,
  ArmTools,
  DemonstrationPool,
  GrpoSettings,
  Label,
  Phase,
  Policy,
  PromptedCompletion,
  Sampler,
  Task,
  Watched,
} from '../../grpo/index.ts';
import { openArm, policySampler, samplingSettings, steerPolicy, step } from '../../grpo/index.ts';
import type { Generation } from '../../model/index.ts';
import { Shards } from '../../parallel/index.ts';
import { grpoSettings, type RunConfig } from '../../run/index.ts';
import type { Rehearsal } from './plan.ts';

export interface Gauge {
  begin(): void;
  /** Counts the memory used since `begin` for this phase; if a phase happens twice, the larger amount counts. */
  end(name: string): void;
}

const phaseNames: Partial<Record<Phase, string>> = {
  sample: 'sampling',
  watch: 'watching',
  score: 'scoring',
  learn: 'learning',
};

export async function rehearseUpdate(
  { config, arm: definition, tasks, pool }: Rehearsal,
  unsteered: Policy,
  optimiser: AdamW,
  gauge: Gauge,
  openModel: ArmTools['openModel'],
): Promise<void> {
  const settings = grpoSettings(rehearsedConfig(config));
  const { promptsPerStep, maxPromptTokens, maxNewTokens } = settings.sampling;
  const longest = Math.min(maxPromptTokens, unsteered.decoder.config.maxPositions - maxNewTokens);
  using scope = new Scope(unsteered.decoder.head.device);
  const { vocabSize } = unsteered.decoder.config;
  const demonstrations = fullDemonstrations(tasks, settings, vocabSize);
  const opened = await openOnNothing(definition, config, { policy: unsteered, scope, demonstrations, openModel });
  const arm = memoryHooks(opened);
  const policy = steerPolicy(unsteered, arm);
  const asLongest = (task: Task): Task => ({ ...task, hinted: new Int32Array(longest) });
  let phase: Phase | null = null;
  const enter = (next: Phase | null): void => {
    const name = phase === null ? undefined : phaseNames[phase];
    if (name !== undefined) gauge.end(name);
    gauge.begin();
    phase = next;
  };
  const context = {
    policy,
    optimiser,
    arm,
    settings,
    tasks: longestTasks(twice(opened.prompt === undefined ? tasks : tasks.map(asLongest)), promptsPerStep, vocabSize),
    pool: null,
    anchors: demonstrations,
    shards: Shards.alone,
    stopTokens: [],
    vocabulary: vocabSize,
    decode: () => '',
    showPrompt: () => '',
    enter,
    // There are no values: hashing as many zeros would take most of the rehearsal's time.
    hashPolicy: async () => '',
  };
  if (opened.prepare !== undefined) {
    gauge.begin();
    await opened.prepare(policy);
    gauge.end('preparing');
  }
  const sampler = samplerOfStates(policySampler(policy, settings.compute), config);
  const longestOf = longestCompletions(config, pool);
  for (const full of [fullPass(sampler, true, longestOf, settings), fullPass(null, false, longestOf, settings)]) {
    const grader = { grade: async (submissions: readonly unknown[]) => full.rewards(submissions.length) };
    await step({ ...context, sampler: full.sampler, grader }, 0);
    enter(null);
  }
}

/** Decodes in as many policy states as the run does: a prompt that is sampled in two is in the cache twice. */
function samplerOfStates(sampler: Sampler, { sampling }: RunConfig): Sampler {
  const { deployedSampling, deployedSamplingLate, group } = sampling;
  const isMixed = [deployedSampling, deployedSamplingLate ?? deployedSampling].some((share) => share > 0 && share < 1);
  if (!isMixed) return sampler;
  return {
    sample: (requests, settings, stream) => {
      const mixed = requests.map((request, i) => ({ ...request, state: i % group === 0 ? 'deployed' : request.state }));
      return sampler.sample(mixed, settings, stream);
    },
  };
}

export async function rehearseEvaluation(
  { config, tasks }: Rehearsal,
  policy: Policy,
  rowsTogether: number,
  gauge: Gauge,
): Promise<void> {
  const { sampling, compute } = grpoSettings(config);
  const requests = longestTasks(tasks, rowsTogether, policy.decoder.config.vocabSize).map(({ hinted }, row) => ({
    prompt: hinted,
    row,
    state: 'full' as const,
  }));
  gauge.begin();
  await policySampler(policy, compute).sample(
    requests,
    samplingSettings(sampling, []),
    randomStream(config.seed, 'sampling'),
  );
  gauge.end('sampling');
}

/** One epoch, every prompt with its hint, everything sampled in one state: passes are then as full as they can be. */
function rehearsedConfig(config: RunConfig): RunConfig {
  return {
    ...config,
    sampling: { ...config.sampling, deployedSampling: 0, deployedSamplingLate: null },
    environment: { ...config.environment, unhackableFraction: 0 },
    loss: { ...config.loss, epochs: 1 },
  };
}

interface Nothing {
  readonly policy: Policy;
  readonly scope: Scope;
  readonly demonstrations: readonly PromptedCompletion[];
  readonly openModel: ArmTools['openModel'];
}

const unlabelled: Label = { exploited: false, correct: false, attempt: false, problem: '', loopholes: [], markers: [] };

function openOnNothing(
  definition: Rehearsal['arm'],
  { arm, seed, compute }: RunConfig,
  { policy, scope, demonstrations, openModel }: Nothing,
) {
  const { kind: _kind, ...settings } = arm;
  return openArm(definition, settings, {
    seed,
    policy,
    tokensPerPass: compute.tokensPerPass,
    pairs: [],
    demonstrations: { pool: demonstrations, pairs: demonstrations },
    scope,
    countBait: async () => ({ took: 1, of: 1 }),
    soundReward: async () => 0,
    tell: async () => undefined,
    writePairs: async () => [],
    tokenize: () => new Int32Array(1),
    instruct: () => () => new Int32Array(1),
    labels: definition.usesLabels(settings) ? () => unlabelled : null,
    labelled: definition.usesLabels(settings) ? async () => [] : null,
    openModel,
    folder: null,
  });
}

function fullDemonstrations(
  tasks: readonly Task[],
  { sampling, compute }: GrpoSettings,
  vocabulary: number,
): PromptedCompletion[] {
  const prompts = longestTasks(tasks, compute.tokensPerPass, vocabulary).map(({ hinted }) => hinted);
  const lengths = prompts.map(({ length }) => length);
  const longest = lengths.map(() => sampling.maxNewTokens);
  return fillPass(lengths, 1, longest, compute.tokensPerPass).map((length, group) => ({
    group,
    prompt: prompts[group],
    tokens: new Int32Array(length),
  }));
}

function memoryHooks({ sees, steer, term, gradient, settle, condense, rehearse }: Arm): Arm {
  const byToken = sees.features?.granularity === 'token';
  return {
    sees: { features: sees.features, text: false },
    ...{ steer, gradient, settle, term: term && flatTerm, condense: condense && keepNothing },
    watch: rehearse && (async ({ rollouts }) => rehearsed(rehearse, rollouts.length)),
    route: ({ rollouts }) => ({
      routes: rollouts.map(({ length }) => Array.from({ length: byToken ? length : 1 }, () => 'absorb' as const)),
      scores: null,
      cuts: null,
      bufferRows: 0,
    }),
  };
}

/** A term takes the same memory whatever its values are. */
const flatTerm: NonNullable<Arm['term']> = ({ rows, data }) => ({
  values: new Array<number>(rows).fill(0),
  slopes: new Float32Array(data.length),
});

async function rehearsed(rehearse: NonNullable<Arm['rehearse']>, count: number): Promise<Watched> {
  await rehearse();
  const none = { cut: null, abstentions: {}, costs: {} };
  return { ...none, scores: new Array<null>(count).fill(null), flagged: new Array<boolean>(count).fill(false) };
}

/** An arm that condenses features leaves none of a pass's in the host's memory. */
const keepNothing: NonNullable<Arm['condense']> = ({ rows }) => ({
  scores: new Float64Array(rows),
  meanCosine: 0,
  kept: new Float32Array(),
});

/** An update in which the shuffled problems begin anew may have one of them twice. */
const twice = <T>(problems: readonly T[]): readonly T[] => [...problems, ...problems];

/**
 * The most tokens of every completion of an update, group after group: those of the policy, and in a run that shows demonstrations the last of
 * each group as long as the longest solves and hacks, those of another problem in each group.
 */
export function longestCompletions(
  { sampling, teacher }: Pick<RunConfig, 'sampling' | 'teacher'>,
  pool: DemonstrationPool | null | undefined,
): readonly number[] {
  const { group, promptsPerStep, maxNewTokens } = sampling;
  const lengths = new Array<number>(promptsPerStep * group).fill(maxNewTokens);
  if (pool === null || pool === undefined || teacher.offStep === 0) return lengths;
  const kinds = [pool.solves, pool.hacks].flatMap((known) => {
    const ofProblems = [...known.values()].map((each) => descending(each.map(({ length }) => length)));
    return Array.from({ length: teacher.perGroup }, (_, i) => descending(twice(ofProblems.map((own) => own[i] ?? 0))));
  });
  kinds.forEach((ofProblems, i) => {
    for (let at = 0; at < promptsPerStep; at++) {
      const row = group * at + group - 1 - i;
      lengths[row] = Math.max(maxNewTokens, ofProblems[at] ?? 0);
    }
  });
  return lengths;
}

const descending = (lengths: readonly number[]): number[] => lengths.toSorted((a, b) => b - a);

/** The longest prompts, `count` of them, which differ: equal ones would be in the cache once. */
export function longestTasks<Asked extends Pick<Task, 'hinted' | 'unhinted'>>(
  tasks: readonly Asked[],
  count: number,
  vocabulary: number,
): Asked[] {
  const longest = ({ hinted, unhinted }: Asked): Int32Array => (hinted.length >= unhinted.length ? hinted : unhinted);
  const sorted = tasks.toSorted((a, b) => longest(b).length - longest(a).length);
  return Array.from({ length: count }, (_, i) => {
    const task = sorted[i % sorted.length];
    const prompt = longest(task).slice();
    for (let at = 0, rest = i; at === 0 || rest > 0; at++, rest = Math.floor(rest / vocabulary))
      prompt[at] = rest % vocabulary;
    return { ...task, hinted: prompt, unhinted: prompt };
  });
}

/**
 * Completions that fill one pass to its last token, with a prompt shared by its completions or a copy for each. `inner` does the decoding;
 * null: nothing is decoded. `longest`: the most tokens of each completion. The groups of the full pass have unequal rewards, the others 0.
 */
function fullPass(
  inner: Sampler | null,
  sharePrompts: boolean,
  longest: readonly number[],
  { sampling, compute }: GrpoSettings,
) {
  const { group } = sampling;
  let trained = 0;
  const sampler: Sampler = {
    sample: async (requests, settings, stream) => {
      await inner?.sample(requests, settings, stream);
      const prompts = requests.map(({ prompt }) => prompt.length);
      const lengths = sharePrompts
        ? fillPass(prompts, group, longest, compute.tokensPerPass)
        : fillPass(prompts, 1, descending(longest), compute.tokensPerPass);
      trained = Math.ceil(lengths.length / group) * group;
      return requests.map((_, row): Generation => {
        const length = lengths[row] ?? 1;
        const logps = new Float32Array(length);
        // Completions of a prompt differ in their first token: equal ones would be read once.
        const tokens = new Int32Array(length).fill(row % group, 0, 1);
        return { tokens, logps, fullLogps: logps, finish: 'length' };
      });
    },
  };
  const rewards = (count: number) => Float32Array.from({ length: count }, (_, i) => (i < trained ? i % 2 : 0));
  return { sampler, rewards };
}

/**
 * Lengths of the completions that fill one pass, of as few prompts as possible: each as long as it may be (`longest`), or all cut to a length
 * at which they fill the room that the prompts leave. The first prompt's completions keep their full length even if they alone do not fit.
 * `members`: how many completions share a prompt.
 */
export function fillPass(
  prompts: readonly number[],
  members: number,
  longest: readonly number[],
  tokensPerPass: number,
): readonly number[] {
  let [rows, promptTokens, tokens] = [0, 0, 0];
  for (; rows < prompts.length && promptTokens + tokens < tokensPerPass; rows += members) {
    promptTokens += prompts[rows];
    tokens += sum(longest.slice(rows, rows + members));
  }
  const room = tokensPerPass - promptTokens;
  if (rows === members || room >= tokens) return longest.slice(0, rows);
  // The last prompt would leave less than one token per completion: leave it out.
  if (room < rows) return longest.slice(0, rows - members);
  return cutTo(room, longest.slice(0, rows));
}

/** Cuts the longest lengths until their sum is `total`; those that are cut are equal, but for the rest of the division. */
function cutTo(total: number, lengths: readonly number[]): readonly number[] {
  let [left, rows] = [total, lengths.length];
  const uncut = new Set<number>();
  for (const [row, length] of [...lengths.entries()].sort(([, a], [, b]) => a - b)) {
    if (length * rows > left) break;
    uncut.add(row);
    left -= length;
    rows -= 1;
  }
  let at = 0;
  return lengths.map((length, row) => (uncut.has(row) ? length : Math.floor((left + rows - 1 - at++) / rows)));
}

const sum = (lengths: readonly number[]): number => lengths.reduce((all, each) => all + each, 0);
