// Jobs over threads. A job is a kernel id, a pointer to its arguments and a number of shards. The main thread publishes jobs into a
// ring of slots and goes on; they run one after another, each when the one before it has ended, by whoever is free: workers at any
// time, the main thread while it waits. A slot's ticket packs (number of the job, shards, next) into 64 bits, and a claim is one atomic
// addition to it; whoever claims a shard of a later job than it meant to, because it was late and the slot has been used again, keeps
// it until that job's turn has come. Who finishes the last shard of a job moves on to the next. Threads spin a bounded while and
// then sleep: workers until a job is published, all until the job under way has ended; a browser's page may not sleep.
import { CONTROL, QUEUE, SLOTS, becomeThread } from './layout';
import { runShard } from './jobs';
import { SHARED } from './tile';

/** Each field has a cache line of its own. Number of jobs published, and of those that have ended. */
const PUBLISHED: usize = CONTROL;
const ENDED: usize = CONTROL + 64;
/** Workers asleep for want of a job, and threads asleep until one ends. */
const SLEEPERS: usize = CONTROL + 128;
const WAITERS: usize = CONTROL + 192;
const STOP: usize = CONTROL + 256;
const FAILED: usize = CONTROL + 320;
/** How often the main thread may sleep over one job, 0 where it may not, and how many jobs it waits for. */
const MAY_SLEEP: usize = CONTROL + 384;
const GOAL: usize = CONTROL + 388;
/** The job that the main thread slept over last, and how often. */
const NAPPED: usize = CONTROL + 392;
const NAPS: usize = CONTROL + 396;
/** Values of FAILED: a shard trapped, or one that a thread has claimed never ends. */
const TRAPPED: i32 = 1;
const STALLED: i32 = 2;

/** Fields of a slot, behind its ticket. */
const SLOT_BYTES: usize = 64;
const JOB: usize = 8;
const POINTER: usize = 12;
const DONE: usize = 16;

/**
 * Spins before a thread sleeps, about 100 µs: longer than the host mostly needs between two jobs of one step, for waking a
 * sleeper takes as long as a small job; short enough for an idle device to cool and for a thread that has no core to get one.
 */
const SPINS: i32 = 100_000;
/** Longest sleep over a job under way: a failed worker notifies nobody. 10 ms. */
const NAP: i64 = 10_000_000;

// @ts-ignore: decorator
@inline
function slotOf(job: i32): usize {
  return QUEUE + <usize>(job & (SLOTS - 1)) * SLOT_BYTES;
}

/** Runs shards of the first job that has not ended, until none is left to claim. */
function claimShards(): void {
  const first = atomic.load<i32>(ENDED);
  // Past the last shard `next` grows on, by one for each thread that was late: shards stay far enough below 2^16 for it.
  if (first == atomic.load<i32>(PUBLISHED) || isClaimed(first)) return;
  const slot = slotOf(first);
  while (true) {
    const ticket = atomic.add<i64>(slot, 1);
    const next = <i32>(ticket & 0xffff);
    const shards = <i32>((ticket >> 16) & 0xffff);
    if (next >= shards) return;
    const job = <i32>(ticket >> 32);
    while (atomic.load<i32>(ENDED) != job) if (atomic.load<i32>(FAILED) != 0) return;
    runShard(atomic.load<i32>(slot + JOB), atomic.load<usize>(slot + POINTER), next);
    if (atomic.add<i32>(slot + DONE, 1) + 1 == shards) {
      atomic.store<i32>(ENDED, job + 1);
      if (SHARED && atomic.load<i32>(WAITERS) != 0) atomic.notify(ENDED, -1);
    }
  }
}

/** Waits a while for the end of a job that is under way: spins, then naps once. */
function awaitEnd(job: i32, maySleep: bool): void {
  let spins = SPINS;
  while (atomic.load<i32>(ENDED) == job) {
    if (atomic.load<i32>(FAILED) != 0) return;
    if (spins > 0 || !maySleep) {
      spins--;
      continue;
    }
    // Nothing is kept in a local across the sleep: the baseline compiler of V8 11.3 (Node 20) loses locals over an atomic wait.
    atomic.add<i32>(WAITERS, 1);
    if (SHARED) atomic.wait<i32>(ENDED, job, NAP);
    atomic.sub<i32>(WAITERS, 1);
    return;
  }
}

