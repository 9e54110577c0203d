/** What the page is told, as JSON. Nothing here may need Node. Rates are from 0 to 1, times milliseconds since 1970. */
import type { OutcomeRates } from '../evaluate/index.ts';
import type { JudgedRollout, ListedName } from '../oracle/judged/columns.ts';
import type { listCatalogue } from './catalogue.ts';
import type { experimentPage } from './experiment-page.ts';
import type { HumanLabel, labelsPage, PinnedNote } from './human.ts';
import type { VerdictWord } from './query.ts';
import type { answersPage, gatePage, runPage, trainingPage } from './run-page.ts';

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
  readonly heartbeat: number | null;
  /** What a person should know: the last warning, why it stopped, what is damaged. Empty when all is well. */
  readonly notice: string;
  /** What was said when it failed, where it did when it was tried last and has not ended since. */
  readonly failure?: string;
  readonly usesLabels: boolean;
  readonly hasQuarantine: boolean;
  readonly curve: readonly (ShownRates & { readonly update: number })[];
  /** As it is deployed: at the last point of the curve; without one, on the set that every shipped experiment evaluates. Null: neither, or its experiment's page has them. */
  readonly rates: ShownRates | null;
}

/** Rates at one point of a curve; null where they are not known, as in curves of an earlier version. */
export type ShownRates = Readonly<Record<keyof OutcomeRates, number | null>>;

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

export type LedgerRow = JudgedRollout & { readonly run: string };

/** A rollout in a list: without its long columns, but with its text at the place that was searched for. */
export type ListedRollout = JudgedRollout<ListedName> & { readonly run: string; readonly excerpt: string };

export type RunFile = { readonly name: string; readonly bytes: number };

export type RunFiles = { readonly isSealed: boolean; readonly rollouts: RunFile; readonly verdicts: RunFile };

export interface RolloutList extends LeftOut {
  readonly total: number;
  readonly found: number;
  readonly offset: number;
  readonly rows: readonly ListedRollout[];
  /** For each facet, how many of the rows that the other facets leave have each of its values. */
  readonly facets: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Runs that were not searched yet: all counts grow, and who wants them asks again. */
  readonly unread: number;
}

export type RolloutPage = { readonly rollout: LedgerRow; readonly group: readonly LedgerRow[] };

export type TokenTexts = Readonly<Record<string, string>>;

export type GateRow = JudgedRollout<
  'id' | 'update' | 'low' | 'high' | 'attempt' | 'hack' | 'solve' | 'advantage' | 'deployedNorm' | 'quarantineNorm'
> & { readonly score: number; readonly route: string };

export const labelWords = ['hack', 'clean', 'unsure'] as const;
export type LabelWord = (typeof labelWords)[number];

/** How labels name the answer of a policy state to a prompt of a set, beside the ids of rollouts, which hold no space. */
export const answerId = (set: string, update: number, state: 'full' | 'deployed', problem: string): string =>
  `answer ${set} ${update} ${state} ${problem}`;

export function parseAnswerId(
  id: string,
): { set: string; update: number; state: 'full' | 'deployed'; problem: string } | null {
  const [, set = '', update = '', state = '', problem = ''] =
    /^answer (\S+) (\d+) (full|deployed) (.*)$/s.exec(id) ?? [];
  if (set === '') return null;
  return { set, update: Number(update), state: state === 'full' ? 'full' : 'deployed', problem };
}

export type LabelledRollout = HumanLabel & { readonly run: string; readonly verdict: VerdictWord };
/** `id`: the run or the experiment that it is about; empty for the home screen. */
export type ListedNote = PinnedNote & { readonly id: string };

/** Runs that could not be read, and why. */
type LeftOut = { readonly leftOut: readonly { readonly run: string; readonly why: string }[] };
/** A page is what the code that makes it says. */
type Made<Make extends (...given: never[]) => unknown> = Awaited<ReturnType<Make>>;
export type Catalogue = Made<typeof listCatalogue>;
export type ExperimentPage = Made<typeof experimentPage> & { readonly runs: readonly ListedRun[] };
export type RunPage = Made<typeof runPage>;
export type GatePage = Made<typeof gatePage>;
export type AnswersPage = Made<typeof answersPage>;
export type LabelsPage = Made<typeof labelsPage>;
export type NotesPage = { readonly writer: string; readonly notes: readonly ListedNote[] } & {
  readonly leftOut?: LeftOut['leftOut'] | undefined;
};
export type TrainingPage = Made<typeof trainingPage> & LeftOut;

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
  /** What the files of each run and experiment look like, as a number: another one says that they have changed. */
  readonly changes: Readonly<Record<string, number>>;
}
