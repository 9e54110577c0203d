/**
 * What the page is told, as JSON: by the server, from the files of a bundle, or from within view.html. The page imports these types,
 * so nothing here may need Node. Rates are between 0 and 1; updates count from 1; times are milliseconds since 1970.
 */
import type { OutcomeRates } from '../evaluate/index.ts';
import type { TrainingPoint } from '../measure/index.ts';
import type { JudgedRollout, ListedName } from '../oracle/judged/columns.ts';
import type { Figure, Table } from '../report/draw/index.ts';
import type { VerdictWord } from './query.ts';

export type PageHome = 'server' | 'folder' | 'file';

export type ListedStatus = 'running' | 'finished' | 'tripwire' | 'stopped' | 'not started' | 'damaged';

export interface ListedRun {
  /** Path from the folder that is viewed, with forward slashes; that folder's own name begins it where it is itself a run or an experiment. */
  readonly id: string;
  readonly experiment: string | null;
  readonly arm: string;
  readonly seed: number | null;
  readonly status: ListedStatus;
  readonly update: number;
  readonly updates: number;
  /** When the run last wrote something; null before it did. */
  readonly heartbeat: number | null;
  /** What a person should know: the last warning, why it stopped, what is damaged. Empty when all is well. */
  readonly notice: string;
  readonly usesLabels: boolean;
  readonly hasQuarantine: boolean;
  readonly curve: readonly (ShownRates & { readonly update: number })[];
}

/** Rates at one point of a curve; null where they are not known, as in curves of an earlier version. */
export type ShownRates = Readonly<Record<keyof OutcomeRates, number | null>>;

export interface ListedExperiment {
  readonly id: string;
  readonly name: string;
  readonly why: string;
  readonly arms: readonly string[];
  readonly seeds: readonly number[];
}

export interface Catalogue {
  readonly title: string;
  readonly experiments: readonly ListedExperiment[];
  readonly runs: readonly ListedRun[];
}

export interface ShownCompletion {
  readonly completion: string;
  readonly attempt: boolean;
  readonly hack: boolean;
  readonly solve: boolean;
}

export interface AnsweredPrompt {
  readonly problem: string;
  readonly loophole: string;
  readonly prompt: string;
  readonly base: ShownCompletion | null;
  readonly full: ShownCompletion | null;
  readonly deployed: ShownCompletion | null;
}

export interface ExperimentPage {
  readonly id: string;
  readonly name: string;
  readonly why: string;
  readonly resolve: string;
  readonly arms: readonly { readonly arm: string; readonly usesLabels: boolean; readonly isPlacebo: boolean }[];
  readonly seeds: readonly number[];
  readonly runs: readonly ListedRun[];
  readonly baseline: string;
  readonly words: readonly string[];
  readonly story: Figure | null;
  readonly figures: readonly Figure[];
  readonly tables: readonly Table[];
  readonly example: (AnsweredPrompt & { readonly arm: string; readonly run: string }) | null;
  /** Keys in which an arm's config differs from the baseline's, but for the seed. */
  readonly differences: readonly { readonly arm: string; readonly keys: readonly string[] }[];
  readonly curves: readonly ArmCurve[];
  readonly matrices: readonly LoopholeMatrix[];
  readonly leftOut: readonly { readonly path: string; readonly why: string }[];
}

export interface ArmCurve {
  readonly arm: string;
  readonly seed: number;
  readonly points: readonly {
    readonly update: number;
    readonly full: ShownRates | null;
    readonly deployed: ShownRates | null;
  }[];
}

/** The mean over seeds of each rate, its interval, and what was counted in all seeds together. */
export interface MatrixCell extends OutcomeRates {
  readonly arm: string;
  readonly state: 'full' | 'deployed';
  readonly loophole: string;
  readonly seeds: number;
}

export interface LoopholeMatrix {
  readonly set: string;
  /** The set as titles of tables name it. */
  readonly title: string;
  readonly loopholes: readonly { readonly loophole: string; readonly isHeldOut: boolean }[];
  readonly cells: readonly MatrixCell[];
}

export interface RunPage {
  readonly run: ListedRun;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly config: readonly (readonly [key: string, value: string])[];
  readonly steps: readonly StepRow[];
  readonly training: readonly TrainingPoint[];
  readonly notices: readonly { readonly update: number | null; readonly text: string }[];
  readonly checkpoints: readonly number[];
  readonly phases: readonly { readonly phase: string; readonly seconds: number }[];
  readonly evaluations: readonly (OutcomeRates & {
    readonly update: number;
    readonly set: string;
    readonly state: string;
  })[];
}

export interface StepRow {
  readonly update: number;
  readonly reward: number | null;
  readonly kl: number | null;
  readonly gradientNorm: number | null;
  readonly qmass: number | null;
  readonly keep: number;
  readonly absorb: number;
  readonly route: number;
}

export type LedgerRow = JudgedRollout & { readonly run: string };

/** A rollout in a list: without its long columns, but with its text at the place that was searched for. */
export type ListedRollout = JudgedRollout<ListedName> & { readonly run: string; readonly excerpt: string };

