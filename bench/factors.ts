/**
 * Seconds of processor time that the factors of one layer take, by its shape in Qwen3-4B, and what that makes for all 252: the
 * products, which a GPU takes over, apart from the rest, which stays on the host. Weights and pairs are Gaussian.
 *   node bench/factors.ts [--family scorda] [--rank 32] [--pairs 40] [--only q,k,o,gate,down] [--threads 1]
 */
import { parseArgs } from 'node:util';
import { iterativeSvd } from '../src/adapters/iterative-svd.ts';
import { findStart } from '../src/adapters/starts/registry.ts';
import { computeFactors } from '../src/adapters/starts/start.ts';
import { randomStream } from '../src/base/index.ts';
import { createWasmDevice } from '../src/engine/wasm/index.ts';

const { values: options } = parseArgs({
  options: {
    family: { type: 'string', default: 'scorda' },
    rank: { type: 'string', default: '32' },
    pairs: { type: 'string', default: '40' },
    only: { type: 'string', default: 'q,k,o,gate,down' },
    threads: { type: 'string', default: '1' },
  },
});

const layers = 36;
/** Name, outputs, inputs, and how many of the kind a layer has. */
const shapes: readonly (readonly [string, number, number, number])[] = [
  ['q', 4096, 2560, 1],
  ['k', 1024, 2560, 2],
  ['o', 2560, 4096, 1],
  ['gate', 9728, 2560, 2],
  ['down', 2560, 9728, 1],
];

const normal = (name: string, size: number, scale: number): Float32Array => {
  const data = new Float32Array(size);
  randomStream(1, name).fillNormal(data, scale);
  return data;
};

const device = await createWasmDevice({ threads: Number(options.threads) });
const { matmul } = device.kernels;
let inProducts = 0;
device.kernels.matmul = (...given) => {
  const before = process.cpuUsage();
  matmul.apply(device.kernels, given);
  device.finish();
  inProducts += process.cpuUsage(before).user / 1e6;
};

const start = findStart(options.family);
const rank = Number(options.rank);
const total = { products: 0, host: 0 };
for (const [name, outputs, inputs, count] of shapes) {
  if (!options.only.split(',').includes(name)) continue;
  const weight = normal(`weight ${name}`, outputs * inputs, 1 / Math.sqrt(inputs));
  const differences = normal(`pairs ${name}`, Number(options.pairs) * inputs, 1);
  inProducts = 0;
  const before = process.cpuUsage();
  await computeFactors(start, { module: name, weight, outputs, inputs, rank, seed: 1, differences }, (source, wanted) =>
    iterativeSvd(device, source, wanted),
  );
  const host = process.cpuUsage(before).user / 1e6 - inProducts;
  total.products += layers * count * inProducts;
  total.host += layers * count * host;
  console.log(`${name} [${outputs}, ${inputs}]: products ${inProducts.toFixed(2)} s, host ${host.toFixed(2)} s`);
}
console.log(`all layers: products ${total.products.toFixed(0)} s, host ${total.host.toFixed(0)} s of one core`);
device[Symbol.dispose]();
