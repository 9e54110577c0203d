import { expect, it } from 'vitest';
import { parseChat, parseCompletion } from './requests.ts';

it('refuses a request at the first wrong member of a list: a body has room for a million', () => {
  const long = (first: unknown) =>
    Object.defineProperty([first, null], 1, { get: () => expect.unreachable('a second member was looked at') });
  for (const first of [[], -1, {}]) {
    expect(() => parseCompletion({ prompt: long(first) })).toThrow(/^prompt: expected a text, a list/);
  }
  expect(() => parseChat({ messages: [{ role: 'user', content: long({}) }] })).toThrow(/^messages.0.content: /);
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
  expect(() => parseCompletion({ prompt: [5], logit_bias: deep })).toThrow('logit_bias is not supported');
});
