/** The state of a gate as JSON and tensors, which a checkpoint stores without knowing their meaning. */

import { z } from 'zod';
import type { StoredTensor } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import type { GateState } from './gate.ts';

const count = z.number().int().min(0);
const facts = z.strictObject({
  width: count.min(1),
  added: count,
  pairCuts: z.strictObject({ low: z.number(), high: z.number() }).nullable(),
});

export interface SavedGate {
  readonly json: z.infer<typeof facts>;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

export function gateStateOf({ buffer, direction, pairCuts }: GateState): SavedGate {
  const { width, added, counts, rows } = buffer;
  return {
    json: { width, added, pairCuts },
    tensors: new Map([
      ['buffer', { shape: [rows.length / width, width], data: rows }],
      ['counts', { shape: [counts.length], data: Float32Array.from(counts) }],
      ['direction', { shape: [direction.length], data: direction }],
    ]),
  };
}

export function gateStateFrom(saved: { readonly json: unknown; readonly tensors: SavedGate['tensors'] }): GateState {
  const read = facts.safeParse(saved.json);
  if (!read.success) throw damaged(z.prettifyError(read.error));
  const [buffer, counts, direction] = ['buffer', 'counts', 'direction'].map((name) => saved.tensors.get(name)?.data);
  if (buffer === undefined || counts === undefined || direction === undefined) {
    throw damaged(`tensors ${[...saved.tensors.keys()].join(', ') || 'none'}`);
  }
  const { width, added, pairCuts } = read.data;
  const rows = counts.reduce((sum, count) => sum + count, 0);
  if (direction.length !== width || buffer.length !== rows * width || counts.length > added) {
    throw damaged(
      `${buffer.length} numbers in the buffer for ${rows} rows of ${counts.length} rollouts (${added} were added) and ${direction.length} in the direction, at a width of ${width}`,
    );
  }
  return { buffer: { width, added, counts: Array.from(counts), rows: buffer }, direction, pairCuts };
}

function damaged(found: string): UserError {
  return new UserError({
    call: 'restore the gate',
    expected: 'a buffer, its counts, a direction and their facts',
    found,
    fix: 'The checkpoint was damaged, or written by another arm: go on from an earlier one.',
  });
}
