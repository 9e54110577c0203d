/**
 * What must hold for every adapter family on every device: all invariants at one shape with any number of threads, and at
 * random small shapes; equal results for any number of threads; and planted mistakes, which must be noticed.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { families } from '../../src/adapters/index.ts';
import { type Device, Scope } from '../../src/engine/index.ts';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { createWasmDevice } from '../../src/engine/wasm/index.ts';
import { generateNumbers, verifyAdapters } from '../../src/verify/invariants.ts';
import { type LabShape, routeAll, smallLab, TinyLab } from '../../src/verify/tiny-model.ts';
import { withKernels } from '../device/wrap.ts';

const arenaBytes = 2 ** 26;
const names = ['reference', 'wasm, one thread', 'wasm, two threads'] as const;
const devices = new Map<string, Device>();

beforeAll(async () => {
  devices.set('reference', createReferenceDevice({ arenaBytes }));
  devices.set('wasm, one thread', await createWasmDevice({ arenaBytes, threads: 1 }));
  devices.set('wasm, two threads', await createWasmDevice({ arenaBytes, threads: 2 }));
});
afterAll(() => {
  for (const device of devices.values()) device[Symbol.dispose]();
});

function deviceOf(name: string): Device {
  const device = devices.get(name);
  if (device === undefined) throw new Error(`no device ${name}`);
  return device;
}

const shapes: fc.Arbitrary<LabShape> = fc
  .record({
    layers: fc.integer({ min: 1, max: 2 }),
    kvHeads: fc.integer({ min: 1, max: 2 }),
    heads: fc.constant(0),
    headDim: fc.constantFrom(2, 4, 6),
    hiddenSize: fc.integer({ min: 6, max: 18 }),
    intermediateSize: fc.integer({ min: 6, max: 18 }),
    vocabSize: fc.integer({ min: 8, max: 33 }),
    rank: fc.integer({ min: 1, max: 3 }),
    rollouts: fc.integer({ min: 3, max: 5 }),
    seed: fc.nat(10_000),
  })
  .chain((shape) =>
    // Two blocks must fit into the smallest matrix, [kvHeads · headDim, hidden].
    fc.integer({ min: 1, max: 3 }).map((share) => ({
      ...shape,
      heads: shape.kvHeads * share,
      rank: Math.min(shape.rank, Math.floor((shape.kvHeads * shape.headDim) / 2)),
    })),
  );

describe.each(names)('on %s', (name) => {
  it('every invariant holds for every family', async () => {
    const device = deviceOf(name);
    const { checks } = await verifyAdapters(device);
    expect(checks.filter(({ pass }) => !pass)).toEqual([]);
    expect(checks.length).toBe(39 * families.length);
    expect(device.arena.used).toBe(0);
  });

  it('every invariant holds at random shapes', async () => {
    const property = fc.asyncProperty(shapes, fc.constantFrom(...families), async (shape, family) => {
      const { checks } = await verifyAdapters(deviceOf(name), { families: [family], shape });
      expect(checks.filter(({ pass }) => !pass)).toEqual([]);
    });
    // Each device gets shapes of its own.
    await fc.assert(property, { numRuns: 3, seed: 7 + names.indexOf(name) });
  });
});

it('scores, gradients and samples are the same bytes for one and for two threads', async () => {
  const run = async (name: string): Promise<unknown> => {
    using scope = new Scope(deviceOf(name));
    const lab = await TinyLab.create(scope, 'scorda', {
      ...smallLab,
      hiddenSize: 48,
      intermediateSize: 96,
      headDim: 16,
    });
    await lab.disturb('everything');
    const gradients = await lab.gradients([0, 1, 2], routeAll(['keep', 'absorb', 'route'], 'branch'));
    return [await lab.score(1), await generateNumbers(lab), gradients];
  };
  expect(await run('wasm, two threads')).toEqual(await run('wasm, one thread'));
});

describe('planted mistakes are seen', () => {
  const failures = async (device: Device): Promise<string[]> => {
    const { checks } = await verifyAdapters(device, { families: ['lora'] });
    return checks.filter(({ pass }) => !pass).map(({ quantity }) => quantity);
  };

  it('a gradient that leaks into the block that does not learn', async () => {
    const leaky = withKernels(deviceOf('reference'), (kernels) => ({
      scaleBlocks(out, h, coefficients, rank, column) {
        kernels.scaleBlocks(out, h, coefficients, rank, column);
        if (out.label === 'learning part') kernels.affine(out, out, 1, 1e-7);
      },
    }));
    const found = await failures(leaky);
    expect(found).toContain('keep, branch detach: quarantine block gradient is zero');
    expect(found).toContain('route, parameter detach: deployed block gradient is zero');
  });

  it('an initial part that is not subtracted', async () => {
    const forgetful = withKernels(deviceOf('reference'), (kernels) => ({
      scaleBlocks(out, h, coefficients, rank, column) {
        if (column > 0) kernels.fill(out, 0);
        else kernels.scaleBlocks(out, h, coefficients, rank, column);
      },
    }));
    expect(await failures(forgetful)).toContain('start: full is base');
  });

  it('a sample that depends on its place in the batch', async () => {
    const confused = withKernels(deviceOf('reference'), (kernels) => ({
      sample(ids, tokens, logps, logits, slots, _rows, counts, options) {
        kernels.sample(ids, tokens, logps, logits, slots, slots, counts, options);
      },
    }));
    expect(await failures(confused)).toContain('a sample does not depend on its neighbours');
  });
});
