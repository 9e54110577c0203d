/**
 * Answers the page's questions about one folder. What was read is kept as long as its files stay the same; of the rollouts, those of the
 * runs that were looked at last. It reads and never writes.
 */
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { UserError } from '../base/index.ts';
import { type JudgedTable, openJudged } from '../oracle/index.ts';
import { RunDirectory } from '../run/index.ts';
import { openResults, questionFacts, questionsAbout } from '../study/index.ts';
import type {
  ExperimentPage,
  LedgerRow,
  ListedRun,
  RolloutList,
  RolloutPage,
  RunPage,
  SearchRow,
  TrainingPage,
} from './api.ts';
import { existsManifest, type FoundEntry, findEntries, listCatalogue, listRun } from './catalogue.ts';
import { experimentPage } from './experiment-page.ts';
import { GrowingRun } from './growing-run.ts';
import { labelsPage, notesPage } from './human-answers.ts';
import { KeptAnswers, type KeptKind } from './kept-answers.ts';
import { PackedRows } from './packed-rows.ts';
import { type FoundPart, findPart, listRollouts, parseQuery, type RolloutQuery } from './query.ts';
import { type FoundInRuns, RolloutSearch } from './rollout-search.ts';
import {
  answersPage,
  evaluatedRates,
  finishedProgress,
  gatePage,
  gateUnit,
  ledgerRows,
  type RunProgress,
  runPage,
  trainingPage,
} from './run-page.ts';
import { besideHeap, searchRows } from './search-rows.ts';
import { fileStamp, resultStampOf, stampOf } from './stamp.ts';
import { mostSearchMs, searchWithin } from './time-limit.ts';
import { tokenTexts } from './token-texts.ts';

/** What a page may ask for; `rows` are all rollouts of a run, which only pages without a server take whole. */
export const pageKinds = [
  'home',
  'experiment',
  'run',
  'gate',
  'answers',
  'rollouts',
  'rollout',
  'rows',
  'labels',
  'notes',
  'tokens',
  'training',
] as const;
export type PageKind = (typeof pageKinds)[number];

/**
 * How many answers of a kind are kept; of rollouts as many as a third of the memory holds, so that a search over more runs is slower but not
 * less. Parts of searches are numbers of rows.
 */
const keptKinds: Readonly<Record<string, KeptKind>> = {
  packed: { most: usableMemory() / 3, weigh: (rows) => (rows as PackedRows).bytes },
  rows: { most: 4 },
  whole: { most: 2 },
  search: { most: 8 },
  part: { most: 2000 },
  run: { most: 1000 },
  rates: { most: 1000 },
};
const otherKinds: KeptKind = { most: 64 };
/** Bytes that this process may use, as far as the system tells. */
function usableMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** How long a page waits for a search before it is told what was found so far, in milliseconds. */
const usualAnswerMs = 400;
/** Who waits for the rest is told less often. */
const restFactor = 3;
/** How long a list of what is there counts, in milliseconds: a page asks for several things at once. */
const entriesFor = 1000;

export class ViewLibrary {
  readonly root: string;
  readonly #searchMs: number;
  readonly #answerMs: number;
  readonly #kept = new KeptAnswers(keptKinds, otherKinds);
  readonly #runs = new Map<string, { readonly stamp: string; readonly run: ListedRun }>();
  readonly #growing = new Map<string, JudgedTable>();
  readonly #growingRuns = new Map<string, GrowingRun>();
  #entries: { readonly at: number; readonly found: readonly FoundEntry[] } | null = null;

  /** `searchMs`: how long a search of one run may take; `answerMs`: after how long it is told what was found so far. */
  constructor(root: string, searchMs = mostSearchMs, answerMs = usualAnswerMs) {
    this.root = root;
    this.#searchMs = searchMs;
    this.#answerMs = answerMs;
    this.entries();
  }

  /** What is there; the list may be as old as `forMs`. */
  entries(forMs = entriesFor): readonly FoundEntry[] {
    // Not the time of day, which may go back: the list would be old for as long.
    const now = performance.now();
    if (this.#entries === null || now - this.#entries.at > forMs) {
      this.#entries = { at: now, found: findEntries(this.root) };
    }
    return this.#entries.found;
  }

