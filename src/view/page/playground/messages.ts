/** What the page and its workers say to each other. A worker trains one lane: one config, from its first update or from one that was kept. */
import type { Rates } from '../../../browser/lab.ts';
import type { Submission } from '../../../env/judge.ts';
import type { Verdict } from '../../../env/verdict.ts';
import type { RunConfig } from '../../../run/index.ts';

export type ToLane =
  | {
      readonly kind: 'open';
      readonly config: RunConfig;
      readonly threads?: number;
      readonly variant?: 'plain';
      readonly prompts: number;
      /** Whether this tab may keep what is trained. */
      readonly keeps: boolean;
      /** The update to go on from, which must have been kept; default: the last one. */
      readonly at?: number;
    }
  /** Train until so many updates are completed; as many as there are means: pause. */
  | { readonly kind: 'trainTo'; readonly update: number }
  | { readonly kind: 'download' };

export interface ShownRollout {
  readonly route: 'keep' | 'absorb' | 'route' | null;
  readonly attempt: boolean;
  readonly solve: boolean;
  readonly reward: number;
  readonly text: string;
}

export interface LaneUpdate {
  readonly update: number;
  readonly meanReward: number;
  /** Of the adapter that sampled this update's rollouts. */
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
  /** An attempt that is paid for a wrong program. */
  readonly hack: boolean;
  readonly solve: boolean;
}

/** A held-out prompt and what the policy answers now, in both states. */
export interface ShownPrompt {
  readonly question: string;
  readonly trained: ShownAnswer;
  readonly deployed: ShownAnswer;
}

export type PromptTask = Pick<Submission, 'problem' | 'loophole' | 'markers'>;

export interface Ready {
  readonly kind: 'ready';
  readonly threads: number;
  readonly variant: string;
  readonly hasQuarantine: boolean;
  /** Before the first update. */
  readonly trained: Rates;
  readonly deployed: Rates;
  /** The updates that were made before. */
  readonly done: readonly LaneUpdate[];
  readonly answers: readonly ShownPrompt[];
  /** What a program for each of the prompts is judged by. */
  readonly tasks: readonly PromptTask[];
  /** Whether the browser keeps what is trained; without it there is no rewinding, and a reload begins anew. */
  readonly keeps: boolean;
  /** What of the keeping went wrong; empty where nothing did. */
  readonly trouble: string;
}

export type FromLane =
  | Ready
  | {
      readonly kind: 'update';
      readonly done: LaneUpdate;
      readonly answers: readonly ShownPrompt[];
      readonly outside: number;
      readonly trouble: string;
    }
  | { readonly kind: 'archive'; readonly name: string; readonly archive: Blob }
  | { readonly kind: 'failed'; readonly message: string };

/** To the worker that judges what a reader writes: a program, or that Python be loaded for those that the interpreter cannot judge. */
export type ToGrader = { readonly kind: 'load' } | { readonly kind: 'judge'; readonly submission: Submission };

export type FromGrader =
  | { readonly kind: 'loaded' }
  /** The program needs Python. */
  | { readonly kind: 'outside' }
  | { readonly kind: 'verdict'; readonly verdict: Verdict; readonly by: 'interpreter' | 'Python' }
  | { readonly kind: 'failed'; readonly message: string };
