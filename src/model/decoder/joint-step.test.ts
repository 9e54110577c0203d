/** Steps whose layers are joined give what layers give that are applied one by one. */
import { expect, test } from 'vitest';
import { withKernels } from '../../../test/device/wrap.ts';
import { scaleRows, targetModules } from '../../adapters/index.ts';
import { LinearAdapter } from '../../adapters/linear-adapter.ts';
import { randomStream } from '../../base/rng.ts';
import { type Device, type Kernels, Scope } from '../../engine/index.ts';
import { createReferenceDevice } from '../../engine/reference/index.ts';
import type { DecoderConfig } from '../files/config.ts';
import { countElements, expectedTensors } from '../files/weights.ts';
import { Decoder, type Project, plainProject } from './decoder.ts';
import { generate, greedy } from './generate.ts';

const config: DecoderConfig = {
  architecture: 'Qwen3ForCausalLM',
  ...{ layers: 2, heads: 4, kvHeads: 2, headDim: 4, hiddenSize: 8, intermediateSize: 12, vocabSize: 23 },
  ...{
    rmsNormEpsilon: 1e-6,
    tieEmbeddings: true,
    maxPositions: 32,
    rope: { theta: 10_000, scaling: { kind: 'none' } },
  },
  ...{ qkNorm: true, qkvBias: false, bosTokenId: null, eosTokenIds: [], padTokenId: null },
};
const rank = 2;
const requests = [0, 1, 2, 3, 4].map((row) => ({
  prompt: Int32Array.of(1 + row, 7, (5 * row) % 23),
  ...{ row, scale: [1, 0, 0.5][row % 3] },
}));

function draw(name: string, shape: readonly number[], deviation: number, mean = 0): Float32Array {
  const data = new Float32Array(countElements(shape));
  randomStream(3, ['joint', name]).fillNormal(data, deviation);
  return data.map((value) => value + mean);
}

interface Way {
  readonly joined: boolean;
  /** Modules with an adapter; null for no adapter at all. */
  readonly adapted: ((module: string) => boolean) | null;
  readonly planted?: (kernels: Kernels) => Partial<Kernels>;
}

/** The log-probabilities of what is decoded, and which kernels ran. */
async function decode({ joined, adapted, planted = () => ({}) }: Way): Promise<{ logps: number[]; steps: number }> {
  let steps = 0;
  const device: Device = withKernels(createReferenceDevice({ arenaBytes: 2 ** 22 }), (kernels) => ({
    jointSwiglu(...given) {
      steps++;
      kernels.jointSwiglu?.(...given);
    },
    ...planted(kernels),
  }));
  using scope = new Scope(device);
  const weights = [...expectedTensors(config)].map(([name, shape]) => {
    const data = shape.length === 1 ? draw(name, shape, 0.1, 1) : draw(name, shape, 0.4);
    return { name, shape, dtype: 'f32' as const, data };
  });
  const decoder = await Decoder.load(scope, config, weights);
  const modules = targetModules(config).filter(({ name }) => adapted?.(name) ?? true);
  const adapter = new LinearAdapter(scope, 'lora', rank, modules, ({ name, inputs, outputs }) => ({
    A0: draw(`${name} A0`, [2 * rank, inputs], 0.3),
    B0: draw(`${name} B0`, [outputs, 2 * rank], 0.3),
  }));
  for (const { value } of adapter.parameters) device.kernels.affine(value, value, 1.3, 0.02);
  const project = (inner: Scope, scales: Float32Array): Project => {
    const own = adapted === null ? plainProject : adapter.project({ coefficients: scaleRows(inner, [...scales]) });
    return joined ? own : (tape, x, layers, onto) => own(tape, x, layers, onto);
  };
  const settings = { ...greedy, maxNewTokens: 6, stopTokens: [] };
  const rows = await generate(decoder, requests, settings, { stream: randomStream(1, 'joint'), project });
  return { logps: rows.flatMap(({ tokens, fullLogps }) => [...tokens, ...fullLogps]), steps };
}

function expectClose(found: readonly number[], expected: readonly number[]): void {
  expect(found).toHaveLength(expected.length);
  for (const [i, value] of expected.entries()) expect(Math.abs(found[i] - value)).toBeLessThan(2e-5);
}

const everyModule = (): boolean => true;

test.each([
  ['without an adapter', null],
  ['with one on every layer', everyModule],
  ['with one on whole groups of layers', (module: string) => !/(gate|up)_proj$/.test(module)],
] as const)('decoding %s', async (_name, adapted) => {
  const [joined, apart] = [await decode({ joined: true, adapted }), await decode({ joined: false, adapted })];
  expect(joined.steps).toBe(5 * config.layers);
  expect(apart.steps).toBe(0);
  expectClose(joined.logps, apart.logps);
});

test('a layer of a joined step is nine kernels, and the products of its adapters are within four of them', async () => {
  const calls: string[] = [];
  const planted = (kernels: Kernels): Partial<Kernels> =>
    Object.fromEntries(
      Object.entries(kernels).map(([name, kernel]) => [
        name,
        (...given: unknown[]) => {
          calls.push(name);
          return (kernel as (...given: unknown[]) => unknown)(...given);
        },
      ]),
    );
  await decode({ joined: true, adapted: everyModule, planted });
  const layer = ['jointNorm', 'jointProducts', 'jointTurn', 'attention', 'jointProducts'];
  layer.push('jointNorm', 'jointProducts', 'jointSwiglu', 'jointProducts');
  const start = calls.indexOf('jointNorm');
  const step = calls.slice(start, start + layer.length * config.layers).filter((name) => name !== 'jointFits');
  expect(step).toEqual([...layer, ...layer]);
});

test('an adapter that is probed tells no blocks: joined layers would pass its probe by', () => {
  using scope = new Scope(createReferenceDevice({ arenaBytes: 2 ** 20 }));
  const modules = targetModules(config);
  const adapter = new LinearAdapter(scope, 'lora', rank, modules, ({ inputs, outputs }) => ({
    A0: new Float32Array(2 * rank * inputs),
    B0: new Float32Array(2 * rank * outputs),
  }));
  const coefficients = scaleRows(scope, [1]);
  expect(adapter.project({ coefficients }).blocksOf?.([modules[0].name])).toBeDefined();
  expect(adapter.project({ coefficients, probe: () => ({}) }).blocksOf).toBeUndefined();
});

test('layers of which only some have an adapter are not joined, and nothing is lost', async () => {
  const adapted = (module: string): boolean => !module.endsWith('k_proj');
  const [joined, apart] = [await decode({ joined: true, adapted }), await decode({ joined: false, adapted })];
  expect(joined.steps).toBe(0);
  expect(joined.logps).toEqual(apart.logps);
});

test.each([0, 1])('a joined product whose output %i is wrong is found', async (output) => {
  const apart = await decode({ joined: false, adapted: everyModule });
  const planted = (kernels: Kernels): Partial<Kernels> => ({
    jointProducts(base, change, ...rest) {
      kernels.jointProducts?.(base, change, ...rest);
      const wrong = output === 0 ? base : change;
      if (wrong !== null) kernels.affine(wrong, wrong, 1.01, 0);
    },
  });
  const joined = await decode({ joined: true, adapted: everyModule, planted });
  expect(() => expectClose(joined.logps, apart.logps)).toThrow();
});
