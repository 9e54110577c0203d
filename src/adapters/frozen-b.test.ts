/** lora-frozen-b against lora: the same policy and the same gradient of A at the start, and a B that nothing moves or stores. */
import { expect, test } from 'vitest';
import { AdamW, readFloats, Scope } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { routeAll, smallLab, TinyLab } from '../verify/tiny-model.ts';
import { gradientFeatures } from './features.ts';

const device = createReferenceDevice({ arenaBytes: 2 ** 26 });
const step = { learningRate: 0.05, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, decay: 0.1, maxNorm: 1e9 };

test('A learns as in lora, B stays, and only A is a parameter', async () => {
  using scope = new Scope(device);
  const [frozen, plain] = [
    await TinyLab.create(scope, 'lora-frozen-b', smallLab),
    await TinyLab.create(scope, 'lora', smallLab),
  ];
  const ofA = plain.adapter.parameters.filter(({ name }) => name.endsWith('.A'));
  expect(frozen.adapter.parameters.map(({ name }) => name)).toEqual(ofA.map(({ name }) => name));
  const absorb = routeAll(['absorb', 'absorb'], 'branch');
  for (const lab of [frozen, plain]) await lab.gradients([0, 1], absorb);
  for (const [i, { gradient }] of frozen.adapter.parameters.entries()) {
    expect(await readFloats(gradient)).toEqual(await readFloats(ofA[i].gradient));
  }
  const before = await frozen.adapter.tensors();
  using optimiser = new AdamW(frozen.adapter.parameters);
  expect(optimiser.moments.size).toBe(plain.adapter.parameters.length / 2);
  optimiser.update(1, step);
  const base = await frozen.score(null);
  expect(await frozen.score(1)).not.toEqual(base);
  const [{ name }] = frozen.adapter.modules;
  const { rank } = smallLab;
  const { down, up } = await frozen.adapter.fullChange(name);
  // The change is B0 (A − A0): both halves of the up factors are B0, one of them negated.
  expect(up.slice(up.length / 2)).toEqual(up.slice(0, up.length / 2).map((value) => -value));
  expect(down.length / (4 * rank)).toBe(frozen.adapter.modules[0].inputs);
  expect(down.slice(0, down.length / 2)).not.toEqual(down.slice(down.length / 2));
  expect(await frozen.adapter.tensors('initial')).toEqual(new Map([...before].filter(([key]) => /0$/.test(key))));
  expect([...(await frozen.adapter.tensors('learned')).keys()].every((key) => key.endsWith('.A'))).toBe(true);
});

test('what gates read is alive at the start', async () => {
  using scope = new Scope(device);
  const lab = await TinyLab.create(scope, 'lora-frozen-b', smallLab);
  const { data } = await gradientFeatures(scope, lab.decoder, lab.adapter, lab.pack(scope, lab.rollouts));
  expect(data.filter((value) => value !== 0).length).toBe(data.length);
});

test('initial values that are not given stay; those that are given reach the frozen B too', async () => {
  using scope = new Scope(device);
  const [one, other] = [
    await TinyLab.create(scope, 'lora-frozen-b', smallLab),
    await TinyLab.create(scope, 'lora-frozen-b', { ...smallLab, seed: 77 }),
  ];
  const initial = await one.adapter.tensors('initial');
  one.adapter.load(await other.adapter.tensors('learned'));
  expect(await one.adapter.tensors('initial')).toEqual(initial);
  one.adapter.load(await other.adapter.tensors());
  const [{ name }] = one.adapter.modules;
  expect(await one.adapter.fullChange(name)).toEqual(await other.adapter.fullChange(name));
});
