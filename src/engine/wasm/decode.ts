/** The kernels of decoding that touch a few numbers a row: the host sees the memory, so it computes them itself. */
import type { Kernels, Tensor } from '../index.ts';
import { sampleRows } from '../index.ts';
import type { Jobs } from './jobs.ts';
import type { WasmMemory } from './webassembly.ts';

export function decodeKernels(jobs: Jobs, memory: WasmMemory): Pick<Kernels, 'advance' | 'sample'> {
  const ints = ({ offset, size }: Tensor) => new Int32Array(memory.buffer, offset, size);
  const floats = ({ offset, size }: Tensor) => new Float32Array(memory.buffer, offset, size);
  return {
    advance(counters, by) {
      jobs.finish();
      const [values, steps] = [ints(counters), ints(by)];
      for (let i = 0; i < values.length; i++) values[i] += steps[i % steps.length];
    },
    sample(ids, tokens, logps, logits, slots, rows, counts, options) {
      jobs.finish();
      const state = { ids: ints(ids), slots: ints(slots), rows: ints(rows), counts: ints(counts) };
      const history = { tokens: ints(tokens), logps: floats(logps) };
      sampleRows({ ...state, ...history, logits: floats(logits) }, tokens.shape[1], options);
    },
  };
}
