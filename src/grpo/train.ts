/**
 * Training as an async generator of events. Logging, checkpoints, evaluation and progress are readers outside it: between
 * two events the trainer stands still and its state can be saved.
 */
import type { StoredTensor } from '../adapters/index.ts';
import { readFloats, type Tensor } from '../engine/index.ts';
import { average } from '../stats/index.ts';
import type { ArmState } from './arm.ts';
import { assertFinite, explainDivergence } from './diverged.ts';
import type { TrainEvent } from './events.ts';
import { retainHeal } from './heal.ts';
import { makeLasting } from './lasting.ts';
import type { LastingTable } from './lasting-table.ts';
import { scoreRollouts } from './policy.ts';
import { doneUpdate, rolloutRecords, stepEvent, stepExpectations } from './report.ts';
import type { PromptedCompletion } from './rollout.ts';
import type { StepContext } from './stages.ts';
import { step } from './step.ts';
import { Tripwire, type TripwireState } from './tripwire.ts';
import { stepOptions } from './update.ts';

export interface TrainerState {
  /** Updates completed. */
  readonly update: number;
  /** The learned values of the adapter. */
  readonly adapter: ReadonlyMap<string, StoredTensor>;
  /** First and second moments by parameter name, in the engine's own layout; empty where they begin anew. */
  readonly moments: ReadonlyMap<string, { readonly m: StoredTensor; readonly v: StoredTensor }>;
  /** Updates completed when the moments began at zero: 0, or those of the parent that a fork took the adapter alone from. */
  readonly momentsFrom: number;
  readonly arm: ArmState | null;
  readonly directionAge: number | null;
  readonly tripwire: TripwireState;
}

export interface TrainerOptions {
  readonly context: StepContext;
  /** Completions whose log-probability is watched for divergence; empty: no tripwire. */
  readonly tripwireSet: readonly PromptedCompletion[];
  /** How to heal after the last update, and on which clean completions; null: no healing. */
  readonly heal: {
    readonly clean: readonly PromptedCompletion[];
    readonly steps: number;
    readonly learningRate: number;
  } | null;
  /** How the deletion is made to last before that, and the hack sides of the pairs; default: it is left as it is. */
  readonly lasting?: { readonly hacks: readonly PromptedCompletion[]; readonly table: LastingTable } | null;
  /** Is called once, when everything is done that comes before the first tokens. */
  readonly ready?: () => Promise<void>;
}

export class Trainer {
  readonly #context: StepContext;
  readonly #tripwireSet: readonly PromptedCompletion[];
  readonly #heal: TrainerOptions['heal'];
  readonly #lasting: NonNullable<TrainerOptions['lasting']> | null;
  readonly #tripwire: Tripwire;
  #ready: TrainerOptions['ready'];
  #update = 0;
  #momentsFrom = 0;
  #directionAge: number | null = null;

  constructor({ context, tripwireSet, heal, lasting = null, ready }: TrainerOptions) {
    this.#context = context;
    this.#tripwireSet = tripwireSet;
    this.#heal = heal;
    this.#lasting = lasting;
    this.#ready = ready;
    this.#tripwire = new Tripwire(context.settings.safety.tripwireNats);
  }

  get updatesCompleted(): number {
    return this.#update;
  }

