/**
 * The rollouts of a run joined with their verdicts, which training never sees: the only place where the two meet. It reads by columns,
 * of a run that is over as of one that is trained, from a disk or from within a page.
 */
import { UserError } from '../../base/index.ts';
import type { Verdict } from '../../env/index.ts';
import type { ColumnBlock, RolloutRow, RowRange, TableReader } from '../../run/columns/index.ts';
import { blockRows } from '../../run/columns/index.ts';
import type { JudgedRollout, LabelName } from './columns.ts';
import { judgedColumns, labelColumns, labelNeeds, verdictColumns } from './columns.ts';

export type JudgedName = keyof JudgedRollout;

const allNames = Object.keys(judgedColumns) as JudgedName[];
/** What is known of a rollout whose outcome is not. */
const toldAnyway: readonly LabelName[] = ['outcome', 'evidence'];
const isLabel = (name: JudgedName): name is LabelName => name in labelColumns;
const isOfRollout = (name: JudgedName): name is keyof RolloutRow => !isLabel(name);

export interface JudgedOptions {
  /** What is told of a verdict, where that is not what was stored. */
  readonly tell?: (verdict: Verdict) => Verdict;
  /** Whether labels that nobody knows are read as null; else they are refused. */
  readonly showsUnknown?: boolean;
}

export class JudgedTable {
  readonly name: string;
  readonly #rollouts: TableReader<RolloutRow>;
  readonly #verdicts: TableReader<Verdict>;
  readonly #options: JudgedOptions;
  /** The place of each verdict among the verdicts, which need not be in the order of the rollouts. */
  #places: Promise<ReadonlyMap<string, number>> | null = null;

  constructor(
    name: string,
    rollouts: TableReader<RolloutRow>,
    verdicts: TableReader<Verdict>,
    options: JudgedOptions = {},
  ) {
    this.name = name;
    this.#rollouts = rollouts;
    this.#verdicts = verdicts;
    this.#options = options;
  }

  get grows(): boolean {
    return this.#rollouts.grows;
  }

  /** The named columns of the rollouts, some rows at a time. A rollout without a verdict is refused where a label of it is asked for. */
  async *blocks<Name extends JudgedName>(
    names: readonly Name[],
    range?: RowRange,
  ): AsyncGenerator<ColumnBlock<JudgedRollout<Name>>> {
    const asked: readonly JudgedName[] = names;
    const stored = new Set<keyof RolloutRow>(['id', ...asked.filter(isOfRollout)]);
    // While a run is trained, a verdict is written before its rollout: read in this order, none is missing.
    for await (const block of this.#rollouts.blocks([...stored], range)) {
      const labels = await this.#labelsOf(block.values.id, asked.filter(isLabel), block.start);
      const all: Readonly<Record<string, readonly unknown[]>> = { ...block.values, ...labels };
      const values = Object.fromEntries(names.map((name) => [name, all[name]]));
      yield { ...block, values } as unknown as ColumnBlock<JudgedRollout<Name>>;
    }
  }

  /** Columns of the rollouts, which need no verdict, as UTF-8. */
  utf8<Name extends keyof RolloutRow>(names: readonly Name[]) {
    return this.#rollouts.utf8(names);
  }

  async rows<Name extends JudgedName = JudgedName>(
    names: readonly Name[] = allNames as Name[],
    range?: RowRange,
  ): Promise<JudgedRollout<Name>[]> {
    const rows: JudgedRollout<Name>[] = [];
    for await (const block of this.blocks(names, range)) for (const row of blockRows(block)) rows.push(row);
    return rows;
  }

  async coverage(): Promise<{ readonly verdicts: number; readonly unjudged: readonly string[] }> {
    const rows = await this.rows(['id']);
    const places = await this.#placesOf();
    return { verdicts: places.size, unjudged: rows.flatMap(({ id }) => (places.has(id) ? [] : [id])) };
  }

  async #labelsOf(
    ids: readonly string[],
    labels: readonly LabelName[],
    start: number,
  ): Promise<Record<string, unknown[]>> {
    if (labels.length === 0) return {};
    const verdicts = (await this.#verdictsBeside(ids, labels, start)) ?? (await this.#verdictsAnywhere(ids, labels));
    const { tell = null, showsUnknown = false } = this.#options;
    if (!showsUnknown && verdicts.some(({ outcome }) => outcome === 'unknown')) throw this.#unknown();
    const told = tell === null ? verdicts : verdicts.map(tell);
    const read = (label: LabelName, verdict: Verdict): unknown =>
      verdict.outcome === 'unknown' && !toldAnyway.includes(label) ? null : labelColumns[label].from(verdict);
    return Object.fromEntries(labels.map((label) => [label, told.map((verdict) => read(label, verdict))]));
  }

  /** The verdicts at the same places as their rollouts, which is where most runs have them; null where they are not. */
  async #verdictsBeside(
    ids: readonly string[],
    labels: readonly LabelName[],
    start: number,
  ): Promise<Verdict[] | null> {
    const verdicts = await this.#verdictsIn({ from: start, to: start + ids.length }, labels);
    return verdicts.length === ids.length && verdicts.every(({ id }, i) => id === ids[i]) ? verdicts : null;
  }

  async #verdictsAnywhere(ids: readonly string[], labels: readonly LabelName[]): Promise<Verdict[]> {
    const places = await this.#placesOf();
    const at = ids.map((id) => places.get(id) ?? this.#missing(id));
    const from = at.reduce((least, place) => Math.min(least, place), Number.POSITIVE_INFINITY);
    const to = at.reduce((most, place) => Math.max(most, place + 1), 0);
    const verdicts = to === 0 ? [] : await this.#verdictsIn({ from, to }, labels);
    return at.map((place) => verdicts[place - from]);
  }

  async #verdictsIn(range: RowRange, labels: readonly LabelName[]): Promise<Verdict[]> {
    const all = Object.keys(verdictColumns) as (keyof Verdict)[];
    const needed: readonly (keyof Verdict)[] = ['id', 'outcome', ...labels.map((label) => labelNeeds[label])];
    const names = this.#options.tell === undefined ? [...new Set(needed)] : all;
    const verdicts: Verdict[] = [];
    for await (const block of this.#verdicts.blocks(names, range)) verdicts.push(...(blockRows(block) as Verdict[]));
    return verdicts;
  }

  #placesOf(): Promise<ReadonlyMap<string, number>> {
    if (this.#places === null || this.#verdicts.grows) {
      this.#places = this.#readPlaces();
      // One that could not be read is read again the next time.
      this.#places.catch(() => {
        this.#places = null;
      });
    }
    return this.#places;
  }

  async #readPlaces(): Promise<ReadonlyMap<string, number>> {
    const places = new Map<string, number>();
    for await (const { start, values } of this.#verdicts.blocks(['id'])) {
      values.id.forEach((id, i) => {
        places.set(id, start + i);
      });
    }
    return places;
  }

  /** An outcome that nobody knows is not one that did not happen. */
  #unknown(): UserError {
    return new UserError({
      call: `read ${this.name}`,
      expected: 'rollouts of which it is known what is an attempt, a hack and a solve',
      found: 'rewards alone: the environment outside (manifest.json, outside) told nothing else',
      fix: 'Train on a server that tells labels, with data.labels=true.',
    });
  }

  #missing(id: string): never {
    throw new UserError({
      call: `read ${this.name}`,
      expected: `a verdict of rollout ${id}`,
      found: 'none',
      fix: 'The run directory was damaged: restore it, or train the run again.',
    });
  }
}
