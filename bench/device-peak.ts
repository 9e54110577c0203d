/**
 * Preloaded (`node --import`) into a process of the lab: when it ends it writes to the file DEVICE_PEAK how large the device's memory was made
 * (on a GPU what the plan said) and the most of it that was in use.
 */
import { writeFileSync } from 'node:fs';
import { Arena } from '../src/engine/arena.ts';

/** Names the file. */
export const peakVariable = 'DEVICE_PEAK';

const arenas = new Set<Arena>();
const { alloc } = Arena.prototype;
Arena.prototype.alloc = function (this: Arena, ...given: Parameters<typeof alloc>) {
  arenas.add(this);
  return alloc.apply(this, given);
};
process.on('exit', () => {
  const largest = [...arenas]
    .filter(({ device }) => device !== 'cuda host' && device !== 'counting')
    .sort((a, b) => b.peak - a.peak)[0];
  const file = process.env[peakVariable];
  if (file === undefined || largest === undefined) return;
  const memory = { plannedBytes: largest.capacity, peakBytes: largest.peak };
  writeFileSync(file, `${JSON.stringify(memory)}\n`);
});