  /** The answer to a question, as a value for JSON. */
  async answer(kind: PageKind, parameters: URLSearchParams): Promise<unknown> {
    if (kind === 'home') return listCatalogue(this.root, this.entries(), (entry) => this.#listed(entry));
    if (kind === 'notes') return notesPage(this);
    const entry = this.find(parameters.get('id') ?? '');
    if (kind === 'labels') return labelsPage(this, entry);
    if (kind === 'rollouts') return this.#rollouts(entry, parseQuery(parameters));
    if (kind === 'rollout') return this.#rollout(entry, parameters.get('rollout') ?? '');
    if (kind === 'rows') return this.wholeRows(entry);
    if (kind === 'experiment') return this.#experiment(entry);
    if (kind === 'training') return this.#training(entry);
    if (entry.kind !== 'run') throw unknownEntry(entry.id, 'a run');
    const run = RunDirectory.open(entry.path);
    const listed = this.#listed(entry);
    const keep = (read: () => Promise<unknown>) => this.#keep(kind, entry.id, entry.path, read);
    if (kind === 'gate') return keep(async () => gatePage(run, listed, await this.#gateRows(entry, run)));
    if (kind === 'answers') return keep(async () => answersPage(run, listed));
    if (kind === 'tokens') return keep(async () => tokenTexts(run, await this.wholeRows(entry)));
    const page = await this.#keep('run', entry.id, entry.path, async () =>
      runPage(run, listed, await this.#progress(entry, run), await this.#rates(entry)),
    );
    return { ...page, facts: [...page.facts, ...questionsAbout(entry.path).flatMap(questionFacts)] };
  }

  find(id: string): FoundEntry {
    const found = this.entries().find((entry) => entry.id === id);
    if (found === undefined) throw unknownEntry(id, 'the id of a run or an experiment in this folder');
    return found;
  }

  /** The rollouts of a run with all that is known about them. */
  wholeRows({ id, path }: FoundEntry): Promise<readonly LedgerRow[]> {
    return this.#keep('whole', id, path, () => ledgerRows(RunDirectory.open(path), id));
  }

  /** A search in some runs. Asked for again, it goes on where it was, and knows what it found in runs that are the same. */
  #search(about: string, runs: readonly FoundEntry[], query: RolloutQuery): Promise<RolloutSearch> {
    const { offset: _offset, limit: _limit, ...rest } = query;
    const key = JSON.stringify(rest);
    const stamps = new Map(runs.map((run) => [run, stampOf(run.path)]));
    const find = async (run: FoundEntry): Promise<FoundPart> => {
      const stamp = stamps.get(run) ?? '';
      const rows = await this.#packed(run, stamp);
      const part = async () => this.#limited(query, () => findPart(rows, query));
      return this.#kept.get('part', `${run.id} ${key}`, stamp, part);
    };
    const open = async () => new RolloutSearch(runs, find);
    return this.#kept.get('search', `${about} ${key}`, [...stamps.values()].join(' '), open);
  }

  /** What a query finds in all runs of the folder, with as many of the rows as it asks for. */
  async findAll(query: RolloutQuery): Promise<{ found: FoundInRuns; rows: readonly SearchRow[] }> {
    const begun = this.entries().filter(({ kind, path }) => kind === 'run' && existsManifest(path));
    const search = await this.#search('*', begun, query);
    await search.advance(Number.POSITIVE_INFINITY);
    const found = search.found();
    return { found, rows: await this.#rowsAt(found, query) };
  }

  /** What was found until an answer is due; whoever wants the rest asks again. */
  async #rollouts(entry: FoundEntry, query: RolloutQuery): Promise<RolloutList> {
    const search = await this.#search(entry.id, this.#begun(entry), query);
    await search.advance(search.isBegun ? restFactor * this.#answerMs : this.#answerMs);
    const found = search.found();
    const { total, facets, leftOut, places, unread } = found;
    const rows = await this.#rowsAt(found, query);
    const counts = { total, found: places.length, facets, leftOut, unread };
    return this.#limited(query, () => listRollouts(counts, rows, query));
  }

  /** Only an expression can go on for ever, and watching over it costs more than most searches of a run. */
  #limited<Value>({ isPattern }: RolloutQuery, work: () => Value): Value {
    return isPattern ? searchWithin(work, this.#searchMs) : work();
  }

  async #rowsAt({ runs, parts, places }: FoundInRuns, { offset, limit }: RolloutQuery): Promise<SearchRow[]> {
    const read = new Map<number, PackedRows>();
    for (const part of new Set(parts.subarray(offset, offset + limit))) read.set(part, await this.#packed(runs[part]));
    // A run that began again meanwhile may have fewer.
    return [...places.subarray(offset, offset + limit)].flatMap(
      (place, i) => read.get(parts[offset + i])?.at(place) ?? [],
    );
  }

  #begun(entry: FoundEntry): readonly FoundEntry[] {
    if (entry.kind === 'run') return [entry];
    return this.entries().filter(({ experiment, path }) => experiment === entry.id && existsManifest(path));
  }

  /** The rollouts of a run without tokens and evidence. */
  rows({ id, path }: FoundEntry): Promise<readonly SearchRow[]> {
    return this.#keep('rows', id, path, async () => {
      const run = RunDirectory.open(path);
      if (run.isSealed()) {
        this.#growing.delete(id);
        return searchRows(run, id);
      }
      const growing = this.#growing.get(id) ?? openJudged(run);
      this.#growing.delete(id);
      const rows = await searchRows(run, id, growing);
      // One that could not be read is read from its beginning the next time.
      this.#growing.set(id, growing);
      return rows;
    });
  }