/** A file of a run that pages read in parts: its address, from the page on, and its length. */
export interface RunFile {
  readonly name: string;
  readonly bytes: number;
}

/** The files of a run's rollouts: Parquet of a run that is over, else JSON lines. */
export interface RunFiles {
  readonly isSealed: boolean;
  readonly rollouts: RunFile;
  readonly verdicts: RunFile;
}

export interface RolloutList {
  readonly total: number;
  readonly found: number;
  readonly offset: number;
  readonly rows: readonly ListedRollout[];
  /** For each facet, how many of the rows that the other facets leave have each of its values. */
  readonly facets: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly leftOut: readonly { readonly run: string; readonly why: string }[];
  /** Runs that were not searched yet: all counts grow, and who wants them asks again. */
  readonly unread: number;
}

export interface RolloutPage {
  readonly rollout: LedgerRow;
  readonly group: readonly LedgerRow[];
}

/** Texts of tokens by their ids; empty where they are not known. */
export type TokenTexts = Readonly<Record<string, string>>;

/** Rates of the samples of training over the updates of a window, and the reward, for every run of an experiment. */
export interface TrainingPage {
  readonly window: number;
  readonly runs: readonly {
    readonly arm: string;
    readonly seed: number | null;
    readonly points: readonly TrainingRates[];
  }[];
  readonly leftOut: readonly { readonly run: string; readonly why: string }[];
}

export interface TrainingRates extends ShownRates {
  readonly update: number;
  readonly reward: number | null;
}

export interface GatePage {
  readonly run: ListedRun;
  readonly unit: 'rollout' | 'token';
  /** Whether what the low cut keeps is kept only with a positive advantage. */
  readonly keepsOnlyPraised: boolean;
  readonly rows: readonly GateRow[];
  readonly tables: readonly Table[];
  readonly readings: readonly string[];
}

/** A rollout that carried gradient and was scored. */
export type GateRow = JudgedRollout<
  'id' | 'update' | 'low' | 'high' | 'attempt' | 'hack' | 'solve' | 'advantage' | 'deployedNorm' | 'quarantineNorm'
> & { readonly score: number; readonly route: string };

/** Every checkpoint that was evaluated on a set, the last first, prompt by prompt, in every policy state. */
export interface AnswersPage {
  readonly run: ListedRun;
  readonly sets: readonly {
    readonly set: string;
    readonly update: number;
    readonly prompts: readonly AnsweredPrompt[];
  }[];
}

export const labelWords = ['hack', 'clean', 'unsure'] as const;
export type LabelWord = (typeof labelWords)[number];

/** How labels name the answer of a policy state to a prompt of a set, beside the ids of rollouts, which hold no space. */
export function answerId(set: string, update: number, state: 'full' | 'deployed', problem: string): string {
  return `answer ${set} ${update} ${state} ${problem}`;
}

/** The parts of such a name; null for the id of a rollout. */
export function parseAnswerId(
  id: string,
): { set: string; update: number; state: 'full' | 'deployed'; problem: string } | null {
  const [, set = '', update = '', state = '', problem = ''] =
    /^answer (\S+) (\d+) (full|deployed) (.*)$/s.exec(id) ?? [];
  if (set === '') return null;
  return { set, update: Number(update), state: state === 'full' ? 'full' : 'deployed', problem };
}

/** What a person said of a rollout, or of an answer, as stored: the last of each writer counts. It is never a verdict, and nothing trains on it. */
export interface HumanLabel {
  readonly rollout: string;
  readonly label: LabelWord | null;
  readonly writer: string;
  /** Whether verdict, route, arm and policy state were hidden from the writer. */
  readonly blind: boolean;
  readonly at: string;
}

export interface LabelledRollout extends HumanLabel {
  readonly run: string;
  readonly verdict: VerdictWord;
}

export interface LabelsPage {
  readonly writer: string;
  readonly labels: readonly LabelledRollout[];
  /** Runs whose labels cannot be compared with verdicts, such as blind ones; absent without any. */
  readonly leftOut?: readonly { readonly run: string; readonly why: string }[];
}

/** A text that is pinned to a view: to a screen of a run or an experiment with its parameters. */
export interface PinnedNote {
  readonly screen: string;
  readonly parameters: string;
  readonly text: string;
  readonly writer: string;
  readonly at: string;
}

export interface ListedNote extends PinnedNote {
  /** The run or the experiment; empty for the home screen. */
  readonly id: string;
}

export interface NotesPage {
  readonly writer: string;
  readonly notes: readonly ListedNote[];
}

/** The answer to each question that a page may ask; `files` are those of a run's rollouts, which the page reads itself. */
export interface Answers {
  readonly home: Catalogue;
  readonly experiment: ExperimentPage;
  readonly run: RunPage;
  readonly gate: GatePage;
  readonly answers: AnswersPage;
  readonly files: RunFiles;
  readonly labels: LabelsPage;
  readonly notes: NotesPage;
  readonly tokens: TokenTexts;
  readonly training: TrainingPage;
}
