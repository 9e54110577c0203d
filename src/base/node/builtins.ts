/**
 * The parts of Node's own modules that files of the trainer need. They import them from this folder and not from Node, because a browser has
 * others in the place of the whole folder (base/browser).
 */
import { createHash, webcrypto } from 'node:crypto';
import { loadavg } from 'node:os';

export { existsSync } from 'node:fs';
export { stat } from 'node:fs/promises';
export { availableParallelism } from 'node:os';
export { basename, join } from 'node:path';
export { setImmediate as nextTask } from 'node:timers/promises';
export { deserialize, serialize } from 'node:v8';

/** Processes that ran or waited in the last minute, on average. */
export const loadAverage = (): number => loadavg()[0];

/** Bytes above which a hash is made by another thread: below, handing them over takes longer than hashing them. */
const mostBytesHere = 65_536;

/** The SHA-256 of numbers, off this thread where that is sooner. */
export async function digestNumbers(values: Float32Array): Promise<Uint8Array> {
  if (values.byteLength <= mostBytesHere) return createHash('sha256').update(values).digest();
  return new Uint8Array(
    await webcrypto.subtle.digest(
      'SHA-256',
      new Uint8Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength),
    ),
  );
}
