/**
 * Policies that share a device. Each has a lane, which is who computes for it, and knows nothing of the others. What lanes ask for
 * waits until every lane that lives waits for the device; then what is of one kind is computed as one. Without joint work (a device for
 * which it does not pay, or whose rows are not independent) pieces of work are done one after another, so that the device holds the
 * memory of one.
 */
import type { Generation } from '../model/index.ts';
import {
  type GenerateWork,
  generateTogether,
  HalfLearned,
  type PassWork,
  type PolicyWork,
  passTogether,
} from './work.ts';

/** A policy's place in a pack. Whoever has ended, in whatever way, must leave: the others wait for it. */
export interface Lane extends PolicyWork, Disposable {}

interface Ask {
  readonly lane: Lane;
  /** What can be computed together has the same kind. */
  readonly kind: string;
  readonly work: { readonly generate: GenerateWork } | { readonly pass: PassWork<unknown> };
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class Pack {
  readonly #joint: boolean;
  readonly #lanes = new Set<Lane>();
  readonly #names = new Map<object, number>();
  #asks: readonly Ask[] = [];
  #working = false;

  constructor({ joint }: { readonly joint: boolean }) {
    this.#joint = joint;
  }

  /** A new lane. All lanes of a pack should be made before the first of them asks for anything: nobody waits for one to come. */
  join(): Lane {
    const lane: Lane = {
      generate: (work) => {
        const { decoder, settings, pace } = work;
        const kind = `generate ${this.#nameOf(decoder)} ${JSON.stringify([settings, pace])}`;
        return this.#ask<readonly Generation[]>(lane, kind, { generate: work });
      },
      pass: <Result>(work: PassWork<Result>) => {
        const { decoder, packing, scores, recompute } = work;
        const kind = `pass ${this.#nameOf(decoder)} ${JSON.stringify([packing, scores, recompute])}`;
        return this.#ask<Result>(lane, kind, { pass: work });
      },
      [Symbol.dispose]: () => {
        this.#lanes.delete(lane);
        for (const ask of this.#asks) if (ask.lane === lane) ask.reject(new Error('the run has left its pack'));
        this.#asks = this.#asks.filter((ask) => ask.lane !== lane);
        void this.#go();
      },
    };
    this.#lanes.add(lane);
    return lane;
  }

  #nameOf(decoder: object): number {
    const name = this.#names.get(decoder) ?? this.#names.size;
    this.#names.set(decoder, name);
    return name;
  }

  #ask<Result>(lane: Lane, kind: string, work: Ask['work']): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#asks = [...this.#asks, { lane, kind, work, resolve: (result) => resolve(result as Result), reject }];
      void this.#go();
    });
  }

  /**
   * The pieces of work that are due, all of one kind: without joint work the first of all; otherwise, once all lanes wait, the first of
   * those lanes that are least far in their update. So lanes with fewer passes wait for the others, and all of them sample together.
   */
  #due(): readonly Ask[] {
    if (!this.#joint) return this.#asks.slice(0, 1);
    const firsts = new Map<Lane, Ask>();
    for (const ask of this.#asks) if (!firsts.has(ask.lane)) firsts.set(ask.lane, ask);
    if (firsts.size < this.#lanes.size) return [];
    const [next] = [...firsts.values()].sort((a, b) => placeOf(a) - placeOf(b));
    return [...firsts.values()].filter(({ kind }) => kind === next?.kind);
  }

  async #go(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    for (let due = this.#due(); due.length > 0; due = this.#due()) {
      this.#asks = this.#asks.filter((ask) => !due.includes(ask));
      await computeTogether(due);
    }
    this.#working = false;
  }
}

/** Where work stands in an update: passes that look at activations, those that only score, those that learn, and then the next samples. */
function placeOf({ work }: Ask): number {
  if ('generate' in work) return 3;
  const { merge = false, trim = false } = work.pass.packing;
  if (trim) return 1;
  return merge ? 0 : 2;
}

/** Never rejects: every ask has its own answer. What failed together is done again one by one, so that only who is at fault fails. */
async function computeTogether(asks: readonly Ask[]): Promise<void> {
  try {
    const results = await resultsOf(asks);
    asks.forEach((ask, i) => {
      ask.resolve(results[i]);
    });
  } catch (error) {
    const mayRepeat = asks.length > 1 && !(error instanceof HalfLearned);
    for (const ask of asks) {
      if (mayRepeat) await computeTogether([ask]);
      else ask.reject(error instanceof HalfLearned ? error.cause : error);
    }
  }
}

/** The results of a pass are promises of its own lane: they fail, if they do, apart from the others. */
async function resultsOf(asks: readonly Ask[]): Promise<readonly unknown[]> {
  const generations = asks.flatMap(({ work }) => ('generate' in work ? [work.generate] : []));
  if (generations.length > 0) return generateTogether(generations);
  return passTogether(asks.flatMap(({ work }) => ('pass' in work ? [work.pass] : [])));
}
