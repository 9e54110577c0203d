/** One completion in the making: takes tokens, decides when it ends, and tells its text piece by piece. */
import type { DrawnToken, OpenRow, RankedToken } from '../model/index.ts';
import type { CutOff, Job } from './scheduler.ts';

export interface TextStreamOptions {
  readonly decode: (tokens: readonly number[]) => string;
  readonly stops: readonly string[];
}

/** The text that decoders put in place of bytes that are no character yet. */
const unfinished = '\ufffd';

/** The text so far. What may become a character, or the beginning of a stop text, is held back until it is decided. */
export class TextStream {
  readonly #decode: TextStreamOptions['decode'];
  readonly #stops: readonly string[];
  readonly #tokens: number[] = [];
  /** Tokens up to here give the text before the window; those up to `#known` are told. */
  #from = 0;
  #known = 0;
  text = '';
  #told = 0;
  isStopped = false;

  constructor({ decode, stops }: TextStreamOptions) {
    this.#decode = decode;
    this.#stops = stops;
  }

  hold(token: number): void {
    this.#tokens.push(token);
  }

  push(token: number): string {
    this.#tokens.push(token);
    const before = this.#decode(this.#tokens.slice(this.#from, this.#known));
    const window = this.#decode(this.#tokens.slice(this.#from));
    if (window.length <= before.length || window.endsWith(unfinished)) return '';
    this.#from = this.#known;
    this.#known = this.#tokens.length;
    return this.#append(window.slice(before.length));
  }

  finish(): string {
    const before = this.#decode(this.#tokens.slice(this.#from, this.#known));
    const rest = this.#decode(this.#tokens.slice(this.#from)).slice(before.length);
    const last = this.isStopped ? '' : this.#append(rest);
    const held = this.text.slice(this.#told);
    this.#told = this.text.length;
    return last + held;
  }

  #append(piece: string): string {
    const searchFrom = Math.max(0, this.text.length - Math.max(0, ...this.#stops.map(({ length }) => length)));
    this.text += piece;
    const places = this.#stops.map((stop) => this.text.indexOf(stop, searchFrom)).filter((at) => at >= 0);
    if (places.length > 0) {
      this.isStopped = true;
      this.text = this.text.slice(0, Math.min(...places));
    }
    const end = this.isStopped ? this.text.length : this.text.length - this.#heldBack();
    const fresh = this.text.slice(this.#told, Math.max(this.#told, end));
    this.#told += fresh.length;
    return fresh;
  }

  #heldBack(): number {
    let most = 0;
    for (const stop of this.#stops) {
      for (let length = Math.min(stop.length - 1, this.text.length); length > most; length--) {
        if (this.text.endsWith(stop.slice(0, length))) most = length;
      }
    }
    return most;
  }
}

export interface ChoiceOptions extends TextStreamOptions {
  readonly index: number;
  readonly row: OpenRow;
  readonly maxTokens: number;
  readonly stopTokens: readonly number[];
  /** Is told each token with the text that it decided; the last piece has no token, and says why it ended. */
  readonly piece?: (piece: ChoicePiece) => void;
}

export type FinishReason = 'stop' | 'length';

export interface ChoicePiece {
  readonly index: number;
  readonly text: string;
  readonly drawn: RankedToken | null;
  readonly finish: FinishReason | null;
}

export class Choice implements Job {
  readonly row: OpenRow;
  readonly maxTokens: number;
  readonly index: number;
  readonly drawn: RankedToken[] = [];
  promptChances: readonly RankedToken[] = [];
  readonly ended: Promise<CutOff | null>;
  finish: FinishReason = 'length';
  readonly #options: ChoiceOptions;
  readonly #text: TextStream;
  #resolve: (reason: CutOff | null) => void = () => undefined;

  constructor(options: ChoiceOptions) {
    this.row = options.row;
    this.maxTokens = options.maxTokens;
    this.index = options.index;
    this.#options = options;
    this.#text = new TextStream(options);
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get text(): string {
    return this.#text.text;
  }

  /** Tokens that end a completion are no part of its text, but are among its tokens. */
  token(drawn: DrawnToken): boolean {
    const { stopTokens, maxTokens } = this.#options;
    if (drawn.prompt !== undefined) this.promptChances = drawn.prompt;
    // Who asks for no token wants to know about the prompt only.
    if (maxTokens === 0) return false;
    this.drawn.push(drawn);
    const isEnd = stopTokens.includes(drawn.token);
    if (isEnd) this.#tell({ text: '', drawn, finish: null });
    else if (this.#isWatched) this.#tell({ text: this.#text.push(drawn.token), drawn, finish: null });
    else this.#text.hold(drawn.token);
    if (isEnd || this.#text.isStopped) this.finish = 'stop';
    else if (this.drawn.length < maxTokens) return true;
    return false;
  }

  get #isWatched(): boolean {
    return this.#options.piece !== undefined || this.#options.stops.length > 0;
  }

  end(reason: CutOff | null): void {
    const text = this.#text.finish();
    if (reason === null) this.#tell({ text, drawn: null, finish: this.finish });
    this.#resolve(reason);
  }

  #tell(piece: Omit<ChoicePiece, 'index'>): void {
    this.#options.piece?.({ index: this.index, ...piece });
  }
}