  /** The same as a search needs them. Of a run that is over the rows are not kept beside. */
  #packed(entry: FoundEntry, stamp = stampOf(entry.path)): Promise<PackedRows> {
    const { id, path } = entry;
    const read = async (): Promise<PackedRows> => {
      const run = RunDirectory.open(path);
      const rows = run.isSealed() ? await searchRows(run, id) : await this.rows(entry);
      return new PackedRows(rows, besideHeap);
    };
    return this.#kept.get('packed', id, stamp, read, entry.experiment ?? id);
  }

  async #progress(entry: FoundEntry, run: RunDirectory): Promise<RunProgress> {
    const growing = this.#growingRuns.get(entry.id);
    this.#growingRuns.delete(entry.id);
    if (run.isSealed()) return finishedProgress(run, await this.rows(entry));
    const own = growing ?? new GrowingRun(run);
    const progress = own.read();
    this.#growingRuns.set(entry.id, own);
    return progress;
  }

  /** Evaluations are large, and change seldom: while a run is trained they are read when their folder has changed. */
  #rates({ id, path }: FoundEntry): Promise<RunPage['evaluations']> {
    return this.#keep('rates', id, path, async () => evaluatedRates(path), fileStamp(join(path, 'evaluations')));
  }

  /** Where a gate decides by token, its report needs the tokens. */
  #gateRows(entry: FoundEntry, run: RunDirectory): Promise<readonly (SearchRow | LedgerRow)[]> {
    return gateUnit(run) === 'token' ? this.wholeRows(entry) : this.rows(entry);
  }

  /** Run by run, since those of an experiment have the same ids, and too many tokens for the memory. */
  async #rollout(entry: FoundEntry, id: string): Promise<RolloutPage> {
    for (const run of this.#begun(entry)) {
      const rows = await this.wholeRows(run).catch((error: unknown) => {
        if (entry.kind === 'run') throw error;
        return [];
      });
      const rollout = rows.find((row) => row.id === id);
      if (rollout === undefined) continue;
      const isOfGroup = ({ update, group }: LedgerRow): boolean => update === rollout.update && group === rollout.group;
      return { rollout, group: rows.filter(isOfGroup) };
    }
    throw new UserError({ call: `rollout ${id}`, expected: `the id of a rollout of ${entry.id}`, found: 'none' });
  }

  /** From the pages of the runs, which are kept: only a run that has changed is read again, and one that is damaged is left out. */
  async #training(entry: FoundEntry): Promise<TrainingPage> {
    const pages: RunPage[] = [];
    const leftOut: { run: string; why: string }[] = [];
    for (const { id } of this.#begun(entry)) {
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
    const runs = this.entries().filter(({ id, experiment }) => experiment === entry.id || id === entry.id);
    const questions = questionsAbout(entry.path);
    const stamp = [
      ...runs.map(({ path }) => resultStampOf(path)),
      ...questions.map(({ job }) => JSON.stringify(job)),
    ].join(' ');
    const idOf = (path: string): string => runs.find((run) => resolve(run.path) === resolve(path))?.id ?? entry.id;
    const page = await this.#keep(
      'experiment',
      entry.id,
      entry.path,
      async () => experimentPage(entry.id, await openResults(entry.path), [], idOf, questions),
      stamp,
    );
    return { ...page, runs: runs.filter(({ kind }) => kind === 'run').map((run) => this.#listed(run)) };
  }

  /** How a run is doing. One that trains is looked at each time: its process may have died without a word. */
  #listed(entry: FoundEntry): ListedRun {
    const stamp = stampOf(entry.path);
    const known = this.#runs.get(entry.id);
    if (known?.stamp === stamp && known.run.status !== 'running') return known.run;
    const run = listRun(entry);
    this.#runs.set(entry.id, { stamp, run });
    return run;
  }

  /** Reads, or gives what was read while the files of `path` were the same. */
  #keep<Value>(
    kind: string,
    id: string,
    path: string,
    read: () => Promise<Value>,
    stamp = stampOf(path),
  ): Promise<Value> {
    return this.#kept.get(kind, id, stamp, read);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function unknownEntry(id: string, expected: string): UserError {
  return new UserError({ call: `view ${id}`, expected, found: 'none of that name' });
}
