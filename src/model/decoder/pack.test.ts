/** Where packed tokens lie, what predicts what, and what does not fit. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readInts, Scope } from '../../engine/index.ts';
import { createReferenceDevice } from '../../engine/reference/index.ts';
import { modelPresets } from '../files/presets.ts';
import { type Group, packGroups, packRows } from './pack.ts';

const device = createReferenceDevice({ arenaBytes: 2 ** 24 });
const config = { ...modelPresets.nano, maxPositions: 12 };

const ids = (length: fc.Arbitrary<number>): fc.Arbitrary<Int32Array> =>
  length.chain((count) =>
    fc.array(fc.nat(config.vocabSize - 1), { minLength: count, maxLength: count }).map((list) => Int32Array.from(list)),
  );
const groups: fc.Arbitrary<Group[]> = fc.array(
  fc.record({
    prompt: ids(fc.integer({ min: 1, max: 6 })),
    completions: fc.array(ids(fc.integer({ min: 0, max: 6 })), { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 4 },
);

test('every token is where its span says, at its position, and is predicted by the one before it', async () => {
  await fc.assert(
    fc.asyncProperty(groups, async (list) => {
      using scope = new Scope(device);
      const packed = packGroups(scope, config, list);
      const [tokens, positions] = [await readInts(packed.batch.ids), await readInts(packed.batch.positions)];
      const [predictors, targets] = [await readInts(packed.predictors), await readInts(packed.targets)];
      expect(tokens.length).toBe(packed.tokens);
      let row = 0;
      list.forEach(({ prompt, completions }, g) => {
        const { start, end } = packed.prompts[g];
        expect(tokens.subarray(start, end)).toEqual(prompt);
        expect([...positions.subarray(start, end)]).toEqual([...prompt.keys()]);
        for (const completion of completions) {
          const [own, scored] = [packed.completions[row], packed.scored[row]];
          row++;
          expect(tokens.subarray(own.start, own.end)).toEqual(completion);
          expect([...positions.subarray(own.start, own.end)]).toEqual(
            Array.from(completion.keys(), (t) => prompt.length + t),
          );
          expect(targets.subarray(scored.start, scored.end)).toEqual(completion);
          completion.forEach((_, t) => {
            const expected = t === 0 ? end - 1 : own.start + t - 1;
            expect(predictors[scored.start + t]).toBe(expected);
          });
        }
      });
      expect(packed.completions.length).toBe(row);
      expect(packed.batch.segments.list.length).toBe(list.length + row);
    }),
    { numRuns: 60 },
  );
});

test('an empty prompt, a row beyond the context and an id beyond the vocabulary are errors with numbers', () => {
  using scope = new Scope(device);
  const pack = (prompt: Int32Array, completion: Int32Array) => () =>
    packGroups(scope, config, [{ prompt, completions: [completion] }]);
  expect(pack(new Int32Array(), Int32Array.of(1))).toThrow('pack group 0: expected a prompt');
  expect(pack(new Int32Array(7), new Int32Array(6))).toThrow(
    "completion of group 0: expected at most 12 tokens (the model's context), found 13",
  );
  expect(pack(Int32Array.of(1), Int32Array.of(config.vocabSize))).toThrow(`found ${config.vocabSize} at position 1`);
  expect(() => packRows(scope, config, [new Int32Array(13)])).toThrow('at most 12 tokens');
});
