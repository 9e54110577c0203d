/** The reference device with lanes, as a GPU has them: products with the factors of all lanes at once, whose rows begin at multiples of 8. */
import { type Device, Scope } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';

export function createLaneDevice(): Device {
  const { independentRows: _independentRows, ...device } = createReferenceDevice();
  const { jointFits: _jointFits, ...kernels } = device.kernels;
  kernels.laneProducts = (products, options) => {
    for (const { out, a, b } of products) kernels.matmul(out, a, b, options);
  };
  kernels.sumSquaresOf = (out, xs) => {
    xs.forEach((x, i) => {
      kernels.sumSquares(out, x, i > 0);
    });
  };
  kernels.adamwOf = (all, squaredNorm, options) => {
    for (const { parameter, gradient, m, v, target } of all)
      kernels.adamw(parameter, gradient, m, v, target, squaredNorm, options);
  };
  const lanes: Device = { ...device, lanes: 8, kernels };
  kernels.segmentSquares = (out, x, ranges) => {
    using scope = new Scope(lanes);
    const [squares, sums] = [scope.empty(x.shape, 'squares'), scope.empty(out.shape, 'sums')];
    kernels.unary('square', squares, x);
    kernels.segmentSum(sums, squares, ranges);
    kernels.add(out, sums);
  };
  return lanes;
}
