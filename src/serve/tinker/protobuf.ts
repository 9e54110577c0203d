/**
 * The messages that Tinker's SDK (0.25.0, `tinker_public.proto`) sends and reads as protocol buffers: a request to learn, and the answers to it and
 * to a request for samples. Numbers travel as little-endian bytes. A field that is not known is skipped, as the format wants it.
 */
import { HttpProblem } from '../../base/node/index.ts';
import { doubleField, integerField, message, messageField, textField } from '../../base/node/protobuf.ts';

export const protobufType = 'application/x-protobuf';

/** A tensor as JSON has it. */
export interface TensorData {
  readonly dtype: 'float32' | 'int64';
  readonly data: ArrayLike<number>;
  readonly shape?: readonly number[] | null | undefined;
}

export interface WireDatum {
  readonly tokens: readonly ArrayLike<number>[];
  readonly inputs: ReadonlyMap<string, TensorData>;
}

export interface WireLearning {
  readonly modelId: string;
  /** null: the client gives none, which the format cannot tell from 0. */
  readonly seqId: number | null;
  readonly lossFn: string;
  readonly config: ReadonlyMap<string, number>;
  readonly forwardOnly: boolean;
  readonly data: readonly WireDatum[];
}

const damaged = (): HttpProblem => new HttpProblem(400, `the body is no message of type ${protobufType}.`);

/** Bounds what a body makes the server do: each of the SDK's data has about thirty fields. */
const most = { data: 1024, fields: 2 ** 17, shapeBytes: 80, sizes: 8 } as const;

/** How many fields of a body may still be read, in messages of all depths together. */
type Budget = { fields: number };

type Field = { readonly field: number; readonly value: number; readonly bytes: Uint8Array };

/** The fields of a message in order: a number, or the bytes of what has a length. */
function* fieldsOf(bytes: Uint8Array, budget: Budget): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let [value, scale, wide] = [0, 1, 0n];
    for (let i = 0; i < 10; i++, scale *= 128) {
      if (at >= bytes.length) throw damaged();
      const byte = bytes[at++];
      // Seven bytes are exact as a number; only longer ones, up to 64 bits with a sign, need more.
      if (i < 7) value += (byte & 127) * scale;
      else wide |= BigInt(byte & 127) << BigInt(7 * i);
      if (byte < 128) return i < 7 ? value : Number(BigInt.asIntN(64, wide | BigInt(value)));
    }
    throw damaged();
  };
  const take = (length: number): Uint8Array => {
    if (length < 0 || length > bytes.length - at) throw damaged();
    at += length;
    return bytes.subarray(at - length, at);
  };
  const none = new Uint8Array();
  while (at < bytes.length) {
    if (budget.fields-- <= 0) throw new HttpProblem(400, `expected at most ${most.fields} fields in a body.`);
    const key = varint();
    const [field, kind] = [Math.floor(key / 8), key % 8];
    if (kind === 0) yield { field, value: varint(), bytes: none };
    else if (kind === 2) yield { field, value: 0, bytes: take(varint()) };
    else if (kind === 1) yield { field, value: doubleOf(take(8)), bytes: none };
    else if (kind === 5) take(4);
    else throw damaged();
  }
}

const doubleOf = (bytes: Uint8Array): number => new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw damaged();
  }
}

/** Whole numbers and floats of a fixed width, wherever in a body they stand. */
function numbersOf(bytes: Uint8Array, width: 4 | 8, read: (view: DataView, at: number) => number): Float64Array {
  if (bytes.length % width !== 0) throw damaged();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float64Array.from({ length: bytes.length / width }, (_, i) => read(view, i * width));
}

const int32s = (bytes: Uint8Array) => numbersOf(bytes, 4, (view, at) => view.getInt32(at, true));
const int64s = (bytes: Uint8Array) => numbersOf(bytes, 8, (view, at) => Number(view.getBigInt64(at, true)));
const float32s = (bytes: Uint8Array) => numbersOf(bytes, 4, (view, at) => view.getFloat32(at, true));

const dtypes = { float32: 1, int64: 2 } as const;

function readTensor(bytes: Uint8Array, budget: Budget): TensorData {
  let [dense, dtype]: [Uint8Array | null, number] = [null, 0];
  const shape: number[] = [];
  for (const { field, value, bytes: own } of fieldsOf(bytes, budget)) {
    if (field === 1) dense = own;
    else if (field === 2) throw new HttpProblem(400, 'sparse tensors are not supported.');
    else if (field === 3) dtype = value;
    else if (field === 4) {
      if (own.length > most.shapeBytes || shape.length >= most.sizes)
        throw new HttpProblem(400, `expected tensors of at most ${most.sizes} dimensions.`);
      shape.push(...(own.length > 0 ? packedInts(own, budget) : [value]));
    }
  }
  const data = dense ?? new Uint8Array();
  const given = shape.length === 0 ? {} : { shape };
  if (dtype === dtypes.float32) return { dtype: 'float32', data: float32s(data), ...given };
  if (dtype === dtypes.int64) return { dtype: 'int64', data: int64s(data), ...given };
  throw new HttpProblem(400, `tensors are float32 or int64, not type ${dtype}.`);
}

/** Repeated whole numbers in one stretch: the same bytes as the values of a message without keys. */
function packedInts(bytes: Uint8Array, budget: Budget): number[] {
  const keyed = new Uint8Array(2 * bytes.length);
  let at = 0;
  for (const [i, byte] of bytes.entries()) {
    if (i === 0 || bytes[i - 1] < 128) keyed[at++] = 8;
    keyed[at++] = byte;
  }
  return [...fieldsOf(keyed.subarray(0, at), budget)].map(({ value }) => value);
}

