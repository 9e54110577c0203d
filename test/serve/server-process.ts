/** A server of the micro model in a process of its own, for check.ts: prints its address, answers how much memory is in use, and ends when its input ends. */
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import { PolicyServer } from '../../src/serve/index.ts';
import { checkContext, checkRows } from './crowd.ts';
import { makeServed } from './served.ts';

await using made = await makeServed(await createWasmDevice(), 'micro', checkRows, checkContext);
const warn = (message: string) => process.stderr.write(`${message}\n`);
await using server = await PolicyServer.start(made.served, { host: '127.0.0.1', port: 0, token: null, warn });
process.stdout.write(`${server.url}\n`);
// Every line of input asks how much memory is in use, once what is not needed is collected (--expose-gc).
process.stdin.on('data', () => {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${heapUsed + external}\n`);
});
await new Promise((resolve) => process.stdin.once('close', resolve));
