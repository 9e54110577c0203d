/** Steps that should make a deletion last: their arithmetic by hand, and what they move on a tiny policy. */
import { Matrix } from 'ml-matrix';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TinyLab } from '../../test/grpo/tiny-lab.ts';
import { task, tinySettings, tokens } from '../../test/grpo/tiny-policy.ts';
import { randomStream } from '../base/index.ts';
import { readFloats } from '../engine/index.ts';
import { leaveOut, leftDirections, makeLasting, randomDirections, shrunkAndNoised, xavier } from './lasting.ts';
import type { LastingTable } from './lasting-table.ts';
import { scoreRollouts } from './policy.ts';
import { policySampler } from './sampler.ts';

const near = (rows: readonly (readonly number[])[]) => rows.map((row) => row.map((value) => expect.closeTo(value, 10)));

describe('a gradient without its leading components', () => {
  it('is what is left of its singular values, by hand', () => {
    // (1, 1)/√2 with 3, then (1, −1)/√2 with 1.
    const matrix = new Matrix([
      [2, 1],
      [1, 2],
    ]);
    const [first] = leftDirections(matrix);
    expect(Math.abs(first[0] + first[1])).toBeCloseTo(Math.SQRT2, 10);
    expect(leaveOut(matrix, [first]).to2DArray()).toEqual(
      near([
        [0.5, -0.5],
        [-0.5, 0.5],
      ]),
    );
    expect(leaveOut(matrix, leftDirections(matrix)).abs().max()).toBeCloseTo(0, 10);
    // Rows 3 and 4 times the same vector are one component, whatever their width.
    const flat = new Matrix([
      [3, 0, 3],
      [4, 0, 4],
      [0, 1, 0],
    ]);
    expect(leaveOut(flat, leftDirections(flat).slice(0, 1)).to2DArray()).toEqual(
      near([
        [0, 0, 0],
        [0, 0, 0],
        [0, 1, 0],
      ]),
    );
  });

  it('has as many random orthonormal directions as its control', () => {
    const drawn = new Matrix(randomDirections(4, randomStream(1, 'directions')));
    expect(drawn.mmul(drawn.transpose()).to2DArray()).toEqual(near(Matrix.eye(4).to2DArray()));
    expect(randomDirections(4, randomStream(1, 'directions'))).toEqual(drawn.to2DArray());
    expect(randomDirections(4, randomStream(2, 'directions'))).not.toEqual(drawn.to2DArray());
  });
});

describe('a block that is shrunk and noised', () => {
  it('keeps 1 − α of what it learned, and gets α β of the noise', () => {
    // 2 + 0.75 · (6 − 2) + 0.25 · 0.1 · 8
    expect(shrunkAndNoised(6, 2, 8, { alpha: 0.25, beta: 0.1 })).toBeCloseTo(5.2, 12);
    expect(shrunkAndNoised(6, 2, 8, { alpha: 1, beta: 0 })).toBe(2);
  });

  it('has noise within ±√(6 / (rows + columns)), and none for a vector', () => {
    const noise = xavier([2, 4], randomStream(1, 'noise'));
    expect(noise).toHaveLength(8);
    expect(Math.max(...noise.map(Math.abs))).toBeLessThanOrEqual(1);
    const wide = xavier([10, 590], randomStream(1, 'noise'));
    expect(Math.max(...wide.map(Math.abs))).toBeLessThanOrEqual(0.1);
    expect(Math.max(...wide)).toBeGreaterThan(0.09);
    expect(Math.min(...wide)).toBeLessThan(-0.09);
    expect(xavier([5], randomStream(1, 'noise'))).toEqual(new Float32Array(5));
  });
});

