/** Whose bounds count for a connection. */
import { expect, it } from 'vitest';
import { clientOf } from './http.ts';

it('a client is an address, and of IPv6 the network of 64 bits that one client has whole', () => {
  const of = (remoteAddress?: string) => clientOf({ remoteAddress });
  expect(of('192.0.2.7')).toBe('192.0.2.7');
  expect(of('::ffff:192.0.2.7')).toBe('192.0.2.7');
  const many = ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2:0:0:0:9', '2001:db8:1:2::9%eth0'];
  expect(new Set(many.map(of))).toEqual(new Set(['2001:db8:1:2']));
  expect(of('2001:db8::1')).toBe('2001:db8:0:0');
  expect(of('2001:db8:1:3::1')).not.toBe(of(many[0]));
  expect(of('::1')).toBe('0:0:0:0');
  expect(of(undefined)).toBe('');
});
