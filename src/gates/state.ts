/** The state of a gate as JSON and tensors, which a checkpoint stores without knowing their meaning. */

import { z } from 'zod';
import type { StoredTensor } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import type { GateState } from './gate.ts';

const count = z.number().int().min(0);
const facts = z.strictObject({
  width: count,
  added: count,
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
  const [buffer, direction] = [saved.tensors.get('buffer'), saved.tensors.get('direction')];
  if (!read.success) throw damaged(z.prettifyError(read.error));
  if (buffer === undefined || direction === undefined) {
    throw damaged(`tensors ${[...saved.tensors.keys()].join(', ') || 'none'}`);
  }
  const { width, added, pairCuts } = read.data;
  const held = buffer.data.length;
  const whole = width === 0 ? held === 0 : held % width === 0 && direction.data.length === width;
  if (!whole || held > added * width) {
    throw damaged(
      `${held} numbers in the buffer and ${direction.data.length} in the direction, at a width of ${width}`,
    );
  }
  return { buffer: { width, added, rows: buffer.data }, direction: direction.data, pairCuts };
}

function damaged(found: string): UserError {
  return new UserError({
    call: 'restore the gate',
    expected: 'a buffer, a direction and their facts',
    found,
    fix: 'The checkpoint was damaged, or written by another arm: go on from an earlier one.',
  });
}
