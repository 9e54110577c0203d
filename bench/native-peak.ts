/**
 * What the processor can do at most: a C loop of independent fused multiply-adds that never leaves the registers, at each
 * vector width the processor has, on one and more threads. Compiled with `cc` when there is one.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Peak {
  readonly bits: number;
  readonly threads: number;
  readonly gflops: number;
}

const source = String.raw`
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
#define STEPS 1000000L
#define SUMS(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)
#define DECLARE(i) V s##i = x * (float)i;
#define FUSE(i) s##i = s##i * x + y;
#define TOTAL(i) + s##i[0]
#define KERNEL(BITS) \
  static float run##BITS(void) { \
    typedef float V __attribute__((vector_size(BITS / 8))); \
    V x = (V){0} + 0.999999f, y = (V){0} + 1e-9f; \
    SUMS(DECLARE) \
    for (long step = 0; step < STEPS; step++) { SUMS(FUSE) __asm__ volatile("" ::: "memory"); } \
    return 0 SUMS(TOTAL); \
  }
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
KERNEL(128)
#endif
#ifdef __AVX2__
KERNEL(256)
#endif
#ifdef __AVX512F__
KERNEL(512)
#endif
static volatile float sink;
static float (*kernel)(void);
static pthread_barrier_t gate;
static void *work(void *times) {
  pthread_barrier_wait(&gate);
  ((double *)times)[0] = now();
  sink = kernel();
  ((double *)times)[1] = now();
  return 0;
}
static void measure(int bits, int threads, float (*body)(void)) {
  double best = 0;
  kernel = body;
  for (int round = 0; round < 60; round++) {
    pthread_t others[64];
    double times[64][2], first = 1e300, last = 0;
    pthread_barrier_init(&gate, 0, threads);
    for (int i = 0; i < threads; i++) pthread_create(&others[i], 0, work, times[i]);
    for (int i = 0; i < threads; i++) {
      pthread_join(others[i], 0);
      if (times[i][0] < first) first = times[i][0];
      if (times[i][1] > last) last = times[i][1];
    }
    pthread_barrier_destroy(&gate);
    double rate = 2.0 * 12 * STEPS * (bits / 32) * threads / (last - first) / 1e9;
    if (rate > best) best = rate;
  }
  printf("%d %d %f\n", bits, threads, best);
}
int main(int count, char **values) {
  for (int i = 1; i < count; i++) {
    int threads = atoi(values[i]);
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    measure(128, threads, run128);
#endif
#ifdef __AVX2__
    measure(256, threads, run256);
#endif
#ifdef __AVX512F__
    measure(512, threads, run512);
#endif
  }
}`;

/** Undefined where there is no C compiler. */
export function measureNativePeaks(threads: readonly number[]): Peak[] | undefined {
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'native-peak-'));
  try {
    const [file, program] = [join(folder, 'peak.c'), join(folder, 'peak')];
    writeFileSync(file, source);
    execFileSync('cc', ['-O3', '-march=native', '-ffp-contract=fast', '-pthread', file, '-o', program]);
    const output = execFileSync(program, threads.map(String), { encoding: 'utf8' });
    return output
      .trim()
      .split('\n')
      .map((line) => line.split(' ').map(Number))
      .map(([bits, count, gflops]) => ({ bits, threads: count, gflops }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
