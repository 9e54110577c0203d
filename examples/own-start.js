/** An adapter start of one's own: Gaussian factors whose quarantine begins with half the size, so that it learns more slowly. */
import { defineStart, randomStream } from 'gradient-quarantine';

const halved = defineStart({
  name: 'halved',
  summary: 'Gaussian factors, those of the quarantine half as large',
  needsPairs: false,
  needsWeight: false,
  parametrisation: 'linear',
  factors({ module, outputs, inputs, rank, seed }) {
    const A0 = new Float32Array(2 * rank * inputs);
    const B0 = new Float32Array(outputs * 2 * rank);
    randomStream(seed, ['halved', module, 'A']).fillNormal(A0, 1 / Math.sqrt(inputs));
    randomStream(seed, ['halved', module, 'B']).fillNormal(B0, 1 / Math.sqrt(2 * rank));
    const quarantine = A0.subarray(rank * inputs);
    quarantine.set(quarantine.map((value) => value / 2));
    return { A0, B0 };
  },
});

export const starts = [halved];
