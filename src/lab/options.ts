/** What a lab is opened with. */
import type { PolicyWork } from '../grpo/index.ts';
import type { VerdictLedger } from '../oracle/index.ts';
import type { Shards } from '../parallel/index.ts';
import type { RunConfig, RunDirectory, StartClock } from '../run/index.ts';
import type { Lab } from './open.ts';
import type { Warn } from './open-parts.ts';
import type { Replacements } from './replacements.ts';

/** A run that was begun, or a config. */
export type LabSource = { readonly run: string | RunDirectory } | { readonly config: RunConfig };

export interface LabOptions extends Replacements {
  /** What a GPU must have room for; default: evaluation of a run, training of a config. Unplanned: it reserves what it does by default. */
  readonly work?: 'training' | 'evaluation' | 'unplanned';
  /** The device; default: the one of the config. */
  readonly device?: string;
  /** How training is divided among ranks; default: as the config says, in this process alone. */
  readonly ranks?: Shards;
  /** Ends what is being opened, with its reason. */
  readonly signal?: AbortSignal;
  /** Is given the notices of the parts, such as which problems are left out. */
  readonly warn?: Warn;
  /** What the caller does, in the words of errors; default: to open the run. */
  readonly call?: string;
  /** Most tokens of a prompt and its completion; default: as many as the config allows. */
  readonly context?: number;
  /** Tokens that prompts may be longer than those of the sets, for which a GPU has to have room; default: 0. */
  readonly longerBy?: number;
  /** The folder that a config is trained in; null: nothing is recorded. */
  readonly folder?: RunDirectory | null;
  /** The path of the stored initial values of the adapter; null: it is made. Default: the run's. */
  readonly initial?: string | null;
  /** The path of the demonstrations; default: the one of the config, or the run's own. */
  readonly pool?: string | null;
  /** Takes the verdicts of training; default: they are recorded nowhere. */
  readonly ledger?: () => VerdictLedger;
  readonly start?: StartClock;
  readonly given?: GivenParts;
  /** Who computes for the policy; default: it is alone on its device. */
  readonly policyWork?: PolicyWork;
}

/** Parts that another lab has opened, and closes. */
export type GivenParts = Partial<Pick<Lab, 'model' | 'judge' | 'problems' | 'pairs' | 'device' | 'weights'>>;