describe('on a policy', () => {
  let lab: TinyLab;
  beforeAll(async () => {
    lab = await TinyLab.open();
  });
  afterAll(() => lab[Symbol.dispose]());

  const usual: LastingTable = {
    ...{ kind: 'collapse', placebo: 'none', steps: 2, components: 1, size: 0.1 },
    ...{ alpha: 0.5, beta: 0.1, batches: 2, learningRate: 1e-2 },
  };
  const hacks = [0, 1].map((group) => ({
    group,
    prompt: tokens(`prompt ${group}`, 4),
    tokens: tokens(`hack ${group}`, 5),
  }));
  const context = () => ({
    policy: lab.policy,
    sampler: policySampler(lab.policy, tinySettings.compute),
    settings: tinySettings,
    tasks: ['a', 'b'].map((id) => task(id)),
    stopTokens: [],
  });
  const read = (block: 'deployed' | 'quarantine') =>
    Promise.all(lab.policy.adapter.blockValues(block).map((value) => readFloats(value)));
  const nllOf = async (scale: number): Promise<number> => {
    const { logps } = await scoreRollouts(lab.policy, hacks, () => scale, { tokensPerPass: 512 });
    const means = logps.map((own) => -own.reduce((sum, value) => sum + value, 0) / own.length);
    return means.reduce((sum, value) => sum + value, 0) / means.length;
  };
  /** Does a step, looks at what it has done, and takes it back. */
  const last = async <Result>(changes: Partial<LastingTable>, look: () => Promise<Result>) => {
    const saved = await lab.policy.adapter.tensors('learned');
    try {
      const made = await makeLasting(context(), hacks, { ...usual, ...changes });
      return { ...made, seen: await look() };
    } finally {
      lab.policy.adapter.load(saved);
    }
  };

  it('collapse makes the hacks less likely, moves as far as it was told, and leaves the quarantine', async () => {
    const [before, quarantine] = [await nllOf(1), await read('quarantine')];
    const { losses, learned, moved, expectations, seen } = await last({}, async () => ({
      nll: await nllOf(1),
      quarantine: await read('quarantine'),
    }));
    expect(losses[0]).toBeCloseTo(before, 4);
    expect(losses[1]).toBeGreaterThan(losses[0]);
    expect(seen.nll).toBeGreaterThan(losses[1]);
    // Two steps of 0.05 each, which need not have one direction.
    expect(moved).toBeLessThanOrEqual(0.1 * learned * 1.0001);
    expect(moved).toBeGreaterThan(0.05 * learned);
    expect(seen.quarantine).toEqual(quarantine);
    expect(expectations.map(({ holds }) => holds)).toEqual([true]);
  });

  it('collapse with random components is another move, and one that leaves nothing is refused', async () => {
    const leading = await last({ steps: 1 }, () => read('deployed'));
    const random = await last({ steps: 1, placebo: 'components' }, () => read('deployed'));
    expect(random.moved).toBeCloseTo(leading.moved, 5);
    expect(random.seen).not.toEqual(leading.seen);
    expect((await last({ steps: 1, placebo: 'components' }, () => read('deployed'))).seen).toEqual(random.seen);
    await expect(last({ components: lab.policy.adapter.rank }, async () => null)).rejects.toThrow('none that is left');
  });

  it('undo is taught what the deployed policy wrote: its loss falls, and the quarantine stays', async () => {
    const quarantine = await read('quarantine');
    const undone = await last({ kind: 'undo', steps: 6, batches: 1 }, () => read('quarantine'));
    expect(undone.losses).toHaveLength(6);
    expect(undone.losses[5]).toBeLessThan(undone.losses[0]);
    expect(undone.seen).toEqual(quarantine);
  });

  it('the noise of a step moves every factor as far as the step does, elsewhere', async () => {
    const start = await read('deployed');
    const lengths = (now: readonly Float32Array[]) =>
      now.map((part, i) => Math.hypot(...part.map((value, at) => value - start[i][at])));
    for (const kind of ['collapse', 'undo'] as const) {
      const step = await last({ kind }, () => read('deployed'));
      const noise = await last({ kind, placebo: 'noise' }, () => read('deployed'));
      const [own, random] = [lengths(step.seen), lengths(noise.seen)];
      own.forEach((length, i) => {
        expect(random[i]).toBeCloseTo(length, 4);
      });
      expect(noise.seen).not.toEqual(step.seen);
    }
  });
});
