/**
 * The server under load: 64 honest clients and 8 hostile ones ask the micro model for 5 minutes. No answer may be lost, mixed up or other than alone;
 * memory must stay flat; then the throughput of honest clients alone is compared with `generate` of as many rows.
 *   node test/serve/check.ts [--seconds 300] [--clients 64]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import { startServer } from './asked-process.ts';
import {
  checkContext,
  checkRows,
  honestClient,
  hostileClient,
  makeQuestions,
  type Question,
  type Tally,
} from './crowd.ts';
import { makeServed } from './served.ts';
import { measureThroughput } from './throughput.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '300' }, clients: { type: 'string', default: '64' } },
});
const [seconds, clients] = [Number(values.seconds), Number(values.clients)];

async function honest(url: string, questions: readonly Question[], milliseconds: number): Promise<Tally> {
  const until = Date.now() + milliseconds;
  const tallies = await Promise.all(
    Array.from({ length: clients }, (_, client) => honestClient(url, questions, client, until)),
  );
  const sum = (key: Exclude<keyof Tally, 'reason'>): number => tallies.reduce((total, tally) => total + tally[key], 0);
  const reason = tallies.find((tally) => tally.lost > 0)?.reason ?? '';
  return { asked: sum('asked'), wrong: sum('wrong'), lost: sum('lost'), tokens: sum('tokens'), reason };
}

await using made = await makeServed(await createWasmDevice(), 'micro', 1, checkContext);
const questions = await makeQuestions(made, 192);
const server = await startServer(0);
const until = Date.now() + 1000 * seconds;
const early = sleep(200 * seconds).then(() => server.memory());
const attacks = Array.from({ length: 8 }, (_, client) => hostileClient(server.url, client, until));
const crowd = await honest(server.url, questions, 1000 * seconds);
const attacked = (await Promise.all(attacks)).reduce((sum, count) => sum + count, 0);
const [fifth, after] = [await early, await server.memory()];
const code = await server.end();

const single = await startServer(1);
const speed = await measureThroughput(single, made.served);
await single.end();

const percent = (value: number): string => `${(100 * value).toFixed(0)}%`;
const hadItsCore = speed.core > 0.9;
const checks: readonly (readonly [string, boolean, string])[] = [
  ['no answer lost', crowd.lost + speed.lost === 0, `${crowd.lost} of ${crowd.asked} ${crowd.reason}`],
  ['every answer is the one alone', crowd.wrong === 0, `${crowd.wrong} others`],
  [
    'memory is flat',
    after.used < 1.05 * fifth.used + 4 && after.resident < 1.25 * fifth.resident + 32,
    `${fifth.used.toFixed(0)} MiB in use after a fifth of the time and ${after.used.toFixed(0)} at the end (resident: ${fifth.resident.toFixed(0)} and ${after.resident.toFixed(0)})`,
  ],
  [
    'throughput is within 15% of generate, by processor time',
    speed.processor > 0.85,
    `${percent(speed.processor)} of its tokens with ${checkRows} rows`,
  ],
  [
    'throughput is within 15% of generate, by the clock',
    speed.wall > 0.85 || !hadItsCore,
    `${percent(speed.wall)}${hadItsCore ? '' : `, which decides nothing: other programs left generate ${percent(speed.core)} of a core`}`,
  ],
  ['the server ended well', code === 0, `code ${code}; ${attacked} attacks`],
];
for (const [what, holds, detail] of checks) process.stdout.write(`${holds ? 'ok  ' : 'FAIL'}  ${what}: ${detail}\n`);
process.exitCode = checks.every(([, holds]) => holds) ? 0 : 1;
