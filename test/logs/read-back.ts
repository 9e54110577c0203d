/** Readers of logs, written from the descriptions of the formats: what they read is nothing that the writers share. */
import { crc32 } from 'node:zlib';

/** CRC-32C bit by bit. */
export function castagnoli(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0x82f63b78 & -(crc & 1));
  }
  return (crc ^ 0xffffffff) >>> 0;
}

type Field = { readonly field: number; readonly value: number | Buffer };

/** The fields of a protobuf message: numbers, and bytes of texts and messages. */
export function fieldsOf(data: Buffer): Field[] {
  const found: Field[] = [];
  let at = 0;
  const varint = (): number => {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = data[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  };
  while (at < data.length) {
    const tag = varint();
    const [field, wire] = [Math.floor(tag / 8), tag % 8];
    const size = wire === 1 ? 8 : wire === 5 ? 4 : wire === 2 ? varint() : 0;
    const body = data.subarray(at, at + size);
    at += size;
    if (wire === 0) found.push({ field, value: varint() });
    else if (wire === 1) found.push({ field, value: body.readDoubleLE() });
    else if (wire === 5) found.push({ field, value: body.readFloatLE() });
    else found.push({ field, value: body });
  }
  return found;
}

export const bytesOf = (fields: readonly Field[], field: number): Buffer[] =>
  fields.flatMap((each) => (each.field === field && Buffer.isBuffer(each.value) ? [each.value] : []));
export const numberOf = (fields: readonly Field[], field: number): number | undefined =>
  fields.flatMap((each) => (each.field === field && typeof each.value === 'number' ? [each.value] : []))[0];

/** The records of a file of TensorBoard; throws at a wrong checksum. */
export function tensorboardRecords(file: Buffer): Buffer[] {
  const masked = (data: Uint8Array): number => {
    const crc = castagnoli(data);
    return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
  };
  const records: Buffer[] = [];
  for (let at = 0; at < file.length; ) {
    const length = Number(file.readBigUInt64LE(at));
    const data = file.subarray(at + 12, at + 12 + length);
    const isRight = [
      file.readUInt32LE(at + 8) === masked(file.subarray(at, at + 8)),
      file.readUInt32LE(at + 12 + length) === masked(data),
    ];
    if (isRight.includes(false)) throw new Error(`a wrong checksum at ${at}`);
    records.push(data);
    at += 16 + length;
  }
  return records;
}

/** The records of a file of W&B; throws at a wrong checksum. */
export function wandbRecords(file: Buffer): Buffer[] {
  if (file.subarray(0, 4).toString() !== ':W&B') throw new Error('no file of W&B');
  const records: Buffer[] = [];
  let open: Buffer[] = [];
  for (let at = 7; at + 7 <= file.length; ) {
    const left = 32_768 - (at % 32_768);
    if (left < 7) {
      at += left;
      continue;
    }
    const length = file.readUInt16LE(at + 4);
    const type = file[at + 6];
    const body = file.subarray(at + 6, at + 7 + length);
    if (crc32(body) !== file.readUInt32LE(at)) throw new Error(`a wrong checksum at ${at}`);
    open.push(body.subarray(1));
    if (type === 1 || type === 4) {
      records.push(Buffer.concat(open));
      open = [];
    }
    at += 7 + length;
  }
  return records;
}
