/** Where the page has its answers from: a server, files beside it, or itself. The screens cannot tell which. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LedgerRow, PageHome, RolloutList, RolloutPage } from '../api.ts';
import type { ListedLedger } from '../ledger-columns.ts';
import { BundledLedger } from './bundled-ledger.ts';
import { openRollout, type RunLedger, searchLedgers, wholeLedger } from './ledgers.ts';
import { changed, listenForChanges, pace } from './live.ts';

type Question = 'home' | 'experiment' | 'run' | 'gate' | 'answers' | 'labels' | 'notes' | 'tokens' | 'training';

export interface AnswerSource {
  readonly home: PageHome;
  ask(kind: Question, id: string): Promise<unknown>;
  /** Asks until all is searched, or until what was found so far is enough. */
  rollouts(id: string, query: URLSearchParams, isEnough?: (list: RolloutList) => boolean): Promise<RolloutList>;
  rollout(id: string, rollout: string): Promise<RolloutPage>;
  /** Stores what a person wrote; only a server can. */
  save(kind: 'labels' | 'notes', id: string, value: unknown): Promise<unknown>;
}

function homeOfPage(): PageHome {
  const found = document.querySelector('meta[name="gq-home"]')?.getAttribute('content');
  return found === 'folder' || found === 'file' ? found : 'server';
}

function openSource(): AnswerSource {
  const home = homeOfPage();
  if (home === 'server') return openServer();
  return home === 'folder' ? openFolder() : openFile();
}

const noPage = () => new Error('This bundle does not have that page.');

/** Answers are files beside the page; the rollouts of a run are a file of which parts are read. */
function openFolder(): AnswerSource {
  const list = fetch('data/list.json').then(
    (response): Promise<Record<string, string | ListedLedger>> => response.json(),
  );
  return withoutServer('folder', {
    read: async (key) => {
      const name = (await list)[key];
      if (typeof name !== 'string') throw noPage();
      return JSON.parse(await unzip(new Uint8Array(await (await fetch(name)).arrayBuffer())));
    },
    ledger: async (id) => {
      const listed = (await list)[`rows ${id}`];
      if (typeof listed !== 'object') throw noPage();
      return new BundledLedger(id, listed);
    },
  });
}

/** Answers are in the page. */
function openFile(): AnswerSource {
  const text = document.getElementById('gq-data')?.textContent ?? '';
  const list = unzip(fromBase64(text)).then((json): Record<string, string> => JSON.parse(json));
  const read = async (key: string): Promise<unknown> => {
    const packed = (await list)[key];
    if (packed === undefined) throw noPage();
    return JSON.parse(await unzip(fromBase64(packed)));
  };
  return withoutServer('file', {
    read,
    ledger: async (id) => wholeLedger(id, (await read(`rows ${id}`)) as LedgerRow[]),
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
    rollouts: async (id, query, isEnough = () => false) => {
      const parameters = new URLSearchParams(query);
      parameters.set('id', id);
      for (;;) {
        const list = (await get('rollouts', parameters)) as RolloutList;
        if (list.unread === 0 || isEnough(list)) return list;
      }
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

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
}

/** A host may have unzipped a file on the way: what does not begin as gzip does is text already. */
async function unzip(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return new TextDecoder().decode(bytes);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

interface CopiedAnswers {
  read(key: string): Promise<unknown>;
  ledger(run: string): Promise<RunLedger>;
}

function withoutServer(home: PageHome, { read, ledger }: CopiedAnswers): AnswerSource {
  const kept = new Map<string, Promise<unknown>>();
  const keep = <Value>(key: string, make: () => Promise<Value>): Promise<Value> => {
    const value = kept.get(key) ?? make();
    kept.set(key, value);
    return value as Promise<Value>;
  };
  const ask = (kind: string, id: string): Promise<unknown> => keep(`${kind} ${id}`, () => read(`${kind} ${id}`));
  /** Of a run, or of the runs of an experiment, which the catalogue names; runs that are not in the copy have none. */
  const ledgersOf = async (id: string): Promise<RunLedger[]> => {
    const { runs } = (await ask('home', '')) as { runs: { id: string; experiment: string | null }[] };
    const own = runs.filter((run) => run.id === id || run.experiment === id);
    const all = own.map((run) => keep(`ledger ${run.id}`, () => ledger(run.id)).catch(() => null));
    return (await Promise.all(all)).flatMap((found) => found ?? []);
  };
  return {
    home,
    ask,
    rollouts: async (id, parameters) => searchLedgers(await ledgersOf(id), parameters),
    rollout: async (id, rollout) => openRollout(await ledgersOf(id), rollout),
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

/**
 * Asks, and asks again when what was asked about has changed; until then the earlier answer stays. What is known before the whole answer
 * can be shown, which tells whether anybody still wants the rest.
 */
export function useAnswer<Value>(
  key: string,
  id: string,
  ask: (show: (value: Value) => boolean) => Promise<unknown>,
): Answer<Value> {
  const [answer, setAnswer] = useState<Answer<Value> & { readonly key: string }>({ key: '', value: null, error: null });
  // A change of something else leaves the number of the last one that mattered.
  const tick = useRef(0);
  if (concerns(id)) tick.current = changed.value.count;
  const asked = useRef('');
  useEffect(() => {
    let isWanted = true;
    // Only what a change costs counts, not the first look at a page.
    const done = asked.current === key ? pace.work() : () => undefined;
    asked.current = key;
    const show = (value: Value): boolean => {
      if (isWanted) setAnswer({ key, value, error: null });
      return isWanted;
    };
    ask(show)
      .then(
        (value) => show(value as Value),
        (error: unknown) =>
          isWanted && setAnswer({ key, value: null, error: error instanceof Error ? error.message : String(error) }),
      )
      // Drawn is what was answered a frame later.
      .finally(() => requestAnimationFrame(() => setTimeout(done)));
    return () => {
      isWanted = false;
    };
  }, [key, tick.current]);
  return answer.key === key ? answer : { value: null, error: null };
}
