/** Where the page has its answers from: a server, files beside it, or itself. The screens cannot tell which. */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../../base/index.ts';
import type { Answers, AnswersPage, Catalogue, ListedRun, PageHome, RunFiles } from '../api.ts';
import { changed, noteDrawing } from './live.ts';
import { PageRollouts, type RunHome, runsOf } from './page-rollouts.ts';
import { RangeFile } from './range-file.ts';

export interface AnswerSource {
  readonly home: PageHome;
  ask<Kind extends keyof Answers>(kind: Kind, id: string): Promise<Answers[Kind]>;
  readonly rollouts: PageRollouts;
  save(kind: 'labels' | 'notes', id: string, value: unknown): Promise<unknown>;
}

function homeOfPage(): PageHome {
  const found = document.querySelector('meta[name="gq-home"]')?.getAttribute('content');
  return found === 'folder' || found === 'file' ? found : 'server';
}

function openSource(): AnswerSource {
  const home = homeOfPage();
  return openHome(home, home === 'server' ? openServer() : home === 'folder' ? openFolder() : openFile());
}

interface Home extends Omit<RunHome, 'runs'> {
  ask(kind: string, id: string): Promise<unknown>;
  save?: AnswerSource['save'];
}

function openHome(home: PageHome, { ask: read, save = noSave, ...files }: Home): AnswerSource {
  const ask: AnswerSource['ask'] = (kind, id) =>
    (kind === 'home' ? listOnce(() => read('home', '')) : read(kind, id)) as Promise<Answers[typeof kind]>;
  const runs = async (id: string) => runsOf(await ask('home', ''), id);
  const rollouts = new PageRollouts({ runs, ...files });
  changed.subscribe(({ ids }) => rollouts.forget(ids));
  return { home, ask, save, rollouts };
}

/** The list of all runs is long: it is read once, and again after a change or a failure. */
let lastList: { readonly count: number; readonly answer: Promise<unknown> } | null = null;
const isListAsked = (): boolean => lastList?.count === changed.value.count;

function listOnce(read: () => Promise<unknown>): Promise<unknown> {
  if (lastList === null || !isListAsked()) lastList = { count: changed.value.count, answer: read() };
  const { answer } = lastList;
  answer.catch(() => {
    if (lastList?.answer === answer) lastList = null;
  });
  return answer;
}

const noSave = () => Promise.reject(new Error('Nothing can be stored here.'));

/** A bundle: files by their names, and a list that says which of them answers what. */
function openFiles(read: (name: string) => Promise<Uint8Array<ArrayBuffer>>, open: Home['open']): Home {
  const list = read('data/list.json').then((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
  const find = async (key: string) => {
    const place = (await list)[key];
    if (place === undefined) throw new Error('This bundle does not have that page.');
    return place;
  };
  return {
    ask: remembered(async (key) => JSON.parse(await unzip(await read(await find(key))))),
    files: (run) => find(`files ${run}`),
    open,
  };
}

const openFolder = (): Home =>
  openFiles(
    async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer()),
    (file, isSealed) => new RangeFile(file, isSealed),
  );

function openFile(): Home {
  const text = document.getElementById('gq-data')?.textContent ?? '';
  const files = unzip(fromBase64(text)).then((json): Record<string, string> => JSON.parse(json));
  const read = async (name: string) => fromBase64((await files)[name]);
  const known = remembered(read);
  return openFiles(read, ({ name, bytes: byteLength }) => ({
    byteLength,
    slice: async (start, end) => ((await known(name)) as Uint8Array<ArrayBuffer>).buffer.slice(start, end),
  }));
}

/** Answers by their keys, each read once; one that could not be read is read again. */
function remembered(read: (key: string) => Promise<unknown>): (...words: readonly string[]) => Promise<unknown> {
  const known = new Map<string, Promise<unknown>>();
  return (...words) => {
    const key = words.join(' ');
    const value = known.get(key) ?? read(key);
    known.set(key, value);
    value.catch(() => known.delete(key));
    return value;
  };
}

function openServer(): Home {
  const get = async (path: string, parameters: Record<string, string>, sent?: RequestInit): Promise<unknown> => {
    const response = await fetch(`api/${path}?${new URLSearchParams(parameters)}`, sent);
    const value: { error?: string } = await response.json();
    if (!response.ok) throw new Error(value.error ?? `The server answered ${response.status}.`);
    return value;
  };
  return {
    ask: (kind, id) => get(kind, { id }),
    files: async (run) => (await get('files', { id: run })) as RunFiles,
    open: (file, isSealed) => new RangeFile(file, isSealed),
    save: (kind, id, value) => {
      const headers = { 'Content-Type': 'application/json' };
      return get(kind, { id }, { method: 'POST', headers, body: JSON.stringify(value) });
    },
  };
}

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));

/** A host may have unzipped a file on the way: what does not begin as gzip does is text already. */
async function unzip(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return new TextDecoder().decode(bytes);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

export const source = openSource();

export async function answersOf(isWanted: (run: ListedRun) => boolean): Promise<AnswersPage[]> {
  const { runs } = await source.ask('home', '');
  const wanted = runs.filter((run) => isWanted(run) && run.status !== 'not started');
  return Promise.all(wanted.map(({ id }) => source.ask('answers', id)));
}

export type Answer<Value> = { readonly value: Value | null; readonly error: string | null };

/** What the folder holds, as the page last saw it: asked for once, for every screen. */
export const catalogue = signal<Answer<Catalogue>>({ value: null, error: null });

function concerns(id: string): boolean {
  const { ids } = changed.value;
  return ids.some((each) => id === '' || each === id || each.startsWith(`${id}/`));
}

export const useAsked = <Kind extends keyof Answers>(kind: Kind, id: string): Answer<Answers[Kind]> =>
  useAnswer(`${kind} ${id}`, id, () => source.ask(kind, id));

/** The first answers that the screen waits for. */
const awaited = new Set<Promise<void>>();
const listKey = 'home ';

/** The list of all runs, which crumbs and tabs are made from: the screen's own answers come first. */
export const useList = (): Answer<Catalogue> =>
  useAnswer(listKey, '', async () => {
    // Whatever the screen asks, it has asked by then; where that is the list itself, it is on its way.
    await new Promise((go) => setTimeout(go));
    while (awaited.size > 0 && !isListAsked()) await Promise.all(awaited);
    return source.ask('home', '');
  });

/** Asks, and again when that has changed. `show` takes a first part, and tells whether anybody still wants the rest. */
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
    const isAgain = asked.current === key;
    asked.current = key;
    let close = (): void => undefined;
    const first: Promise<void> = new Promise<void>((answered) => {
      close = answered;
    }).then(() => void awaited.delete(first));
    if (key !== listKey) awaited.add(first);
    const show = (value: Value): boolean => {
      close();
      if (isWanted) setAnswer({ key, value, error: null });
      return isWanted;
    };
    ask(show)
      .then(
        (value) => show(value as Value),
        (error: unknown) => isWanted && setAnswer({ key, value: null, error: messageOf(error) }),
      )
      // Drawn is what was answered a frame later.
      .finally(() => {
        close();
        if (isAgain) requestAnimationFrame(() => setTimeout(noteDrawing));
      });
    return () => {
      isWanted = false;
      close();
    };
  }, [key, tick.current]);
  return answer.key === key ? answer : { value: null, error: null };
}
