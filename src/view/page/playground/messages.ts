/** What the page and its workers say to each other. A worker trains one lane: one config, from its first update on. */
import type { Rates } from '../../../browser/lab.ts';
import type { RunConfig } from '../../../run/index.ts';

export type ToLane =
  | {
      readonly kind: 'open';
      readonly config: RunConfig;
      readonly threads?: number;
      readonly variant?: 'plain';
      readonly prompts: number;
    }
  /** Train until so many updates are completed; as many as there are means: pause. */
  | { readonly kind: 'trainTo'; readonly update: number }
  | { readonly kind: 'answer'; readonly prompt: number };

export interface ShownRollout {
  readonly route: 'keep' | 'absorb' | 'route' | null;
  readonly attempt: boolean;
  readonly solve: boolean;
  readonly hinted: boolean;
  readonly reward: number;
  readonly text: string;
}

export interface LaneUpdate {
  readonly update: number;
  readonly meanReward: number;
  readonly hash: string;
  readonly rollouts: readonly ShownRollout[];
  /** On held-out prompts; the same where nothing is deleted. */
  readonly trained: Rates;
  readonly deployed: Rates;
  readonly seconds: number;
}

export interface ShownAnswer {
  readonly text: string;
  readonly attempt: boolean;
  readonly solve: boolean;
}

export type FromLane =
  | {
      readonly kind: 'ready';
      readonly threads: number;
      readonly variant: string;
      readonly hasQuarantine: boolean;
      readonly trained: Rates;
      readonly deployed: Rates;
    }
  | { readonly kind: 'update'; readonly done: LaneUpdate; readonly outside: number }
  | {
      readonly kind: 'answers';
      readonly question: string;
      readonly trained: ShownAnswer;
      readonly deployed: ShownAnswer;
    }
  | { readonly kind: 'finished' }
  | { readonly kind: 'failed'; readonly message: string };
