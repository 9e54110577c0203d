/** Completions that begin alike: what they share is computed once, and no hidden state and no log-probability changes a bit. */
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { randomStream } from '../../base/rng.ts';
import { type Device, embedding, readFloats, readInts, Scope, Tape, type Tensor } from '../../engine/index.ts';
import { createReferenceDevice } from '../../engine/reference/index.ts';
import { createWasmDevice } from '../../engine/wasm/index.ts';
import type { DecoderConfig } from '../files/config.ts';
import { modelPresets } from '../files/presets.ts';
import { expectedTensors } from '../files/weights.ts';
import { Decoder } from './decoder.ts';
import { type Group, packGroups } from './pack.ts';
import { forwardGroups, scoreGroups } from './score.ts';

const config: DecoderConfig = { ...modelPresets.nano, vocabSize: 5, layers: 2, maxPositions: 400 };
const devices: readonly (readonly [string, Device])[] = [
  ['reference', createReferenceDevice({ arenaBytes: 2 ** 26 })],
  ['plain', await createWasmDevice({ variant: 'plain', threads: 2, arenaBytes: 2 ** 27 })],
  ['auto', await createWasmDevice({ threads: 2, arenaBytes: 2 ** 27 })],
];
afterAll(() => {
  for (const [, device] of devices) device[Symbol.dispose]();
});

/** Weights so large that another order of a sum shows in the log-probabilities. */
function open(scope: Scope, of = config): Promise<Decoder> {
  const weights = [...expectedTensors(of)].map(([name, shape]) => {
    const data = new Float32Array(shape.reduce((product, axis) => product * axis, 1));
    randomStream(6, name).fillNormal(data, 0.4);
    return { name, shape, dtype: 'f32' as const, data };
  });
  return Decoder.load(scope, of, weights);
}

/** Bits of the hidden states at all places, and of log π of all completions; what was computed for them. */
async function score(decoder: Decoder, groups: readonly Group[], merge: boolean) {
  using tape = new Tape(decoder.head.device);
  const packed = packGroups(tape, decoder.config, groups, { merge });
  const hidden = forwardGroups(tape, decoder, packed);
  const laid = packed.laid === null ? hidden : embedding(tape, hidden, packed.laid);
  const parts = [await readFloats(laid), await readFloats(scoreGroups(tape, decoder, packed))];
  const bits = parts.map((part) => Buffer.from(part.buffer).toString('base64'));
  return { bits, packed, ids: await readInts(packed.batch.ids) };
}

/** Two letters only, so that rows often begin alike; empty ones, single tokens and equal ones are among them. */
const row = fc.array(fc.nat(1), { maxLength: 9 }).map((list) => Int32Array.from(list));
const list = fc.array(
  fc.record({ prompt: row.filter(({ length }) => length > 0), completions: fc.array(row, { maxLength: 6 }) }),
  {
    minLength: 1,
    maxLength: 3,
  },
);

test.each(devices)('%s: the same bits, from fewer tokens', async (_name, device) => {
  using scope = new Scope(device);
  const decoder = await open(scope);
  let saved = 0;
  await fc.assert(
    fc.asyncProperty(list, async (groups) => {
      const [merged, apart] = [await score(decoder, groups, true), await score(decoder, groups, false)];
      expect(merged.bits).toEqual(apart.bits);
      saved += apart.packed.tokens - merged.packed.tokens;
    }),
    { numRuns: 25, seed: 1 },
  );
  expect(saved).toBeGreaterThan(50);
});

/** With eight query heads to a key head an item of attention has room for half as many queries. */
const sharing = { ...config, heads: 8, kvHeads: 1 };

test.each(devices.slice(1))('%s: rows longer than an item of attention', async (_name, device) => {
  const long = (length: number) => Int32Array.from({ length }, (_, t) => (t < 60 ? (t * t) % 5 : t % 3));
  for (const [shape, most] of [
    [config, 256],
    [sharing, 128],
  ] as const) {
    using scope = new Scope(device);
    const decoder = await open(scope, shape);
    const completions = [most + 2, most + 1, most - 5, 100, 101, 1].map(long);
    const groups = [{ prompt: Int32Array.of(1, 2), completions }];
    expect((await score(decoder, groups, true)).bits).toEqual((await score(decoder, groups, false)).bits);
    const prompted = [{ prompt: long(most + 1), completions: [Int32Array.of(1, 2)] }];
    for (const [ends, all] of (await trimmed(decoder, prompted)).pairs) expect(ends).toBe(all);
  }
});

/** Bits of the hidden states at the ends of a trimmed pack, and of the same tokens among all; of log π, trimmed and not. */
async function trimmed(decoder: Decoder, groups: readonly Group[]) {
  using tape = new Tape(decoder.head.device);
  const [whole, packed] = [false, true].map((trim) => packGroups(tape, decoder.config, groups, { merge: true, trim }));
  const picked = (hidden: Tensor) => (packed.ends === null ? hidden : embedding(tape, hidden, packed.ends.rows));
  const tensors = [
    [forwardGroups(tape, decoder, packed), picked(forwardGroups(tape, decoder, whole))],
    [packed, whole].map((each) => scoreGroups(tape, decoder, each)),
  ];
  const read = async (tensor: Tensor) => Buffer.from((await readFloats(tensor)).buffer).toString('base64');
  const pairs = await Promise.all(tensors.map((pair) => Promise.all(pair.map(read))));
  return { pairs, dropped: whole.tokens - (packed.ends?.tokens ?? whole.tokens) };
}

test.each(devices)('%s: last states of prompts are left out, and no other changes a bit', async (_name, device) => {
  using scope = new Scope(device);
  const decoder = await open(scope);
  let dropped = 0;
  await fc.assert(
    fc.asyncProperty(list, async (groups) => {
      const found = await trimmed(decoder, groups);
      for (const [ends, all] of found.pairs) expect(ends).toBe(all);
      dropped += found.dropped;
    }),
    { numRuns: 20, seed: 2 },
  );
  expect(dropped).toBeGreaterThan(50);
});

test('a layout says which computed token lies where', async () => {
  const [, device] = devices[0];
  using scope = new Scope(device);
  const decoder = await open(scope);
  const completions = [
    [1, 2, 3, 4],
    [1, 2, 3, 0],
    [1, 2],
    [4, 2, 3],
  ].map((ids) => Int32Array.from(ids));
  const { packed, ids } = await score(decoder, [{ prompt: Int32Array.of(0, 3), completions }], true);
  // Two tokens of every row are its own.
  expect([...ids]).toEqual([0, 3, 1, 2, 3, 4, 3, 0, 1, 2, 4, 2, 3]);
  expect(packed.tokens).toBe(13);
  expect(packed.completions.map(({ start, end }) => [start, end])).toEqual([
    [2, 6],
    [6, 10],
    [10, 12],
    [12, 15],
  ]);
});
