/**
 * Keys and values of a generation, one slot per token: first the distinct prompts, laid end to end, then room for the new
 * tokens of every row. A prompt is stored once however many rows continue it.
 */
import type { Scope, Tensor } from '../../engine/index.ts';
import type { DecoderConfig } from '../files/config.ts';
import type { KeyValues } from './decoder.ts';
import type { Span } from './pack.ts';

export class KeyValueCache {
  readonly slots: number;
  readonly #keys: readonly Tensor[];
  readonly #values: readonly Tensor[];
  readonly #promptSlots: number;
  readonly #roomPerRow: number;

  constructor(scope: Scope, config: DecoderConfig, promptTokens: number, rows: number, roomPerRow: number) {
    this.#promptSlots = promptTokens;
    this.#roomPerRow = roomPerRow;
    this.slots = promptTokens + rows * roomPerRow;
    const dtype = scope.device.floats[0];
    const layers = (label: string): Tensor[] =>
      Array.from({ length: config.layers }, (_, layer) =>
        scope.empty([this.slots, config.kvHeads, config.headDim], `${label} cache of layer ${layer}`, dtype),
      );
    this.#keys = layers('key');
    this.#values = layers('value');
  }

  /** The slots of a row's own tokens. */
  room(row: number): Span {
    const start = this.#promptSlots + row * this.#roomPerRow;
    return { start, end: start + this.#roomPerRow };
  }

  /** Copies the first `count` keys and values of a row's own tokens to another row. */
  copy(from: Span, to: Span, count: number): void {
    if (count === 0) return;
    for (const cache of [...this.#keys, ...this.#values]) {
      cache.device.kernels.copy(cache.rows(to.start, to.start + count), cache.rows(from.start, from.start + count));
    }
  }

  /** New keys and values go to slots i32 [T]; queries see their own pass (a prefill) or the whole cache (decoding). */
  store(slots: Tensor, see: 'pass' | 'cache'): KeyValues {
    return (layer) => ({ keys: this.#keys[layer], values: this.#values[layer], slots, see });
  }
}
