/** Answers the page's questions about one folder. What was read is kept as long as its files stay the same. It reads and never writes. */
import { join, resolve } from 'node:path';
import { messageOf, murmur3, UserError } from '../base/index.ts';
import { withinLimit } from '../base/node/index.ts';
import { type JudgedOptions, type JudgedTable, openJudged } from '../oracle/index.ts';
import { isRun, RunDirectory } from '../run/index.ts';
import { openResults } from '../study/claim-progress.ts';
import { failureOf } from '../study/failures.ts';
import { questionFacts, questionsAbout } from '../study/queue/folder.ts';
import type { Answers, ExperimentPage, ListedRun, RunPage, TrainingPage } from './api.ts';
import { type FoundEntry, findEntries, listCatalogue, listRun } from './catalogue.ts';
import { experimentPage } from './experiment-page.ts';
import { labelsPage, notesPage } from './human.ts';
import { fileStamp, KeptAnswers, resultStampOf, stampOf } from './kept-answers.ts';
import type { RolloutQuery } from './query.ts';
import { RolloutSearch } from './rollout-search.ts';
import { runFiles } from './run-files.ts';
import {
  answersPage,
  evaluatedRates,
  finishedProgress,
  GrowingRun,
  gatePage,
  type RunProgress,
  runPage,
  tokenTexts,
  trainingPage,
} from './run-page.ts';
import { RunRollouts } from './run-rollouts.ts';

export const pageKinds = [
  ...(['home', 'experiment', 'run', 'gate', 'answers'] as const),
  ...(['files', 'labels', 'notes', 'tokens', 'training', 'changes'] as const),
] satisfies readonly (keyof Answers)[];
export type PageKind = keyof Answers;

const mostKept = 1000;
/** How long a list of what is there counts, in milliseconds: a page asks for several things at once. */
const entriesFor = 1000;
/** And where only their stamps are asked for, time and again. */
const listedFor = 5000;

export class ViewLibrary {
  readonly root: string;
  readonly #options: Pick<JudgedOptions, 'showsUnknown'>;
  readonly #kept = new KeptAnswers(mostKept);
  readonly #runs = new Map<string, { readonly stamp: string; readonly run: ListedRun }>();
  readonly #growingRuns = new Map<string, GrowingRun>();
  #looked: { readonly at: number; readonly stamps: Answers['changes'] } | null = null;
  #entries: { readonly at: number; readonly found: readonly FoundEntry[] } | null = null;

  constructor(root: string, options: Pick<JudgedOptions, 'showsUnknown'> = {}) {
    this.root = root;
    this.#options = options;
    this.entries();
  }

  entries(forMs = entriesFor): readonly FoundEntry[] {
    // Not the time of day, which may go back: the list would be old for as long.
    const now = performance.now();
    if (this.#entries === null || now - this.#entries.at > forMs) {
      this.#entries = { at: now, found: findEntries(this.root) };
    }
    return this.#entries.found;
  }

  async answer(kind: PageKind, parameters: URLSearchParams): Promise<unknown> {
    if (kind === 'home') return listCatalogue(this.root, this.entries(), (entry) => this.#listed(entry));
    if (kind === 'notes') return notesPage(this);
    if (kind === 'changes') return this.#stamps();
    const entry = this.find(parameters.get('id') ?? '');
    if (kind === 'labels') return labelsPage(this, entry);
    if (kind === 'experiment') return this.#experiment(entry);
    if (kind === 'training') return this.#training(entry);
    if (entry.kind !== 'run') throw unknownEntry(entry.id, 'a run');
    const run = RunDirectory.open(entry.path);
    const listed = this.#listed(entry);
    const keep = <Value>(read: () => Promise<Value>) => this.#kept.get(kind, entry.id, stampOf(entry.path), read);
    if (kind === 'files') {
      await this.table(entry);
      return runFiles(run, (name) => `api/file?${new URLSearchParams({ id: entry.id, name })}`);
    }
    if (kind === 'gate') return keep(async () => gatePage(run, listed, await this.table(entry)));
    if (kind === 'answers') return keep(async () => answersPage(run, listed));
    if (kind === 'tokens') return keep(async () => tokenTexts(run, await this.table(entry)));
    // Evaluations are large, and change seldom: while a run is trained they are read when their folder has changed.
    const evaluated = fileStamp(join(entry.path, 'evaluations'));
    const page = await keep(async () => {
      const rates = this.#kept.get('rates', entry.id, evaluated, async () => evaluatedRates(entry.path));
      return runPage(run, listed, await this.#progress(entry, run), await rates);
    });
    return { ...page, facts: [...page.facts, ...questionsAbout(entry.path).flatMap(questionFacts)] };
  }

  /** One look serves all pages that ask within a second. */
  #stamps(): Answers['changes'] {
    const now = performance.now();
    if (this.#looked === null || now - this.#looked.at > entriesFor) {
      const stamps = this.entries(listedFor).map(({ id, path }) => [id, murmur3(stampOf(path))] as const);
      this.#looked = { at: now, stamps: Object.fromEntries(stamps) };
    }
    return this.#looked.stamps;
  }

  find(id: string): FoundEntry {
    const found = this.entries().find((entry) => entry.id === id);
    if (found === undefined) throw unknownEntry(id, 'the id of a run or an experiment in this folder');
    return found;
  }

  /** The rollouts of a run with their verdicts. Of one that is not over each look reads on from where the last ended. */
  table({ id, path }: FoundEntry): Promise<JudgedTable> {
    const run = RunDirectory.open(path);
    return this.#kept.get('table', id, run.isSealed() ? stampOf(path) : 'growing', () =>
      openJudged(run, this.#options),
    );
  }

  async rollouts(entry: FoundEntry): Promise<RunRollouts> {
    return new RunRollouts(entry.id, await this.table(entry));
  }

  async search(query: RolloutQuery, mostMs?: number): Promise<RolloutSearch> {
    const begun = this.entries().filter(({ kind, path }) => kind === 'run' && isRun(path));
    const runs = begun.map((entry) => ({ id: entry.id, open: () => this.rollouts(entry) }));
    // Only an expression can go on for ever, and watching over it costs more than most searches of a run.
    const search = new RolloutSearch(runs, query, (work) => (query.isPattern ? searchWithin(work, mostMs) : work()));
    await search.advance(Number.POSITIVE_INFINITY);
    return search;
  }

  async #progress(entry: FoundEntry, run: RunDirectory): Promise<RunProgress> {
    const growing = this.#growingRuns.get(entry.id);
    this.#growingRuns.delete(entry.id);
    if (run.isSealed()) return finishedProgress(run, await this.table(entry));
    const own = growing ?? new GrowingRun(run);
    const progress = own.read();
    this.#growingRuns.set(entry.id, own);
    return progress;
  }

