/** Rows of an open batch draw what `generate` draws, whoever joins and leaves beside them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePolicy, tokens } from '../../../test/grpo/tiny-policy.ts';
import { randomStream } from '../../base/rng.ts';
import { readFloats, Scope, Tape } from '../../engine/index.ts';
import { type Policy, projectRows } from '../../grpo/policy.ts';
import { generate } from './generate.ts';
import { type DrawnToken, OpenBatch, type OpenRow } from './open-batch.ts';
import { packGroups } from './pack.ts';
import { scoreGroups } from './score.ts';

const stream = randomStream(3, 'serve');
const draw = { temperature: 1, topK: 0, topP: 1, minP: 0 };
const newTokens = 6;
let scope: Scope;
let policy: Policy;

beforeAll(async () => {
  ({ scope, policy } = await makePolicy());
});
afterAll(() => scope[Symbol.dispose]());

const row = (i: number, change: Partial<OpenRow> = {}): OpenRow => ({
  prompt: tokens(`row ${i}`, 2 + (i % 4)),
  row: 11 * i,
  scale: i % 2,
  draw: i % 3 === 0 ? { ...draw, temperature: 0.5, topK: 5 } : draw,
  likeliest: 0,
  scoresPrompt: false,
  ...change,
});

const open = (rows: number) =>
  new OpenBatch(scope, policy.decoder, { rows, context: 16, tokensPerPass: 8, stream, project: projectRows(policy) });

async function alone({ prompt, row: number, scale, draw: own }: OpenRow): Promise<string> {
  const settings = { ...own, maxNewTokens: newTokens, stopTokens: [], maxPromptTokens: null };
  const options = scale === null ? { stream } : { stream, project: projectRows(policy) };
  const [{ tokens: ids, fullLogps }] = await generate(
    policy.decoder,
    [{ prompt, row: number, scale: scale ?? 0 }],
    settings,
    options,
  );
  return `${ids.join(' ')} | ${fullLogps.join(' ')}`;
}

/** Steps until the rows have all their tokens; `join` adds rows as places become free, `leave` takes some out early. */
async function crowd(rows: readonly OpenRow[], places: number, leave: (i: number) => number): Promise<string[]> {
  const batch = open(places);
  const waiting = rows.map((own, i) => ({ own, i }));
  const sitting = new Map<number, number>();
  const drawn: DrawnToken[][] = rows.map(() => []);
  while (waiting.length > 0 || batch.size > 0) {
    while (batch.free > 0 && waiting.length > 0) {
      const [{ own, i }] = waiting.splice(0, 1);
      sitting.set(batch.add(own), i);
    }
    for (const [slot, token] of await batch.step()) {
      const i = sitting.get(slot) ?? -1;
      drawn[i].push(token);
      if (drawn[i].length === Math.min(newTokens, leave(i))) batch.remove(slot);
    }
  }
  return drawn.map((own) => `${own.map(({ token }) => token).join(' ')} | ${own.map(({ logp }) => logp).join(' ')}`);
}

describe('an open batch', () => {
  const rows = Array.from({ length: 9 }, (_, i) => row(i, i % 4 === 3 ? { scale: null } : {}));

  it('draws for every row what it draws alone, with other states and settings beside it', async () => {
    const expected = await Promise.all(rows.map(alone));
    expect(new Set(expected).size).toBe(rows.length);
    expect(await crowd(rows, 9, () => newTokens)).toEqual(expected);
    expect(await crowd(rows, 4, () => newTokens)).toEqual(expected);
  });

  it('gives a place to the next row with nothing of the last in it', async () => {
    const expected = await Promise.all(rows.map(alone));
    const found = await crowd(rows, 2, (i) => (i % 2 === 0 ? 1 + (i % 3) : newTokens));
    rows.forEach((_, i) => {
      if (i % 2 === 1) expect(found[i]).toBe(expected[i]);
      else expect(expected[i].startsWith(found[i].split(' | ')[0])).toBe(true);
    });
  });

  it('reports the likeliest tokens with their log-probabilities', async () => {
    const batch = open(1);
    const slot = batch.add(row(1, { draw: { ...draw, temperature: 0 }, likeliest: 32 }));
    const drawn = (await batch.step()).get(slot);
    expect(drawn?.likeliest[0]).toEqual({ token: drawn?.token, logp: drawn?.logp });
    const mass = drawn?.likeliest.reduce((sum, { logp }) => sum + Math.exp(logp), 0);
    expect(mass).toBeCloseTo(1, 5);
  });

  it('scores the tokens of a prompt as scoring does, whoever is beside it', async () => {
    const batch = open(3);
    const asked = row(3, { prompt: tokens('scored', 9), scale: 1, likeliest: 3, scoresPrompt: true });
    const slots = [batch.add(row(1)), batch.add(asked), batch.add(row(2))];
    const drawn = new Map<number, DrawnToken>();
    while (drawn.size < slots.length) {
      for (const [slot, token] of await batch.step()) if (!drawn.has(slot)) drawn.set(slot, token);
    }
    const found = drawn.get(slots[1])?.prompt ?? [];
    expect(drawn.get(slots[0])?.prompt).toBeUndefined();
    using inner = new Scope(scope.device);
    using tape = new Tape(scope.device);
    const group = { prompt: asked.prompt.subarray(0, 1), completions: [asked.prompt.subarray(1)] };
    const packed = packGroups(inner, policy.decoder.config, [group]);
    const project = projectRows(policy)(inner, new Float32Array(packed.tokens).fill(1));
    const expected = await readFloats(scoreGroups(tape, policy.decoder, packed, { project }));
    expect(found.map(({ token }) => token)).toEqual([...asked.prompt.subarray(1)]);
    found.forEach(({ logp, likeliest }, i) => {
      expect(logp).toBeCloseTo(expected[i], 4);
      expect(likeliest).toHaveLength(3);
      expect(likeliest[0].logp).toBeGreaterThanOrEqual(logp);
    });
  });

  it('refuses a row for which it has no room', () => {
    const batch = open(1);
    expect(() => batch.add(row(1, { prompt: tokens('long', 16) }))).toThrow('a prompt of 1 to 15 tokens');
    batch.add(row(1));
    expect(() => batch.add(row(2))).toThrow('a free row');
  });
});
