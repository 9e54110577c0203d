// The memory map below the arena, in bytes. Everything here belongs to the kernels; the host reads the exported figures.

/** Address 0 stays unused, so that a forgotten pointer hits nothing of value; the compiler's data start at 1024. */
export const CONTROL: usize = 4096;
/** Slots of the queue of jobs, 64 bytes each; their number is a power of two. */
export const QUEUE: usize = 8192;
export const SLOTS: i32 = 128;
/** What the host hands to jobs: their arguments, 4-byte fields in the order of the job's class, and short plans. */
export const ARGUMENTS: usize = 16384;
export const ARGUMENTS_BYTES: usize = 49152;
/** Shared by all threads: packed panels, partial sums, long plans. */
export const SHARED_SCRATCH: usize = 65536;
export const SHARED_SCRATCH_BYTES: usize = 8 << 20;
/** Start of the private pieces, one for each thread. */
export const THREAD_SCRATCH: usize = SHARED_SCRATCH + SHARED_SCRATCH_BYTES;
export const THREAD_SCRATCH_BYTES: usize = 2 << 20;
/** The first part of a thread's scratch holds one register tile; the rest is `scratch()`. */
const TILE_BYTES: usize = 4096;

let thread: usize = 0;

export function becomeThread(index: i32): void {
  thread = index;
}

// @ts-ignore: decorator
@inline
export function tileScratch(): usize {
  return THREAD_SCRATCH + thread * THREAD_SCRATCH_BYTES;
}

// @ts-ignore: decorator
@inline
export function scratch(): usize {
  return tileScratch() + TILE_BYTES;
}
