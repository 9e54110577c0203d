/**
 * Seconds from the call of `gq train` to its first sampled tokens, by what the run itself says of its start: once with an empty cache
 * folder, as on a machine that never saw the model and the problems, and then with the cache that the first left. Each run is ended
 * when it has begun to sample. Every file of the model is read once before, so that the page cache has it.
 *   node bench/first-token.ts --model DIR --problems FILE [--recipe recipes/qwen3-4b-full-symmetric.toml] [--set KEY=VALUE]... [--runs 3]
 *     [--out FOLDER] [--json]
 */
import { spawn } from 'node:child_process';
import { createReadStream, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    problems: { type: 'string' },
    recipe: { type: 'string', default: 'recipes/qwen3-4b-full-symmetric.toml' },
    set: { type: 'string', multiple: true, default: [] },
    runs: { type: 'string', default: '3' },
    out: { type: 'string', default: tmpdir() },
    json: { type: 'boolean', default: false },
  },
});
if (values.model === undefined || values.problems === undefined)
  throw new Error('first-token: expected --model DIR --problems FILE');

interface Start {
  /** Seconds of the whole command until it sampled; null where it ended before. */
  readonly total: number | null;
  readonly parts: Readonly<Record<string, number>>;
  readonly failed: string | null;
}

const command = fileURLToPath(new URL('../bin/gq.mjs', import.meta.url));
const home = mkdtempSync(join(values.out, 'gq-first-'));

/** Reads every file of the model once, so that the system has them in memory. */
async function warmPages(folder: string): Promise<void> {
  for (const name of readdirSync(folder)) {
    for await (const _ of createReadStream(join(folder, name), { highWaterMark: 2 ** 22 }));
  }
}

async function startOnce(run: string): Promise<Start> {
  const asked = [
    `model=${JSON.stringify(values.model)}`,
    `data.path=${JSON.stringify(values.problems)}`,
    ...values.set,
  ];
  const settings = asked.flatMap((each) => ['--set', each]);
  const begun = performance.now();
  const child = spawn(process.execPath, [command, 'train', values.recipe, ...settings, '--out', run, '--json'], {
    env: { ...process.env, GQ_CACHE: join(home, 'cache') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  let error = '';
  child.stderr.on('data', (text) => {
    error += text;
  });
  let [total, parts]: [number | null, Record<string, number>] = [null, {}];
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line);
    if (event.kind === 'info' && event.name === 'start') {
      total = (performance.now() - begun) / 1000;
      parts = { program: total - event.detail.total, ...event.detail.seconds };
    }
    // A start of less than five seconds is not told: the first update is then the first sign.
    if (total !== null || event.kind === 'step') break;
  }
  child.kill('SIGKILL');
  await ended;
  const failed = total === null ? (error.trim().split('\n').at(-1) ?? 'no start was told') : null;
  return { total, parts, failed };
}

try {
  await warmPages(values.model);
  const starts: Start[] = [];
  for (let i = 0; i < Number(values.runs); i++) {
    const start = await startOnce(join(home, `run-${i}`));
    starts.push(start);
    const parts = Object.entries(start.parts).map(([part, seconds]) => `${part} ${seconds.toFixed(1)}`);
    const what = i === 0 ? 'empty cache' : 'kept cache ';
    if (!values.json) console.log(start.failed ?? `${what} ${start.total?.toFixed(1)} s: ${parts.join(', ')}`);
    rmSync(join(home, `run-${i}`), { recursive: true, force: true });
  }
  if (values.json) console.log(JSON.stringify(starts));
} finally {
  rmSync(home, { recursive: true, force: true });
}
