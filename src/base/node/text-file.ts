/** Text files in UTF-8, with or without a byte order mark. Bytes that are not text are an error, never replaced in silence. */
import { UserError } from '../errors.ts';

export function decodeText(bytes: Uint8Array, path: string): string {
  try {
    // The decoder drops a byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new UserError({ call: `read ${path}`, expected: 'text in UTF-8', found: 'other bytes' }, { cause });
  }
}
