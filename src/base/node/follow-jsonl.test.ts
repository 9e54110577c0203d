import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UserError } from '../errors.ts';
import { followJsonl } from './follow-jsonl.ts';

let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'follow-'));
  path = join(folder, 'events.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
const nothing = { values: [], restarted: false };

describe('a look', () => {
  it('finds nothing in a file that is not there yet, and its lines once it is', () => {
    const follower = followJsonl(path);
    expect(follower.read()).toEqual(nothing);
    writeFileSync(path, line(1));
    expect(follower.read()).toEqual({ values: [1], restarted: false });
    expect(follower.read()).toEqual(nothing);
    rmSync(path);
    expect(follower.read()).toEqual(nothing);
  });

  it('gives every value once and in order, wherever the bytes were cut between two looks', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 8 }), { minLength: 1, maxLength: 8 });
    const cuts = fc.array(fc.nat({ max: 200 }), { maxLength: 6 });
    fc.assert(
      fc.property(texts, cuts, (values, places) => {
        const bytes = Buffer.from(values.map(line).join(''));
        const ends = [...places.map((place) => place % bytes.length), bytes.length].sort((a, b) => a - b);
        rmSync(path, { force: true });
        const follower = followJsonl(path);
        const found: unknown[] = [];
        let start = 0;
        for (const end of ends) {
          appendFileSync(path, bytes.subarray(start, end));
          start = end;
          const growth = follower.read();
          expect(growth.restarted).toBe(false);
          found.push(...growth.values);
          expect(found).toHaveLength(bytes.subarray(0, end).filter((byte) => byte === 0x0a).length);
        }
        expect(found).toEqual(values);
      }),
      { numRuns: 60 },
    );
  });

  it('waits for the second half of a character that a write cut in two', () => {
    const bytes = Buffer.from(line('ä'));
    const middle = bytes.indexOf(0xc3) + 1;
    const follower = followJsonl(path);
    writeFileSync(path, bytes.subarray(0, middle));
    expect(follower.read()).toEqual(nothing);
    appendFileSync(path, bytes.subarray(middle));
    expect(follower.read().values).toEqual(['ä']);
  });

  it('carries lines longer than what it reads at a time', () => {
    const values = ['é'.repeat(900_000), 2, 'x'.repeat(2_500_000)];
    writeFileSync(path, values.map(line).join(''));
    expect(followJsonl(path).read().values).toEqual(values);
  });

  it('begins again when the file was cut back, also when it has grown past the old place since', () => {
    const follower = followJsonl(path);
    const lines = ['first', 'second', 'third'].map(line);
    writeFileSync(path, lines.join(''));
    follower.read();
    truncateSync(path, Buffer.byteLength(lines[0]));
    expect(follower.read()).toEqual({ values: ['first'], restarted: true });
    appendFileSync(path, line('other'));
    expect(follower.read()).toEqual({ values: ['other'], restarted: false });
    truncateSync(path, Buffer.byteLength(lines[0]));
    appendFileSync(path, line('a longer line than before'));
    expect(follower.read()).toEqual({ values: ['first', 'a longer line than before'], restarted: true });
    truncateSync(path, 0);
    expect(follower.read()).toEqual({ values: [], restarted: true });
  });

  it('names file and line of what is not JSON, counted from the beginning of the file', () => {
    const follower = followJsonl(path);
    writeFileSync(path, line(1) + line(2));
    follower.read();
    appendFileSync(path, `${line(3)}{"a":\n`);
    expect(() => follower.read()).toThrow(UserError);
    expect(() => followJsonl(path).read()).toThrow(/events\.jsonl: expected JSON on line 4/);
  });
});

describe('watching', () => {
  it('yields growth as it comes, of a file that appears later, until the signal', async () => {
    const stop = new AbortController();
    const found: unknown[] = [];
    const watching = (async () => {
      for await (const { values } of followJsonl(path).watch(stop.signal, 5)) {
        found.push(...values);
        if (found.length === 3) stop.abort();
      }
    })();
    await wait(20);
    writeFileSync(path, line(1) + line(2));
    while (found.length < 2) await wait(2);
    appendFileSync(path, line(3));
    await watching;
    expect(found).toEqual([1, 2, 3]);
  });

  it('ends at once when it is told to while it waits, and reads nothing when it was told before', async () => {
    const stop = new AbortController();
    const waiting = followJsonl(path).watch(stop.signal, 60_000).next();
    stop.abort();
    expect(await waiting).toEqual({ value: undefined, done: true });
    writeFileSync(path, line(1));
    expect((await followJsonl(path).watch(stop.signal).next()).done).toBe(true);
  });
});
