import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../canonical-json.ts';
import { UserError } from '../errors.ts';
import { sha256, sha256File, sha256Json } from './hash.ts';

/** FIPS 180-4 examples (NIST CSRC, "SHA-256 example values"): one block, two blocks, and a million letters a. */
const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
const twoBlocks = '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1';
const million = 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0';

describe('sha256', () => {
  it('gives the published digests for strings and bytes', () => {
    expect(sha256('abc')).toBe(abc);
    expect(sha256(Uint8Array.of(97, 98, 99))).toBe(abc);
    expect(sha256('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq')).toBe(twoBlocks);
  });

  it('streams a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hash-'));
    const path = join(folder, 'million');
    await writeFile(path, 'a'.repeat(1_000_000));
    expect(await sha256File(path)).toBe(million);
    await expect(sha256File(join(folder, 'absent'))).rejects.toThrow('ENOENT');
    await rm(folder, { recursive: true });
  });
});

describe('canonicalJson', () => {
  it('writes the example of RFC 8785, section 3.2.3', () => {
    const value = JSON.parse(`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
      "literals": [null, true, false]
    }`);
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        `"string":"€$\\u000f\\nA'B\\"\\\\\\\\\\"/"}`,
    );
  });

  it('sorts keys by UTF-16 code units, as the table of RFC 8785, section 3.2.3', () => {
    const keys = ['\u20ac', '\r', '\ufb33', '1', '\ud83d\ude00', '\u0080', '\u00f6'];
    const sorted = ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33'];
    const text = canonicalJson(Object.fromEntries(keys.map((key) => [key, 0])));
    expect(text).toBe(`{${sorted.map((key) => `${JSON.stringify(key)}:0`).join(',')}}`);
  });

  it('holds the same value as JSON, whatever the order of keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
        const reversed = Object.fromEntries(Object.entries(value).reverse());
        expect(sha256Json(reversed)).toBe(sha256Json(value));
      }),
    );
  });

  it('leaves out undefined members and tells other values apart', () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
    expect(sha256Json({ a: 1 })).not.toBe(sha256Json({ a: '1' }));
  });

  it.each([
    ['NaN', { a: [1, Number.NaN] }, '.a[1]'],
    ['undefined', [undefined], '[0]'],
    ['a typed array', { a: new Float32Array(2) }, 'Float32Array at .a'],
    ['a date', new Date(0), 'Date at the top'],
    ['a big integer', 1n, 'bigint'],
  ])('refuses %s and says where', (_, value, where) => {
    expect(() => canonicalJson(value)).toThrow(UserError);
    expect(() => canonicalJson(value)).toThrow(where);
  });
});
