/** Where the page has its answers from: a server, files beside it, or itself. The screens cannot tell which. */
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { LedgerRow, PageHome, RolloutList, RolloutPage } from '../api.ts';
import { listRollouts, parseQuery } from '../query.ts';

type Question = 'home' | 'experiment' | 'run' | 'gate' | 'answers' | 'labels' | 'notes' | 'tokens' | 'training';

export interface AnswerSource {
  readonly home: PageHome;
  ask(kind: Question | 'rows', id: string): Promise<unknown>;
  rollouts(id: string, query: URLSearchParams): Promise<RolloutList>;
  rollout(id: string, rollout: string): Promise<RolloutPage>;
  /** Stores what a person wrote; only a server can. */
  save(kind: 'labels' | 'notes', id: string, value: unknown): Promise<unknown>;
}

/** The ids that changed last, and how many changes there were. */
const changed = signal<{ readonly ids: readonly string[]; readonly count: number }>({ ids: [], count: 0 });
export const isLive = signal(false);

function homeOfPage(): PageHome {
  const found = document.querySelector('meta[name="gq-home"]')?.getAttribute('content');
  return found === 'folder' || found === 'file' ? found : 'server';
}

function openSource(): AnswerSource {
  const home = homeOfPage();
  if (home === 'server') return openServer();
  const list = home === 'folder' ? listOfFolder() : listOfPage();
  return withoutServer(home, async (key) => {
    const bytes = (await list).get(key);
    if (bytes === undefined) throw new Error('This bundle does not have that page.');
    return JSON.parse(await unzip(await bytes()));
  });
}

function openServer(): AnswerSource {
  const get = async (path: string, parameters: URLSearchParams, sent?: RequestInit): Promise<unknown> => {
    const response = await fetch(`api/${path}?${parameters}`, sent);
    const value: { error?: string } = await response.json();
    if (!response.ok) throw new Error(value.error ?? `The server answered ${response.status}.`);
    return value;
  };
  listenForChanges();
  return {
    home: 'server',
    ask: (kind, id) => get(kind, new URLSearchParams({ id })),
    rollouts: async (id, query) => {
      const parameters = new URLSearchParams(query);
      parameters.set('id', id);
      return (await get('rollouts', parameters)) as RolloutList;
    },
    rollout: async (id, rollout) => (await get('rollout', new URLSearchParams({ id, rollout }))) as RolloutPage,
    save: (kind, id, value) =>
      get(kind, new URLSearchParams({ id }), {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(value),
      }),
  };
}

function listenForChanges(): void {
  const events = new EventSource('api/changes');
  events.onopen = () => {
    // After an interruption nobody knows what was missed.
    if (changed.value.count > 0) changed.value = { ids: ['*'], count: changed.value.count + 1 };
    isLive.value = true;
  };
  events.onerror = () => {
    isLive.value = false;
    changed.value = { ids: [], count: Math.max(1, changed.value.count) };
  };
  events.onmessage = ({ data }: MessageEvent<string>) => {
    const { ids }: { ids: string[] } = JSON.parse(data);
    changed.value = { ids, count: changed.value.count + 1 };
  };
}

type Bytes = () => Promise<Uint8Array<ArrayBuffer>>;

async function listOfFolder(): Promise<ReadonlyMap<string, Bytes>> {
  const list: Record<string, string> = await (await fetch('data/list.json')).json();
  const read =
    (name: string): Bytes =>
    async () =>
      new Uint8Array(await (await fetch(name)).arrayBuffer());
  return new Map(Object.entries(list).map(([key, name]) => [key, read(name)]));
}

async function listOfPage(): Promise<ReadonlyMap<string, Bytes>> {
  const text = document.getElementById('gq-data')?.textContent ?? '';
  const list: Record<string, string> = JSON.parse(await unzip(fromBase64(text)));
  return new Map(Object.entries(list).map(([key, packed]) => [key, async () => fromBase64(packed)]));
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
}

/** A host may have unzipped a file on the way: what does not begin as gzip does is text already. */
async function unzip(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return new TextDecoder().decode(bytes);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

function withoutServer(home: PageHome, read: (key: string) => Promise<unknown>): AnswerSource {
  const kept = new Map<string, Promise<unknown>>();
  const ask = (kind: string, id: string): Promise<unknown> => {
    const key = `${kind} ${id}`;
    const value = kept.get(key) ?? read(key);
    kept.set(key, value);
    return value;
  };
  /** The rollouts of a run, or of the runs of an experiment, which the catalogue names. */
  const rowsOf = async (id: string): Promise<readonly LedgerRow[]> => {
    const { runs } = (await ask('home', '')) as { runs: { id: string; experiment: string | null }[] };
    const own = runs.filter((run) => run.id === id || run.experiment === id);
    const all = await Promise.all(own.map((run) => ask('rows', run.id).catch(() => [])));
    return (all as LedgerRow[][]).flat();
  };
  return {
    home,
    ask,
    rollouts: async (id, query) => listRollouts(await rowsOf(id), parseQuery(query)),
    rollout: async (id, rollout) => {
      const rows = await rowsOf(id);
      const found = rows.find((row) => row.id === rollout);
      if (found === undefined) throw new Error(`There is no rollout ${rollout}.`);
      return { rollout: found, group: rows.filter((row) => row.update === found.update && row.group === found.group) };
    },
    save: () => Promise.reject(new Error('Nothing can be stored here.')),
  };
}

export const source = openSource();

export interface Answer<Value> {
  readonly value: Value | null;
  readonly error: string | null;
}

/** Whether a change concerns a question: of the run itself, of a run of the experiment, of anything for the list of all. */
function concerns(id: string): boolean {
  const { ids } = changed.value;
  return ids.some((each) => each === '*' || id === '' || each === id || each.startsWith(`${id}/`));
}

/** Asks, and asks again when what was asked about has changed; until then the earlier answer stays. */
export function useAnswer<Value>(key: string, id: string, ask: () => Promise<unknown>): Answer<Value> {
  const [answer, setAnswer] = useState<Answer<Value> & { readonly key: string }>({ key: '', value: null, error: null });
  const tick = concerns(id) ? changed.value.count : 0;
  useEffect(() => {
    let isWanted = true;
    ask().then(
      (value) => isWanted && setAnswer({ key, value: value as Value, error: null }),
      (error: unknown) =>
        isWanted && setAnswer({ key, value: null, error: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      isWanted = false;
    };
  }, [key, tick]);
  return answer.key === key ? answer : { value: null, error: null };
}
