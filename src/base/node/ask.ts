/**
 * What everybody shares who asks a server of others: keys that are read from the environment and are struck out
 * of everything that a server says, bodies of a bounded size, and the words for what failed.
 */
import { UserError } from '../errors.ts';

/** The key in an environment variable; null where no variable is named, and where it has none and `optional` lets it. */
export function readKey(
  variable: string,
  { call, optional, fix }: { readonly call: string; readonly optional: boolean; readonly fix: string },
): string | null {
  if (variable === '') return null;
  const key = process.env[variable]?.trim() ?? '';
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  if (key === '' && optional) return null;
  throw new UserError({
    call,
    expected: `a key in the environment variable ${variable}`,
    found: key === '' ? 'none' : 'characters that no key has',
    fix,
  });
}

/** A text without the key, also as JSON would write it. */
export function strikeKey(text: string, key: string | null): string {
  if (key === null) return text;
  return text.replaceAll(key, '[key]').replaceAll(JSON.stringify(key).slice(1, -1), '[key]');
}

/** The whole body as text; null if it is longer than `mostBytes`: the rest is not read. */
export async function readResponse({ body }: Response, mostBytes: number): Promise<string | null> {
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    // Leaving the loop cancels the body.
    if (bytes > mostBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Seconds to wait, from a number or a date; 0 for anything else. */
export function retryAfter({ headers }: Pick<Response, 'headers'>): number {
  const text = headers.get('retry-after') ?? '';
  const seconds = /^\d+$/.test(text.trim()) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
}

/** The system's own word for a failed connection lies under fetch's. */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error ? cause.cause.message || cause.cause.name : cause.message;
}
