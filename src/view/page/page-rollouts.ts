/** The rollouts of runs in a page, read from the runs' own files, and no more of them than an answer needs. */
import type { AsyncBuffer } from 'hyparquet';
import { messageOf, UserError } from '../../base/index.ts';
import { JudgedTable } from '../../oracle/judged/table.ts';
import { type LineGrowth, LinesTable, ParquetTable, type TableReader } from '../../run/columns/index.ts';
import type { Catalogue, ListedRun, RolloutList, RolloutPage, RunFile, RunFiles } from '../api.ts';
import { parseQuery } from '../query.ts';
import { RolloutSearch } from '../rollout-search.ts';
import { KeptRollouts, RunRollouts } from '../run-rollouts.ts';

export interface RunHome {
  runs(id: string): Promise<readonly string[]>;
  files(run: string): Promise<RunFiles>;
  open(file: RunFile, isSealed: boolean): AsyncBuffer;
}

export function runsOf({ runs }: Catalogue, id: string): string[] {
  const isOfExperiment = ({ experiment, status }: ListedRun): boolean => experiment === id && status !== 'not started';
  return runs.filter((run) => run.id === id || isOfExperiment(run)).map((run) => run.id);
}

/** How long a page waits before it shows what was found so far, at first and then, in milliseconds. */
const firstLookMs = 400;
const nextLookMs = 1200;

/** What a page keeps of runs that are over, in bytes: enough for the rows of 2.5 million rollouts and 1.4 million completions of 700 characters. */
const mostListedBytes = 2 ** 28;
const mostTextBytes = 2 ** 30;

interface OpenedRun {
  readonly isSealed: boolean;
  readonly rollouts: RunRollouts;
}

export class PageRollouts {
  readonly #home: RunHome;
  readonly #kept: KeptRollouts;
  readonly #opened = new Map<string, OpenedRun>();
  #last: { readonly key: string; readonly search: RolloutSearch } | null = null;

  constructor(home: RunHome, kept: KeptRollouts = new KeptRollouts(mostListedBytes, mostTextBytes)) {
    this.#home = home;
    this.#kept = kept;
  }

  /** Reads runs anew that were over, because their files have changed since. */
  forget(runs: readonly string[]): void {
    for (const run of runs) {
      const known = this.#opened.get(run);
      if (known?.isSealed !== true) continue;
      this.#opened.delete(run);
      this.#kept.forget(known.rollouts);
    }
  }

  async list(
    id: string,
    parameters: URLSearchParams,
    isEnough: (list: RolloutList) => boolean = () => false,
  ): Promise<RolloutList> {
    const query = parseQuery(parameters);
    const { offset, limit, ...rest } = query;
    const key = JSON.stringify([id, rest]);
    // The first page looks anew, the others are of the same search.
    if (offset === 0 || this.#last?.key !== key) {
      const searched = (await this.#home.runs(id)).map((run) => ({ id: run, open: () => this.#open(run) }));
      this.#last = { key, search: new RolloutSearch(searched, query) };
      this.#kept.beginSearch();
    }
    const { search } = this.#last;
    for (let wait = firstLookMs; ; wait = nextLookMs) {
      await search.advance(wait);
      const list = await search.list(offset, limit);
      this.forget(list.leftOut.map(({ run }) => run));
      if (list.unread === 0 || isEnough(list)) return list;
    }
  }

  async rollout(id: string, wanted: string): Promise<RolloutPage> {
    const runs = await this.#home.runs(id);
    for (const run of runs) {
      const reading = this.#open(run).then((rollouts) => rollouts.group(wanted));
      // A run of an experiment that cannot be read does not hide the others.
      const group = await (runs.length === 1 ? reading : reading.catch(() => null));
      const rollout = group?.find((row) => row.id === wanted);
      if (group !== null && rollout !== undefined) return { rollout, group };
    }
    throw new UserError({ call: `rollout ${wanted}`, expected: `the id of a rollout of ${id}`, found: 'none' });
  }

  /** Where the files of a run lie is asked each time until it is over: then they change no more, or `forget` is told. */
  async #open(run: string): Promise<RunRollouts> {
    const known = this.#opened.get(run);
    if (known?.isSealed === true) return known.rollouts;
    const { isSealed, ...files } = await this.#home.files(run);
    if (known !== undefined && !isSealed) return known.rollouts;
    const table = <Row>(name: 'rollouts' | 'verdicts'): TableReader<Row> => {
      const file = files[name];
      if (isSealed) return new ParquetTable(file.name, async () => this.#home.open(file, true));
      return new LinesTable(() => {
        const lines = new GrownLines(file.name);
        return async () => lines.read(this.#home.open((await this.#home.files(run))[name], false));
      });
    };
    const rollouts = new RunRollouts(run, new JudgedTable(run, table('rollouts'), table('verdicts')), this.#kept);
    this.#opened.set(run, { isSealed, rollouts });
    return rollouts;
  }
}

const newline = 0x0a;
/** Number of bytes before the reading position that must be unchanged; otherwise the file was cut back and has grown again. */
const markBytes = 64;

class GrownLines {
  readonly #name: string;
  #offset = 0;
  #lines = 0;
  #mark = new Uint8Array(0);

  constructor(name: string) {
    this.#name = name;
  }

  async read(file: AsyncBuffer): Promise<LineGrowth> {
    if (file.byteLength === this.#offset) return { values: [], restarted: false };
    const from = this.#offset - this.#mark.length;
    const bytes = file.byteLength <= from ? new Uint8Array(0) : new Uint8Array(await file.slice(from, file.byteLength));
    if (!this.#mark.every((byte, i) => bytes[i] === byte)) {
      this.#offset = 0;
      this.#lines = 0;
      this.#mark = new Uint8Array(0);
      return { ...(await this.read(file)), restarted: true };
    }
    const added = bytes.subarray(this.#mark.length);
    const whole = added.subarray(0, added.lastIndexOf(newline) + 1);
    const texts = new TextDecoder().decode(whole).split('\n').slice(0, -1);
    const values = texts.map((text, i) => this.#parse(text, this.#lines + i + 1));
    this.#lines += texts.length;
    this.#offset += whole.length;
    this.#mark = bytes.slice(0, this.#mark.length + whole.length).slice(-markBytes);
    return { values, restarted: false };
  }

  #parse(text: string, line: number): unknown {
    try {
      return JSON.parse(text);
    } catch (cause) {
      const found = messageOf(cause);
      throw new UserError({ call: `read ${this.#name}`, expected: `JSON on line ${line}`, found }, { cause });
    }
  }
}
