/**
 * The two pipes a program writes to. Both end with a token that is chosen after the program's death, so the reader
 * knows it has seen everything and nothing that the program wrote can pass for the end. Both are bounded: beyond the
 * bound nothing is kept, the program is stopped, and nothing more is read until it is dead.
 */
import type { Readable } from 'node:stream';

const stdoutKeptBytes = 64 << 10;
const stdoutMostBytes = 8 << 20;
/** Size of a record's header: tag, nonce, length. */
const headerBytes = 9;
/** Size of the closing token: 16 random bytes in hexadecimal. */
const closingBytes = 32;

function mayBeToken(bytes: Buffer): boolean {
  return bytes.length <= closingBytes && /^[0-9a-f]*$/.test(bytes.toString('latin1'));
}

/** The last bytes of a stream that can hold a token. */
class Tail {
  #bytes = Buffer.alloc(0);
  push(chunk: Buffer): void {
    const all = chunk.length >= closingBytes ? chunk : Buffer.concat([this.#bytes, chunk]);
    this.#bytes = Buffer.from(all.subarray(Math.max(0, all.length - closingBytes)));
  }
  get text(): string {
    return this.#bytes.toString('latin1');
  }
}

abstract class TokenStream<End> {
  protected flooded = false;
  readonly #stream: Readable;
  #stop: () => void = () => undefined;
  #tail = new Tail();
  #token: string | undefined;
  #resolve: (end: End) => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  constructor(stream: Readable) {
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => {
      this.#tail.push(chunk);
      this.take(chunk);
      this.#check();
    });
  }

  protected reset(stop: () => void): void {
    this.flooded = false;
    this.#stop = stop;
    this.#tail = new Tail();
    this.#token = undefined;
  }

  /** The program wrote too much. It is stopped, and its pipe is left full so that it cannot keep the trusted side busy. */
  protected flood(): void {
    if (!this.flooded) this.#stop();
    this.flooded = true;
    if (this.#token === undefined) this.#stream.pause();
  }

  protected abstract take(chunk: Buffer): void;
  protected abstract finish(): End;

  #check(): void {
    if (this.#token === undefined || this.#tail.text !== this.#token) return;
    this.#token = undefined;
    this.#resolve(this.finish());
  }

  end(token: string): Promise<End> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#token = token;
      this.#check();
      this.#stream.resume();
    });
  }

  fail(error: Error): void {
    this.#reject(error);
  }
}

export class RecordStream extends TokenStream<{ flooded: boolean }> {
  #chunks: Buffer[] = [];
  #held = 0;
  /** How many bytes must be here before another record can be complete. */
  #wanted = headerBytes;
  #left = 0;
  #nonce = 0;
  #onRecord: (tag: string, payload: Buffer) => void = () => undefined;

  /** Starts a program's stream. A record without the nonce is passed on as "forged", and the bytes after it are dropped. */
  begin(nonce: number, largestBytes: number, stop: () => void, onRecord: (tag: string, payload: Buffer) => void): void {
    this.reset(stop);
    this.#nonce = nonce;
    this.#keep(Buffer.alloc(0), headerBytes);
    this.#left = largestBytes;
    this.#onRecord = onRecord;
  }

  protected take(chunk: Buffer): void {
    this.#left -= chunk.length;
    // The closing token is part of the stream, so a flood begins only beyond its size.
    if (this.flooded || this.#left < -closingBytes) {
      this.#refuse();
      return;
    }
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    // A long record arrives in many chunks: they are put together once, when it is complete.
    if (this.#held >= this.#wanted) this.#readRecords(this.#held, false);
  }

  #keep(bytes: Buffer, wanted: number): void {
    this.#chunks = bytes.length === 0 ? [] : [bytes];
    this.#held = bytes.length;
    this.#wanted = wanted;
  }

  #refuse(): void {
    this.#keep(Buffer.alloc(0), headerBytes);
    this.flood();
  }

  #readRecords(length: number, complete: boolean): void {
    const bytes = (this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks)).subarray(0, length);
    let at = 0;
    let wanted = headerBytes;
    while (bytes.length - at >= headerBytes) {
      if (bytes.readUInt32LE(at + 1) !== this.#nonce) {
        // These bytes may be the closing token, which the reader does not know yet.
        if (!complete && mayBeToken(bytes.subarray(at))) {
          wanted = bytes.length - at + 1;
          break;
        }
        this.#onRecord('forged', Buffer.alloc(0));
        at = bytes.length;
        break;
      }
      const size = bytes.readUInt32LE(at + 5);
      const start = at + headerBytes;
      if (bytes.length - start < size) {
        // A record that is longer than all that may still come is refused now, not when the time is over.
        if (!complete && size - (bytes.length - start) > this.#left) {
          this.#refuse();
          return;
        }
        wanted = headerBytes + size;
        break;
      }
      this.#onRecord(String.fromCharCode(bytes[at]), bytes.subarray(start, start + size));
      at = start + size;
    }
    this.#keep(bytes.subarray(at), wanted);
  }

  protected finish(): { flooded: boolean } {
    if (!this.flooded) this.#readRecords(Math.max(0, this.#held - closingBytes), true);
    return { flooded: this.flooded };
  }
}

export class ProgramOutput extends TokenStream<{ text: string; flooded: boolean }> {
  #chunks: Buffer[] = [];
  #kept = 0;
  #total = 0;

  begin(stop: () => void): void {
    this.reset(stop);
    this.#chunks = [];
    this.#kept = 0;
    this.#total = 0;
  }

  protected take(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = stdoutKeptBytes - this.#kept;
    if (room > 0) {
      this.#chunks.push(chunk.subarray(0, room));
      this.#kept += Math.min(room, chunk.length);
    }
    if (this.#total > stdoutMostBytes) this.flood();
  }

  protected finish(): { text: string; flooded: boolean } {
    const printed = Math.min(this.#total - closingBytes, stdoutKeptBytes);
    return { text: Buffer.concat(this.#chunks).subarray(0, printed).toString('utf8'), flooded: this.flooded };
  }
}
