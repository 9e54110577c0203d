/** Messages in protobuf's wire format, as far as logs and servers write them: fields with numbers, texts, bytes and messages. */

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const byte = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest > 0n ? byte | 128 : byte);
  } while (rest > 0n);
  return Uint8Array.from(bytes);
}

const tag = (field: number, wire: number): Uint8Array => varint((field << 3) | wire);

export const message = (...fields: readonly Uint8Array[]): Buffer => Buffer.concat(fields);

export const integerField = (field: number, value: number): Buffer => message(tag(field, 0), varint(value));

export function doubleField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return message(tag(field, 1), bytes);
}

export function floatField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return message(tag(field, 5), bytes);
}

/** A message, or bytes, in one or several parts. */
export function messageField(field: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = message(...parts);
  return message(tag(field, 2), varint(body.length), body);
}

export const textField = (field: number, text: string): Buffer => messageField(field, Buffer.from(text));
