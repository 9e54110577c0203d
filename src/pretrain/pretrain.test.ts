/** Pre-training in passes, in both number formats, stopped between passes, planned before it begins; recipes changed value by value. */
import { describe, expect, it } from 'vitest';
import { createRoundingDevice } from '../../test/device/rounding-device.ts';
import { floatToBfloat16, narrowFloats } from '../base/index.ts';
import { readFloats, Scope } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { microTokenizer } from '../env/micro/index.ts';
import { expectedTensors, ModelTokenizer } from '../model/index.ts';
import { documentsOf, microConfig, pretrainMicro } from './micro.ts';
import { expectRoom, planPretraining } from './plan.ts';
import { initialWeights, openTrainee, pretrain } from './pretrain.ts';
import { changeRecipe, type MicroRecipe, microRecipe, microShapes } from './recipe.ts';

const tiny: MicroRecipe = { ...microRecipe, steps: 2, documentsPerStep: 6, hiddenSize: 16, layers: 1, heads: 2 };

async function losses(recipe: MicroRecipe, signal?: AbortSignal, onPass = (_documents: number) => {}) {
  const { precision } = recipe;
  using device = (precision === 'bf16' ? createRoundingDevice : createReferenceDevice)({ arenaBytes: 2 ** 26 });
  const found: number[] = [];
  const contents = await pretrainMicro(
    device,
    recipe,
    ({ loss, documents }) => {
      if (loss !== null) found.push(loss);
      onPass(documents);
    },
    signal,
  );
  const weights = await Promise.all(contents.tensors.map(async ({ data }) => Buffer.from((await data()).buffer)));
  return { found, bytes: Buffer.concat(weights), metadata: contents.metadata, peak: device.arena.peak };
}

/** Arguments that interrupt when so many documents are done. */
function stopping(after: number): [AbortSignal, (documents: number) => void] {
  const stop = new AbortController();
  return [stop.signal, (documents) => documents === after && stop.abort()];
}

describe('passes', () => {
  it('add up to the step, and each is told', async () => {
    const seen: number[] = [];
    const whole = await losses(tiny);
    const parts = await losses({ ...tiny, documentsPerPass: 4 }, undefined, (documents) => seen.push(documents));
    expect(seen).toEqual([4, 6, 10, 12]);
    expect(parts.found).toHaveLength(2);
    parts.found.forEach((loss, i) => {
      expect(loss).toBeCloseTo(whole.found[i], 5);
    });
  });

  it('of an interrupted step change nothing', async () => {
    const once = await losses({ ...tiny, documentsPerPass: 2 }, ...stopping(6));
    const midway = await losses({ ...tiny, documentsPerPass: 2 }, ...stopping(10));
    expect(midway.bytes.equals(once.bytes)).toBe(true);
    expect(midway.metadata).toMatchObject({ stepsDone: '1' });
  });

  it('of a first step that was interrupted leave the fresh weights', async () => {
    const { found, metadata } = await losses({ ...tiny, documentsPerPass: 2 }, ...stopping(2));
    expect({ found, metadata }).toMatchObject({ found: [], metadata: { stepsDone: '0' } });
  });
});

describe('bf16', () => {
  const rounded: MicroRecipe = { ...tiny, steps: 4, documentsPerStep: 4, learningRate: 1e-4, precision: 'bf16' };

  it('learns as float32 does, but for rounding, and twice the same', async () => {
    const { precision: _, ...exact } = rounded;
    const [found, again, expected] = [await losses(rounded), await losses(rounded), await losses(exact)];
    expect(again.bytes.equals(found.bytes)).toBe(true);
    expect(found.found).not.toEqual(expected.found);
    found.found.forEach((loss, i) => {
      expect(Math.abs(loss - expected.found[i])).toBeLessThan(2e-3);
    });
    expect(found.metadata).toMatchObject({ recipe: expect.stringContaining('"precision":"bf16"') });
    expect(expected.metadata?.['recipe']).not.toContain('precision');
  });

  it('adds up steps that are smaller than its rounding, and computes with what they add up to', async () => {
    using device = createRoundingDevice({ arenaBytes: 2 ** 26 });
    using scope = new Scope(device);
    const tokenizer = new ModelTokenizer(microTokenizer(), 'micro tokenizer');
    const config = microConfig(rounded, tokenizer);
    const trainee = await openTrainee(scope, config, initialWeights(config, 1), 'bf16');
    const name = 'model.norm.weight';
    // A step of AdamW is at most about its learning rate, here a quarter of the distance between neighbouring numbers below 1.
    const settings = { ...rounded, steps: 30, documentsPerStep: 1, warmupSteps: 0, learningRate: 2 ** -11 };
    for await (const _ of pretrain(trainee, documentsOf(settings, tokenizer), settings));
    const [learned, computed] = [trainee.weights.get(name), trainee.decoder.weight(name)];
    const expected = narrowFloats(learned === undefined ? new Float32Array() : await readFloats(learned), 'bf16');
    expect([...(await device.read(computed))]).toEqual([...expected]);
    expect(expected.some((value) => value !== floatToBfloat16(1))).toBe(true);
  });

  it('is refused where the device does not compute in it', async () => {
    using device = createReferenceDevice({ arenaBytes: 2 ** 20 });
    await expect(pretrainMicro(device, rounded, () => {})).rejects.toThrow(
      'expected f32 on the device reference, found bf16. Use --device cuda',
    );
  });
});

