/**
 * Training as an async generator of events. Logging, checkpoints, evaluation and progress are readers outside it: between
 * two events the trainer stands still and its state can be saved.
 */
import type { StoredTensor } from '../adapters/index.ts';
import { readFloats, type Tensor } from '../engine/index.ts';
import type { GateState } from '../gates/index.ts';
import type { TrainEvent } from './events.ts';
import { retainHeal } from './heal.ts';
import { scoreRollouts } from './policy.ts';
import { rolloutRecords, stepEvent, stepExpectations } from './report.ts';
import type { PromptedCompletion } from './rollout.ts';
import { type StepContext, step } from './step.ts';
import { Tripwire, type TripwireState } from './tripwire.ts';
import { stepOptions } from './update.ts';

export interface TrainerState {
  /** Updates completed. */
  readonly update: number;
  readonly adapter: ReadonlyMap<string, StoredTensor>;
  /** First and second moments by parameter name, in the engine's own layout. */
  readonly moments: ReadonlyMap<string, { readonly m: StoredTensor; readonly v: StoredTensor }>;
  readonly router: GateState | null;
  readonly directionAge: number | null;
  readonly tripwire: TripwireState;
}

export interface TrainerOptions {
  readonly context: StepContext;
  /** Teacher-forced rollouts whose log-probability watches for divergence; empty for none. */
  readonly reference: readonly PromptedCompletion[];
  /** Clean completions to heal on after the last update; null for none. */
  readonly heal: {
    readonly clean: readonly PromptedCompletion[];
    readonly steps: number;
    readonly learningRate: number;
  } | null;
}

export class Trainer {
  readonly #context: StepContext;
  readonly #reference: readonly PromptedCompletion[];
  readonly #heal: TrainerOptions['heal'];
  readonly #tripwire: Tripwire;
  #update = 0;
  #directionAge: number | null = null;

  constructor({ context, reference, heal }: TrainerOptions) {
    this.#context = context;
    this.#reference = reference;
    this.#heal = heal;
    this.#tripwire = new Tripwire(context.settings.tripwireNats);
  }

  get updatesCompleted(): number {
    return this.#update;
  }

  async *train(): AsyncGenerator<TrainEvent, void, void> {
    const { settings } = this.#context;
    while (this.#tripwire.state.tripped === null && this.#update < settings.updates) yield* this.#updateOnce();
    const { tripped } = this.#tripwire.state;
    if (tripped === null && this.#heal !== null && this.#update === settings.updates) yield* this.#healOnce(this.#heal);
    const [reason, detail] =
      tripped === null ? (['finished', `${this.#update} updates`] as const) : (['tripwire', tripped] as const);
    yield { kind: 'stop', update: this.#update, reason, detail };
  }

  async *#updateOnce(): AsyncGenerator<TrainEvent, void, void> {
    const { policy, router } = this.#context;
    const update = this.#update;
    const direction = await router.refresh(update, policy);
    if (direction !== null) this.#directionAge = 0;
    else if (this.#directionAge !== null) this.#directionAge++;

    const outcome = await step(this.#context, update);
    const tripwireLogp = await this.#tripwireLogp();
    if (tripwireLogp !== null) this.#tripwire.watch(tripwireLogp, outcome.rollouts.at(-1)?.text ?? '');
    this.#update = update + 1;
    if (direction !== null && router.direction !== null) {
      yield { kind: 'direction', update: this.#update, ...router.direction };
    }
    const notes = { update: this.#update, direction, directionAge: this.#directionAge, tripwireLogp };
    yield { kind: 'rollouts', update: this.#update, records: rolloutRecords(outcome) };
    yield* stepExpectations(outcome);
    yield stepEvent(outcome, notes);
  }

  async *#healOnce({ clean, steps, learningRate }: NonNullable<TrainerOptions['heal']>): AsyncGenerator<TrainEvent> {
    const { policy, optimiser, settings } = this.#context;
    const first = settings.updates * settings.epochs + 1;
    const options = stepOptions(settings, learningRate);
    const { losses, expectations } = await retainHeal(policy, optimiser, clean, steps, first, options, settings);
    this.#update += steps;
    yield* expectations;
    yield { kind: 'heal', update: this.#update, losses };
  }

  /** Mean log-probability per token of the reference set under the full policy. */
  async #tripwireLogp(): Promise<number | null> {
    if (this.#reference.length === 0) return null;
    const { policy, settings } = this.#context;
    const { logps } = await scoreRollouts(policy, this.#reference, () => 1, settings);
    const all = logps.flatMap((own) => Array.from(own));
    return all.reduce((sum, logp) => sum + logp, 0) / all.length;
  }

  async state(): Promise<TrainerState> {
    const { policy, optimiser, router } = this.#context;
    const read = async (tensor: Tensor): Promise<StoredTensor> => ({
      shape: tensor.shape,
      data: await readFloats(tensor),
    });
    const moments = new Map<string, { m: StoredTensor; v: StoredTensor }>();
    for (const [name, { m, v }] of optimiser.moments) moments.set(name, { m: await read(m), v: await read(v) });
    return {
      update: this.#update,
      adapter: await policy.adapter.tensors(),
      moments,
      router: router.state,
      directionAge: this.#directionAge,
      tripwire: this.#tripwire.state,
    };
  }

  restore(state: TrainerState): void {
    const { policy, optimiser, router } = this.#context;
    this.#update = state.update;
    policy.adapter.load(state.adapter);
    for (const [name, { m, v }] of optimiser.moments) {
      const saved = state.moments.get(name);
      if (saved === undefined) throw new RangeError(`the saved state lacks the moments of ${name}`);
      m.device.write(m, saved.m.data);
      v.device.write(v, saved.v.data);
    }
    router.restore(state.router);
    this.#directionAge = state.directionAge;
    this.#tripwire.restore(state.tripwire);
  }
}
