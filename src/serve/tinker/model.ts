/**
 * A model that a client trains: two adapter blocks on the served base, gradients that wait for a step of AdamW, and the states of it that were saved.
 * Losses are sums over tokens, as in Tinker's API; passes, routes, the surrogate of the ratio and AdamW are the trainer's own.
 */
import type { StoredTensor } from '../../adapters/index.ts';
import { deployedScaleOf, writeCheckpoint } from '../../adapters/index.ts';
import { UserError } from '../../base/index.ts';
import { AdamW, affine, readFloats, Scope, sum, type Tensor } from '../../engine/index.ts';
import { lay } from '../../grpo/batches.ts';
import {
  accumulateLoss,
  clippedSurrogate,
  type Policy,
  readBlockNorms,
  scoreRollouts,
  weightedNll,
} from '../../grpo/index.ts';
import { openAdapter } from '../../lab/adapter.ts';
import { checkRank, type Lab } from '../../lab/index.ts';
import { computeTable } from '../../run/index.ts';
import type { LearningAnswer } from './protobuf.ts';
import type { Asked, Learning } from './requests.ts';

export interface ModelShape {
  readonly rank: number;
  readonly seed: number;
  readonly attention: boolean;
  readonly mlp: boolean;
}

/** A state of a model. Its values are those that the model has, until the model changes: then a copy. */
export interface SavedState {
  readonly model: TrainedModel;
  values: ReadonlyMap<string, StoredTensor> | null;
  /** Whether it may still be asked for. */
  isKept: boolean;
  /** AdamW's moments by parameter and the steps that made them; null where only values were saved. */
  readonly optimiser: SavedOptimiser | null;
}

interface SavedOptimiser {
  readonly steps: number;
  readonly moments: ReadonlyMap<string, readonly [first: Float32Array, second: Float32Array]>;
}

/** Why something that was asked for could not be done, in words for the client. */
export class WorkProblem extends Error {}

const isAttention = (target: string): boolean => target.endsWith('_proj') && 'qkvo'.includes(target[0]);

export class TrainedModel implements Disposable {
  readonly policy: Policy;
  readonly shape: ModelShape;
  readonly #lab: Lab;
  readonly #scope: Scope;
  readonly #optimiser: AdamW;
  readonly #saved = new Set<SavedState>();
  #steps = 0;

  private constructor(lab: Lab, scope: Scope, policy: Policy, shape: ModelShape) {
    this.#lab = lab;
    this.#scope = scope;
    this.policy = policy;
    this.shape = shape;
    this.#optimiser = new AdamW(policy.adapter.parameters);
  }

