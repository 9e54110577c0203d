/**
 * The text of a completion while its tokens come. A character may be made of several tokens, and a stop text may begin with what was just
 * said: both are held back until they are decided. All pieces together are the text of all tokens, cut at the first stop text.
 */

export interface TextStreamOptions {
  readonly decode: (tokens: readonly number[]) => string;
  readonly stops: readonly string[];
}

/** The text that decoders put in place of bytes that are no character yet. */
const unfinished = '\ufffd';

export class TextStream {
  readonly #decode: TextStreamOptions['decode'];
  readonly #stops: readonly string[];
  readonly #tokens: number[] = [];
  /** Tokens up to here give the text before the window; those up to `#known` are told. */
  #from = 0;
  #known = 0;
  #text = '';
  #told = 0;
  #isStopped = false;

  constructor({ decode, stops }: TextStreamOptions) {
    this.#decode = decode;
    this.#stops = stops;
  }

  /** Whether a stop text was met. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The text so far, what is held back included. */
  get text(): string {
    return this.#text;
  }

  /** Takes a token whose text nobody needs before the end. */
  hold(token: number): void {
    this.#tokens.push(token);
  }

  /** Takes a token and returns the text that is decided by it. */
  push(token: number): string {
    this.#tokens.push(token);
    const before = this.#decode(this.#tokens.slice(this.#from, this.#known));
    const window = this.#decode(this.#tokens.slice(this.#from));
    if (window.length <= before.length || window.endsWith(unfinished)) return '';
    this.#from = this.#known;
    this.#known = this.#tokens.length;
    return this.#append(window.slice(before.length));
  }

  /** Returns what was held back: nothing more comes. */
  finish(): string {
    const before = this.#decode(this.#tokens.slice(this.#from, this.#known));
    const rest = this.#decode(this.#tokens.slice(this.#from)).slice(before.length);
    const last = this.#isStopped ? '' : this.#append(rest);
    const held = this.#text.slice(this.#told);
    this.#told = this.#text.length;
    return last + held;
  }

  #append(piece: string): string {
    const searchFrom = Math.max(0, this.#text.length - Math.max(0, ...this.#stops.map(({ length }) => length)));
    this.#text += piece;
    const places = this.#stops.map((stop) => this.#text.indexOf(stop, searchFrom)).filter((at) => at >= 0);
    if (places.length > 0) {
      this.#isStopped = true;
      this.#text = this.#text.slice(0, Math.min(...places));
    }
    const end = this.#isStopped ? this.#text.length : this.#text.length - this.#heldBack();
    const fresh = this.#text.slice(this.#told, Math.max(this.#told, end));
    this.#told += fresh.length;
    return fresh;
  }

  /** The length of the longest end of the text with which a stop text begins. */
  #heldBack(): number {
    let most = 0;
    for (const stop of this.#stops) {
      for (let length = Math.min(stop.length - 1, this.#text.length); length > most; length--) {
        if (this.#text.endsWith(stop.slice(0, length))) most = length;
      }
    }
    return most;
  }
}
