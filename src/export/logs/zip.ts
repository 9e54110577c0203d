/** Zip archives of files that fit into memory, deflated. */
import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  readonly name: string;
  readonly data: Uint8Array;
}

const utf8Names = 0x800;
const deflated = 8;
const version = 20;
/** The first of January 1980: the archive of the same entries has the same bytes. */
const noDate = 0x21;

export function zip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, data } of entries) {
    const [label, body] = [Buffer.from(name), deflateRawSync(data)];
    const facts = Buffer.alloc(26);
    [version, utf8Names, deflated, 0, noDate].forEach((value, i) => {
      facts.writeUInt16LE(value, 2 * i);
    });
    [crc32(data), body.length, data.length].forEach((value, i) => {
      facts.writeUInt32LE(value, 10 + 4 * i);
    });
    facts.writeUInt16LE(label.length, 22);
    parts.push(signature(0x04034b50), facts, label, body);
    const made = Buffer.alloc(2);
    made.writeUInt16LE(version);
    // The number of the disk, attributes, and where the file begins.
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(signature(0x02014b50), made, facts, place, label);
    offset += 30 + label.length + body.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, listed, signature(0x06054b50), end]);
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
