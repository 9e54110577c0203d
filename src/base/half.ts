/** 16-bit floats as raw bits: bfloat16 and IEEE binary16, rounded to nearest even, subnormals, infinities and NaN included. */
const word = new Float32Array(1);
const bits = new Uint32Array(word.buffer);

export function bfloat16ToFloat(half: number): number {
  bits[0] = half << 16;
  return word[0];
}

export function floatToBfloat16(value: number): number {
  word[0] = value;
  const raw = bits[0];
  if ((raw & 0x7fffffff) > 0x7f800000) return (raw >>> 16) | 0x40;
  return ((raw + 0x7fff + ((raw >>> 16) & 1)) >>> 16) & 0xffff;
}

export function float16ToFloat(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

export function floatToFloat16(value: number): number {
  word[0] = value;
  const raw = bits[0];
  const sign = (raw >>> 16) & 0x8000;
  const magnitude = raw & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x47800000) return sign | 0x7c00;
  if (magnitude < 0x38800000) return sign | roundHalfEven(Math.abs(word[0]) * 2 ** 24);
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
  return sign | ((rounded - 0x38000000) >>> 13);
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest > 0.5 || (rest === 0.5 && floor % 2 === 1)) return floor + 1;
  return floor;
}

export type HalfKind = 'bf16' | 'f16';

let float16Table: Float32Array | undefined;

/** The conversion is exact: every 16-bit float is a float32. NaN payloads of bfloat16 survive. */
export function widenHalves(data: Uint16Array, kind: HalfKind): Float32Array {
  const out = new Float32Array(data.length);
  if (kind === 'bf16') {
    const raw = new Uint32Array(out.buffer);
    for (let i = 0; i < data.length; i++) raw[i] = data[i] << 16;
  } else {
    float16Table ??= Float32Array.from({ length: 65_536 }, (_, half) => float16ToFloat(half));
    for (let i = 0; i < data.length; i++) out[i] = float16Table[data[i]];
  }
  return out;
}

export function narrowFloats(data: Float32Array, kind: HalfKind): Uint16Array {
  const narrow = kind === 'bf16' ? floatToBfloat16 : floatToFloat16;
  const out = new Uint16Array(data.length);
  for (let i = 0; i < data.length; i++) out[i] = narrow(data[i]);
  return out;
}