  async *train(): AsyncGenerator<TrainEvent, void, void> {
    const { settings, arm, policy } = this.#context;
    yield* (await arm.prepare?.(policy)) ?? [];
    if (this.#update === 0) await this.#beginTripwire();
    const ended = (): string | null => this.#tripwire.state.tripped ?? arm.ends?.() ?? null;
    while (ended() === null && this.#update < settings.updates) yield* this.#updateOnce();
    const { tripped } = this.#tripwire.state;
    const early = tripped === null ? ended() : null;
    if (tripped === null) yield* this.#finish(settings.updates);
    const finished = `${this.#update} updates${early === null ? '' : ` of ${settings.updates}: ${early}`}`;
    const [reason, detail] = tripped === null ? (['finished', finished] as const) : (['tripwire', tripped] as const);
    yield { kind: 'stop', update: this.#update, reason, detail };
  }

  async *#updateOnce(): AsyncGenerator<TrainEvent, void, void> {
    const { policy, arm, settings } = this.#context;
    const index = this.#update;
    const update = index + 1;
    const built = (await arm.refresh?.(index, policy)) ?? null;
    if (built !== null) this.#directionAge = 0;
    else if (this.#directionAge !== null) this.#directionAge++;

    await this.#ready?.();
    this.#ready = undefined;
    const outcome = await step({ ...this.#context, momentsFrom: this.#momentsFrom }, index).catch((error: unknown) => {
      throw explainDivergence(error, update, settings);
    });
    const stated = (await arm.after?.(doneUpdate(outcome, update, settings.updates), policy)) ?? [];
    const tripwireLogp = await this.#tripwireLogp();
    assertFinite(outcome, tripwireLogp, update, settings);
    if (tripwireLogp !== null) this.#tripwire.watch(tripwireLogp, outcome.rollouts.at(-1)?.text ?? '');
    this.#update = update;
    if (built !== null) {
      yield { kind: 'direction', update, direction: built.direction, pairCuts: built.pairCuts };
    }
    const notes = { update, direction: built, directionAge: this.#directionAge, tripwireLogp };
    yield { kind: 'rollouts', update, records: rolloutRecords(outcome) };
    yield* [...stepExpectations(outcome), ...stated];
    yield stepEvent(outcome, notes);
  }

  /** What comes after the last update; its steps count as updates, so that a run that goes on knows what is done. */
  async *#finish(updates: number): AsyncGenerator<TrainEvent> {
    if (this.#lasting !== null && this.#update === updates) yield* this.#lastOnce(this.#lasting);
    const lasted = updates + (this.#lasting?.table.steps ?? 0);
    if (this.#heal !== null && this.#update === lasted) yield* this.#healOnce(this.#heal);
  }

  async *#lastOnce({ hacks, table }: NonNullable<TrainerOptions['lasting']>): AsyncGenerator<TrainEvent> {
    const { losses, expectations, learned, moved } = await makeLasting(this.#context, hacks, table);
    this.#update += table.steps;
    yield* expectations;
    yield { kind: 'heal', update: this.#update, losses, lasting: { step: table.kind, learned, moved } };
  }

  async *#healOnce({ clean, steps, learningRate }: NonNullable<TrainerOptions['heal']>): AsyncGenerator<TrainEvent> {
    const { policy, settings } = this.#context;
    const options = stepOptions(settings.optimiser, learningRate);
    const { losses, expectations } = await retainHeal(policy, () => clean, steps, options, settings);
    this.#update += steps;
    yield* expectations;
    yield { kind: 'heal', update: this.#update, losses };
  }

  /** The policy before its first update is what a fall is measured from: a collapse in that update counts too. */
  async #beginTripwire(): Promise<void> {
    const meanLogp = await this.#tripwireLogp();
    if (meanLogp !== null) this.#tripwire.begin(meanLogp);
  }

  /** Mean log-probability per token of the tripwire set under the full policy. */
  async #tripwireLogp(): Promise<number | null> {
    if (this.#tripwireSet.length === 0) return null;
    const { policy, settings } = this.#context;
    const { logps } = await scoreRollouts(policy, this.#tripwireSet, () => 1, settings.compute);
    return average(logps.flatMap((own) => Array.from(own)));
  }

  /** The frozen initial values that the adapter is measured from, which no update changes. */
  initialValues(): Promise<ReadonlyMap<string, StoredTensor>> {
    return this.#context.policy.adapter.tensors('initial');
  }

  async state(): Promise<TrainerState> {
    const { policy, optimiser, arm } = this.#context;
    const read = async (tensor: Tensor): Promise<StoredTensor> => ({
      shape: tensor.shape,
      data: await readFloats(tensor),
    });
    const zeros = ({ shape, size }: Tensor): StoredTensor => ({ shape, data: new Float32Array(size) });
    // Moments that have just begun need not be read: a fresh run would wait for them before its first token.
    const readMoment = this.#update === this.#momentsFrom ? zeros : read;
    const moments = new Map<string, { m: StoredTensor; v: StoredTensor }>();
    for (const [name, { m, v }] of optimiser.moments) {
      moments.set(name, { m: await readMoment(m), v: await readMoment(v) });
    }
    return {
      update: this.#update,
      adapter: await policy.adapter.tensors('learned'),
      moments,
      momentsFrom: this.#momentsFrom,
      arm: arm.save?.() ?? null,
      directionAge: this.#directionAge,
      tripwire: this.#tripwire.state,
    };
  }

  restore(state: TrainerState): void {
    const { policy, optimiser, arm } = this.#context;
    this.#update = state.update;
    this.#momentsFrom = state.momentsFrom;
    policy.adapter.load(state.adapter);
    for (const [name, { m, v }] of state.moments.size === 0 ? [] : optimiser.moments) {
      const saved = state.moments.get(name);
      if (saved === undefined) throw new RangeError(`the saved state lacks the moments of ${name}`);
      m.device.write(m, saved.m.data);
      v.device.write(v, saved.v.data);
    }
    if (state.arm !== null) arm.restore?.(state.arm);
    this.#directionAge = state.directionAge;
    this.#tripwire.restore(state.tripwire);
  }
}
