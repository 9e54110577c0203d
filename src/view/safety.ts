/**
 * Who may ask the server: whoever has the token, since other users reach a loopback address too. There the Host must be that address, and an
 * Origin must be the page itself, so that no other site leads here; paths that write want JSON with an Origin, which no form can send.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback, isSameToken } from '../base/node/index.ts';

export type Guard = { readonly host: string; readonly port: number; readonly token: string };

const loopback = ['127.0.0.1', 'localhost', '[::1]'];

/** Null for a request that may be answered. `mayWrite`: whether the path takes lines that people write. */
export function refuse(
  method: string,
  headers: IncomingHttpHeaders,
  guard: Guard,
  mayWrite = false,
): { readonly status: 403 | 405; readonly why: string } | null {
  const isRead = method === 'GET' || method === 'HEAD';
  if (!isRead && !(mayWrite && method === 'POST')) return { status: 405, why: 'nothing can be changed here' };
  const host = headers.host ?? '';
  if (isLoopback(guard.host) && !isOwnHost(host, guard)) return { status: 403, why: 'the Host is of another site' };
  if (headers.origin !== undefined && headers.origin !== `http://${host}`) {
    return { status: 403, why: 'the Origin is of another site' };
  }
  const site = headers['sec-fetch-site'];
  if (site === 'cross-site' || site === 'same-site') return { status: 403, why: 'another site asks' };
  if (!hasToken(headers, guard.token, guard.port)) {
    return { status: 403, why: 'the token is missing: open the whole address that gq view printed' };
  }
  if (isRead) return null;
  if (headers.origin === undefined) return { status: 403, why: 'only the page itself may write' };
  if (headers['content-type'] !== 'application/json') return { status: 403, why: 'what is written must be JSON' };
  return null;
}

const isOwnHost = (host: string, { host: own, port }: Guard): boolean =>
  [...loopback, own].some((name) => host === `${name}:${port}` || (port === 80 && host === name));

/** Cookies are of a host, whatever the port: two servers of one host need two names. */
export const tokenCookie = (port: number): string => `gq-view-${port}`;

function hasToken({ cookie = '', authorization = '' }: IncomingHttpHeaders, token: string, port: number): boolean {
  const name = `${tokenCookie(port)}=`;
  const cookies = cookie.split(';').map((part) => part.trim());
  const given = cookies.find((part) => part.startsWith(name))?.slice(name.length);
  return isSameToken(given ?? encodeURIComponent(authorization.replace(/^Bearer /, '')), encodeURIComponent(token));
}

export function contentPolicy(script = "'self'", style = "'self'"): string {
  return [
    "default-src 'none'",
    `script-src ${script}`,
    `style-src ${style}`,
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

export const safeHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': `${contentPolicy()}; frame-ancestors 'none'`,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'cache-control': 'no-store',
};
