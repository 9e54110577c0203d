/** Completions that begin alike: what they share is computed once, and no hidden state, log-probability or gradient changes a bit. */
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { type Route, routeGroups, targetModules } from '../../adapters/index.ts';
import { LinearAdapter } from '../../adapters/linear-adapter.ts';
import { randomStream } from '../../base/rng.ts';
import {
  type Device,
  embedding,
  multiply,
  readFloats,
  readInts,
  Scope,
  sum,
  Tape,
  type Tensor,
} from '../../engine/index.ts';
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

/** Random groups of a test: which tokens are shared is the same on all devices, so the slow one has fewer. */
const trials = (device: string, seed: number) => ({ numRuns: device === 'reference' ? 8 : 25, seed });

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

test.each(devices)('%s: the same bits, from fewer tokens', async (name, device) => {
  using scope = new Scope(device);
  const decoder = await open(scope);
  let saved = 0;
  await fc.assert(
    fc.asyncProperty(list, async (groups) => {
      const [merged, apart] = [await score(decoder, groups, true), await score(decoder, groups, false)];
      expect(merged.bits).toEqual(apart.bits);
      saved += apart.packed.tokens - merged.packed.tokens;
    }),
    trials(name, 1),
  );
  expect(saved).toBeGreaterThan(20);
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
  const places = await placesOf(packed);
  const laidWhole = await placesOf(whole);
  const ends =
    packed.ends === null ? Array.from({ length: packed.tokens }, (_, t) => t) : [...(await readInts(packed.ends.rows))];
  const same = Int32Array.from(ends, (row) => laidWhole[places.indexOf(row)]);
  const picked = (hidden: Tensor) => embedding(tape, hidden, tape.from(same, [same.length], 'same tokens'));
  const tensors = [
    [forwardGroups(tape, decoder, packed), picked(forwardGroups(tape, decoder, whole))],
    [packed, whole].map((each) => scoreGroups(tape, decoder, each)),
  ];
  const read = async (tensor: Tensor) => Buffer.from((await readFloats(tensor)).buffer).toString('base64');
  const pairs = await Promise.all(tensors.map((pair) => Promise.all(pair.map(read))));
  return { pairs, dropped: whole.tokens - (packed.ends?.tokens ?? whole.tokens) };
}

/** The computed token at each place. */
async function placesOf({ laid, tokens }: ReturnType<typeof packGroups>): Promise<number[]> {
  return laid === null ? Array.from({ length: tokens }, (_, t) => t) : [...(await readInts(laid))];
}

test.each(devices)('%s: last states of prompts are left out, and no other changes a bit', async (name, device) => {
  using scope = new Scope(device);
  const decoder = await open(scope);
  let dropped = 0;
  await fc.assert(
    fc.asyncProperty(list, async (groups) => {
      const found = await trimmed(decoder, groups);
      for (const [ends, all] of found.pairs) expect(ends).toBe(all);
      dropped += found.dropped;
    }),
    trials(name, 2),
  );
  expect(dropped).toBeGreaterThan(20);
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
  // Two tokens of every row are its own, but for one that another row begins with.
  expect([...ids]).toEqual([0, 3, 1, 2, 3, 4, 3, 0, 4, 2, 3]);
  expect(packed.tokens).toBe(11);
  expect(packed.completions.map(({ start, end }) => [start, end])).toEqual([
    [2, 6],
    [6, 10],
    [10, 12],
    [12, 15],
  ]);
});

const rank = 2;
const normals = (name: string, count: number) => {
  const data = new Float32Array(count);
  randomStream(7, name).fillNormal(data, 0.3);
  return data;
};

/** Bits of log π and of every gradient of a pass that learns, and how many tokens were left out. */
async function learn(decoder: Decoder, groups: readonly Group[], share: boolean) {
  using scope = new Scope(decoder.head.device);
  const adapter = new LinearAdapter(scope, 'lora', rank, targetModules(config), ({ name, inputs, outputs }) => ({
    A0: normals(`${name} A0`, 2 * rank * inputs),
    B0: normals(`${name} B0`, outputs * 2 * rank),
  }));
  for (const { value } of adapter.parameters) scope.device.kernels.affine(value, value, 1.1, 0);
  const gradients = adapter.parameters.map(({ value }) => scope.zeros(value.shape, 'gradient'));
  const routes = groups.map((_, g): Route => (g % 2 === 0 ? 'absorb' : 'keep'));
  // Completions with the same tokens have the same slopes, and therefore the same gradients.
  const alikeIn = ({ completions }: Group) =>
    completions.map((own) => completions.findIndex((other) => `${other}` === `${own}`));
  const kinds = groups.map((group, g) => (share ? { ...group, kind: routes[g], alike: alikeIn(group) } : group));
  const packed = packGroups(scope, decoder.config, kinds, { share });
  const project = adapter.project({ coefficients: routeGroups(scope, packed, routes, 'branch') });
  using tape = new Tape(scope.device, {
    learn: new Map(adapter.parameters.map(({ value }, i) => [value, gradients[i]])),
  });
  const logp = scoreGroups(tape, decoder, packed, { project });
  const slopes = Float32Array.from(
    groups.flatMap(({ completions }, g) => completions.flatMap((own) => [...normals(`${g} ${own}`, own.length)])),
  );
  tape.backward(sum(tape, multiply(tape, logp, scope.from(slopes, logp.shape, 'slopes'))));
  const parts = await Promise.all([logp, ...gradients].map(readFloats));
  const { shared } = packed;
  const left = shared === null ? 0 : shared.rows.of.size - shared.rows.first.size;
  return { bits: parts.map((part) => Buffer.from(part.buffer).toString('base64')), left };
}

test.each(devices)('%s: a pass that learns from fewer tokens has the same gradients', async (name, device) => {
  using scope = new Scope(device);
  const decoder = await open(scope);
  let left = 0;
  await fc.assert(
    fc.asyncProperty(list, async (groups) => {
      if (groups.every(({ completions }) => completions.every(({ length }) => length === 0))) return;
      const [shared, apart] = [await learn(decoder, groups, true), await learn(decoder, groups, false)];
      expect(shared.bits).toEqual(apart.bits);
      left += shared.left;
    }),
    trials(name, 3),
  );
  expect(left).toBeGreaterThan(20);
});