  /** From the pages of the runs, which are kept: only a run that has changed is read again, and one that is damaged is left out. */
  async #training(entry: FoundEntry): Promise<TrainingPage> {
    const pages: RunPage[] = [];
    const leftOut: { run: string; why: string }[] = [];
    const isBegun = ({ experiment, path }: FoundEntry): boolean => experiment === entry.id && isRun(path);
    for (const { id } of entry.kind === 'run' ? [entry] : this.entries().filter(isBegun)) {
      try {
        pages.push((await this.answer('run', new URLSearchParams({ id }))) as RunPage);
      } catch (error) {
        leftOut.push({ run: id, why: messageOf(error) });
      }
    }
    return { ...trainingPage(pages), leftOut };
  }

  /** Results are made again when something was evaluated or a run has begun or ended, not with every update; how runs are doing is looked at each time. */
  async #experiment(entry: FoundEntry): Promise<ExperimentPage> {
    const all = this.entries();
    const runs = all.filter(({ id, experiment }) => experiment === entry.id || id === entry.id);
    const questions = questionsAbout(entry.path);
    const stamp = [
      ...runs.map(({ path, shared }) => resultStampOf(shared ?? path)),
      ...questions.map(({ job }) => JSON.stringify(job)),
    ].join(' ');
    const idOf = (path: string): string => all.find((run) => resolve(run.path) === resolve(path))?.id ?? entry.id;
    const page = await this.#kept.get('experiment', entry.id, stamp, async () =>
      experimentPage(entry.id, await openResults(entry.path), idOf, questions),
    );
    return { ...page, runs: runs.filter(({ kind }) => kind === 'run').map((run) => this.#listed(run)) };
  }

  /** How a run is doing. One that trains is looked at each time: its process may have died without a word. */
  #listed(entry: FoundEntry): ListedRun {
    const stamp = `${stampOf(entry.path)} ${failureOf(entry.path)}`;
    const known = this.#runs.get(entry.id);
    if (known?.stamp === stamp && known.run.status !== 'running') return known.run;
    const run = listRun(entry);
    this.#runs.set(entry.id, { stamp, run });
    return run;
  }
}

const unknownEntry = (id: string, expected: string): UserError =>
  new UserError({ call: `view ${id}`, expected, found: 'none of that name' });

/** Milliseconds for what is read of a run at a time. Nothing else is answered meanwhile, not even Ctrl-C. */
const mostSearchMs = 10_000;

/** The value of a search, which is stopped when it computes for too long: a regular expression can try for ever. */
export function searchWithin<Value>(search: () => Value, limitMs = mostSearchMs): Value {
  const found = withinLimit(search, limitMs);
  if (found !== null) return found.value;
  throw new UserError({
    call: 'rollouts, text',
    expected: `a search that ends within ${limitMs / 1000} s`,
    found: 'one that goes on',
    fix: 'Repetitions within repetitions, like (a+)+, can take for ever: write a simpler expression, or search fewer updates.',
  });
}
