/** Searches the rollouts of a page without a server. Of a ledger in parts no more is read than the answer needs. */
import type { LedgerRow, RolloutList, RolloutPage, SearchRow } from '../api.ts';
import { PackedRows } from '../packed-rows.ts';
import { findPart, joinFound, listRollouts, parseQuery } from '../query.ts';

/** The rollouts of one run. */
export interface RunLedger {
  readonly run: string;
  /** All rollouts; their texts may be empty. */
  shortRows(): Promise<readonly SearchRow[]>;
  /** All rollouts with their texts. */
  searchedRows(): Promise<readonly SearchRow[]>;
  /** Some rollouts with their texts, by their ids. */
  textRows(ids: ReadonlySet<string>): Promise<readonly SearchRow[]>;
  /** The rollouts of the group of one, whole; null without such a rollout. */
  group(id: string): Promise<readonly LedgerRow[] | null>;
}

/** A ledger that is in memory. */
export function wholeLedger(run: string, rows: readonly LedgerRow[]): RunLedger {
  return {
    run,
    shortRows: async () => rows,
    searchedRows: async () => rows,
    textRows: async (ids) => rows.filter(({ id }) => ids.has(id)),
    group: async (id) => {
      const found = rows.find((row) => row.id === id);
      if (found === undefined) return null;
      return rows.filter(({ update, group }) => update === found.update && group === found.group);
    },
  };
}

/** What is found in the ledgers that can be read; one that cannot is named, unless it is the only one. */
export async function searchLedgers(ledgers: readonly RunLedger[], parameters: URLSearchParams): Promise<RolloutList> {
  const query = parseQuery(parameters);
  const leftOut: { run: string; why: string }[] = [];
  const read = async (ledger: RunLedger): Promise<readonly SearchRow[]> => {
    try {
      return await (query.text === '' ? ledger.shortRows() : ledger.searchedRows());
    } catch (error) {
      if (ledgers.length === 1) throw error;
      leftOut.push({ run: ledger.run, why: error instanceof Error ? error.message : String(error) });
      return [];
    }
  };
  const all = await Promise.all(ledgers.map(read));
  const { total, facets, parts, places } = joinFound(all.map((rows) => findPart(packed(rows), query)));
  const [from, to] = [query.offset, query.offset + query.limit];
  const shown = Array.from(places.subarray(from, to), (place, i) => all[parts[from + i]][place]);
  const found = { total, found: places.length, facets, leftOut, unread: 0 };
  if (query.text !== '') return listRollouts(found, shown, query);
  const withTexts = await Promise.all(ledgers.map((ledger) => textsOf(ledger, shown)));
  const byId = new Map(withTexts.flat().map((row) => [keyOf(row), row]));
  return listRollouts(
    found,
    shown.map((row) => byId.get(keyOf(row)) ?? row),
    query,
  );
}

/** Packed once for all searches. */
function packed(rows: readonly SearchRow[]): PackedRows {
  const known = packedRows.get(rows) ?? new PackedRows(rows);
  packedRows.set(rows, known);
  return known;
}

const packedRows = new WeakMap<readonly SearchRow[], PackedRows>();

const keyOf = ({ run, id }: SearchRow): string => `${id} ${run}`;

async function textsOf(ledger: RunLedger, shown: readonly SearchRow[]): Promise<readonly SearchRow[]> {
  const ids = new Set(shown.filter(({ run }) => run === ledger.run).map(({ id }) => id));
  return ids.size === 0 ? [] : ledger.textRows(ids);
}

export async function openRollout(ledgers: readonly RunLedger[], id: string): Promise<RolloutPage> {
  for (const ledger of ledgers) {
    const group = await ledger.group(id);
    const rollout = group?.find((row) => row.id === id);
    if (group !== null && rollout !== undefined) return { rollout, group };
  }
  throw new Error(`There is no rollout ${id}.`);
}
