/** What a gate remembers, as an opaque state: a checkpoint keeps it without knowing gates. */

import { z } from 'zod';
import type { StoredTensor } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import type { GateState } from './gate.ts';

const facts = z.strictObject({
  width: z.number(),
  added: z.number(),
  pairCuts: z.strictObject({ low: z.number(), high: z.number() }).nullable(),
});

export interface SavedGate {
  readonly json: z.infer<typeof facts>;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

export function gateStateOf({ buffer, direction, pairCuts }: GateState): SavedGate {
  const { width, added, rows } = buffer;
  return {
    json: { width, added, pairCuts },
    tensors: new Map([
      ['buffer', { shape: [width === 0 ? 0 : rows.length / width, width], data: rows }],
      ['direction', { shape: [direction.length], data: direction }],
    ]),
  };
}

export function gateStateFrom(saved: { readonly json: unknown; readonly tensors: SavedGate['tensors'] }): GateState {
  const read = facts.safeParse(saved.json);
  const [rows, direction] = [saved.tensors.get('buffer'), saved.tensors.get('direction')];
  if (!read.success || rows === undefined || direction === undefined) {
    throw new UserError({
      call: 'restore the gate',
      expected: 'a buffer, a direction and their facts',
      found: read.success ? `tensors ${[...saved.tensors.keys()].join(', ') || 'none'}` : z.prettifyError(read.error),
    });
  }
  const { width, added, pairCuts } = read.data;
  return { buffer: { width, added, rows: rows.data }, direction: direction.data, pairCuts };
}
