/**
 * The server under load: 64 honest clients and 8 hostile ones ask the micro model for 5 minutes. No answer may be lost, mixed up or other than alone;
 * memory must stay flat; throughput of the honest clients alone is compared with `generate` of as many rows.
 *   node test/serve/check.ts [--seconds 300] [--clients 64]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { randomStream } from '../../src/base/rng.ts';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import { projectRows } from '../../src/grpo/policy.ts';
import { generate } from '../../src/model/index.ts';
import {
  checkContext,
  checkRows,
  honestClient,
  hostileClient,
  makeQuestions,
  newTokens,
  type Question,
  type Tally,
} from './crowd.ts';
import { type MadePolicy, makeServed } from './served.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '300' }, clients: { type: 'string', default: '64' } },
});
const [rounds, roundMs] = [7, 5000];
const [seconds, clients] = [Number(values.seconds), Number(values.clients)];

/** Tokens per second of `generate` with as many rows as there are clients, again and again for some time. */
async function measureGenerate(
  { policy, served }: MadePolicy,
  questions: readonly Question[],
  milliseconds: number,
): Promise<number> {
  const stopTokens = served.text.stopTokens;
  const settings = {
    temperature: 0.7,
    topK: 0,
    topP: 1,
    minP: 0,
    maxNewTokens: newTokens,
    stopTokens,
    maxPromptTokens: null,
  };
  const rows = questions
    .slice(0, clients)
    .map(({ prompt, seed }) => ({ prompt: Int32Array.from(prompt), row: seed, scale: 1 }));
  const options = { stream: randomStream(0, 'serve'), project: projectRows(policy) };
  const start = performance.now();
  let tokens = 0;
  while (performance.now() < start + milliseconds) {
    for (const { tokens: made } of await generate(policy.decoder, rows, settings, options)) tokens += made.length;
  }
  return (1000 * tokens) / (performance.now() - start);
}

async function honest(
  url: string,
  questions: readonly Question[],
  milliseconds: number,
): Promise<Tally & { perSecond: number }> {
  const start = Date.now();
  const tallies = await Promise.all(
    Array.from({ length: clients }, (_, client) => honestClient(url, questions, client, start + milliseconds)),
  );
  const sum = (key: Exclude<keyof Tally, 'reason'>): number => tallies.reduce((total, tally) => total + tally[key], 0);
  const tokens = sum('tokens');
  const perSecond = (1000 * tokens) / (Date.now() - start);
  const reason = tallies.find((tally) => tally.lost > 0)?.reason ?? '';
  return { asked: sum('asked'), wrong: sum('wrong'), lost: sum('lost'), tokens, reason, perSecond };
}

function residentMiB(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

await using made = await makeServed(await createWasmDevice(), 'micro', 1, checkContext);
const [mixed, alike] = [await makeQuestions(made, 192, false), await makeQuestions(made, 96, true)];
const process_ = spawn(
  process.execPath,
  ['--expose-gc', fileURLToPath(new URL('./server-process.ts', import.meta.url))],
  {
    stdio: ['pipe', 'pipe', 'inherit'],
  },
);
const [address] = (await once(process_.stdout, 'data')) as [Buffer];
const url = `${address}`.trim();
const pid = process_.pid ?? 0;

/** Bytes in use, and bytes that the system has given, in MiB. */
async function measureMemory(): Promise<{ used: number; resident: number }> {
  const answer = once(process_.stdout, 'data') as Promise<[Buffer]>;
  process_.stdin.write('memory\n');
  const [text] = await answer;
  return { used: Number(`${text}`) / 2 ** 20, resident: residentMiB(pid) };
}

const until = Date.now() + 1000 * seconds;
const early = sleep(200 * seconds).then(measureMemory);
const attacks = Array.from({ length: 8 }, (_, client) => hostileClient(url, client, until));
const crowd = await honest(url, mixed, 1000 * seconds);
const attacked = (await Promise.all(attacks)).reduce((sum, count) => sum + count, 0);
const [fifth, after] = [await early, await measureMemory()];

// Other processes may take their share of the machine: the two are measured in turns, and the middle of the ratios counts.
const ratios: number[] = [];
const quiet = { asked: 0, lost: 0, wrong: 0, reason: '' };
for (let round = 0; round < rounds; round++) {
  const plain = await measureGenerate(made, alike, roundMs);
  const { perSecond, asked, lost, wrong, reason } = await honest(url, alike, roundMs);
  ratios.push(perSecond / plain);
  quiet.asked += asked;
  quiet.lost += lost;
  quiet.wrong += wrong;
  quiet.reason ||= reason;
}
process_.stdin.end();
const [code] = (await once(process_, 'exit')) as [number];

ratios.sort((a, b) => a - b);
const ratio = ratios[Math.floor(rounds / 2)];
const percent = (value: number): string => `${(100 * value).toFixed(0)}%`;
const checks: readonly (readonly [string, boolean, string])[] = [
  [
    'no answer lost',
    crowd.lost + quiet.lost === 0,
    `${crowd.lost + quiet.lost} of ${crowd.asked + quiet.asked} ${crowd.reason || quiet.reason}`,
  ],
  ['every answer is the one alone', crowd.wrong + quiet.wrong === 0, `${crowd.wrong + quiet.wrong} others`],
  [
    'memory is flat',
    after.used < 1.05 * fifth.used + 4 && after.resident < 1.25 * fifth.resident + 32,
    `${fifth.used.toFixed(0)} MiB in use after a fifth of the time and ${after.used.toFixed(0)} at the end (resident: ${fifth.resident.toFixed(0)} and ${after.resident.toFixed(0)})`,
  ],
  [
    'throughput is within 15% of generate',
    ratio > 0.85,
    `${percent(ratio)} of its tokens per second with ${checkRows} rows (${percent(ratios[0])} to ${percent(ratios[rounds - 1])} in ${rounds} rounds)`,
  ],
  ['the server ended well', code === 0, `code ${code}; ${attacked} attacks`],
];
for (const [what, holds, detail] of checks) process.stdout.write(`${holds ? 'ok  ' : 'FAIL'}  ${what}: ${detail}\n`);
process.exitCode = checks.every(([, holds]) => holds) ? 0 : 1;
