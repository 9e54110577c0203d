/**
 * TensorBoard's event files. Every opening begins a file of its own, with a mark that what was said of this update and later ones is said
 * anew. A record: length, its checksum, the data, its checksum; both are masked CRC-32C.
 */
import { closeSync, fsyncSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolder, openToWrite } from '../../base/node/index.ts';
import { doubleField, floatField, integerField, message, messageField, textField } from '../../base/node/protobuf.ts';
import type { LogPoint, OpenLog } from './points.ts';

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value;
});

/** CRC-32C (Castagnoli), as the format has it: rotated by 15 bits, plus a constant. */
function maskedChecksum(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) crc = table[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  crc = ~crc >>> 0;
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

function frame(data: Uint8Array): Buffer {
  const head = Buffer.alloc(12);
  head.writeBigUInt64LE(BigInt(data.length));
  head.writeUInt32LE(maskedChecksum(head.subarray(0, 8)), 8);
  const tail = Buffer.alloc(4);
  tail.writeUInt32LE(maskedChecksum(data));
  return Buffer.concat([head, data, tail]);
}

const [wallTime, stepNumber, fileVersion, summary, sessionLog] = [1, 2, 3, 5, 7];
const started = 1;

function summaryOf({ update, time, metrics }: LogPoint): Buffer {
  const values = Object.entries(metrics).map(([tag, value]) =>
    messageField(1, textField(1, tag), floatField(2, value)),
  );
  const body = messageField(summary, ...values);
  return message(doubleField(wallTime, time), integerField(stepNumber, update), body);
}

export const openTensorboard: OpenLog = (folder, { created }, first) => {
  makeFolder(folder);
  const now = Math.max(created, Date.now() / 1000);
  const name = `events.out.tfevents.${now.toFixed(6)}.${hostname()}.${process.pid}`;
  const file = openToWrite(join(folder, name), 'append');
  const append = (event: Buffer): void => {
    writeSync(file, frame(event));
  };
  append(message(doubleField(wallTime, now), textField(fileVersion, 'brain.Event:2')));
  const restart = messageField(sessionLog, integerField(1, started));
  append(message(doubleField(wallTime, now), integerField(stepNumber, first), restart));
  return {
    write: (point) => append(summaryOf(point)),
    flush: () => fsyncSync(file),
    close: () => closeSync(file),
  };
};
