import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { UserError } from '../../base/errors.ts';
import { floatToFloat16 } from '../../base/half.ts';
import { sha256 } from '../../base/node/hash.ts';
import { findNonFinite, type SafetensorsArray, SafetensorsFile, toFloat32 } from './safetensors.ts';
import type { SafetensorsDType } from './safetensors-header.ts';
import { type TensorToWrite, writeHashedSafetensors, writeSafetensors } from './safetensors-writer.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'safetensors-'));
});

const make: Record<SafetensorsDType, (size: number) => SafetensorsArray> = {
  F32: (size) => Float32Array.from({ length: size }, (_, i) => i / 3 - 2),
  F16: (size) => Uint16Array.from({ length: size }, (_, i) => floatToFloat16(i / 3 - 2)),
  BF16: (size) => Uint16Array.from({ length: size }, (_, i) => i * 37),
  I32: (size) => Int32Array.from({ length: size }, (_, i) => -i * 70_000),
  I64: (size) => BigInt64Array.from({ length: size }, (_, i) => BigInt(-i) << 33n),
};

/** A file whose header is exactly `header`, followed by `data` zero bytes. */
async function writeRaw(name: string, header: string, data: number): Promise<string> {
  const json = new TextEncoder().encode(header);
  const bytes = new Uint8Array(8 + json.length + data);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true);
  bytes.set(json, 8);
  await writeFile(join(folder, name), bytes);
  return join(folder, name);
}

