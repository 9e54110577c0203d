/**
 * The digits of Python's large ints in marshal: base 2^15, two bytes each, the smallest first. Four digits are 60 bits and
 * so 15 hexadecimal digits, and JavaScript reads and writes hexadecimal in linear time. Shifting a bigint digit by digit
 * would take quadratic time.
 */
const groupDigits = 4;
const groupHex = 15;

function hexOf(value: bigint): string {
  return (value < 0n ? -value : value).toString(16);
}

/** How many digits the int has; its sign does not count. */
export function digitCount(value: bigint): number {
  const hex = hexOf(value);
  const bits = 4 * (hex.length - 1) + Number.parseInt(hex[0], 16).toString(2).length;
  return Math.ceil(bits / 15);
}

export function encodeDigits(value: bigint): Buffer {
  const hex = hexOf(value);
  const groups = Math.ceil(hex.length / groupHex);
  const padded = hex.padStart(groups * groupHex, '0');
  const bytes = Buffer.alloc(2 * groupDigits * groups);
  for (let group = 0; group < groups; group += 1) {
    const end = padded.length - group * groupHex;
    // 8 hexadecimal digits above 7: the lower 28 bits, and the upper 32, of which two belong to the second digit.
    const upper = Number.parseInt(padded.slice(end - 15, end - 7), 16);
    const lower = Number.parseInt(padded.slice(end - 7, end), 16);
    const at = 2 * groupDigits * group;
    bytes.writeUInt16LE(lower & 0x7fff, at);
    bytes.writeUInt16LE((lower >>> 15) | ((upper & 3) << 13), at + 2);
    bytes.writeUInt16LE((upper >>> 2) & 0x7fff, at + 4);
    bytes.writeUInt16LE(upper >>> 17, at + 6);
  }
  return bytes.subarray(0, 2 * digitCount(value));
}

/** The int without its sign. Throws RangeError on digits that Python would not have written. */
export function decodeDigits(bytes: Buffer): bigint {
  const count = bytes.length / 2;
  if (count > 0 && bytes.readUInt16LE(bytes.length - 2) === 0)
    throw new RangeError('marshal: an int with a leading zero');
  const digit = (index: number): number => {
    const value = index < count ? bytes.readUInt16LE(2 * index) : 0;
    if (value > 0x7fff) throw new RangeError('marshal: a digit of more than 15 bits');
    return value;
  };
  const parts: string[] = [];
  for (let first = Math.floor(Math.max(0, count - 1) / groupDigits) * groupDigits; first >= 0; first -= groupDigits) {
    const second = digit(first + 1);
    const lower = digit(first) | ((second & 0x1fff) << 15);
    const upper = ((second >>> 13) | (digit(first + 2) << 2) | (digit(first + 3) << 17)) >>> 0;
    parts.push(upper.toString(16).padStart(8, '0'), lower.toString(16).padStart(7, '0'));
  }
  return BigInt(`0x${parts.join('')}`);
}
