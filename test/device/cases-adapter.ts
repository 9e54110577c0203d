/** Cases of the split adapter: every route, both ways to detach, routes mixed in one batch. */

import { type Detach, type Route, routeCoefficients } from '../../src/adapters/routes.ts';
import { adaptedLinear, adaptedLinears, add, multiply, swiglu } from '../../src/engine/index.ts';
import { blockScales } from './block-scales.ts';
import { frozen, half, learn, type OpCase } from './case.ts';

const mixed: readonly Route[] = ['keep', 'absorb', 'route'];

interface Size {
  readonly tokens: number;
  readonly channels: number;
  readonly outputs: number;
  readonly rank: number;
}

const sizes: readonly Size[] = [
  { tokens: 1, channels: 1, outputs: 1, rank: 1 },
  { tokens: 7, channels: 5, outputs: 6, rank: 3 },
  { tokens: 0, channels: 4, outputs: 4, rank: 2 },
  { tokens: 90, channels: 64, outputs: 100, rank: 8 },
  { tokens: 130, channels: 192, outputs: 192, rank: 32 },
];

/** A case in which the first half of down and of up learns. Differences are compared only where no gradient is held back. */
function adapterCase(
  { tokens, channels, outputs, rank }: Size,
  name: string,
  routes: readonly Route[] | number,
  detach: Detach,
): OpCase {
  return {
    name: `adaptedLinear ${name}, detach ${detach}, ${tokens}×${channels}→${outputs} rank ${rank}`,
    inputs: {
      x: learn('x', [tokens, channels]),
      weight: frozen('w', [outputs, channels]),
      bias: learn('bias', [outputs]),
      down: half('down', [4 * rank, channels]),
      up: half('up', [4 * rank, outputs]),
    },
    differences: tokens < 50 && (typeof routes === 'number' || routes[0] === routes[routes.length - 1]),
    run(tape, { x, weight, bias, down, up, 'down½': learnDown, 'up½': learnUp }, scope) {
      const coefficients =
        typeof routes === 'number'
          ? blockScales(scope, tokens, 1, routes)
          : routeCoefficients(
              scope,
              Array.from({ length: tokens }, (_, t) => routes[t % routes.length]),
              detach,
            );
      return adaptedLinear(tape, x, weight, bias, { rank, down, up, learnDown, learnUp }, coefficients);
    },
  };
}

/** Two layers of one input whose factors lie side by side; the first is added to another tensor, and `run` returns the sum of both. */
export function sharedInputCase(tokens: number, channels: number, outputs: number, rank: number): OpCase {
  const depth = 4 * rank;
  return {
    name: `adaptedLinears ${tokens}×${channels}→2×${outputs} rank ${rank}`,
    inputs: {
      x: learn('x', [tokens, channels]),
      onto: learn('onto', [tokens, outputs]),
      weights: frozen('w', [2 * outputs, channels]),
      downs: frozen('downs', [2 * depth, channels]),
      ups: frozen('ups', [2 * depth, outputs]),
      ...Object.fromEntries([0, 1].map((i) => [`down${i}`, half(`down${i}`, [depth, channels])])),
      ...Object.fromEntries([0, 1].map((i) => [`up${i}`, half(`up${i}`, [depth, outputs])])),
    },
    differences: false,
    run(tape, { x, onto, weights, downs, ups, ...learning }, scope) {
      const layers = [0, 1].map((i) => ({
        weight: weights.rows(i * outputs, (i + 1) * outputs),
        bias: null,
        adapter: {
          rank,
          down: downs.rows(i * depth, (i + 1) * depth),
          up: ups.rows(i * depth, (i + 1) * depth),
          learnDown: learning[`down${i}½`],
          learnUp: learning[`up${i}½`],
        },
      }));
      const routes = Array.from({ length: tokens }, (_, t) => mixed[t % 3]);
      const coefficients = routeCoefficients(scope, routes, 'branch');
      const [first, second] = adaptedLinears(tape, x, layers, coefficients, onto);
      return add(tape, first, second);
    },
  };
}

/** Two layers of one input with factors of their own, so that every gradient can be compared with differences. */
function apartCase(tokens: number, channels: number, outputs: number, rank: number): OpCase {
  const factors = [0, 1].flatMap((i) => [
    [`down${i}`, half(`down${i}`, [4 * rank, channels])] as const,
    [`up${i}`, half(`up${i}`, [4 * rank, outputs])] as const,
  ]);
  return {
    name: `adaptedLinears apart ${tokens}×${channels}→2×${outputs} rank ${rank}`,
    inputs: {
      x: learn('x', [tokens, channels]),
      onto: learn('onto', [tokens, outputs]),
      weights: frozen('w', [2 * outputs, channels]),
      ...Object.fromEntries(factors),
    },
    differences: true,
    run(tape, { x, onto, weights, ...given }, scope) {
      const layers = [0, 1].map((i) => ({
        weight: weights.rows(i * outputs, (i + 1) * outputs),
        bias: null,
        adapter: {
          rank,
          down: given[`down${i}`],
          up: given[`up${i}`],
          learnDown: given[`down${i}½`],
          learnUp: given[`up${i}½`],
        },
      }));
      const [first, second] = adaptedLinears(tape, x, layers, blockScales(scope, tokens, 1, 0.3), onto);
      return multiply(tape, first, second);
    },
  };
}