async function openFailure(path: string): Promise<string> {
  const error = await SafetensorsFile.open(path).then(
    async (file) => {
      await file[Symbol.asyncDispose]();
      return undefined;
    },
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(UserError);
  expect(String(error)).toContain(path);
  return String(error);
}

const dtypes = Object.keys(make) as SafetensorsDType[];
const tensors = fc.uniqueArray(
  fc.record({
    name: fc.string({ minLength: 1, unit: 'grapheme' }).filter((name) => name !== '__metadata__'),
    dtype: fc.constantFrom(...dtypes),
    shape: fc.array(fc.nat(4), { maxLength: 4 }),
  }),
  { selector: ({ name }) => name, maxLength: 6 },
);

test('what is written is read back: any names, dtypes and shapes, empty ones included', async () => {
  const path = join(folder, 'round.safetensors');
  await fc.assert(
    fc.asyncProperty(tensors, fc.dictionary(fc.string(), fc.string()), async (list, metadata) => {
      const data = new Map(list.map(({ name, dtype, shape }) => [name, make[dtype](shape.reduce((a, b) => a * b, 1))]));
      const toWrite = list.map((tensor) => ({ ...tensor, data: () => data.get(tensor.name) as SafetensorsArray }));
      await writeSafetensors(path, toWrite, metadata);
      await using file = await SafetensorsFile.open(path);
      expect(new Set(file.entries.keys())).toEqual(new Set(data.keys()));
      expect(Object.entries(file.metadata).sort()).toEqual(Object.entries(metadata).sort());
      for (const { name, dtype, shape } of list) {
        expect(file.entry(name)).toMatchObject({ dtype, shape });
        expect(await file.read(name)).toEqual(data.get(name));
      }
    }),
    { numRuns: 60 },
  );
});

test('the order of the arguments does not change the bytes, and the data is aligned', async () => {
  const list: TensorToWrite[] = dtypes.map((dtype, i) => ({
    name: `${i}`,
    dtype,
    shape: [3],
    data: () => make[dtype](3),
  }));
  await writeSafetensors(join(folder, 'a.safetensors'), list, { b: '1', a: '2' });
  await writeSafetensors(join(folder, 'b.safetensors'), list.toReversed(), { a: '2', b: '1' });
  const bytes = await readFile(join(folder, 'a.safetensors'));
  expect(bytes.equals(await readFile(join(folder, 'b.safetensors')))).toBe(true);
  expect(bytes.readBigUInt64LE(0) % 8n).toBe(0n);
  await using file = await SafetensorsFile.open(join(folder, 'a.safetensors'));
  const bytesPerElement = { F32: 4, F16: 2, BF16: 2, I32: 4, I64: 8 };
  for (const { dtype, start } of file.entries.values()) expect(start % bytesPerElement[dtype]).toBe(0);
});

test.each([3, 2 ** 22])(
  'hashed while it is written, a file of %i numbers has the same bytes and their hash',
  async (size) => {
    const list = (): TensorToWrite[] => {
      const tensors = { a: new Float32Array(size).fill(0.3), b: make.F32(2), c: make.BF16(6).subarray(1, 4) };
      return Object.entries(tensors).map(([name, data]) => {
        return { name, dtype: name === 'c' ? 'BF16' : 'F32', shape: [data.length], data: () => data };
      });
    };
    const [plain, hashed] = [join(folder, 'plain.safetensors'), join(folder, 'hashed.safetensors')];
    await writeSafetensors(plain, list());
    const hash = await writeHashedSafetensors(hashed, list());
    const bytes = await readFile(hashed);
    expect(Buffer.compare(bytes, await readFile(plain))).toBe(0);
    expect(hash).toBe(sha256(bytes));
  },
);

test('a failed write leaves no file, and wrong data is named', async () => {
  const path = join(folder, 'failed.safetensors');
  const write = (data: () => SafetensorsArray) =>
    writeSafetensors(path, [{ name: 'w', dtype: 'F32', shape: [2], data }]);
  await expect(write(() => new Float32Array(3))).rejects.toThrow(
    /failed.safetensors, tensor w: expected 8 bytes.*12 bytes/,
  );
  await expect(write(() => new Int32Array(2))).rejects.toThrow(UserError);
  expect((await readdir(folder)).filter((name) => name.startsWith('failed'))).toEqual([]);
  const nowhere = join(folder, 'none', 'x');
  await expect(writeSafetensors(nowhere, [])).rejects.toMatchObject({ code: 'ENOENT', path: nowhere });
});

describe('a damaged file is a UserError that names it', () => {
  test('truncated at any position, or with bytes added', async () => {
    const path = join(folder, 'whole.safetensors');
    await writeSafetensors(
      path,
      dtypes.map((dtype) => ({ name: dtype, dtype, shape: [2, 2], data: () => make[dtype](4) })),
    );
    const bytes = await readFile(path);
    const cut = join(folder, 'cut.safetensors');
    for (let length = 0; length < bytes.length; length += 1) {
      await writeFile(cut, bytes.subarray(0, length));
      await openFailure(cut);
    }
    await writeFile(cut, Buffer.concat([bytes, Buffer.from([0])]));
    expect(await openFailure(cut)).toContain(`${bytes.length + 1} bytes`);
  });

  test.each([
    [
      'overlap',
      '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
      8,
      'overlaps',
    ],
    ['gap', '{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}', 8, 'a gap'],
    ['beyond', '{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}', 8, 'truncated'],
    ['dtype', '{"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}}', 1, '"F8_E4M3"'],
    ['size', '{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}', 8, 'expected 12 bytes'],
    ['negative', '{"a":{"dtype":"F32","shape":[-1,-2],"data_offsets":[0,8]}}', 8, '[-1,-2]'],
    [
      'huge',
      '{"a":{"dtype":"F32","shape":[4503599627370496,4503599627370496],"data_offsets":[0,8]}}',
      8,
      'data_offsets [0, 8]',
    ],
    [
      'duplicate',
      '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}}',
      4,
      'twice',
    ],
    [
      'escaped',
      '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"\\u0061":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}}',
      4,
      'twice',
    ],
    ['extra', '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}}', 4, '"x"'],
    ['metadata', '{"__metadata__":{"a":1}}', 0, '__metadata__'],
    ['array', '[]', 0, 'JSON object'],
    ['prototype', '{"__proto__":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}', 8, '__proto__'],
  ])('%s', async (name, header, data, message) => {
    expect(await openFailure(await writeRaw(name, header, data))).toContain(message);
  });

  test('a missing file and a folder', async () => {
    expect(await openFailure(join(folder, 'absent'))).toContain('no such file');
    await openFailure(folder);
  });
});

test('every float16 and bfloat16 widens exactly, and non-finite bits are found without widening', () => {
  const all = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);
  const half = toFloat32(all, 'F16');
  const brain = toFloat32(all, 'BF16');
  const view = new DataView(new ArrayBuffer(4));
  const wrong = all.filter((bits) => {
    view.setUint32(0, bits << 16);
    const exponent = (bits >> 10) & 31;
    const magnitude = exponent === 0 ? (bits & 1023) * 2 ** -24 : (1 + (bits & 1023) / 1024) * 2 ** (exponent - 15);
    const exact = exponent === 31 ? ((bits & 1023) === 0 ? Infinity : Number.NaN) : magnitude;
    return !(
      Object.is(brain[bits], view.getFloat32(0)) &&
      Object.is(half[bits], bits & 0x8000 ? -exact : exact) &&
      findNonFinite(Uint16Array.of(0, bits), 'F16') === (Number.isFinite(half[bits]) ? -1 : 1) &&
      findNonFinite(Uint16Array.of(0, bits), 'BF16') === (Number.isFinite(brain[bits]) ? -1 : 1)
    );
  });
  expect(wrong).toEqual(new Uint16Array());
  expect(findNonFinite(Float32Array.of(1, 3e38, -Infinity), 'F32')).toBe(2);
  expect(findNonFinite(Float32Array.of(1, Number.NaN), 'F32')).toBe(1);
  expect(findNonFinite(Float32Array.of(-1, 3e38, 1e-45), 'F32')).toBe(-1);
});

test.each([
  ['F32', Float32Array, 0],
  ['F32', Float32Array, 4],
  ['BF16', Uint16Array, 0],
  ['BF16', Uint16Array, 2],
  ['F16', Uint16Array, 4],
] as const)(
  '%s (%o, from byte %i on): the first element that is not finite is found wherever it is',
  (dtype, kind, offset) => {
    const size = 2 ** 15 + 6;
    const largest = { F32: 0x7f7fffff, BF16: 0xff7f, F16: 0xfbff }[dtype];
    const wide = dtype === 'F32';
    const bits = new (wide ? Uint32Array : Uint16Array)(new ArrayBuffer(offset + size * (wide ? 4 : 2)), offset, size);
    const data = new kind(bits.buffer, offset, size);
    bits.fill(largest);
    expect(findNonFinite(data, dtype)).toBe(-1);
    for (const at of [size - 1, 2 ** 15, 2 ** 15 - 1, 2 ** 14 + 3, 2 ** 14, 1007, 1005, 1003, 1001, 3, 2, 1, 0]) {
      bits[at] = largest + 1;
      expect(findNonFinite(data, dtype)).toBe(at);
    }
  },
);
