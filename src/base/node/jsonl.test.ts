import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UserError } from '../errors.ts';
import { JsonlWriter, readJsonl } from './jsonl.ts';

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jsonl-'));
  path = join(folder, 'events.jsonl');
});
afterEach(() => rm(folder, { recursive: true }));

async function readAll(file = path): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of readJsonl(file)) values.push(value);
  return values;
}

describe('writer and reader', () => {
  it('give back any JSON values, over several openings, gzipped too', async () => {
    const values = fc.array(fc.jsonValue(), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(values, values, async (first, second) => {
        await writeFile(path, '');
        for (const part of [first, second]) {
          using writer = new JsonlWriter(path, { fsync: part === second });
          expect(writer.cutBytes).toBe(0);
          for (const value of part) writer.append(value);
        }
        const written = JSON.parse(JSON.stringify([...first, ...second]));
        expect(await readAll()).toEqual(written);
        await writeFile(`${path}.gz`, gzipSync(await readFile(path)));
        expect(await readAll(`${path}.gz`)).toEqual(written);
      }),
      { numRuns: 30 },
    );
  });

  it('carry lines longer than a chunk, and many values in one append', async () => {
    const values = ['x'.repeat(200_000), { y: 'é'.repeat(100_000) }, 3];
    using writer = new JsonlWriter(path);
    writer.append(...values);
    expect(await readAll()).toEqual(values);
  });
});

describe('recovery of a torn last line', () => {
  const kept = [{ step: 1, text: 'first' }, { step: 2 }];
  const last = { step: 3, text: 'naïve 😀', nested: { list: [1, 2.5, null] } };

  it('cuts exactly the torn bytes, wherever the line was torn, and goes on', async () => {
    const head = Buffer.from(kept.map((value) => `${JSON.stringify(value)}\n`).join(''));
    const line = Buffer.from(`${JSON.stringify(last)}\n`);
    for (let torn = 0; torn <= line.length; torn += 1) {
      await writeFile(path, Buffer.concat([head, line.subarray(0, torn)]));
      const whole = torn === line.length;
      expect(await readAll()).toEqual(whole ? [...kept, last] : kept);
      using writer = new JsonlWriter(path);
      expect(writer.cutBytes).toBe(whole ? 0 : torn);
      writer.append('next');
      expect(await readAll()).toEqual(whole ? [...kept, last, 'next'] : [...kept, 'next']);
    }
  });

  it('cuts a torn line longer than the search chunk, and a torn only line', async () => {
    await writeFile(path, `1\n"${'x'.repeat(150_000)}`);
    using writer = new JsonlWriter(path);
    expect(writer.cutBytes).toBe(150_001);
    expect(await readFile(path, 'utf8')).toBe('1\n');
    await writeFile(`${path}2`, '{"a":');
    using second = new JsonlWriter(`${path}2`);
    expect(second.cutBytes).toBe(5);
    expect(await readFile(`${path}2`, 'utf8')).toBe('');
  });
});

describe('errors', () => {
  it.each([
    ['text that is not JSON', '{"a":1}\n{"a":\n{"a":3}\n'],
    ['an empty line', '{"a":1}\n\n{"a":3}\n'],
    ['bytes that are not UTF-8', Buffer.from([0x31, 0x0a, 0x22, 0xff, 0x22, 0x0a])],
  ])('names file and line of %s', async (_, content) => {
    await writeFile(path, content);
    const reading = readAll();
    await expect(reading).rejects.toThrow(UserError);
    await expect(reading).rejects.toThrow(/events\.jsonl: expected JSON on line 2/);
  });

  it('names a missing file and a torn archive', async () => {
    await expect(readAll()).rejects.toThrow(/events\.jsonl.*no such file/);
    const archive = gzipSync(Buffer.from('{"a":1}\n'.repeat(1000)));
    await writeFile(`${path}.gz`, archive.subarray(0, -10));
    await expect(readAll(`${path}.gz`)).rejects.toThrow(UserError);
  });

  it('refuses what JSON cannot hold, before anything is written', async () => {
    using writer = new JsonlWriter(path);
    expect(() => writer.append({ a: 1 }, { loss: Number.NaN })).toThrow(/NaN at key "loss"/);
    expect(() => writer.append({ a: [Number.POSITIVE_INFINITY] })).toThrow(UserError);
    expect(() => writer.append(undefined)).toThrow(UserError);
    expect(await readFile(path, 'utf8')).toBe('');
  });

  it('notices a second writer', async () => {
    using writer = new JsonlWriter(path);
    writer.append(1);
    await appendFile(path, '2\n');
    expect(() => writer.append(3)).toThrow(/expected 2 bytes.*found 4 bytes/);
  });

  it('refuses to append after close', () => {
    const writer = new JsonlWriter(path);
    writer.close();
    expect(() => writer.append(1)).toThrow('a closed one');
    expect(() => writer.close()).toThrow('a closed one');
  });
});
