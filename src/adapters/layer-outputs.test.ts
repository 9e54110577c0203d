/** Changes of a layer's output against numbers worked by hand, and the outputs of pairs against a forward pass of each completion. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TinyLab } from '../../test/grpo/tiny-lab.ts';
import { tokens } from '../../test/grpo/tiny-policy.ts';
import { UserError } from '../base/index.ts';
import { multiply, readFloats, Scope, sum, Tape, type Tensor } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { type Project, packGroups, plainProject } from '../model/index.ts';
import {
  addVector,
  changeOutputs,
  emptyDirections,
  emptyVector,
  layerOutput,
  removeDirections,
  writeDirections,
  writeRounded,
} from './layer-outputs.ts';
import { pairOutputDifferences } from './pair-inputs.ts';

describe('changes of an output', () => {
  const device = createReferenceDevice();

  it('h + α v: (1, 2) and (3, 4) moved by 2 · (0.5, −1) are (2, 0) and (4, 2)', async () => {
    using scope = new Scope(device);
    using tape = new Tape(device);
    const vector = emptyVector(scope, 2);
    writeRounded(vector, Float32Array.of(2 * 0.5, 2 * -1));
    const h = scope.from(Float32Array.of(1, 2, 3, 4), [2, 2], 'h');
    expect([...(await readFloats(addVector(vector)(tape, h)))]).toEqual([2, 0, 4, 2]);
  });

  it('h − Q Qᵀ h, and its gradient: what lies along (0.6, 0, 0.8) and (0, 1, 0) is gone, (−0.8, 0, 0.6) stays', async () => {
    using scope = new Scope(device);
    const own = emptyDirections(scope, 2, 3);
    writeDirections(own, Float32Array.of(0.6, 0, 0.8, 0, 1, 0));
    // Qᵀ h of (5, 7, 0) is (3, 7), so Q Qᵀ h is (1.8, 7, 2.4).
    const h = scope.from(Float32Array.of(3, 0, 4, 5, 7, 0), [2, 3], 'h');
    const gradient = scope.zeros([2, 3], 'gradient of h');
    using tape = new Tape(device, { learn: new Map([[h, gradient]]) });
    const out = removeDirections(own)(tape, h);
    const close = (found: Float32Array, expected: readonly number[]) =>
      expected.forEach((value, i) => {
        expect(found[i]).toBeCloseTo(value, 6);
      });
    close(await readFloats(out), [0, 0, 0, 3.2, 0, -2.4]);
    // The projector is symmetric: the gradient (1, 1, 1) of the sum becomes (1, 1, 1) − 1.4 · (0.6, 0, 0.8) − (0, 1, 0).
    tape.backward(sum(tape, out));
    close(await readFloats(gradient), [0.16, 0, -0.12, 0.16, 0, -0.12]);
  });
});

describe('outputs of layers', () => {
  let lab: TinyLab;
  beforeAll(async () => {
    lab = await TinyLab.open();
  });
  afterAll(() => lab[Symbol.dispose]());

  it('are changed by name, and all others are as they were', async () => {
    const { decoder } = lab.policy;
    const { name } = layerOutput(decoder.config, 1, 'arm.layer');
    using tape = new Tape(decoder.head.device);
    const { batch } = packGroups(tape, decoder.config, [{ prompt: tokens('p', 3), completions: [] }]);
    const inputs: string[] = [];
    const squared = (changed: string, own: Tape, h: Tensor): Tensor => {
      inputs.push(changed);
      return multiply(own, h, h);
    };
    const squaring = (changed: string): Project =>
      changeOutputs(plainProject, new Map([[changed, (own: Tape, h: Tensor): Tensor => squared(changed, own, h)]]));
    const plain = await readFloats(decoder.forward(tape, batch));
    expect(
      await readFloats(decoder.forward(tape, batch, { project: squaring('model.layers.2.mlp.down_proj') })),
    ).toEqual(plain);
    expect(await readFloats(decoder.forward(tape, batch, { project: squaring(name) }))).not.toEqual(plain);
    expect(inputs).toEqual([name]);
  });

  it('of pairs are the mean residual stream of the hack less that of the clean side', async () => {
    const { decoder } = lab.policy;
    const modules = [0, 1].map((layer) => layerOutput(decoder.config, layer, 'arm.layer'));
    const pairs = [0, 1, 2].map((i) => ({
      prompt: tokens(`p${i}`, 4),
      hack: tokens(`h${i}`, 3 + i),
      clean: tokens(`c${i}`, 5),
    }));
    const means = async (name: string, prompt: Int32Array, completion: Int32Array): Promise<number[]> => {
      using tape = new Tape(decoder.head.device);
      const packed = packGroups(tape, decoder.config, [{ prompt, completions: [completion] }]);
      let seen: Promise<Float32Array> | undefined;
      const project: Project = (own, x, layers, onto) => {
        const outs = plainProject(own, x, layers, onto);
        if (layers[0].module === name) seen = readFloats(outs[0]);
        return outs;
      };
      decoder.forward(tape, packed.batch, { project });
      const h = (await seen) ?? new Float32Array();
      const [{ start, end }] = packed.completions;
      return Array.from({ length: 16 }, (_, c) => {
        let total = 0;
        for (let t = start; t < end; t++) total += h[16 * t + c];
        return total / (end - start);
      });
    };
    for (const tokensPerPass of [4096, 1]) {
      const differences = await pairOutputDifferences(decoder, modules, pairs, tokensPerPass);
      for (const { name } of modules) {
        const found = differences.get(name) ?? new Float32Array();
        expect(found).toHaveLength(3 * 16);
        for (const [i, { prompt, hack, clean }] of pairs.entries()) {
          const [a, b] = [await means(name, prompt, hack), await means(name, prompt, clean)];
          a.forEach((value, c) => {
            expect(found[16 * i + c]).toBeCloseTo(value - b[c], 5);
          });
        }
      }
    }
  });

  it('of a layer that is not there are refused by the key', () => {
    const refused = () => layerOutput(lab.policy.decoder.config, 2, 'arm.layer');
    expect(refused).toThrow(UserError);
    expect(refused).toThrow('config, key arm.layer: expected a layer of the model, from 0 to 1, found 2.');
  });
});
