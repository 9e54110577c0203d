/**
 * A server of the micro model in a process of its own, for check.ts: prints its address, answers lines of input with lines of JSON, and ends when
 * its input ends.
 *   node test/serve/server-process.ts THREADS
 */
import { createInterface } from 'node:readline';
import { randomStream } from '../../src/base/rng.ts';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import { projectRows } from '../../src/grpo/policy.ts';
import { generate } from '../../src/model/index.ts';
import { PolicyServer } from '../../src/serve/index.ts';
import { checkContext, checkRows, newTokens, promptOf } from './crowd.ts';
import { makeServed } from './served.ts';

const threads = Number(process.argv[2]);
const device = await createWasmDevice(threads > 0 ? { threads } : {});
await using made = await makeServed(device, 'micro', checkRows, checkContext);
const warn = (message: string) => process.stderr.write(`${message}\n`);
await using server = await PolicyServer.start(made.served, { host: '127.0.0.1', port: 0, token: null, warn });

/** How many bytes are in use, once what is not needed is collected (--expose-gc). */
function measureMemory(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Seconds of processor time that this process has had. */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Completes `count` prompts by `generate`, a batch at a time, and returns the number of tokens. */
async function generateAll(count: number): Promise<number> {
  const settings = { temperature: 0.7, topK: 0, topP: 1, minP: 0, stopTokens: [], maxPromptTokens: null };
  const options = { stream: randomStream(0, 'serve'), project: projectRows(made.policy) };
  let tokens = 0;
  for (let start = 0; start < count; start += checkRows) {
    const rows = Array.from({ length: checkRows }, (_, i) => ({
      prompt: Int32Array.from(promptOf(start + i, made.served)),
      row: start + i,
      scale: 1,
    }));
    const all = await generate(made.policy.decoder, rows, { ...settings, maxNewTokens: newTokens }, options);
    tokens += all.reduce((sum, { tokens: own }) => sum + own.length, 0);
  }
  return tokens;
}

process.stdout.write(`${JSON.stringify(server.url)}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const [what, count] = line.split(' ');
  const answer =
    what === 'memory' ? measureMemory() : what === 'processor' ? processorSeconds() : await generateAll(Number(count));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
