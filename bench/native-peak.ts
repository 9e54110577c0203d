/**
 * What the processor can do at this moment: a C loop of independent fused multiply-adds that never leaves the registers.
 * Compiled with `cc` and called in this process, so that a benchmark can measure it in turns with what it times: on a
 * shared machine the peak itself moves, and only the share of the peak beside a call says how good the call is.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadKoffi } from './koffi.ts';

export interface NativePeak {
  /** GFLOP/s of 256-bit operations on so many threads, over about 1 ms from now. */
  measure(threads: number): number;
}

const source = `
#include <pthread.h>
#include <time.h>
typedef float V __attribute__((vector_size(32)));
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
#define STEPS 500000L
#define SUMS(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)
#define DECLARE(i) V s##i = x * (float)i;
#define FUSE(i) s##i = s##i * x + y;
#define TOTAL(i) + s##i[0]
static volatile float sink;
static pthread_barrier_t gate;
static void *work(void *times) {
  V x = (V){0} + 0.999999f, y = (V){0} + 1e-9f;
  SUMS(DECLARE)
  pthread_barrier_wait(&gate);
  ((double *)times)[0] = now();
  for (long step = 0; step < STEPS; step++) { SUMS(FUSE) __asm__ volatile("" ::: "memory"); }
  ((double *)times)[1] = now();
  sink = 0 SUMS(TOTAL);
  return 0;
}
double peak(int threads) {
  pthread_t others[64];
  double times[64][2], total = 0;
  pthread_barrier_init(&gate, 0, threads);
  for (int i = 1; i < threads; i++) pthread_create(&others[i], 0, work, times[i]);
  work(times[0]);
  for (int i = 1; i < threads; i++) pthread_join(others[i], 0);
  pthread_barrier_destroy(&gate);
  for (int i = 0; i < threads; i++) total += 2.0 * 12 * 8 * STEPS / (times[i][1] - times[i][0]) / 1e9;
  return total;
}`;

/** The loop, or what is missing for it. */
export async function openNativePeak(): Promise<NativePeak | string> {
  const koffi = await loadKoffi();
  if (koffi === undefined) return 'koffi is not installed';
  const folder = mkdtempSync(join(tmpdir(), 'native-peak-'));
  try {
    const [file, library] = [join(folder, 'peak.c'), join(folder, 'peak.so')];
    writeFileSync(file, source);
    execFileSync('cc', [
      '-O3',
      '-march=native',
      '-ffp-contract=fast',
      '-fPIC',
      '-shared',
      '-pthread',
      file,
      '-o',
      library,
    ]);
    const peak = koffi.load(library).func('double peak(int)');
    return { measure: (threads) => peak(threads) as number };
  } catch (cause) {
    return `no C compiler, or no 256-bit fused multiply-add here (${cause instanceof Error ? cause.message : String(cause)})`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
