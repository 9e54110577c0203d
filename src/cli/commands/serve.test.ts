/** What `gq serve` refuses before it opens anything. */
import { afterEach, expect, it, vi } from 'vitest';
import { gq } from '../../../test/run-gq.ts';

afterEach(() => vi.unstubAllEnvs());

it.each(['70000', '-1', 'http'])('refuses the port %s', async (port) => {
  const { code, err } = await gq('serve', 'nowhere', '--port', port);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('Expected a whole number from 0 to 65535.') });
});

it.each(['two\nlines', ' hushhush', 'schlüssel'])('refuses a token that no header can carry: %j', async (token) => {
  vi.stubEnv('GQ_SERVE_TOKEN', token);
  const { code, err } = await gq('serve', 'nowhere');
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/GQ_SERVE_TOKEN.*without blanks/) });
  expect(err).not.toContain(token);
});

it('wants a token where others can reach it', async () => {
  vi.stubEnv('GQ_SERVE_TOKEN', '');
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'localhost.example.com', '127.evil.example']) {
    const { code, err } = await gq('serve', 'nowhere', '--host', host);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('expected a token in GQ_SERVE_TOKEN') });
  }
});
