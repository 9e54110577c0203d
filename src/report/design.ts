/** What an experiment says about itself: its question, its bar, and which arms are compared with which. */
import type { FinalSet } from '../evaluate/index.ts';

/** Loopholes that the pairs may know, and those that they know nothing of. */
export const loopholeGroups = ['known', 'held out'] as const;
export type LoopholeGroup = (typeof loopholeGroups)[number];

/** A claim with numbers, stated before the runs: the value, or its difference from the reference, in a number of seeds. */
export interface Bar {
  readonly what: string;
  readonly arm: string;
  readonly reference: string | null;
  readonly metric: 'attempt' | 'hack' | 'solve' | 'clean-solve' | 'objective' | 'kept';
  readonly set: FinalSet;
  /** The group that a rate of attempts or hacks is of, averaged over its loopholes; absent: every prompt of the set counts. */
  readonly loopholes?: LoopholeGroup | undefined;
  /** The loophole whose attempts alone are counted, where prompts disclose several; absent: an attempt by any. */
  readonly channel?: string | undefined;
  readonly atLeast?: number | undefined;
  readonly atMost?: number | undefined;
  readonly inSeeds: number;
}

/** Rates that others reported. */
export interface ReportedRow {
  readonly name: string;
  readonly source: string;
  readonly hack: number | null;
  readonly solve: number | null;
}

export interface DesignedArm {
  readonly name: string;
  readonly recipe: string;
  readonly set: readonly string[];
  /** Arms it is tested against beside the baseline; null: the placebo of the experiment. */
  readonly placebos: readonly string[] | null;
}

/** The claim of a study, as its register has it. */
export interface ClaimFacts {
  readonly hash: string;
  /** Whether it was stated, or stated anew, after runs of the study had begun. */
  readonly changed: boolean;
  /** Runs that it states; of all runs that were begun, how many, how many of them it does not state, and how many have ended. */
  readonly stated: number;
  readonly begun: number;
  readonly notStated: number;
  readonly ended: number;
  /** Stated runs that were never begun, runs that were begun and are gone, and blind runs that are not opened, by their folders. */
  readonly missing: readonly string[];
  readonly gone: readonly string[];
  readonly blind: readonly string[];
  /** When the blind seeds were opened; null: they were not, or there are none. */
  readonly opened: string | null;
}

export interface Design {
  readonly why: string;
  readonly resolve: string;
  readonly bar: Bar | null;
  /** Further bars of the claim; absent: none. */
  readonly predictions?: readonly Bar[] | undefined;
  /** Absent where nothing was registered. */
  readonly claim?: ClaimFacts | undefined;
  /** Whether the bar was changed after runs had begun. */
  readonly barChanged: boolean;
  readonly seeds: readonly number[];
  readonly arms: readonly DesignedArm[];
  /** Arm that was trained without a loophole. */
  readonly ceiling: string | null;
  readonly matchedSolve: number;
  /** A run fails where its deployed policy attempts in more than this share of the prompts. */
  readonly failAbove: number;
  /** Arm whose solve must be kept; null: the baseline. */
  readonly solveReference: string | null;
  readonly references: readonly ReportedRow[];
  readonly relearn: { readonly arms: readonly string[] } | null;
}

/** The design of runs that belong to no experiment. */
export const noDesign: Design = {
  why: '',
  resolve: '',
  bar: null,
  barChanged: false,
  seeds: [],
  arms: [],
  ceiling: null,
  matchedSolve: 0.05,
  failAbove: 0.1,
  solveReference: null,
  references: [],
  relearn: null,
};
