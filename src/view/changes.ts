/** Tells pages what changed in the runs of a folder: one look a second serves all, and none while nobody listens. */
import type { Writable } from 'node:stream';
import { EventWriter } from '../base/node/index.ts';
import { stampOf } from './kept-answers.ts';
import type { ViewLibrary } from './library.ts';

/** How long a change of the same run waits after the last, in milliseconds: what a page shows costs the machine that trains. */
const usualRestMs = 5000;
const listedMs = 5000;
/** Bytes that a page may leave unread before it is cut off; when it comes back it asks for everything again. */
const mostWaiting = 1 << 16;

export class Changes implements Disposable {
  readonly #library: ViewLibrary;
  readonly #everyMs: number;
  readonly #restMs: number;
  readonly #told = new Map<string, number>();
  readonly #listeners = new Set<EventWriter>();
  #seen = new Map<string, string>();
  #timer: NodeJS.Timeout | null = null;

  constructor(library: ViewLibrary, everyMs = 1000, restMs = usualRestMs) {
    this.#library = library;
    this.#everyMs = everyMs;
    this.#restMs = restMs;
  }

  listen(response: Writable): void {
    const listener = new EventWriter(response, mostWaiting);
    listener.write('retry: 1000\n\n');
    this.#listeners.add(listener);
    if (this.#timer === null) {
      this.#seen = this.#look();
      this.#timer = setInterval(() => this.#tell(), this.#everyMs);
    }
    response.on('close', () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this[Symbol.dispose]();
    });
  }

  /** What each run and experiment looks like now. A folder that cannot be read has none, and whoever asks for them is told why. */
  #look(): Map<string, string> {
    return new Map(this.#entries().map(({ id, path }) => [id, stampOf(path)]));
  }

  #entries(): ReturnType<ViewLibrary['entries']> {
    try {
      return this.#library.entries(listedMs);
    } catch {
      return [];
    }
  }

  #tell(): void {
    const now = this.#look();
    const time = performance.now();
    const changed = [...now].filter(([id, stamp]) => this.#seen.get(id) !== stamp).map(([id]) => id);
    for (const id of changed) {
      // One that was told a moment ago waits: it counts as seen as it was, so a later look finds it changed.
      if (time - (this.#told.get(id) ?? Number.NEGATIVE_INFINITY) >= this.#restMs) this.#told.set(id, time);
      else now.set(id, this.#seen.get(id) ?? '');
    }
    const gone = [...this.#seen.keys()].filter((id) => !now.has(id));
    this.#seen = now;
    const ids = [...changed.filter((id) => this.#told.get(id) === time), ...gone];
    // A comment keeps proxies from closing a quiet connection.
    const text = ids.length === 0 ? ':\n\n' : `data: ${JSON.stringify({ ids })}\n\n`;
    for (const listener of this.#listeners) listener.write(text);
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    for (const listener of this.#listeners) listener.end();
    this.#listeners.clear();
  }
}
