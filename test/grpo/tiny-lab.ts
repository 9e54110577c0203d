/**
 * Runs whole updates of the tiny policy under any arm, with rewards chosen by hand. Passes through the decoder are counted by phase,
 * and parameters are put back after an update, so that every update starts from the same policy.
 */
import { scaleOf } from '../../src/adapters/policy-state.ts';
import { AdamW, type Device, readFloats, type Scope } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import type { Submission } from '../../src/env/judge.ts';
import { type Arm, seesNothing } from '../../src/grpo/arm.ts';
import { type Policy, scoreRollouts, steerPolicy } from '../../src/grpo/policy.ts';
import type { Rollout } from '../../src/grpo/rollout.ts';
import { policySampler, type SampleRequest, type Sampler } from '../../src/grpo/sampler.ts';
import type { Phase, StepContext, StepOutcome } from '../../src/grpo/stages.ts';
import { step } from '../../src/grpo/step.ts';
import type { DemonstrationPool } from '../../src/grpo/teacher.ts';
import { accumulateGradients, type UpdateInputs } from '../../src/grpo/update.ts';
import { Shards } from '../../src/parallel/index.ts';
import { makePolicy, type SettingsChanges, task, tinyConfig, tinyVocabulary, tinyWith } from './tiny-policy.ts';

export const plainArm: Arm = { sees: seesNothing };

/** Rewards of two groups of four, both with something to learn. */
const tinyRewards: readonly number[] = [3, 0, 1, 0, 0, 2, 0, 0];

export const showTokens = (tokens: Int32Array): string => Array.from(tokens).join(' ');

export interface TinyOptions {
  readonly changes?: SettingsChanges;
  /** Rewards in the order of the rollouts. */
  readonly rewards?: readonly number[];
  readonly pool?: DemonstrationPool | null;
  /** Wraps the policy's own sampler. */
  readonly through?: (sampler: Sampler) => Sampler;
  /** How the update is divided among ranks; default: not at all. */
  readonly shards?: Shards;
  /** Is told every phase that begins. */
  readonly enter?: (phase: Phase) => void;
  /** The grader waits for this, and fails if it does. */
  readonly grading?: () => Promise<void>;
}

export interface TinyStep {
  readonly outcome: StepOutcome;
  /** Number of passes through the decoder in each phase. */
  readonly passes: Readonly<Record<Phase, number>>;
  readonly requests: readonly SampleRequest[];
  readonly submissions: readonly Submission[];
  /** Parameters after the update, the gradients it used, and AdamW's first moments, each as one array over all parameters. */
  readonly values: Float32Array;
  readonly gradients: Float32Array;
  readonly moments: Float32Array;
}

export class TinyLab {
  readonly policy: Policy;
  readonly #scope: Scope;
  readonly #attended: () => number;

  private constructor(scope: Scope, policy: Policy, attended: () => number) {
    this.#scope = scope;
    this.policy = policy;
    this.#attended = attended;
  }

  static async open(): Promise<TinyLab> {
    const device = createReferenceDevice();
    const { kernels } = device;
    let attended = 0;
    const attention: typeof kernels.attention = (...inputs) => {
      attended++;
      kernels.attention(...inputs);
    };
    // As on a real device, others have their turn while a reader waits: what fails meanwhile is seen to fail.
    const read: Device['read'] = async (...asked) => {
      const taken = device.read(...asked);
      await new Promise((resolve) => setImmediate(resolve));
      return taken;
    };
    const counted: Device = { ...device, read, kernels: { ...kernels, attention } };
    const { scope, policy } = await makePolicy(counted);
    return new TinyLab(scope, policy, () => attended);
  }