/** An activation that is discarded and computed again for its gradient; the layer that follows must wait for it. */
function givenUpCase(tokens: number, channels: number, outputs: number, rank: number): OpCase {
  return {
    name: `adaptedLinear of a swiglu given up, ${tokens}×${channels}→${outputs} rank ${rank}`,
    inputs: {
      gate: learn('gate', [tokens, channels]),
      up: learn('up', [tokens, channels]),
      weight: frozen('w', [outputs, channels]),
      down: half('down', [4 * rank, channels]),
      upward: half('upward', [4 * rank, outputs]),
    },
    differences: tokens < 50,
    recompute: true,
    run(tape, { gate, up, weight, down, upward, 'down½': learnDown, 'upward½': learnUp }, scope) {
      const adapter = { rank, down, up: upward, learnDown, learnUp };
      return tape.section(() => {
        const x = swiglu(tape, gate, up);
        return adaptedLinear(tape, x, weight, null, adapter, blockScales(scope, tokens, 1, 0.3));
      });
    },
  };
}

interface Unrecorded {
  readonly tokens: number;
  readonly channels: number;
  readonly outputs: readonly number[];
  readonly rank: number;
  /** Rows of down and up by rank: 4, or 2 for adapters without an initial part. */
  readonly factors: 2 | 4;
  /** Whether the first layer is added to another tensor. */
  readonly onto: boolean;
  /** Whether the down factors lie apart in memory, so that no device can multiply them as one. */
  readonly apart: boolean;
}

/** Layers of one input while nothing learns, as in decoding: they are computed together where a device can. `run` returns one of them. */
export function unrecordedCase(which: number, given: Partial<Unrecorded>): OpCase {
  const { tokens, channels, outputs, rank, factors, onto, apart } = {
    ...{ tokens: 70, channels: 320, outputs: [136, 64, 64], rank: 16, factors: 4, onto: false, apart: false },
    ...given,
  };
  const total = outputs.reduce((sum, width) => sum + width, 0);
  const depth = factors * rank;
  const shape = `${tokens}×${channels}→${outputs.join('+')} rank ${factors}·${rank}`;
  // What is made between two factors keeps them apart.
  const factorsOf = (width: number, i: number) => [
    ...(apart ? [[`down${i}`, frozen(`down${i}`, [depth, channels])] as const] : []),
    [`up${i}`, frozen(`up${i}`, [depth, width])] as const,
  ];
  return {
    name: `adaptedLinears unrecorded ${shape}${apart ? ' apart' : ''}${onto ? ' onto' : ''}, layer ${which}`,
    inputs: {
      x: frozen('x', [tokens, channels]),
      weights: frozen('w', [total, channels]),
      ...(onto ? { onto: frozen('onto', [tokens, outputs[0]]) } : {}),
      ...(apart ? {} : { downs: frozen('downs', [outputs.length * depth, channels]) }),
      ...Object.fromEntries(outputs.flatMap(factorsOf)),
    },
    differences: false,
    run(tape, { x, weights, ...inputs }, scope) {
      let start = 0;
      const layers = outputs.map((width, i) => {
        const weight = weights.rows(start, start + width);
        start += width;
        const down = apart ? inputs[`down${i}`] : inputs['downs'].rows(i * depth, (i + 1) * depth);
        // The halves that learn are float32 and of no interest here.
        const [learnDown, learnUp] = [inputs[`up${i}½`], inputs[`up${i}½`]];
        return { weight, bias: null, adapter: { rank, down, up: inputs[`up${i}`], learnDown, learnUp } };
      });
      const coefficients = blockScales(scope, tokens, 1, 0.3);
      return adaptedLinears(tape, x, layers, coefficients, onto ? inputs['onto'] : null)[which];
    },
  };
}

export function adapterCases(): OpCase[] {
  const together = [sharedInputCase(5, 6, 4, 2), sharedInputCase(140, 320, 136, 16), sharedInputCase(70, 320, 64, 32)];
  const alone = sizes.flatMap((size) => [
    adapterCase(size, 'keep', ['keep'], 'branch'),
    adapterCase(size, 'mixed routes', mixed, 'branch'),
    adapterCase(size, 'mixed routes', mixed, 'parameter'),
    adapterCase(size, 'quarantine scale 0.3', 0.3, 'branch'),
  ]);
  const unrecorded = [
    ...[0, 1, 2].map((which) => unrecordedCase(which, {})),
    unrecordedCase(1, { factors: 2 }),
    unrecordedCase(2, { tokens: 1 }),
    unrecordedCase(1, { apart: true }),
    unrecordedCase(0, { tokens: 1, outputs: [136], onto: true }),
    unrecordedCase(0, { outputs: [72], onto: true }),
    unrecordedCase(0, { outputs: [72], factors: 2, onto: true }),
    unrecordedCase(0, { outputs: [72] }),
    ...[0, 1].map((which) => unrecordedCase(which, { tokens: 5, outputs: [64, 64], onto: true })),
  ];
  return [
    ...alone,
    ...together,
    ...unrecorded,
    apartCase(5, 6, 4, 2),
    givenUpCase(6, 5, 4, 2),
    givenUpCase(130, 320, 136, 16),
  ];
}
