/** One completion in the making: takes tokens, decides when it ends, and tells its text piece by piece. */
import type { DrawnToken, OpenRow, RankedToken } from '../model/index.ts';
import type { CutOff, Job } from './scheduler.ts';
import { TextStream, type TextStreamOptions } from './text-stream.ts';

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
  /** The chances of the tokens of the prompt but the first, if they were asked for. */
  promptChances: readonly RankedToken[] = [];
  /** Is fulfilled when no more tokens come, with the reason if it was cut off. */
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

  /** Whether the text decides something, or is told, before its end. */
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
