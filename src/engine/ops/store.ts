/** New queries, keys and values of a layer: turned by their positions, and kept for later queries where there is a store. */
import type { Tape } from '../tape.ts';
import type { Tensor } from '../tensor.ts';
import { expectFloats, expectShape, expectTensor } from './checks.ts';
import { expectTurns, normRotary, rotary } from './rotary.ts';

/** New queries [T, H, D], keys and values [T, K, D]. */
export interface Heads {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
}

/** How heads are turned: positions i32 [T], the table of angles [P, D], and the weights of the norms before it, if there are any. */
export interface Turns {
  readonly positions: Tensor;
  readonly table: Tensor;
  readonly norms: { readonly q: Tensor; readonly k: Tensor; readonly epsilon: number } | null;
}

/** Room for keys and values [S, K, D], and the slots i32 [T] that new ones take. Stored values have no gradient. */
export interface Store {
  readonly keys: Tensor;
  readonly values: Tensor;
  readonly slots: Tensor;
  /** Whether queries see the keys and values of their own pass (a prefill), or all that are stored (decoding). */
  readonly see: 'pass' | 'cache';
}

/** The turned queries, and the keys and values that they see: those of this pass, or what `store` has. */
export function turnHeads(tape: Tape, news: Heads, turns: Turns, store: Store | null): Heads {
  const { q, k, v } = news;
  const { positions, table, norms } = turns;
  for (const x of [q, k]) expectTurns(tape, 'turnHeads', x, positions, table);
  if (norms !== null) {
    expectFloats(tape, 'turnHeads', q, norms.q, norms.k);
    for (const weight of [norms.q, norms.k]) expectShape('turnHeads norm', weight, [q.shape[2]]);
  }
  if (store !== null) expectStore(tape, news, store);
  const turn = (x: Tensor, which: 'q' | 'k'): Tensor =>
    norms === null
      ? rotary(tape, x, positions, table)
      : normRotary(tape, x, norms[which], norms.epsilon, positions, table);
  const turned = { q: turn(q, 'q'), k: turn(k, 'k'), v };
  if (store === null) return turned;
  keep(tape, turned, store);
  return store.see === 'pass' ? turned : { q: turned.q, k: store.keys, v: store.values };
}

function expectStore(tape: Tape, { k, v }: Heads, { keys, values, slots }: Store): void {
  expectFloats(tape, 'turnHeads', k, v, keys, values);
  expectTensor(tape, 'turnHeads slots', 'i32', slots);
  expectShape('turnHeads slots', slots, [k.shape[0]]);
  expectShape('turnHeads keys', keys, [-1, k.shape[1], k.shape[2]]);
  expectShape('turnHeads values', values, keys.shape);
  expectShape('turnHeads v', v, k.shape);
}

function keep(tape: Tape, { k, v }: Heads, { keys, values, slots }: Store): void {
  const { kernels } = tape.device;
  if (kernels.scatterPair !== undefined) kernels.scatterPair([keys, values], [k, v], slots);
  else {
    kernels.scatterRows(keys, k, slots);
    kernels.scatterRows(values, v, slots);
  }
}
