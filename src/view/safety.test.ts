import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { isLoopback } from '../base/node/index.ts';
import { refuse } from './safety.ts';

const loopback = { host: '127.0.0.1', port: 4717, token: 'secret' };
const abroad = { host: '0.0.0.0', port: 4717, token: 'secret' };
const known = { authorization: 'Bearer secret' };
const ask = (headers: IncomingHttpHeaders, guard = loopback, method = 'GET') =>
  refuse(method, headers, guard)?.status ?? 200;

describe('a server on a loopback address answers', () => {
  it.each<[IncomingHttpHeaders, number]>([
    [{ host: '127.0.0.1:4717' }, 200],
    [{ host: 'localhost:4717', origin: 'http://localhost:4717', 'sec-fetch-site': 'same-origin' }, 200],
    [{ host: '[::1]:4717' }, 200],
    [{}, 403],
    [{ host: 'evil.example:4717' }, 403],
    [{ host: '127.0.0.1:80' }, 403],
    [{ host: '127.0.0.1.evil.example:4717' }, 403],
    [{ host: '127.0.0.1:4717', origin: 'http://evil.example' }, 403],
    [{ host: '127.0.0.1:4717', origin: 'null' }, 403],
    [{ host: '127.0.0.1:4717', 'sec-fetch-site': 'cross-site' }, 403],
  ])('%j with %d', (headers, status) => {
    expect(ask({ ...known, ...headers })).toBe(status);
    expect(ask(headers)).toBe(403);
  });

  it('at the address it was given', () => {
    expect(ask({ ...known, host: '127.1.2.3:4717' }, { ...loopback, host: '127.1.2.3' })).toBe(200);
    expect(ask({ ...known, host: '127.1.2.3:4717' })).toBe(403);
  });

  it('nothing that could change something', () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      expect(ask({ host: '127.0.0.1:4717' }, loopback, method)).toBe(405);
    }
  });
});

describe('a line that a person writes', () => {
  const page = { host: '127.0.0.1:4717', origin: 'http://127.0.0.1:4717', 'content-type': 'application/json' };
  const own = { ...page, cookie: 'gq-view-4717=secret' };
  const post = (headers: IncomingHttpHeaders, guard = loopback) => refuse('POST', headers, guard, true)?.status ?? 200;

  it('is taken from the page itself, as JSON', () => {
    expect(post(own)).toBe(200);
    const { origin: _origin, ...unnamed } = own;
    expect(post(unnamed)).toBe(403);
    expect(post({ ...own, origin: 'http://evil.example' })).toBe(403);
    expect(post({ ...own, origin: 'null' })).toBe(403);
    expect(post({ ...own, host: 'evil.example:4717', origin: 'http://evil.example:4717' })).toBe(403);
    expect(post({ ...own, 'content-type': 'text/plain' })).toBe(403);
    expect(post({ ...own, 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(refuse('PUT', own, loopback, true)?.status).toBe(405);
  });

  it('needs the token, on a loopback address as on any other', () => {
    expect(post(page)).toBe(403);
    expect(post({ ...page, cookie: 'gq-view-4717=guess' })).toBe(403);
    const there = { ...page, host: 'box:4717', origin: 'http://box:4717' };
    expect(post(there, abroad)).toBe(403);
    expect(post({ ...there, cookie: 'gq-view-4717=secret' }, abroad)).toBe(200);
  });
});

describe('a server on another address asks for its token', () => {
  it.each<[IncomingHttpHeaders, number]>([
    [{ host: 'box:4717' }, 403],
    [{ host: 'box:4717', cookie: 'gq-view-4717=secret' }, 200],
    [{ host: 'box:4717', cookie: 'a=b; gq-view-4717=secret' }, 200],
    [{ host: 'box:4717', authorization: 'Bearer secret' }, 200],
    [{ host: 'box:4717', cookie: 'gq-view-4717=secre' }, 403],
    [{ host: 'box:4717', cookie: 'gq-view-4717=', authorization: 'Bearer secret' }, 403],
    [{ host: 'box:4717', origin: 'http://evil.example', cookie: 'gq-view-4717=secret' }, 403],
  ])('%j: %d', (headers, status) => {
    expect(ask(headers, abroad)).toBe(status);
  });

  it('and takes no cookie of another server on the same host', () => {
    expect(ask({ host: 'box:4717', cookie: 'gq-view-4718=secret' }, abroad)).toBe(403);
  });

  it('which addresses are loopback', () => {
    expect(['127.0.0.1', '127.1.2.3', 'localhost', '::1'].every(isLoopback)).toBe(true);
    expect(['0.0.0.0', '192.168.0.1', '127.evil.example', '::'].some(isLoopback)).toBe(false);
  });
});
