/** lora: A0 ~ N(0, 1/C) and B0 ~ N(0, 1/2R), each module with random streams of its own. */
import { randomStream } from '../../base/index.ts';
import { drawHere } from '../../base/node/index.ts';
import { defineStart } from './start.ts';

export const lora = defineStart({
  name: 'lora',
  summary: 'Gaussian factors, seeded per module',
  needsPairs: false,
  needsWeight: false,
  parametrisation: 'linear',
  async factors({ module, outputs, inputs, rank, seed }, _svd, draw = drawHere) {
    const [A0, B0] = await Promise.all([
      draw(randomStream(seed, ['adapter', module, 'A']), 2 * rank * inputs, 1 / Math.sqrt(inputs)),
      draw(randomStream(seed, ['adapter', module, 'B']), outputs * 2 * rank, 1 / Math.sqrt(2 * rank)),
    ]);
    return { A0, B0 };
  },
});
