/**
 * Follows what changes on the server. All tabs of a browser share one connection, since a browser opens only six to a server: the tab
 * that has the lock listens and tells the others. A tab that is not in sight asks for nothing until it is.
 */
import { signal } from '@preact/signals';
import { refreshPace } from './pace.ts';

/** The ids that changed last, '*' for all, and how many changes there were. */
export const changed = signal<{ readonly ids: readonly string[]; readonly count: number }>({ ids: [], count: 0 });
export const isLive = signal(false);

type Message =
  | { readonly kind: 'opened' | 'lost' | 'ask' }
  | { readonly kind: 'state'; readonly isLive: boolean }
  | { readonly kind: 'ids'; readonly ids: readonly string[] };

let isStale = false;

export const pace = refreshPace((ids) => {
  if (document.hidden) isStale = true;
  else changed.value = { ids, count: changed.value.count + 1 };
});

function change(ids: readonly string[]): void {
  if (document.hidden) isStale = true;
  else pace.change(ids);
}

function take(message: Message): void {
  if (message.kind === 'ids') change(message.ids);
  if (message.kind === 'state') isLive.value = message.isLive;
  if (message.kind === 'lost') {
    isLive.value = false;
    isStale = true;
  }
  if (message.kind === 'opened') {
    // After an interruption nobody knows what was missed.
    if (isStale || isLive.value) change(['*']);
    isStale = document.hidden && isStale;
    isLive.value = true;
  }
}

export function listenForChanges(): void {
  document.addEventListener('visibilitychange', () => {
    if (document.hidden || !isStale || !isLive.value) return;
    isStale = false;
    change(['*']);
  });
  // Only a page from this machine, or over an encrypted connection, has locks; others have a connection each.
  if (navigator.locks === undefined) openEvents(take);
  else shareEvents();
}

function shareEvents(): void {
  const channel = new BroadcastChannel('gq-changes');
  let isListening = false;
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.kind !== 'ask') take(data);
    else if (isListening) channel.postMessage({ kind: 'state', isLive: isLive.value } satisfies Message);
  };
  channel.postMessage({ kind: 'ask' } satisfies Message);
  const tell = (message: Message): void => {
    take(message);
    channel.postMessage(message);
  };
  void navigator.locks.request('gq-changes', () => {
    isListening = true;
    openEvents(tell);
    // The lock is given back when the tab is closed.
    return new Promise(() => undefined);
  });
}

function openEvents(tell: (message: Message) => void): void {
  const events = new EventSource('api/changes');
  events.onopen = () => tell({ kind: 'opened' });
  events.onerror = () => tell({ kind: 'lost' });
  events.onmessage = ({ data }: MessageEvent<string>) => tell({ kind: 'ids', ids: JSON.parse(data).ids });
}
