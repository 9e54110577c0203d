/** The split adapter: every route, both ways to detach, mixed in one batch. */
import { adaptedLinear, blockScales, type Detach, type Route, routeCoefficients } from '../../src/engine/index.ts';
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

/** Of down and up the first half learns. Differences are only true where no gradient is held back. */
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

export function adapterCases(): OpCase[] {
  return sizes.flatMap((size) => [
    adapterCase(size, 'keep', ['keep'], 'branch'),
    adapterCase(size, 'mixed routes', mixed, 'branch'),
    adapterCase(size, 'mixed routes', mixed, 'parameter'),
    adapterCase(size, 'quarantine scale 0.3', 0.3, 'branch'),
  ]);
}
