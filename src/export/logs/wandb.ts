/**
 * Offline runs of Weights & Biases, for `wandb sync`: a log of protobuf records in blocks of 32 KiB, each piece with a CRC-32 over its type and data.
 * A resumed run is a second offline run with the same id, which starts at the update where the first is cut back.
 */
import { closeSync, existsSync, fsyncSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { makeFolder, openToWrite, readVersion } from '../../base/node/index.ts';
import { integerField, message, messageField, textField } from '../../base/node/protobuf.ts';
import type { LogHead, LogPoint, MetricWriter, OpenLog } from './points.ts';

const blockBytes = 32_768;
const headBytes = 7;
const identity = Buffer.from([0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0x00]);

/** Kinds of records, by their fields in `Record`. */
const kinds = { history: 2, summary: 3, run: 17, exit: 18, header: 21 } as const;

const item = (key: string, value: unknown): Buffer =>
  messageField(1, textField(1, key), textField(16, JSON.stringify(value)));
const items = (values: Readonly<Record<string, unknown>>): Buffer[] =>
  Object.entries(values).map(([key, value]) => item(key, value));

class WandbLog implements MetricWriter {
  readonly #file: number;
  #position = identity.length;
  #records = 0;
  #last: LogPoint | null = null;
  readonly #begun = performance.now() / 1000;

  constructor(path: string, head: LogHead, first: number) {
    this.#file = openToWrite(path, 'new');
    writeSync(this.#file, identity);
    this.#append(kinds.header, messageField(1, textField(1, readVersion()), textField(2, '0.13.0')));
    this.#append(kinds.run, runRecord(head, first));
  }

  write(point: LogPoint): void {
    const { update, time, metrics } = point;
    const values = { ...metrics, _step: update, _timestamp: time };
    this.#append(kinds.history, message(...items(values), messageField(2, integerField(1, update))));
    this.#last = point;
  }

  flush(): void {
    fsyncSync(this.#file);
  }

  close(isFinished: boolean): void {
    if (this.#last !== null) this.#append(kinds.summary, message(...items(this.#last.metrics)));
    const runtime = Math.round(performance.now() / 1000 - this.#begun);
    this.#append(kinds.exit, message(integerField(1, isFinished ? 0 : 1), integerField(2, runtime)));
    closeSync(this.#file);
  }

  #append(kind: number, body: Uint8Array): void {
    const record = message(integerField(1, ++this.#records), messageField(kind, body));
    let rest = record;
    for (let isFirst = true; isFirst || rest.length > 0; isFirst = false) {
      let room = blockBytes - (this.#position % blockBytes);
      if (room < headBytes) {
        this.#put(Buffer.alloc(room));
        room = blockBytes;
      }
      const piece = rest.subarray(0, room - headBytes);
      rest = rest.subarray(piece.length);
      // 1: whole; 2, 3, 4: the first piece of a record, one in the middle, the last.
      const type = isFirst ? (rest.length === 0 ? 1 : 2) : rest.length === 0 ? 4 : 3;
      const head = Buffer.alloc(headBytes);
      head.writeUInt32LE(crc32(piece, crc32(Buffer.from([type]))));
      head.writeUInt16LE(piece.length, 4);
      head[6] = type;
      this.#put(Buffer.concat([head, piece]));
    }
  }

  #put(bytes: Buffer): void {
    writeSync(this.#file, bytes);
    this.#position += bytes.length;
  }
}

function runRecord({ name, group, id, created, config }: LogHead, first: number): Buffer {
  const seconds = Math.floor(created);
  return message(
    textField(1, id),
    textField(3, 'gradient-quarantine'),
    messageField(4, ...items(config)),
    textField(6, group),
    textField(8, name),
    ...(first > 1 ? [integerField(14, first)] : []),
    messageField(17, integerField(1, seconds), integerField(2, Math.round(1e9 * (created - seconds)))),
    ...(first > 1 ? [integerField(18, 1)] : []),
  );
}

/** The folder of an offline run, named by the second in which it began; a run that was resumed within it takes the next. */
function freeFolder(folder: string, { id, created }: LogHead): string {
  for (let seconds = Math.floor(Math.max(created, Date.now() / 1000)); ; seconds++) {
    const stamp = new Date(1000 * seconds).toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '_');
    const own = join(folder, `offline-run-${stamp}-${id}`);
    if (!existsSync(own)) return own;
  }
}

export const openWandb: OpenLog = (folder, head, first) => {
  const own = freeFolder(folder, head);
  makeFolder(join(own, 'files'));
  return new WandbLog(join(own, `run-${head.id}.wandb`), head, first);
};