  static async open(lab: Lab, shape: ModelShape): Promise<TrainedModel> {
    const { rank, seed, attention, mlp } = shape;
    const { decoder, ...files } = await lab.weights;
    const targets = lab.config.adapter.targets.filter((target) => (isAttention(target) ? attention : mlp));
    if (targets.length === 0) throw new WorkProblem('the recipe has no adapter on the layers that were asked for');
    const config = { ...lab.config, seed, adapter: { ...lab.config.adapter, rank, targets } };
    try {
      checkRank(config, decoder.config);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      throw new WorkProblem(`lora_config.rank: expected ${error.complaint.expected}, found ${rank}`);
    }
    const scope = new Scope(decoder.head.device);
    try {
      const { parts, warn, signal } = lab;
      const own = { config, parts, warn, signal, get pairs() { return lab.pairs; } }; // biome-ignore format: one line
      const adapter = await openAdapter(own, { ...files, decoder, scope }, { initial: null, drawn: null });
      const { recompute } = computeTable(config);
      return new TrainedModel(lab, scope, { decoder, adapter, deployedScale: deployedScaleOf(true), recompute }, shape);
    } catch (error) {
      scope[Symbol.dispose]();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    for (const saved of this.#saved) this.forget(saved);
    this.#optimiser[Symbol.dispose]();
    this.#scope[Symbol.dispose]();
  }

  /** Adds to the gradients. What is not finite empties them, so that no step can spoil the model. */
  async learn({ data, loss, learns, activations }: Learning): Promise<LearningAnswer> {
    const { tokensPerPass } = computeTable(this.#lab.config);
    const { loss: total, logps } = await accumulateLoss(this.policy, learns ? this.#optimiser : null, data, {
      routeOf: (index) => data[index].route,
      tokensPerPass,
      detach: this.#lab.config.loss.detach,
      loss: (tape, logp, { packed, members, scope }) => {
        const of = (values: (index: number) => Float32Array): Float32Array => lay(packed.scored, members.map(values));
        const tensor = (values: Float32Array, label: string): Tensor => scope.from(values, [values.length], label);
        const weights = of((index) => data[index].weights);
        if (loss.kind === 'cross_entropy') return weightedNll(tape, logp, weights);
        const given = {
          logp,
          logpOld: tensor(
            of((index) => data[index].logpOld ?? new Float32Array()),
            'log π_old',
          ),
          advantage: tensor(weights, 'advantages'),
        };
        const { surrogate } = clippedSurrogate(tape, given, loss.kind === 'ppo' ? loss.range : null);
        return affine(tape, sum(tape, surrogate), -1);
      },
    });
    if (!Number.isFinite(total) || (learns && !(await this.#hasFiniteGradients()))) {
      if (learns) this.#optimiser.zeroGradients();
      throw new WorkProblem(
        'the loss or its gradient is not finite; the gradients since the last optim_step are dropped',
      );
    }
    const features = activations ? await this.#activations(data) : null;
    const { modules, rank } = this.policy.adapter;
    const outputs = data.map(({ before }, i) => ({
      logprobs: {
        dtype: 'float32',
        data: [...new Float32Array(before), ...logps[i]],
        shape: [before + logps[i].length],
      },
      ...(features === null
        ? {}
        : { activations: { dtype: 'float32', data: Array.from(features[i]), shape: [modules.length, rank] } }),
    })) satisfies LearningAnswer['loss_fn_outputs'];
    return { loss_fn_output_type: 'ArrayRecord', loss_fn_outputs: outputs, metrics: { 'loss:sum': total } };
  }

  async #hasFiniteGradients(): Promise<boolean> {
    const { deployed, quarantine } = await readBlockNorms(this.policy);
    return Number.isFinite(deployed + quarantine);
  }

  /** The gate's features of the completions, from where each has its first weight: pooled activations in deployed state, by module. */
  async #activations(data: Learning['data']): Promise<readonly Float32Array[]> {
    const { tokensPerPass } = computeTable(this.#lab.config);
    const cut = data.map(({ group, prompt, tokens, from }, i) =>
      from === 0
        ? { group, prompt, tokens }
        : {
            group: data.length + i,
            prompt: Int32Array.from([...prompt, ...tokens.subarray(0, from)]),
            tokens: tokens.subarray(from),
          },
    );
    const { deployedScale } = this.policy;
    return (await scoreRollouts(this.policy, cut, () => deployedScale, { tokensPerPass, pool: 'rollout' })).features;
  }

  async step(adam: Asked<'optimStep'>['adam_params']): Promise<Readonly<Record<string, number>>> {
    await this.#copySaved();
    const norms = await readBlockNorms(this.policy);
    this.#steps++;
    this.#optimiser.update(this.#steps, {
      learningRate: adam.learning_rate,
      beta1: adam.beta1,
      beta2: adam.beta2,
      epsilon: adam.eps,
      decay: adam.weight_decay,
      maxNorm: adam.grad_clip_norm === 0 ? Number.POSITIVE_INFINITY : adam.grad_clip_norm,
    });
    const [squared] = await readFloats(this.#optimiser.squaredNorm);
    this.#optimiser.zeroGradients();
    return {
      'gradient_norm:mean': Math.sqrt(squared),
      'gradient_norm_deployed:mean': norms.deployed,
      'gradient_norm_quarantine:mean': norms.quarantine,
    };
  }

  /** What is saved must not change when the model does. */
  async #copySaved(): Promise<void> {
    const live = [...this.#saved].filter(({ values }) => values === null);
    if (live.length === 0) return;
    const values = await this.policy.adapter.tensors('learned');
    for (const saved of live) saved.values = values;
  }

  async save(withOptimiser: boolean): Promise<SavedState> {
    const optimiser = withOptimiser ? await this.#readOptimiser() : null;
    const saved: SavedState = { model: this, values: null, isKept: true, optimiser };
    this.#saved.add(saved);
    return saved;
  }

  forget(saved: SavedState): void {
    saved.isKept = false;
    saved.values = null;
    this.#saved.delete(saved);
  }

  async #readOptimiser(): Promise<SavedOptimiser> {
    const read = async ([name, { m, v }]: readonly [string, { readonly m: Tensor; readonly v: Tensor }]) =>
      [name, [await readFloats(m), await readFloats(v)]] as const;
    return { steps: this.#steps, moments: new Map(await Promise.all([...this.#optimiser.moments].map(read))) };
  }

  /** Takes over the values of a saved state of a model with the same shape. */
  async load(saved: SavedState, withOptimiser: boolean): Promise<void> {
    expectKept(saved);
    const { model, values, optimiser } = saved;
    if (withOptimiser && optimiser === null)
      throw new WorkProblem('that state was saved for a sampler, without its optimiser');
    if (kindOf(model.policy) !== kindOf(this.policy)) {
      throw new WorkProblem('that state is of a model with another rank or other layers');
    }
    const given = values ?? (await model.policy.adapter.tensors('learned'));
    const start = await model.policy.adapter.tensors('initial');
    await this.#copySaved();
    this.policy.adapter.load(new Map([...start, ...given]));
    this.#optimiser.zeroGradients();
    this.#steps = withOptimiser ? (optimiser?.steps ?? 0) : 0;
    for (const [name, { m, v }] of this.#optimiser.moments) {
      const [first, second] = (withOptimiser ? optimiser?.moments.get(name) : undefined) ?? [null, null];
      m.device.write(m, first ?? new Float32Array(m.size));
      v.device.write(v, second ?? new Float32Array(v.size));
    }
  }

  /** Does something while the model has the values of a state of it. */
  async as<Result>(saved: SavedState, work: () => Promise<Result>): Promise<Result> {
    expectKept(saved);
    const { values } = saved;
    if (values === null) return work();
    const { adapter } = this.policy;
    const own = await adapter.tensors('learned');
    adapter.load(values);
    try {
      return await work();
    } finally {
      adapter.load(own);
    }
  }

  write(path: string): Promise<void> {
    return writeCheckpoint(path, this.policy.adapter);
  }
}

export function expectKept({ isKept }: SavedState): void {
  if (!isKept)
    throw new WorkProblem('that state is kept no longer: its model was unloaded, or others were saved since');
}

const kindOf = ({ adapter }: Policy): string => [adapter.rank, ...adapter.modules.map(({ name }) => name)].join();
