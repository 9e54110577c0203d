/**
 * One run on several ranks of this machine: seconds of an update, and how much of them is spent between ranks. `waiting` is the time
 * until the slowest rank has come to a call (unequal work), `moving` the time that the bytes take; both together are communication.
 * 0 ranks is the run without shards, in one process: what everybody has who asks for no ranks. One command prints the whole table:
 *   npm run bench -- parallel [--ranks 0,1,2] [--updates 5] [--minutes 4] [--recipe micro-vanilla] [--set key=value …]
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { coresEach, coresVariable, RunDirectory, resolveConfig } from '../src/lab/index.ts';
import { trainRun } from '../src/lab/train.ts';
import { type Communicator, joinRanks, launchedRanks, alone as oneProcess } from '../src/parallel/index.ts';
import { mpirunArguments } from '../src/parallel/launcher.ts';
import type { Sink } from '../src/run/sink.ts';

/** No ranks, and every power of two that has a core for each rank. */
function usualRanks(): string {
  const most = Math.floor(Math.log2(availableParallelism()));
  return [0, ...Array.from({ length: most + 1 }, (_, i) => 2 ** i)].join(',');
}

const { values: options } = parseArgs({
  options: {
    ranks: { type: 'string', default: usualRanks() },
    updates: { type: 'string', default: '5' },
    minutes: { type: 'string', default: '4' },
    shards: { type: 'string', default: '' },
    seconds: { type: 'string', default: '' },
    recipe: { type: 'string', default: 'micro-vanilla' },
    set: { type: 'string', multiple: true, default: [] },
    out: { type: 'string', default: '' },
  },
});

/** A communicator that counts the seconds in it, and the bytes that this rank sent. */
class Timed implements Communicator {
  readonly #inner: Communicator;
  waiting = 0;
  moving = 0;
  bytes = 0;

  constructor(inner: Communicator) {
    this.#inner = inner;
  }

  get rank(): number {
    return this.#inner.rank;
  }

  get size(): number {
    return this.#inner.size;
  }

  async #time<Result>(bytes: number, call: () => Promise<Result>): Promise<Result> {
    const start = performance.now();
    await this.#inner.barrier();
    const met = performance.now();
    const result = await call();
    this.waiting += (met - start) / 1000;
    this.moving += (performance.now() - met) / 1000;
    this.bytes += bytes;
    return result;
  }

  exchange(peer: number, send: Uint8Array, receive: Uint8Array): Promise<void> {
    return this.#time(send.length, () => this.#inner.exchange(peer, send, receive));
  }

  broadcast(root: number, bytes: Uint8Array): Promise<Uint8Array> {
    return this.#time(this.rank === root ? bytes.length * (this.size - 1) : 0, () =>
      this.#inner.broadcast(root, bytes),
    );
  }

  allGather(bytes: Uint8Array): Promise<readonly Uint8Array[]> {
    return this.#time(bytes.length * (this.size - 1), () => this.#inner.allGather(bytes));
  }

  barrier(): Promise<void> {
    return this.#time(0, async () => undefined);
  }

  abort(reason: string, exitCode: number): Promise<boolean> {
    return this.#inner.abort(reason, exitCode);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

/** Trains as one of the ranks. The first update is left out: it warms caches and sandboxes. Ends early when the time is over. */
async function trainAsRank(communicator: Timed): Promise<void> {
  const updates = Number(options.updates) + 1;
  const settings = [`updates=${updates}`, `parallel.shards=${options.shards}`, `output.checkpointEvery=${updates}`];
  const { config } = await resolveConfig(options.recipe, [...settings, ...options.set]);
  const run = communicator.rank === 0 ? RunDirectory.create(options.out) : RunDirectory.follow(options.out);
  const stop = new AbortController();
  const began = performance.now();
  let start = 0;
  let counted = 0;
  let told: readonly number[] = [];
  const watch: Sink = {
    name: 'bench',
    event: (event) => {
      if (event.kind !== 'step') return;
      const end = performance.now();
      if (event.update === 1) {
        start = end;
        Object.assign(communicator, { waiting: 0, moving: 0, bytes: 0 });
        return;
      }
      counted++;
      const { waiting, moving, bytes } = communicator;
      told = [counted, (end - start) / 1000, waiting, moving, bytes].map((each, i) =>
        i === 0 ? each : each / counted,
      );
      if (end - began > Number(options.seconds) * 1000) stop.abort();
    },
  };
  await trainRun(config, run, { communicator, sinks: [watch], signal: stop.signal });
  if (communicator.rank === 0) process.stdout.write(`${JSON.stringify(told)}\n`);
}

/** Runs one line of the table in processes of its own, and returns what rank 0 measured. */
function measure(ranks: number, shards: number, seconds: number): readonly number[] {
  const folder = mkdtempSync(join(tmpdir(), 'gq-bench-'));
  const own = ['--out', join(folder, 'run'), '--shards', `${ranks === 0 ? 0 : shards}`, '--seconds', `${seconds}`];
  const command = [process.execPath, ...process.argv.slice(1), ...own];
  const argv = ranks === 0 ? command : ['mpirun', ...mpirunArguments(ranks, command, process.getuid?.() === 0)];
  const { status, stdout, stderr, error } = spawnSync(argv[0], argv.slice(1), { encoding: 'utf8' });
  rmSync(folder, { recursive: true, force: true });
  if (status !== 0) throw new Error(`${ranks} ranks ended with ${status}: ${error?.message ?? stderr}`);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as number[];
}

function printTable(): void {
  const sizes = options.ranks.split(',').map(Number);
  const shards = Math.max(8, ...sizes);
  const load = loadavg()
    .map((each) => each.toFixed(1))
    .join(' ');
  process.stdout.write(`${options.recipe}, ${shards} shards; ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), `); // biome-ignore format: one line
  process.stdout.write(`load before ${load}, Node ${process.version}\n`);
  process.stdout.write(
    'ranks  cores each  updates  s/update  speed-up  communication  waiting   moving  MB sent by rank 0\n',
  );
  let first: number | undefined;
  for (const ranks of sizes) {
    const cores = coresEach(Math.max(1, ranks));
    const [updates, seconds, waiting, moving, bytes] = measure(
      ranks,
      shards,
      (Number(options.minutes) * 60) / sizes.length,
    );
    first ??= seconds;
    const share = (part: number): string => `${((100 * part) / seconds).toFixed(1)} %`;
    const shares = [waiting + moving, waiting, moving].map(share);
    const columns = [
      ranks,
      cores,
      updates,
      seconds.toFixed(3),
      (first / seconds).toFixed(2),
      ...shares,
      (bytes / 1e6).toFixed(2),
    ];
    const widths = [5, 12, 9, 10, 10, 15, 9, 9, 19];
    process.stdout.write(`${columns.map((each, i) => `${each}`.padStart(widths[i])).join('')}\n`);
  }
}

const launched = launchedRanks();
if (launched === null && options.out === '') printTable();
else {
  process.env[coresVariable] ??= `${coresEach(launched?.localSize ?? 1)}`;
  const communicator = new Timed(launched === null ? oneProcess : await joinRanks(launched));
  await trainAsRank(communicator);
  await communicator.close();
}
