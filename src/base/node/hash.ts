/**
 * SHA-256 of bytes, files and JSON values: the identity of data, configurations and code.
 */
import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { canonicalJson } from '../canonical-json.ts';
import { streamRegular } from './regular-file.ts';

/** The hash in lower-case hexadecimal; a string is hashed as UTF-8. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** Reads the file in pieces: it may be larger than memory. The signal ends it with its reason. */
export async function sha256File(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const ended = signal === undefined ? {} : { signal };
  try {
    await pipeline(streamRegular(path, 2 ** 20), hash, ended);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
  return hash.digest('hex');
}

export function sha256Json(value: unknown): string {
  return sha256(canonicalJson(value));
}
