/** The small messages that ranks send each other beside the data: signs of life, arrivals at a call, and a failure. */
const length = 512;
const textStart = 32;
const kinds = ['alive', 'arrived', 'failed'] as const;
const calls = ['exchange', 'broadcast', 'allGather', 'barrier', 'close'] as const;
export type CallName = (typeof calls)[number];

export type Control =
  | { readonly kind: 'alive' }
  /** A rank has come to its call of this number, counted from 1, and gives so many bytes. */
  | { readonly kind: 'arrived'; readonly sequence: number; readonly call: CallName; readonly bytes: number }
  | { readonly kind: 'failed'; readonly reason: string; readonly exitCode: number };

export const controlBytes = length;

export function encodeControl(control: Control): Uint8Array {
  const message = new Uint8Array(length);
  const numbers = new Float64Array(message.buffer, 0, 4);
  numbers[0] = kinds.indexOf(control.kind);
  if (control.kind === 'arrived') {
    numbers.set([control.sequence, calls.indexOf(control.call), control.bytes], 1);
  } else if (control.kind === 'failed') {
    const written = new TextEncoder().encodeInto(control.reason, message.subarray(textStart)).written;
    numbers.set([written, control.exitCode], 1);
  }
  return message;
}

export function decodeControl(message: Uint8Array): Control {
  const [kind, first, second, third] = new Float64Array(message.slice(0, textStart).buffer);
  const name = kinds[kind];
  if (name === 'arrived') return { kind: name, sequence: first, call: calls[second], bytes: third };
  if (name === 'alive') return { kind: name };
  const reason = new TextDecoder().decode(message.subarray(textStart, textStart + first));
  return { kind: 'failed', reason, exitCode: second };
}