  /** Runs the first update under an arm. */
  async step(arm: Arm, options: TinyOptions = {}): Promise<TinyStep> {
    const { changes = {}, rewards = tinyRewards, pool = null, through = (sampler) => sampler } = options;
    const { parameters } = this.policy.adapter;
    const settings = tinyWith(changes);
    const passes: Record<Phase, number> = { sample: 0, grade: 0, watch: 0, score: 0, route: 0, learn: 0 };
    const clock = new PassClock(passes, this.#attended);
    const requests: SampleRequest[] = [];
    const submissions: Submission[] = [];
    const policy = steerPolicy(this.policy, arm);
    const own = through(policySampler(policy, settings.compute));
    using optimiser = new AdamW(parameters);
    const context: StepContext = {
      policy,
      optimiser,
      arm,
      settings,
      tasks: ['a', 'b'].map((id) => task(id)),
      sampler: {
        sample(asked, ...others) {
          requests.push(...asked);
          return own.sample(asked, ...others);
        },
      },
      grader: {
        async grade(given) {
          submissions.push(...given);
          await options.grading?.();
          return Float32Array.from(rewards);
        },
      },
      pool,
      stopTokens: [0],
      vocabulary: tinyVocabulary,
      decode: (tokens) => `completion ${showTokens(tokens)}`,
      showPrompt: (tokens) => `prompt ${showTokens(tokens)}`,
      enter: (phase) => {
        clock.enter(phase);
        options.enter?.(phase);
      },
      shards: options.shards ?? Shards.alone,
    };
    const undo = await this.#remember();
    try {
      const outcome = await step(context, 0);
      clock.stop();
      const values = await this.#read('value');
      const gradients = await this.#read('gradient');
      const moments = await joined([...optimiser.moments.values()].map(({ m }) => readFloats(m)));
      return { outcome, passes, requests, submissions, values, gradients, moments };
    } finally {
      undo();
    }
  }

  /** The inputs that an update learned from, rebuilt from its outcome. */
  inputsOf({ rollouts, trained, advantages, logpOld, logpBase, routing }: StepOutcome): UpdateInputs {
    return {
      rollouts: trained.map((i) => ({ ...rollouts[i], prompt: rollouts[i].learnPrompt })),
      advantages: Float32Array.from(trained, (i) => advantages[i]),
      logpOld,
      logpBase,
      routes: routing.routes,
    };
  }

  /** The gradients of inputs as one array over all parameters, with the parameters as they are or moved by `moved`. */
  async gradients(
    inputs: UpdateInputs,
    { policy = this.policy, changes = {}, moved = null }: GradientOptions = {},
  ): Promise<Float32Array> {
    using optimiser = new AdamW(this.policy.adapter.parameters);
    const undo = await this.#remember();
    try {
      if (moved !== null) await this.#move(moved);
      optimiser.zeroGradients();
      await accumulateGradients(policy, optimiser, inputs, tinyWith(changes));
      return await this.#read('gradient');
    } finally {
      undo();
    }
  }

  /** log π of rollouts under prompts chosen by the caller, in the state that sampled them or without an adapter. */
  async score(
    rollouts: readonly Rollout[],
    which: 'prompt' | 'learnPrompt',
    { base = false, policy = this.policy }: { readonly base?: boolean; readonly policy?: Policy } = {},
  ): Promise<Float32Array[]> {
    const asked = rollouts.map((rollout) => ({ ...rollout, prompt: rollout[which] }));
    const scale = (i: number) => (base ? 'base' : scaleOf(rollouts[i].sampled, policy.deployedScale));
    return (await scoreRollouts(policy, asked, scale, { tokensPerPass: 512 })).logps;
  }

  #read(what: 'value' | 'gradient'): Promise<Float32Array> {
    return joined(this.policy.adapter.parameters.map((parameter) => readFloats(parameter[what])));
  }

  async #remember(): Promise<() => void> {
    const { parameters } = this.policy.adapter;
    const before = await Promise.all(parameters.map(({ value }) => readFloats(value)));
    return () => {
      parameters.forEach(({ value }, i) => {
        value.device.write(value, before[i]);
      });
    };
  }

  async #move(by: Float32Array): Promise<void> {
    let at = 0;
    for (const { value } of this.policy.adapter.parameters) {
      const start = at;
      const data = await readFloats(value);
      value.device.write(
        value,
        data.map((x, i) => x + by[start + i]),
      );
      at += data.length;
    }
  }

  [Symbol.dispose](): void {
    this.#scope[Symbol.dispose]();
  }
}

interface GradientOptions {
  readonly policy?: Policy;
  readonly changes?: SettingsChanges;
  readonly moved?: Float32Array | null;
}

class PassClock {
  readonly #passes: Record<Phase, number>;
  readonly #attended: () => number;
  #phase: Phase | null = null;
  #from = 0;

  constructor(passes: Record<Phase, number>, attended: () => number) {
    this.#passes = passes;
    this.#attended = attended;
  }

  enter(phase: Phase): void {
    this.stop();
    this.#phase = phase;
    this.#from = this.#attended();
  }

  stop(): void {
    if (this.#phase !== null) this.#passes[this.#phase] += (this.#attended() - this.#from) / tinyConfig.layers;
    this.#phase = null;
  }
}

export async function joined(parts: readonly Promise<Float32Array>[]): Promise<Float32Array> {
  return Float32Array.from((await Promise.all(parts)).flatMap((part) => Array.from(part)));
}

/** The largest difference between two lists of numbers; infinite for lists of different lengths. */
export function furthest(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  return Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
}
