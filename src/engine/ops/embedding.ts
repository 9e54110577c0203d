/** Rows of a table by index, and their gradient added back to the rows. */
import { ShapeError } from '../../base/index.ts';
import type { Scope } from '../scope.ts';
import type { Tape } from '../tape.ts';
import type { Tensor } from '../tensor.ts';
import { expectFloats, expectShape, expectTensor } from './checks.ts';

/** out [N, C] = table [V, C] at ids i32 [N]. Ids are checked where they are made: a device cannot look without waiting. */
export function embedding(tape: Tape, table: Tensor, ids: Tensor): Tensor {
  expectFloats(tape, 'embedding', table);
  expectTensor(tape, 'embedding', 'i32', ids);
  expectShape('embedding table', table, [-1, -1]);
  expectShape('embedding ids', ids, [-1]);
  const { kernels } = tape.device;
  const out = tape.empty([ids.size, table.shape[1]], 'embedding', table.dtype);
  kernels.gatherRows(out, table, ids);
  tape.record('embedding', [table], out, [ids], (dy, gradients) =>
    gradients.into(table, (dTable, accumulate) => {
      if (!accumulate) kernels.fill(dTable, 0);
      kernels.scatterAddRows(dTable, dy, ids);
    }),
  );
  return out;
}

/** Token ids as a tensor, each checked against the vocabulary. */
export function tokenIds(scope: Scope, ids: Int32Array, vocabulary: number): Tensor {
  const bad = ids.findIndex((id) => id < 0 || id >= vocabulary);
  if (bad >= 0) {
    throw new ShapeError({
      call: 'token ids',
      expected: `ids from 0 to ${vocabulary - 1}`,
      found: `${ids[bad]} at position ${bad}`,
    });
  }
  return scope.from(ids, [ids.length], 'token ids');
}
