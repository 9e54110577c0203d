/**
 * One run on several ranks of this machine: seconds of an update, and how much of them is spent between ranks. `waiting` is the time
 * until the slowest rank has come to a call (unequal work), `moving` the time that the bytes take.
 *   npm run bench -- parallel [--ranks 1,2] [--updates 5] [--recipe micro-vanilla] [--set key=value …]
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { coresEach, coresVariable, RunDirectory, resolveConfig } from '../src/lab/index.ts';
import { trainRun } from '../src/lab/train-run.ts';
import { type Communicator, joinRanks, launchedRanks } from '../src/parallel/index.ts';
import { mpirunArguments } from '../src/parallel/launcher.ts';
import type { Sink } from '../src/run/sink.ts';

const { values: options } = parseArgs({
  options: {
    ranks: { type: 'string', default: '1,2' },
    updates: { type: 'string', default: '5' },
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

/** Trains as one of the ranks. The first update is left out: it warms caches and sandboxes. */
async function trainAsRank(communicator: Timed): Promise<void> {
  const updates = Number(options.updates) + 1;
  const shards = Math.max(8, communicator.size);
  const settings = [
    `updates=${updates}`,
    `parallel.shards=${shards}`,
    `output.checkpointEvery=${updates}`,
    ...options.set,
  ];
  const { config } = await resolveConfig(options.recipe, settings);
  const run = communicator.rank === 0 ? RunDirectory.create(options.out) : RunDirectory.follow(options.out);
  let start = 0;
  let end = 0;
  const watch: Sink = {
    name: 'bench',
    event: (event) => {
      if (event.kind !== 'step') return;
      end = performance.now();
      if (event.update !== 1) return;
      start = end;
      Object.assign(communicator, { waiting: 0, moving: 0, bytes: 0 });
    },
  };
  await trainRun(config, run, { communicator, sinks: [watch] });
  const counted = updates - 1;
  const { size, waiting, moving, bytes } = communicator;
  const each = [end - start, waiting * 1000, moving * 1000].map((ms) => ms / 1000 / counted);
  if (communicator.rank === 0) process.stdout.write(`${JSON.stringify([size, ...each, bytes / counted])}\n`);
}

const launched = launchedRanks();
if (launched !== null) {
  process.env[coresVariable] ??= `${coresEach(launched.localSize)}`;
  const communicator = new Timed(await joinRanks(launched));
  await trainAsRank(communicator);
  await communicator.close();
} else {
  process.stdout.write('ranks  s/update  speed-up  waiting  moving  MB sent by rank 0\n');
  let alone: number | undefined;
  for (const ranks of options.ranks.split(',').map(Number)) {
    const folder = mkdtempSync(join(tmpdir(), 'gq-bench-'));
    const command = [process.execPath, ...process.argv.slice(1), '--out', join(folder, 'run')];
    const argv = mpirunArguments(ranks, command, process.getuid?.() === 0);
    const { status, stdout, stderr } = spawnSync('mpirun', argv, { encoding: 'utf8' });
    rmSync(folder, { recursive: true, force: true });
    if (status !== 0) throw new Error(`${ranks} ranks ended with ${status}: ${stderr}`);
    const [, seconds, waiting, moving, bytes] = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as number[];
    alone ??= seconds;
    const share = (part: number): string => `${((100 * part) / seconds).toFixed(1)} %`.padStart(7);
    const columns = [`${ranks}`.padStart(5), seconds.toFixed(3).padStart(8), (alone / seconds).toFixed(2).padStart(8)];
    process.stdout.write(`${[...columns, share(waiting), share(moving)].join('  ')}  ${(bytes / 1e6).toFixed(2)}\n`);
  }
}
