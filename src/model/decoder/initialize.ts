/**
 * A fresh model: every matrix from N(0, 0.02²), norms 1, biases 0, as transformers initialises these architectures.
 * Each tensor has its own random stream, named after it: its values depend on the seed and its name alone.
 */
import { randomStream } from '../../base/index.ts';
import type { DecoderConfig } from '../files/config.ts';
import type { TensorToWrite } from '../files/safetensors-writer.ts';
import { countElements, expectedTensors } from '../files/weights.ts';

const initialDeviation = 0.02;

function initialValues(name: string, shape: readonly number[], seed: number): Float32Array {
  const values = new Float32Array(countElements(shape));
  if (name.endsWith('norm.weight')) values.fill(1);
  else if (!name.endsWith('.bias')) randomStream(seed, ['initial weights', name]).fillNormal(values, initialDeviation);
  return values;
}

/** The tensors in float32; each is made when it is asked for. */
export function initialTensors(config: DecoderConfig, seed: number): TensorToWrite[] {
  return [...expectedTensors(config)].map(([name, shape]) => ({
    name,
    dtype: 'F32',
    shape,
    data: () => initialValues(name, shape, seed),
  }));
}
