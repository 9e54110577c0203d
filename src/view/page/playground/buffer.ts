/** What the judge uses of Node's `buffer`, for a page. */
import { Buffer } from 'buffer/';

export { Buffer };

export function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
