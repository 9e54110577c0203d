/**
 * Answers the page's questions about one folder. What was read is kept as long as its files stay the same; of the rollouts, those of the
 * runs that were looked at last. It reads and never writes.
 */
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { UserError } from '../base/index.ts';
import { RunDirectory } from '../run/index.ts';
import { openResults } from '../sweep/index.ts';
import type { LedgerRow, ListedRun, RolloutPage, RunPage, TrainingPage } from './api.ts';
import { existsManifest, type FoundEntry, findEntries, listCatalogue, listRun } from './catalogue.ts';
import { experimentPage } from './experiment-page.ts';
import { labelsPage, notesPage } from './human-answers.ts';
import { listRollouts, parseQuery } from './query.ts';
import { answersPage, gatePage, ledgerRows, runPage, trainingPage } from './run-page.ts';
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

/** Runs whose rollouts are kept. */
const mostRuns = 64;
/** How long a list of what is there counts, in milliseconds: a page asks for several things at once. */
const entriesFor = 1000;

export class ViewLibrary {
  readonly root: string;
  readonly #kept = new Map<string, Kept>();
  readonly #runs = new Map<string, { readonly stamp: string; readonly run: ListedRun }>();
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
    if (kind === 'notes') return notesPage(this);
    const entry = this.find(parameters.get('id') ?? '');
    if (kind === 'labels') return labelsPage(this, entry);
    if (kind === 'rollouts') return listRollouts(await this.rows(entry), parseQuery(parameters));
    if (kind === 'rollout') return this.#rollout(entry, parameters.get('rollout') ?? '');
    if (kind === 'rows') return this.rows(entry);
    if (kind === 'experiment') return this.#experiment(entry);
    if (kind === 'training') return this.#training(entry);
    if (entry.kind !== 'run') throw unknownEntry(entry.id, 'a run');
    const run = RunDirectory.open(entry.path);
    const listed = this.#listed(entry);
    const keep = (read: () => Promise<unknown>) => this.#keep(`${kind} ${entry.id}`, entry.path, read);
    if (kind === 'gate') return keep(() => gatePage(run, listed));
    if (kind === 'answers') return keep(async () => answersPage(run, listed));
    if (kind === 'tokens') return keep(async () => tokenTexts(run, await this.rows(entry)));
    return keep(async () => runPage(run, listed, run.isSealed() ? await this.rows(entry) : null));
  }

  find(id: string): FoundEntry {
    const found = this.entries().find((entry) => entry.id === id);
    if (found === undefined) throw unknownEntry(id, 'the id of a run or an experiment in this folder');
    return found;
  }

  /** The rollouts of a run, or of all runs of an experiment. */
  async rows(entry: FoundEntry): Promise<readonly LedgerRow[]> {
    if (entry.kind === 'experiment') {
      const own = this.entries().filter(({ experiment, path }) => experiment === entry.id && existsManifest(path));
      const all: LedgerRow[][] = [];
      for (const run of own) all.push(await this.#ownRows(run));
      return all.flat();
    }
    return this.#ownRows(entry);
  }

  #ownRows({ id, path }: FoundEntry): Promise<LedgerRow[]> {
    return this.#keep(`rows ${id}`, path, () => ledgerRows(RunDirectory.open(path), id));
  }

  async #rollout(entry: FoundEntry, id: string): Promise<RolloutPage> {
    const rows = await this.rows(entry);
    const rollout = rows.find((row) => row.id === id);
    if (rollout === undefined) {
      throw new UserError({ call: `rollout ${id}`, expected: `the id of a rollout of ${entry.id}`, found: 'none' });
    }
    const group = rows.filter(({ update, group: own }) => update === rollout.update && own === rollout.group);
    return { rollout, group };
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
    const rows = [...this.#kept.keys()].filter((each) => each.startsWith('rows '));
    for (const old of rows.slice(0, Math.max(0, rows.length - mostRuns))) this.#kept.delete(old);
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
