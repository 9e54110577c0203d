/** What the browser keeps of the lanes (IndexedDB), so that a reload goes on and a lane can be rewound: every update, and every tenth state. */
import type { Pieces } from '../../../browser/record.ts';
import type { TrainerState } from '../../../grpo/train.ts';
import type { LaneUpdate } from './messages.ts';

/** Updates between the states that stay; the last one always does. */
export const keptEvery = 10;

export interface KeptUpdate {
  readonly shown: LaneUpdate;
  readonly pieces: Pieces;
}

const ask = <Value>(request: IDBRequest<Value>): Promise<Value> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

const stores = ['updates', 'states'] as const;

/** All of it, or nothing: also where there is no room. */
const ended = (transaction: IDBTransaction): Promise<void> =>
  new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });

function openDatabase(): Promise<IDBDatabase> {
  const opening = indexedDB.open('playground', 1);
  opening.onupgradeneeded = () => {
    for (const name of stores) opening.result.createObjectStore(name);
  };
  return ask(opening);
}

/** Forgets all lanes but those of these configs. */
export async function keepOnly(keys: readonly string[]): Promise<void> {
  const database = await openDatabase();
  for (const name of stores) {
    const store = database.transaction(name, 'readwrite').objectStore(name);
    const old = (await ask(store.getAllKeys())).filter((key) => !keys.includes((key as [string, number])[0]));
    await Promise.all(old.map((key) => ask(store.delete(key))));
  }
  database.close();
}

export class KeptLane {
  readonly #database: IDBDatabase;
  readonly #key: string;

  private constructor(database: IDBDatabase, key: string) {
    this.#database = database;
    this.#key = key;
  }

  static async open(key: string): Promise<KeptLane> {
    return new KeptLane(await openDatabase(), key);
  }

  #store(name: (typeof stores)[number]): IDBObjectStore {
    return this.#database.transaction(name).objectStore(name);
  }

  #range(from: number, to = Number.MAX_SAFE_INTEGER): IDBKeyRange {
    return IDBKeyRange.bound([this.#key, from], [this.#key, to]);
  }

  /** Forgets the updates of this lane, or those from one on. */
  forget(from = 0): Promise<void> {
    const transaction = this.#database.transaction(stores, 'readwrite');
    for (const name of stores) transaction.objectStore(name).delete(this.#range(from));
    return ended(transaction);
  }

  /** What was kept up to an update, or to the last; what came after is forgotten. */
  async read(
    at?: number,
  ): Promise<{ readonly updates: readonly KeptUpdate[]; readonly state: TrainerState | undefined }> {
    const states = (await ask(this.#store('states').getAllKeys(this.#range(0)))).map(
      (key) => (key as [string, number])[1],
    );
    const last = Math.max(0, ...states.filter((update) => update <= (at ?? update)));
    await this.forget(last + 1);
    const updates: KeptUpdate[] = await ask(this.#store('updates').getAll(this.#range(1)));
    if (updates.length !== last || updates.some(({ shown }, i) => shown.update !== i + 1)) {
      throw new RangeError(`${last} updates were kept, ${updates.length} are there`);
    }
    return { updates, state: await ask(this.#store('states').get([this.#key, last])) };
  }

  /** What the updates up to one add to the files of the run. */
  async pieces(last: number): Promise<readonly Pieces[]> {
    const updates: KeptUpdate[] = await ask(this.#store('updates').getAll(this.#range(1, last)));
    if (updates.length !== last) throw new RangeError(`${last} updates were kept, ${updates.length} are there`);
    return updates.map(({ pieces }) => pieces);
  }

  async add(update: number, kept: KeptUpdate, state: TrainerState): Promise<void> {
    const transaction = this.#database.transaction(stores, 'readwrite');
    const [updates, states] = stores.map((name) => transaction.objectStore(name));
    updates.put(kept, [this.#key, update]);
    states.put(state, [this.#key, update]);
    const before = update - 1;
    if (before % keptEvery !== 0) states.delete([this.#key, before]);
    await ended(transaction);
  }
}