function readEntry(bytes: Uint8Array, budget: Budget): { readonly key: string; readonly entry: Field } {
  let [key, entry]: [string, Field] = ['', { field: 2, value: 0, bytes: new Uint8Array() }];
  for (const own of fieldsOf(bytes, budget)) {
    if (own.field === 1) key = textOf(own.bytes);
    else if (own.field === 2) entry = own;
  }
  return { key, entry };
}

function readDatum(bytes: Uint8Array, budget: Budget): WireDatum {
  const tokens: ArrayLike<number>[] = [];
  const inputs = new Map<string, TensorData>();
  for (const { field, bytes: own } of fieldsOf(bytes, budget)) {
    if (field === 1) {
      const chunk = [...fieldsOf(own, budget)];
      if (chunk.some((part) => part.field !== 1)) throw new HttpProblem(400, 'model inputs are encoded text only.');
      for (const part of chunk) for (const text of fieldsOf(part.bytes, budget)) tokens.push(int32s(text.bytes));
    } else if (field === 2) {
      const { key, entry } = readEntry(own, budget);
      inputs.set(key, readTensor(entry.bytes, budget));
    }
  }
  return { tokens, inputs };
}

/** Whose request a body is, and its number, which stand before the data; what follows may be damaged. */
export function readNumber(body: Uint8Array): { readonly modelId: string; readonly number: number | null } {
  let [modelId, number]: [string, number | null] = ['', null];
  try {
    for (const { field, value, bytes } of fieldsOf(body, { fields: most.fields })) {
      if (field === 1) modelId = textOf(bytes);
      else if (field === 2) number = Number.isSafeInteger(value) && value > 0 ? value : null;
      else if (field === 3) break;
    }
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
  }
  return { modelId, number };
}

export function readLearning(body: Uint8Array): WireLearning {
  let [modelId, seqId, lossFn, forwardOnly]: [string, number | null, string, boolean] = ['', null, '', false];
  const config = new Map<string, number>();
  const data: WireDatum[] = [];
  const budget: Budget = { fields: most.fields };
  for (const { field, value, bytes } of fieldsOf(body, budget)) {
    if (field === 1) modelId = textOf(bytes);
    else if (field === 2) {
      if (!Number.isSafeInteger(value) || value < 0) throw new HttpProblem(400, 'seq_id: expected a whole number.');
      seqId = value === 0 ? null : value;
    } else if (field === 3) {
      if (data.length === most.data) throw new HttpProblem(400, `data: expected at most ${most.data}.`);
      data.push(readDatum(bytes, budget));
    } else if (field === 4) lossFn = textOf(bytes);
    else if (field === 5) {
      const { key, entry } = readEntry(bytes, budget);
      config.set(key, entry.value);
    } else if (field === 6) forwardOnly = value !== 0;
  }
  return { modelId, seqId, lossFn, config, forwardOnly, data };
}

function littleEndian(values: ArrayLike<number>, kind: 'int32' | 'int64' | 'float32'): Buffer {
  const bytes = Buffer.alloc(values.length * (kind === 'int64' ? 8 : 4));
  for (let i = 0; i < values.length; i++) {
    if (kind === 'int32') bytes.writeInt32LE(values[i], 4 * i);
    else if (kind === 'float32') bytes.writeFloatLE(values[i], 4 * i);
    else bytes.writeBigInt64LE(BigInt(values[i]), 8 * i);
  }
  return bytes;
}

export interface LearningAnswer {
  readonly loss_fn_output_type: string;
  readonly loss_fn_outputs: readonly Readonly<Record<string, TensorData>>[];
  readonly metrics: Readonly<Record<string, number>>;
}

/** One record for all data: of each field the values of all in one stretch, with the place where each begins. */
export function writeLearning({
  loss_fn_output_type: kind,
  loss_fn_outputs: outputs,
  metrics,
}: LearningAnswer): Buffer {
  const fields = Object.entries(outputs[0] ?? {}).map(([name, { shape = [] }]) => {
    const parts = outputs.map((output) => littleEndian(output[name].data, 'float32'));
    const offsets = [0];
    for (const { length } of parts) offsets.push(offsets[offsets.length - 1] + length);
    const trailing = (shape ?? []).slice(1).map((size) => integerField(4, size));
    const batched = [
      messageField(1, ...parts),
      messageField(2, littleEndian(offsets, 'int64')),
      integerField(3, dtypes.float32),
      ...trailing,
    ];
    return messageField(2, textField(1, name), messageField(2, ...batched));
  });
  const told = Object.entries(metrics).map(([name, value]) =>
    messageField(3, textField(1, name), doubleField(2, value)),
  );
  const all = messageField(2, textField(1, kind), ...fields, integerField(3, outputs.length));
  return message(textField(1, kind), all, ...told);
}

export interface SamplesAnswer {
  readonly type: 'sample';
  readonly sequences: readonly {
    readonly stop_reason: 'stop' | 'length';
    readonly tokens: readonly number[];
    readonly logprobs: readonly number[];
  }[];
  readonly prompt_logprobs?: readonly (number | null)[];
}

export function writeSamples({ sequences, prompt_logprobs: prompt }: SamplesAnswer): Buffer {
  const own = sequences.map(({ stop_reason: reason, tokens, logprobs }) =>
    messageField(
      1,
      integerField(1, reason === 'stop' ? 0 : 1),
      messageField(2, littleEndian(tokens, 'int32')),
      messageField(3, littleEndian(logprobs, 'float32')),
    ),
  );
  const scored = prompt?.map((value) => value ?? Number.NaN);
  return message(...own, ...(scored === undefined ? [] : [messageField(2, littleEndian(scored, 'float32'))]));
}
