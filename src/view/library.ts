/**
 * Answers the page's questions about one folder. What was read is kept as long as its files stay the same; of the rollouts, those of the
 * runs that were looked at last. It reads and never writes.
 */
import { join, resolve } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { UserError } from '../base/index.ts';
import { questionFacts, questionsAbout } from '../queue/index.ts';
import { RunDirectory } from '../run/index.ts';
import { openRecords } from '../sweep/index.ts';
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
import {
  type FoundPart,
  findPart,
  type JoinedParts,
  joinFound,
  listRollouts,
  parseQuery,
  type RolloutQuery,
} from './query.ts';
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
import { GrowingRows, sealedRows } from './search-rows.ts';
import { fileStamp, resultStampOf, stampOf } from './stamp.ts';
import { mostSearchMs, withinLimit } from './time-limit.ts';
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

/** Bytes that rollouts take without their texts, roughly. */
const rowBytes = 500;

function bytesOf(rows: readonly SearchRow[]): number {
  let sum = rowBytes * rows.length;
  for (const { completion } of rows) sum += completion.length;
  return sum;
}

/**
 * How many answers of a kind are kept; of rollouts as many as a quarter of the memory holds, so that a search over more runs is slower but not
 * less. Parts of searches are numbers of rows.
 */
const keptKinds: Readonly<Record<string, KeptKind>> = {
  rows: {
    most: getHeapStatistics().heap_size_limit / 4,
    weigh: (rows) => bytesOf(rows as readonly SearchRow[]),
  },
  whole: { most: 2 },
  search: { most: 8 },
  part: { most: 2000 },
  run: { most: 1000 },
  rates: { most: 1000 },
};
const otherKinds: KeptKind = { most: 64 };
/** How long a list of what is there counts, in milliseconds: a page asks for several things at once. */
const entriesFor = 1000;

export class ViewLibrary {
  readonly root: string;
  readonly #searchMs: number;
  readonly #kept = new KeptAnswers(keptKinds, otherKinds);
  readonly #runs = new Map<string, { readonly stamp: string; readonly run: ListedRun }>();
  readonly #growing = new Map<string, GrowingRows>();
  readonly #growingRuns = new Map<string, GrowingRun>();
  #entries: { readonly at: number; readonly found: readonly FoundEntry[] } | null = null;

  /** `searchMs`: how long a search may take. */
  constructor(root: string, searchMs = mostSearchMs) {
    this.root = root;
    this.#searchMs = searchMs;
    this.entries();
  }

  /** What is there; the list may be as old as `forMs`. */
  entries(forMs = entriesFor): readonly FoundEntry[] {
    if (this.#entries === null || Date.now() - this.#entries.at > forMs) {
      this.#entries = { at: Date.now(), found: findEntries(this.root) };
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

  /** What a query finds, run by run: one that is damaged does not hide the others, and one that takes too long ends the search. */
  async #search(entry: FoundEntry, query: RolloutQuery): Promise<FoundInRuns> {
    const { offset: _offset, limit: _limit, ...rest } = query;
    const key = `${entry.id} ${JSON.stringify(rest)}`;
    const begun = this.#begun(entry);
    const stamps = begun.map(({ path }) => stampOf(path));
    const find = async (): Promise<FoundInRuns> => {
      const [runs, parts, leftOut]: [FoundEntry[], FoundPart[], { run: string; why: string }[]] = [[], [], []];
      for (const [i, run] of begun.entries()) {
        try {
          const rows = await this.rows(run);
          const own = `${run.id} ${JSON.stringify(rest)}`;
          const part = async () => withinLimit(() => findPart(rows, query), this.#searchMs);
          parts.push(await this.#keep('part', own, run.path, part, stamps[i]));
          runs.push(run);
        } catch (error) {
          if (entry.kind === 'run' || isOfQuery(error)) throw error;
          leftOut.push({ run: run.id, why: messageOf(error) });
        }
      }
      return { ...joinFound(parts), runs, leftOut };
    };
    return this.#keep('search', key, entry.path, find, stamps.join(' '));
  }

  /** The rollouts of a run, or of those runs of an experiment that can be read. */
  async readable(entry: FoundEntry): Promise<{ rows: readonly SearchRow[]; leftOut: RolloutList['leftOut'] }> {
    if (entry.kind === 'run') return { rows: await this.rows(entry), leftOut: [] };
    const rows: (readonly SearchRow[])[] = [];
    const leftOut: { run: string; why: string }[] = [];
    for (const run of this.#begun(entry)) {
      try {
        rows.push(await this.rows(run));
      } catch (error) {
        leftOut.push({ run: run.id, why: messageOf(error) });
      }
    }
    return { rows: rows.flat(), leftOut };
  }

  async #rollouts(entry: FoundEntry, query: RolloutQuery): Promise<RolloutList> {
    const { total, facets, leftOut, runs, parts, places } = await this.#search(entry, query);
    const [from, to] = [query.offset, query.offset + query.limit];
    const read = new Map<number, readonly SearchRow[]>();
    for (const part of new Set(parts.subarray(from, to))) read.set(part, await this.rows(runs[part]));
    // A run that began again meanwhile may have fewer.
    const rows = [...places.subarray(from, to)].flatMap((place, i) => read.get(parts[from + i])?.at(place) ?? []);
    const found = { total, found: places.length, facets, leftOut };
    return withinLimit(() => listRollouts(found, rows, query), this.#searchMs);
  }

  #begun(entry: FoundEntry): readonly FoundEntry[] {
    if (entry.kind === 'run') return [entry];
    return this.entries().filter(({ experiment, path }) => experiment === entry.id && existsManifest(path));
  }

  /** The rollouts of a run, as a search needs them. */
  rows({ id, path }: FoundEntry): Promise<readonly SearchRow[]> {
    return this.#keep('rows', id, path, async () => {
      const run = RunDirectory.open(path);
      if (run.isSealed()) {
        this.#growing.delete(id);
        return sealedRows(run, id);
      }
      const growing = this.#growing.get(id) ?? new GrowingRows(run, id);
      this.#growing.delete(id);
      const rows = growing.read();
      // One that could not be read is read from its beginning the next time.
      this.#growing.set(id, growing);
      return rows;
    });
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
      async () => experimentPage(entry.id, await openRecords(entry.path), [], idOf, questions),
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

interface FoundInRuns extends JoinedParts {
  /** The runs whose parts were joined. */
  readonly runs: readonly FoundEntry[];
  readonly leftOut: RolloutList['leftOut'];
}

/** Whether an error is about the search itself, so that every run would give it. */
const isOfQuery = (error: unknown): boolean => error instanceof UserError && error.message.startsWith('rollouts, ');

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function unknownEntry(id: string, expected: string): UserError {
  return new UserError({ call: `view ${id}`, expected, found: 'none of that name' });
}
