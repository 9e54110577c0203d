// Jobs over threads. A job is a kernel id, a pointer to its arguments and a number of shards; whoever is free claims the
// next shard. The ticket packs (generation, shards, next) into 64 bits, and a claim is one atomic addition to it, so that
// a late worker can never take a shard of a job it has not seen; the job's other fields are read after a claim, when the
// job cannot end before the claimant has finished. The count of finished shards is never reset: a job ends when it has
// grown by its shards. Workers spin a bounded while for the next generation and then sleep on it. The main thread works
// along and spins for the last shard; where it may (a browser's page may not) it then sleeps too, which frees its core
// for a worker that has none.
import { CONTROL, becomeThread } from './layout';
import { runShard } from './jobs';
import { SHARED } from './tile';

/** Each field has a cache line of its own. The generation is the ticket's upper half: what sleepers wait on. */
const TICKET: usize = CONTROL;
const GENERATION: usize = CONTROL + 4;
const DONE: usize = CONTROL + 64;
const SLEEPERS: usize = CONTROL + 128;
const STOP: usize = CONTROL + 192;
const FAILED: usize = CONTROL + 256;
const JOB: usize = CONTROL + 320;
const POINTER: usize = CONTROL + 324;
/** What the count of finished shards will be when the job has ended. */
const END: usize = CONTROL + 328;
/** Whether the main thread may sleep, and whether it does. */
const MAY_SLEEP: usize = CONTROL + 384;
const ASLEEP: usize = CONTROL + 388;

/**
 * Spins before a thread sleeps, about 100 µs: longer than the host mostly needs between two jobs of one step, for waking a
 * sleeper takes as long as a small job; short enough for an idle device to cool and for a thread that has no core to get one.
 */
const SPINS: i32 = 100_000;

/** Works on whatever shard is next until none is left; returns the generation it saw last. */
function claimShards(): i32 {
  while (true) {
    // Past the last shard `next` grows on, once a call: shards stay far enough below 2^16 for it.
    const ticket = atomic.add<i64>(TICKET, 1);
    const next = <i32>(ticket & 0xffff);
    const shards = <i32>((ticket >> 16) & 0xffff);
    if (next >= shards) return <i32>(ticket >> 32);
    runShard(atomic.load<i32>(JOB), atomic.load<usize>(POINTER), next);
    atomic.add<i32>(DONE, 1);
    if (SHARED && atomic.load<i32>(ASLEEP) != 0) atomic.notify(DONE, 1);
  }
}

/** Runs a job on the main thread alone. */
export function runAlone(job: i32, args: usize, shards: i32): void {
  for (let shard = 0; shard < shards; shard++) runShard(job, args, shard);
}

/** Runs a job on the main thread and the workers. At most 60,000 shards. Traps when a worker has failed, or ran what nobody asked for. */
export function runJob(job: i32, args: usize, shards: i32): void {
  atomic.store<i32>(JOB, job);
  atomic.store<usize>(POINTER, args);
  atomic.store<i32>(END, atomic.load<i32>(DONE) + shards);
  const generation = <i64>(atomic.load<i32>(GENERATION) + 1);
  atomic.store<i64>(TICKET, (generation << 32) | (<i64>shards << 16));
  if (atomic.load<i32>(SLEEPERS) > 0) atomic.notify(GENERATION, -1);
  claimShards();
  awaitShards();
}

/**
 * Waits for the last shard. Nothing is kept in a local across the sleep: the baseline compiler of V8 11.3 (Node 20) loses
 * locals over an atomic wait.
 */
function awaitShards(): void {
  let spins = SPINS;
  while (true) {
    const done = atomic.load<i32>(DONE);
    const missing = atomic.load<i32>(END) - done;
    if (missing == 0) return;
    if (atomic.load<i32>(FAILED) != 0 || missing < 0) unreachable();
    if (spins > 0 || atomic.load<i32>(MAY_SLEEP) == 0) {
      spins--;
      continue;
    }
    atomic.store<i32>(ASLEEP, 1);
    // A failed worker notifies nobody, hence the limit of 10 ms.
    if (SHARED) atomic.wait<i32>(DONE, done, 10_000_000);
    atomic.store<i32>(ASLEEP, 0);
    spins = 0;
  }
}

/** Called once by a main thread that may sleep. */
export function allowSleep(): void {
  atomic.store<i32>(MAY_SLEEP, 1);
}

/** A worker's whole life. */
export function workerLoop(thread: i32): void {
  becomeThread(thread);
  if (!SHARED) return;
  while (atomic.load<i32>(STOP) == 0) {
    const generation = claimShards();
    let spins = SPINS;
    while (atomic.load<i32>(GENERATION) == generation && spins > 0) spins--;
    if (spins > 0) continue;
    atomic.add<i32>(SLEEPERS, 1);
    if (atomic.load<i32>(STOP) == 0) atomic.wait<i32>(GENERATION, generation, -1);
    atomic.sub<i32>(SLEEPERS, 1);
  }
}

/** Ends every worker. */
export function stopWorkers(): void {
  atomic.store<i32>(STOP, 1);
  atomic.add<i32>(GENERATION, 1);
  atomic.notify(GENERATION, -1);
}

/** How many workers are asleep. */
export function countSleepers(): i32 {
  return atomic.load<i32>(SLEEPERS);
}

/** Called by a worker whose loop trapped. */
export function reportFailure(): void {
  atomic.store<i32>(FAILED, 1);
}