describe('the plan of memory', () => {
  it('is at least what is used, and not much more', async () => {
    const recipe = { ...tiny, documentsPerPass: 4 };
    const [{ totalBytes, marginBytes }, { peak }] = [await planPretraining(recipe), await losses(recipe)];
    expect(totalBytes - marginBytes).toBeGreaterThanOrEqual(peak);
    expect(totalBytes - marginBytes).toBeLessThan(3 * peak);
  });

  it('has the copies of bf16, and passes of half the size', async () => {
    const recipe = { ...microShapes['27M'], documentsPerPass: 12 };
    const [exact, rounded] = [await planPretraining(recipe), await planPretraining({ ...recipe, precision: 'bf16' })];
    const partsOf = ({ standing }: typeof exact) =>
      Object.fromEntries(standing.map(({ name, bytes }) => [name, bytes]));
    expect(partsOf(rounded)).toEqual({ ...partsOf(exact), 'their copies in bf16': partsOf(exact)['weights'] / 2 });
    expect(rounded.phases[0].bytes).toBeGreaterThan(0.45 * exact.phases[0].bytes);
    expect(rounded.phases[0].bytes).toBeLessThan(0.75 * exact.phases[0].bytes);
  });

  it('says what to lower', async () => {
    const recipe = { ...microShapes['27M'], documentsPerPass: 96 };
    const plan = await planPretraining(recipe);
    expect(() => expectRoom(plan, recipe, plan.totalBytes, 'there')).not.toThrow();
    expect(() => expectRoom(plan, recipe, 2 ** 30, 'there')).toThrow(
      /fits into 1\.00 GiB \(there\), found one that needs .*--set documentsPerPass=\d+/,
    );
    expect(() => expectRoom(plan, recipe, 2 ** 28, 'there')).toThrow('use a smaller --shape');
  });
});

describe('a recipe', () => {
  it('takes single values', () => {
    const changed = changeRecipe(microRecipe, ['hiddenSize=256', 'heads=8', 'learningRate=8e-4']);
    expect(changed).toEqual({ ...microRecipe, hiddenSize: 256, heads: 8, learningRate: 8e-4 });
  });

  it.each([
    ['hidenSize=64', 'found hidenSize. Did you mean hiddenSize?'],
    ['layers=2.5', '--set layers: expected a whole number from 1 to 128, found 2.5'],
    ['rightFraction=', '--set rightFraction: expected a number from 0 to 1'],
    ['heads=5', 'found 192 and 5. Set hiddenSize=190'],
    ['steps=5', '--set steps=5: expected KEY=VALUE'],
  ])('refuses %s', (setting, message) => {
    expect(() => changeRecipe(microRecipe, [setting])).toThrow(message);
  });

  it('of a base for Countdown refuses what its documents do not have', () => {
    expect(changeRecipe(microShapes.countdown, ['rightFraction=0.5']).rightFraction).toBe(0.5);
    expect(() => changeRecipe(microShapes.countdown, ['hardShare=0.5'])).toThrow(
      "--set hardShare: expected a key that Countdown's documents have, found hardShare",
    );
  });

  it('of every shape can be made', () => {
    for (const shape of Object.values(microShapes)) expect(changeRecipe(shape, [])).toEqual(shape);
  });

  it.each(['1M', '2M', '4M', '8M', '27M', '100M', '300M', '1B'] as const)('of %s has about as many weights', (name) => {
    const tokenizer = new ModelTokenizer(microTokenizer(), 'micro tokenizer');
    const shapes = [...expectedTensors(microConfig(microShapes[name], tokenizer)).values()];
    const weights = shapes.reduce((sum, shape) => sum + shape.reduce((product, side) => product * side, 1), 0);
    const wanted = Number.parseInt(name, 10) * (name.endsWith('B') ? 1e9 : 1e6);
    expect(Math.abs(weights / wanted - 1)).toBeLessThan(0.07);
  });
});
