/** The reference device with lanes, as a GPU has them: products with the factors of all lanes at once, whose rows begin at multiples of 8. */
import type { Device } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';

export function createLaneDevice(): Device {
  const { independentRows: _independentRows, ...device } = createReferenceDevice();
  const { jointFits: _jointFits, ...kernels } = device.kernels;
  kernels.laneProducts = (products, options) => {
    for (const { out, a, b } of products) kernels.matmul(out, a, b, options);
  };
  return { ...device, lanes: 8, kernels };
}
