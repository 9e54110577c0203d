/**
 * Parts that are opened when they are first asked for, once. Parts ask for one another, so those without a common need are opened side by
 * side. The first that fails, or the caller's signal, ends the opening of all others: each that is not open yet fails with that reason.
 */
import { isAbort } from '../base/index.ts';
import type { Notice } from '../run/index.ts';

export type Warn = (notice: Notice) => void | Promise<void>;

export type Resources = { use<Resource extends Disposable | AsyncDisposable>(resource: Resource): Resource };

export class OpenParts implements Resources, AsyncDisposable {
  readonly #parts = new Map<string, Promise<unknown>>();
  readonly #begun = new Set<Promise<unknown>>();
  readonly #closers: (() => unknown)[] = [];
  readonly #stop = new AbortController();
  readonly #stopped: Promise<never>;
  readonly #asked: AbortSignal | undefined;
  readonly #ready: (part: string) => void;

  /** `asked` ends what is being opened; nothing that is open. `ready` is told each part that is open. */
  constructor(asked?: AbortSignal, ready: (part: string) => void = () => undefined) {
    this.#asked = asked;
    this.#ready = ready;
    this.#stopped = new Promise((_, reject) => {
      this.signal.addEventListener('abort', () => reject(this.signal.reason));
    });
    this.#stopped.catch(() => undefined);
    asked?.addEventListener('abort', this.#onAsked);
  }

  /** Is aborted when a part has failed, or was asked to end: whatever opens a part ends with it. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  readonly #onAsked = (): void => {
    if (this.#begun.size > 0) this.#stop.abort(this.#asked?.reason);
  };

  part<Part>(name: string, open: () => Promise<Part>): Promise<Part> {
    const known = this.#parts.get(name) as Promise<Part> | undefined;
    if (known !== undefined) return known;
    const part = this.#open(name, open);
    // A failure reaches whoever asks for the part; nobody may have asked yet.
    part.catch(() => undefined);
    this.#parts.set(name, part);
    return part;
  }

  async #open<Part>(name: string, open: () => Promise<Part>): Promise<Part> {
    try {
      this.#asked?.throwIfAborted();
      this.signal.throwIfAborted();
      const begun = open();
      this.#begun.add(begun);
      const end = (): void => void this.#begun.delete(begun);
      begun.then(end, end);
      const part = await Promise.race([begun, this.#stopped]);
      this.#ready(name);
      return part;
    } catch (error) {
      this.#stop.abort(error);
      throw this.signal.reason;
    }
  }

  use<Resource extends Disposable | AsyncDisposable>(resource: Resource): Resource {
    this.#closers.push(() =>
      Symbol.asyncDispose in resource ? resource[Symbol.asyncDispose]() : resource[Symbol.dispose](),
    );
    return resource;
  }

  /** Closes what is open. After a failure it does not wait long: what still ends is closed when it has, and holds up nobody. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#asked?.removeEventListener('abort', this.#onAsked);
    if (this.#begun.size > 0) this.#stop.abort(new DOMException('closed', 'AbortError'));
    const closing = this.#close();
    if (!this.signal.aborted) return await closing;
    closing.catch(() => undefined);
    let patience: NodeJS.Timeout | undefined;
    const end = new Promise((resolve) => {
      patience = setTimeout(resolve, patienceMs);
    });
    await Promise.race([closing, end]);
    clearTimeout(patience);
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#begun);
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}

export const wasAsked = (signal: AbortSignal | undefined, error: unknown): boolean =>
  signal?.aborted === true && isAbort(error);

const patienceMs = 300;
