/**
 * Answers the page's questions about one folder. What was read is kept as long as its files stay the same; of the rollouts, those of the
 * runs that were looked at last. It reads and never writes.
 */
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { UserError } from '../base/index.ts';
import { RunDirectory } from '../run/index.ts';
import { openResults } from '../sweep/index.ts';
import type { LedgerRow, ListedRun, RolloutList, RolloutPage, SearchRow } from './api.ts';
import { existsManifest, type FoundEntry, findEntries, listCatalogue, listRun } from './catalogue.ts';
import { experimentPage } from './experiment-page.ts';
import { type FoundRollouts, findRollouts, listRollouts, parseQuery, type RolloutQuery } from './query.ts';
import { answersPage, gatePage, gateUnit, ledgerRows, runPage } from './run-page.ts';
import { GrowingRows, sealedRows } from './search-rows.ts';
import { withinLimit } from './time-limit.ts';

/** What a page may ask for; `rows` are all rollouts of a run, which only pages without a server take whole. */
export const pageKinds = ['home', 'experiment', 'run', 'gate', 'answers', 'rollouts', 'rollout', 'rows'] as const;
export type PageKind = (typeof pageKinds)[number];

interface Kept {
  readonly stamp: string;
  readonly value: Promise<unknown>;
}

/** How many answers of a kind are kept: rollouts without their details, with them, and what searches found. */
const most: Readonly<Record<string, number>> = { rows: 64, whole: 2, search: 8 };
/** How long a list of what is there counts, in milliseconds: a page asks for several things at once. */
const entriesFor = 1000;

export class ViewLibrary {
  readonly root: string;
  readonly #kept = new Map<string, Kept>();
  readonly #runs = new Map<string, { readonly stamp: string; readonly run: ListedRun }>();
  readonly #growing = new Map<string, GrowingRows>();
  #entries: { readonly at: number; readonly found: readonly FoundEntry[] } | null = null;

  constructor(root: string) {
    this.root = root;
    this.entries();
  }

  entries(): readonly FoundEntry[] {
    if (this.#entries === null || Date.now() - this.#entries.at > entriesFor) {
      this.#entries = { at: Date.now(), found: findEntries(this.root) };
    }
    return this.#entries.found;
  }

  /** The answer to a question, as a value for JSON. */
  async answer(kind: PageKind, parameters: URLSearchParams): Promise<unknown> {
    if (kind === 'home') return listCatalogue(this.root, this.entries(), (entry) => this.#listed(entry));
    const entry = this.find(parameters.get('id') ?? '');
    if (kind === 'rollouts') return this.#rollouts(entry, parseQuery(parameters));
    if (kind === 'rollout') return this.#rollout(entry, parameters.get('rollout') ?? '');
    if (kind === 'rows') return this.wholeRows(entry);
    if (kind === 'experiment') return this.#experiment(entry);
    if (entry.kind !== 'run') throw unknownEntry(entry.id, 'a run');
    const run = RunDirectory.open(entry.path);
    const listed = this.#listed(entry);
    const keep = (read: () => Promise<unknown>) => this.#keep(`${kind} ${entry.id}`, entry.path, read);
    if (kind === 'gate') return keep(async () => gatePage(run, listed, await this.#gateRows(entry, run)));
    if (kind === 'answers') return keep(async () => answersPage(run, listed));
    return keep(async () => runPage(run, listed, run.isSealed() ? await this.rows(entry) : null));
  }

  find(id: string): FoundEntry {
    const found = this.entries().find((entry) => entry.id === id);
    if (found === undefined) throw unknownEntry(id, 'the id of a run or an experiment in this folder');
    return found;
  }

  /** The rollouts of a run, or of all runs of an experiment, as a search needs them. */
  async rows(entry: FoundEntry): Promise<readonly SearchRow[]> {
    const all: (readonly SearchRow[])[] = [];
    for (const run of this.#begun(entry)) all.push(await this.#ownRows(run));
    return all.length === 1 ? all[0] : all.flat();
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
  async search(entry: FoundEntry, query: RolloutQuery): Promise<FoundRollouts> {
    const { offset: _offset, limit: _limit, ...rest } = query;
    const stamp = this.#begun(entry).map(({ path }) => stampOf(path)).join(' '); // biome-ignore format: one line
    const find = async (): Promise<FoundRollouts> => {
      const rows = await this.rows(entry);
      return withinLimit(() => findRollouts(rows, query));
    };
    return this.#keep(`search ${entry.id} ${JSON.stringify(rest)}`, entry.path, find, stamp);
  }

  async #rollouts(entry: FoundEntry, query: RolloutQuery): Promise<RolloutList> {
    const found = await this.search(entry, query);
    return withinLimit(() => listRollouts(found, query));
  }

  #begun(entry: FoundEntry): readonly FoundEntry[] {
    if (entry.kind === 'run') return [entry];
    return this.entries().filter(({ experiment, path }) => experiment === entry.id && existsManifest(path));
  }

  #ownRows({ id, path }: FoundEntry): Promise<readonly SearchRow[]> {
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

  #experiment(entry: FoundEntry): Promise<unknown> {
    const runs = this.entries().filter(({ id, experiment }) => experiment === entry.id || id === entry.id);
    const stamp = runs.map(({ path }) => stampOf(path)).join(' ');
    const idOf = (path: string): string => runs.find((run) => resolve(run.path) === resolve(path))?.id ?? entry.id;
    const listed = runs.filter(({ kind }) => kind === 'run').map((run) => this.#listed(run));
    return this.#keep(
      `experiment ${entry.id}`,
      entry.path,
      async () => experimentPage(entry.id, await openResults(entry.path), listed, idOf),
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
    for (const old of like.slice(0, Math.max(0, like.length - (most[kind] ?? Number.POSITIVE_INFINITY)))) {
      this.#kept.delete(old);
    }
    return kept.value as Promise<Value>;
  }
}

function unknownEntry(id: string, expected: string): UserError {
  return new UserError({ call: `view ${id}`, expected, found: 'none of that name' });
}

/** Changes whenever a file of a run or an experiment does that a page is made from. */
function stampOf(path: string): string {
  const names = [
    'manifest.json',
    'eval-curve.json',
    'experiment.json',
    'events.jsonl',
    'seal.json',
    'evaluations',
    'lock.json',
    'relearn',
  ];
  return names
    .map((name) => {
      const found = statSync(join(path, name), { throwIfNoEntry: false });
      return found === undefined ? '-' : `${found.mtimeMs}/${found.size}`;
    })
    .join(',');
}
