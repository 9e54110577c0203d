/** Learning-rate schedules: functions of the updates completed (0 for the first update). */

/** Linear warm-up from 0, reaching 1 once `warmup` updates are completed. */
export function linearWarmup(update: number, warmup: number): number {
  return warmup <= 0 ? 1 : Math.min(1, (update + 1) / warmup);
}

/** Warm-up, then half a cosine down to `floor` at `total`. */
export function warmupCosine(update: number, warmup: number, total: number, floor = 0): number {
  if (update < warmup) return linearWarmup(update, warmup);
  const progress = total <= warmup ? 1 : Math.min(1, (update - warmup) / (total - warmup));
  return floor + (1 - floor) * 0.5 * (1 + Math.cos(Math.PI * progress));
}
