/** lora: A0 ~ N(0, 1/C) and B0 ~ N(0, 1/2R), each module with random streams of its own. */
import { randomStream } from '../../base/index.ts';
import { defineStart } from './start.ts';

export const lora = defineStart({
  name: 'lora',
  summary: 'Gaussian factors, seeded per module',
  needsPairs: false,
  needsWeight: false,
  parametrisation: 'linear',
  factors({ module, outputs, inputs, rank, seed }) {
    const A0 = new Float32Array(2 * rank * inputs);
    const B0 = new Float32Array(outputs * 2 * rank);
    randomStream(seed, ['adapter', module, 'A']).fillNormal(A0, 1 / Math.sqrt(inputs));
    randomStream(seed, ['adapter', module, 'B']).fillNormal(B0, 1 / Math.sqrt(2 * rank));
    return { A0, B0 };
  },
});
