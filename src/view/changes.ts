/**
 * Tells pages what changed in the runs of a folder, as server-sent events. One look a second at the sizes and times of a few files serves all pages,
 * and none while nobody listens. A page that was cut off asks for everything again, so an event is never needed twice.
 */
import type { Writable } from 'node:stream';
import type { ViewLibrary } from './library.ts';
import { stampOf } from './stamp.ts';

/** Bytes that a page may leave unread before it is cut off; when it comes back it asks for everything again. */
const mostWaiting = 1 << 16;

export class Changes implements Disposable {
  readonly #library: ViewLibrary;
  readonly #everyMs: number;
  readonly #listeners = new Set<Writable>();
  #seen = new Map<string, string>();
  #timer: NodeJS.Timeout | null = null;

  constructor(library: ViewLibrary, everyMs = 1000) {
    this.#library = library;
    this.#everyMs = everyMs;
  }

  listen(response: Writable): void {
    response.write('retry: 1000\n\n');
    this.#listeners.add(response);
    if (this.#timer === null) {
      this.#seen = this.#look();
      this.#timer = setInterval(() => this.#tell(), this.#everyMs);
    }
    response.on('close', () => {
      this.#listeners.delete(response);
      if (this.#listeners.size === 0) this[Symbol.dispose]();
    });
  }

  /** What each run and experiment looks like now. A folder that cannot be read has none, and whoever asks for them is told why. */
  #look(): Map<string, string> {
    return new Map(this.#entries().map(({ id, path }) => [id, stampOf(path)]));
  }

  #entries(): ReturnType<ViewLibrary['entries']> {
    try {
      return this.#library.entries();
    } catch {
      return [];
    }
  }

  #tell(): void {
    const now = this.#look();
    const changed = [...now].filter(([id, stamp]) => this.#seen.get(id) !== stamp).map(([id]) => id);
    const gone = [...this.#seen.keys()].filter((id) => !now.has(id));
    this.#seen = now;
    const ids = [...changed, ...gone];
    // A comment keeps proxies from closing a quiet connection.
    const text = ids.length === 0 ? ':\n\n' : `data: ${JSON.stringify({ ids })}\n\n`;
    for (const listener of this.#listeners) {
      if (listener.writableLength > mostWaiting) listener.destroy();
      else listener.write(text);
    }
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    for (const listener of this.#listeners) listener.end();
    this.#listeners.clear();
  }
}