/** Runs a job on the main thread alone. */
export function runAlone(job: i32, args: usize, shards: i32): void {
  for (let shard = 0; shard < shards; shard++) runShard(job, args, shard);
}

/** Queues a job of at most 60,000 shards. The host sees to it that fewer than SLOTS jobs are published and have not ended. */
export function publish(job: i32, args: usize, shards: i32): void {
  const index = atomic.load<i32>(PUBLISHED);
  const slot = slotOf(index);
  atomic.store<i32>(slot + JOB, job);
  atomic.store<usize>(slot + POINTER, args);
  atomic.store<i32>(slot + DONE, 0);
  atomic.store<i64>(slot, (<i64>index << 32) | (<i64>shards << 16));
  atomic.store<i32>(PUBLISHED, index + 1);
  if (SHARED && atomic.load<i32>(SLEEPERS) > 0) atomic.notify(PUBLISHED, -1);
}

/** Works along until so many jobs have ended, counted from the first. Traps when a thread has failed. */
export function awaitJobs(count: i32): void {
  atomic.store<i32>(GOAL, count);
  while (atomic.load<i32>(ENDED) - atomic.load<i32>(GOAL) < 0) {
    if (atomic.load<i32>(FAILED) != 0) unreachable();
    claimShards();
    const ended = atomic.load<i32>(ENDED);
    if (ended - atomic.load<i32>(GOAL) >= 0 || !isClaimed(ended)) continue;
    awaitEnd(ended, atomic.load<i32>(MAY_SLEEP) != 0);
    countNap();
  }
}

/** Gives up a job that goes on for too many naps: the thread that has its last shard was ended from outside. */
function countNap(): void {
  const ended = atomic.load<i32>(ENDED);
  if (ended != atomic.load<i32>(NAPPED)) {
    atomic.store<i32>(NAPPED, ended);
    atomic.store<i32>(NAPS, 0);
    return;
  }
  const most = atomic.load<i32>(MAY_SLEEP);
  if (most > 0 && atomic.add<i32>(NAPS, 1) >= most) atomic.store<i32>(FAILED, STALLED);
}

/** Called once by a main thread that may sleep; `naps`: how often over one job. */
export function allowSleep(naps: i32): void {
  atomic.store<i32>(MAY_SLEEP, naps);
}

/** Waits for a job to be published after the first `count`: spins, then sleeps. */
function awaitJob(count: i32): void {
  let spins = SPINS;
  while (atomic.load<i32>(PUBLISHED) == count && spins > 0) spins--;
  if (spins > 0) return;
  atomic.add<i32>(SLEEPERS, 1);
  if (SHARED && atomic.load<i32>(STOP) == 0) atomic.wait<i32>(PUBLISHED, count, -1);
  atomic.sub<i32>(SLEEPERS, 1);
}

/** A worker's whole life. */
export function workerLoop(thread: i32): void {
  becomeThread(thread);
  while (SHARED && atomic.load<i32>(STOP) == 0) {
    claimShards();
    const ended = atomic.load<i32>(ENDED);
    if (ended == atomic.load<i32>(PUBLISHED)) awaitJob(ended);
    else if (isClaimed(ended)) awaitEnd(ended, true);
  }
}

/** Whether no shard of a job under way is left to claim. */
function isClaimed(job: i32): bool {
  const ticket = atomic.load<i64>(slotOf(job));
  return <i32>(ticket & 0xffff) >= <i32>((ticket >> 16) & 0xffff);
}

/** Ends every worker. */
export function stopWorkers(): void {
  atomic.store<i32>(STOP, 1);
  atomic.add<i32>(PUBLISHED, 1);
  atomic.notify(PUBLISHED, -1);
}

/** How many workers are asleep for want of a job. */
export function countSleepers(): i32 {
  return atomic.load<i32>(SLEEPERS);
}

/** Called by a thread whose shard trapped. */
export function reportFailure(): void {
  if (atomic.load<i32>(FAILED) == 0) atomic.store<i32>(FAILED, TRAPPED);
}

/** Whether a thread that has a shard does not go on with it. */
export function hasStalled(): bool {
  return atomic.load<i32>(FAILED) == STALLED;
}
