/**
 * The largest update of a run, rehearsed with the trainer's own step on a device that only counts. The sampler really decodes and then
 * says that completions were as long as they may be, until one pass is filled to its last token; the grader pays those groups unequally
 * and the others not at all, so that exactly one full pass is scored and learned from. Of the arm's hooks those run that use the
 * device's memory; what it would decide about rollouts that nobody wrote does not matter.
 */
import { randomStream } from '../base/index.ts';
import type { AdamW } from '../engine/index.ts';
import {
  type Arm,
  type Phase,
  type Policy,
  policySampler,
  type Sampler,
  steerPolicy,
  step,
  type Task,
} from '../grpo/index.ts';
import type { Generation } from '../model/index.ts';
import type { Rehearsal } from './memory.ts';
import type { RunConfig } from './schema.ts';
import { grpoSettings } from './settings.ts';

export interface Gauge {
  begin(): void;
  /** What was used since `begin` counts for this phase. */
  end(name: string): void;
}

const phaseNames: Partial<Record<Phase, string>> = { sample: 'sampling', score: 'scoring', learn: 'learning' };

export async function rehearseUpdate(
  { config, arm: definition, tasks }: Rehearsal,
  unsteered: Policy,
  optimiser: AdamW,
  gauge: Gauge,
): Promise<void> {
  const settings = grpoSettings(rehearsedConfig(config));
  const arm = memoryHooks(await openOnNothing(definition, config, unsteered));
  const policy = steerPolicy(unsteered, arm);
  const full = new FullPass(policySampler(policy, settings.compute), settings);
  let phase: Phase | null = null;
  const enter = (next: Phase | null): void => {
    const name = phase === null ? undefined : phaseNames[phase];
    if (name !== undefined) gauge.end(name);
    gauge.begin();
    phase = next;
  };
  await step(
    {
      policy,
      optimiser,
      arm,
      settings,
      tasks: longestTasks(tasks, settings.sampling.promptsPerStep),
      sampler: full.sampler,
      grader: { grade: async (submissions) => full.rewards(submissions.length) },
      pool: null,
      stopTokens: [],
      decode: () => '',
      showPrompt: () => '',
      enter,
    },
    0,
  );
  enter(null);
}

/** One completion of each of the longest prompts. */
export async function rehearseEvaluation(
  { config, tasks }: Rehearsal,
  policy: Policy,
  rowsTogether: number,
  gauge: Gauge,
): Promise<void> {
  const { sampling, compute } = grpoSettings(config);
  const requests = longestTasks(tasks, rowsTogether).map(({ hinted }, row) => ({
    prompt: hinted,
    row,
    state: 'full' as const,
  }));
  gauge.begin();
  await policySampler(policy, compute).sample(
    requests,
    { ...sampling, stopTokens: [] },
    randomStream(config.seed, 'sampling'),
  );
  gauge.end('sampling');
}

/** One epoch, every prompt with its hint, everything sampled in one state: one kind of pass as full as can be. */
function rehearsedConfig(config: RunConfig): RunConfig {
  return {
    ...config,
    sampling: { ...config.sampling, deployedSampling: 0 },
    environment: { ...config.environment, unhackableFraction: 0 },
    loss: { ...config.loss, epochs: 1 },
  };
}

function openOnNothing(definition: Rehearsal['arm'], { arm, seed, compute }: RunConfig, policy: Policy) {
  const { kind: _kind, ...settings } = arm;
  return definition.open(settings, {
    seed,
    policy,
    tokensPerPass: compute.tokensPerPass,
    pairs: [],
    writePairs: async () => [],
    tokenize: () => new Int32Array(1),
    labels: definition.usesLabels ? () => ({ exploited: false, correct: false }) : null,
  });
}

function memoryHooks({ sees, steer, gradient }: Arm): Arm {
  const byToken = sees.features?.granularity === 'token';
  return {
    sees: { features: sees.features, text: false },
    ...(steer === undefined ? {} : { steer }),
    ...(gradient === undefined ? {} : { gradient }),
    route: ({ rollouts }) => ({
      routes: rollouts.map(({ length }) => Array.from({ length: byToken ? length : 1 }, () => 'absorb' as const)),
      scores: null,
      cuts: null,
      bufferRows: 0,
    }),
  };
}

/** Every task asked with its longest prompt, whichever that is. */
function longestTasks(tasks: readonly Task[], count: number): Task[] {
  const longest = ({ hinted, unhinted }: Task): Int32Array => (hinted.length >= unhinted.length ? hinted : unhinted);
  const sorted = tasks.toSorted((a, b) => longest(b).length - longest(a).length);
  return Array.from({ length: count }, (_, i) => {
    const task = sorted[i % sorted.length];
    return { ...task, hinted: longest(task), unhinted: longest(task) };
  });
}

class FullPass {
  readonly #inner: Sampler;
  readonly #group: number;
  readonly #maxNewTokens: number;
  readonly #tokensPerPass: number;
  #filledGroups = 0;

  constructor(inner: Sampler, { sampling, compute }: ReturnType<typeof grpoSettings>) {
    this.#inner = inner;
    this.#group = sampling.group;
    this.#maxNewTokens = sampling.maxNewTokens;
    this.#tokensPerPass = compute.tokensPerPass;
  }

  readonly sampler: Sampler = {
    sample: async (requests, settings, stream) => {
      await this.#inner.sample(requests, settings, stream);
      const lengths = this.#fill(requests.map(({ prompt }) => prompt.length));
      return lengths.map(
        (length): Generation => ({
          tokens: new Int32Array(length),
          logps: new Float32Array(length),
          fullLogps: new Float32Array(length),
          finish: 'length',
        }),
      );
    },
  };

  /** The first group is whole even where it alone is too much; the last one shares what room is left. */
  #fill(prompts: readonly number[]): number[] {
    const lengths = prompts.map(() => 1);
    let room = this.#tokensPerPass;
    for (let start = 0; start < prompts.length; start += this.#group) {
      const share = Math.floor((room - prompts[start]) / this.#group);
      const length = start === 0 ? this.#maxNewTokens : Math.min(this.#maxNewTokens, share);
      if (length < 1) break;
      lengths.fill(length, start, start + this.#group);
      room -= prompts[start] + this.#group * length;
      this.#filledGroups++;
    }
    return lengths;
  }

  rewards(count: number): Float32Array {
    return Float32Array.from({ length: count }, (_, i) => (i < this.#filledGroups * this.#group ? i % 2 : 0));
  }
}
