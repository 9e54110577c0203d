import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createReferenceDevice } from '../reference/index.ts';
import { Scope } from '../scope.ts';
import { Tape } from '../tape.ts';
import { readFloats } from '../transfer.ts';
import { inverseFrequencies, type Llama3Scaling, rotary, rotaryTable } from './rotary.ts';

const device = createReferenceDevice({ arenaBytes: 2 ** 22 });
/** Llama 3.1's own settings. */
const llama31 = { factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalMaxPositions: 8192 };

/** The rule as Hugging Face transformers writes it (modeling_rope_utils, _compute_llama3_parameters). */
function transformersRule(frequencies: readonly number[], scaling: Llama3Scaling): number[] {
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalMaxPositions: context } = scaling;
  const [lowWavelength, highWavelength] = [context / low, context / high];
  return frequencies.map((frequency) => {
    const wavelength = (2 * Math.PI) / frequency;
    const scaled = wavelength > lowWavelength ? frequency / factor : frequency;
    const smooth = (context / wavelength - low) / (high - low);
    const smoothed = ((1 - smooth) * scaled) / factor + smooth * scaled;
    const isMedium = !(wavelength < highWavelength) && !(wavelength > lowWavelength);
    return isMedium ? smoothed : scaled;
  });
}

test('plain frequencies are theta^(−2i/d)', () => {
  expect([...inverseFrequencies(8, 10_000, null)]).toEqual([0, 1, 2, 3].map((i) => 10_000 ** (-i / 4)));
});

test('llama3 scaling agrees with the rule of transformers, for its own settings and for others', () => {
  const scaling = fc.record({
    factor: fc.integer({ min: 1, max: 64 }),
    lowFrequencyFactor: fc.integer({ min: 1, max: 4 }),
    highFrequencyFactor: fc.integer({ min: 5, max: 16 }),
    originalMaxPositions: fc.constantFrom(64, 2048, 8192),
  });
  fc.assert(
    fc.property(fc.oneof(fc.constant(llama31), scaling), fc.constantFrom(100, 1e4, 5e5), (rule, theta) => {
      const plain = [...inverseFrequencies(128, theta, null)];
      const found = inverseFrequencies(128, theta, rule);
      transformersRule(plain, rule).forEach((expected, i) => {
        expect(Math.abs(found[i] - expected) / expected).toBeLessThan(1e-12);
      });
    }),
  );
  const found = inverseFrequencies(128, 500_000, llama31);
  expect(found[0]).toBe(1);
  expect(found[63] * 8).toBeCloseTo(500_000 ** (-126 / 128), 15);
});

test('the table holds cos then sin of position × frequency, both rounded to float32', async () => {
  using scope = new Scope(device);
  const frequencies = inverseFrequencies(4, 100, null);
  const table = await readFloats(rotaryTable(scope, 50, frequencies));
  const angle = Math.fround(49 * Math.fround(0.1));
  expect([...table.subarray(0, 4)]).toEqual([1, 1, 0, 0]);
  expect([...table.subarray(49 * 4)]).toEqual(
    [Math.cos(49), Math.cos(angle), Math.sin(49), Math.sin(angle)].map(Math.fround),
  );
});

test('scores depend on how far apart two positions are, and lengths do not change', async () => {
  const headSize = 8;
  const vector = fc.array(fc.float({ min: -2, max: 2, noNaN: true }), { minLength: headSize, maxLength: headSize });
  await fc.assert(
    fc.asyncProperty(vector, vector, fc.nat(30), fc.nat(30), fc.nat(60), async (q, k, i, j, shift) => {
      using scope = new Scope(device);
      using tape = new Tape(device);
      const table = rotaryTable(scope, 100, inverseFrequencies(headSize, 100, null));
      const x = scope.from(Float32Array.from([q, k, q, k].flat()), [4, 1, headSize], 'x');
      const positions = scope.from(Int32Array.of(i, j, i + shift, j + shift), [4], 'positions');
      const turned = await readFloats(rotary(tape, x, positions, table));
      const dot = (a: number, b: number): number =>
        q.reduce((sum, _, d) => sum + turned[a * headSize + d] * turned[b * headSize + d], 0);
      expect(Math.abs(dot(0, 1) - dot(2, 3))).toBeLessThan(2e-4);
      expect(Math.abs(dot(0, 0) - q.reduce((sum, value) => sum + value * value, 0))).toBeLessThan(2e-4);
    }),
  );
});

test('rotates in the half-split layout: x[i] with x[i + d/2]', async () => {
  using scope = new Scope(device);
  using tape = new Tape(device);
  const table = rotaryTable(scope, 2, Float64Array.of(Math.PI / 2, 0));
  const x = scope.from(Float32Array.of(1, 2, 3, 4), [1, 1, 4], 'x');
  const turned = await readFloats(rotary(tape, x, scope.from(Int32Array.of(1), [1], 'positions'), table));
  const expected = [-3, 2, 1, 4];
  turned.forEach((value, i) => {
    expect(value).toBeCloseTo(expected[i], 6);
  });
});
