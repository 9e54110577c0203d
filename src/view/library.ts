/**
 * Answers the page's questions about one folder. What was read is kept as long as its files stay the same; of the rollouts, those of the
 * runs that were looked at last. It reads and never writes.
 */
import { join, resolve } from 'node:path';
import { UserError } from '../base/index.ts';
import { RunDirectory } from '../run/index.ts';
import { openRecords } from '../sweep/index.ts';
import type { LedgerRow, ListedRun, RolloutList, RolloutPage, RunPage, SearchRow, TrainingPage } from './api.ts';
import { existsManifest, type FoundEntry, findEntries, listCatalogue, listRun } from './catalogue.ts';
import { experimentPage } from './experiment-page.ts';
import { GrowingRun } from './growing-run.ts';
import { labelsPage, notesPage } from './human-answers.ts';
import { type FoundRollouts, findRollouts, listRollouts, parseQuery, type RolloutQuery } from './query.ts';
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
import { fileStamp, stampOf } from './stamp.ts';
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

interface Kept {
  readonly stamp: string;
  readonly value: Promise<unknown>;
}

/** How many answers of a kind are kept: rollouts without their details, with them, and what searches found. */
const most: Readonly<Record<string, number>> = { rows: 64, whole: 2, search: 8 };
const mostOthers = 64;
/** How long a list of what is there counts, in milliseconds: a page asks for several things at once. */
const entriesFor = 1000;

export class ViewLibrary {
  readonly root: string;
  readonly #searchMs: number;
  readonly #kept = new Map<string, Kept>();
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
    const keep = (read: () => Promise<unknown>) => this.#keep(`${kind} ${entry.id}`, entry.path, read);
    if (kind === 'gate') return keep(async () => gatePage(run, listed, await this.#gateRows(entry, run)));
    if (kind === 'answers') return keep(async () => answersPage(run, listed));
    if (kind === 'tokens') return keep(async () => tokenTexts(run, await this.wholeRows(entry)));
    return keep(async () => runPage(run, listed, await this.#progress(entry, run), await this.#rates(entry)));
  }

  find(id: string): FoundEntry {
    const found = this.entries().find((entry) => entry.id === id);
    if (found === undefined) throw unknownEntry(id, 'the id of a run or an experiment in this folder');
    return found;
  }

  /** The rollouts of a run, or of all runs of an experiment, with all that is known about them. */
  async wholeRows(entry: FoundEntry): Promise<readonly LedgerRow[]> {
    const all: LedgerRow[][] = [];
    for (const { id, path } of this.#begun(entry)) {
      all.push(await this.#keep(`whole ${id}`, path, () => ledgerRows(RunDirectory.open(path), id)));
    }
    return all.flat();
  }

  /** What a query finds; one that takes too long is stopped. */
  async #search(entry: FoundEntry, query: RolloutQuery): Promise<FoundRollouts> {
    const { offset: _offset, limit: _limit, ...rest } = query;
    const stamp = this.#begun(entry).map(({ path }) => stampOf(path)).join(' '); // biome-ignore format: one line
    const find = async (): Promise<FoundRollouts> => {
      const { rows, leftOut } = await this.readable(entry);
      return { ...withinLimit(() => findRollouts(rows, query), this.#searchMs), leftOut };
    };
    return this.#keep(`search ${entry.id} ${JSON.stringify(rest)}`, entry.path, find, stamp);
  }

  /** The rollouts of a run, or of those runs of an experiment that can be read: one that is damaged does not hide the others. */
  async readable(entry: FoundEntry): Promise<{ rows: readonly SearchRow[]; leftOut: RolloutList['leftOut'] }> {
    if (entry.kind === 'run') return { rows: await this.rows(entry), leftOut: [] };
    const rows: (readonly SearchRow[])[] = [];
    const leftOut: { run: string; why: string }[] = [];
    for (const run of this.#begun(entry)) {
      try {
        rows.push(await this.rows(run));
      } catch (error) {
        leftOut.push({ run: run.id, why: error instanceof Error ? error.message : String(error) });
      }
    }
    return { rows: rows.flat(), leftOut };
  }

  async #rollouts(entry: FoundEntry, query: RolloutQuery): Promise<RolloutList> {
    const found = await this.#search(entry, query);
    return withinLimit(() => listRollouts(found, query), this.#searchMs);
  }

  #begun(entry: FoundEntry): readonly FoundEntry[] {
    if (entry.kind === 'run') return [entry];
    return this.entries().filter(({ experiment, path }) => experiment === entry.id && existsManifest(path));
  }

  /** The rollouts of a run, as a search needs them. */
  rows({ id, path }: FoundEntry): Promise<readonly SearchRow[]> {
    return this.#keep(`rows ${id}`, path, async () => {
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
    return this.#keep(`rates ${id}`, path, async () => evaluatedRates(path), fileStamp(join(path, 'evaluations')));
  }

  /** Where a gate decides by token, its report needs the tokens. */
  #gateRows(entry: FoundEntry, run: RunDirectory): Promise<readonly (SearchRow | LedgerRow)[]> {
    return gateUnit(run) === 'token' ? this.wholeRows(entry) : this.rows(entry);
  }

  async #rollout(entry: FoundEntry, id: string): Promise<RolloutPage> {
    const rows = await this.wholeRows(entry);
    const rollout = rows.find((row) => row.id === id);
    if (rollout === undefined) {
      throw new UserError({ call: `rollout ${id}`, expected: `the id of a rollout of ${entry.id}`, found: 'none' });
    }
    const isOfGroup = ({ run, update, group }: LedgerRow): boolean =>
      run === rollout.run && update === rollout.update && group === rollout.group;
    return { rollout, group: rows.filter(isOfGroup) };
  }

  /** From the pages of the runs, which are kept: only a run that has changed is read again. */
  async #training(entry: FoundEntry): Promise<TrainingPage> {
    const own = this.entries().filter(({ experiment, path }) => experiment === entry.id && existsManifest(path));
    const pages: RunPage[] = [];
    for (const { id } of own) pages.push((await this.answer('run', new URLSearchParams({ id }))) as RunPage);
    return trainingPage(pages);
  }

  #experiment(entry: FoundEntry): Promise<unknown> {
    const runs = this.entries().filter(({ id, experiment }) => experiment === entry.id || id === entry.id);
    const stamp = runs.map(({ path }) => stampOf(path)).join(' ');
    const idOf = (path: string): string => runs.find((run) => resolve(run.path) === resolve(path))?.id ?? entry.id;
    const listed = runs.filter(({ kind }) => kind === 'run').map((run) => this.#listed(run));
    return this.#keep(
      `experiment ${entry.id}`,
      entry.path,
      async () => experimentPage(entry.id, await openRecords(entry.path), listed, idOf),
      stamp,
    );
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
  #keep<Value>(key: string, path: string, read: () => Promise<Value>, stamp = stampOf(path)): Promise<Value> {
    const known = this.#kept.get(key);
    this.#kept.delete(key);
    const kept = known?.stamp === stamp ? known : { stamp, value: read() };
    this.#kept.set(key, kept);
    kept.value.catch(() => this.#kept.delete(key));
    const kind = key.slice(0, key.indexOf(' '));
    const like = [...this.#kept.keys()].filter((each) => each.startsWith(`${kind} `));
    for (const old of like.slice(0, Math.max(0, like.length - (most[kind] ?? mostOthers)))) {
      this.#kept.delete(old);
    }
    return kept.value as Promise<Value>;
  }
}

function unknownEntry(id: string, expected: string): UserError {
  return new UserError({ call: `view ${id}`, expected, found: 'none of that name' });
}
