/**
 * Routes as block coefficients (docs/science.md, section 3):
 *
 *   route    quarantine in the forward   deployed learns   quarantine learns
 *   keep     no                          yes               no
 *   absorb   yes                         yes               yes
 *   route    yes                         no                yes
 *
 * detach "branch": a block that does not learn passes no gradient to earlier layers through its branch either.
 * detach "parameter": activations' gradients flow untouched, only the block's own gradient is zero.
 */
import type { BlockCoefficients, Scope } from '../engine/index.ts';

export type Route = 'keep' | 'absorb' | 'route';
export type Detach = 'branch' | 'parameter';

const inForward: Readonly<Record<Route, readonly [number, number]>> = { keep: [1, 0], absorb: [1, 1], route: [1, 1] };
const learns: Readonly<Record<Route, readonly [number, number]>> = { keep: [1, 0], absorb: [1, 1], route: [0, 1] };

/** The quarantine's scale in the forward of a route. */
export function quarantineInForward(route: Route): number {
  return inForward[route][1];
}

/** One route per token. */
export function routeCoefficients(scope: Scope, routes: readonly Route[], detach: Detach): BlockCoefficients {
  const shape = [routes.length, 2];
  const table = (from: Readonly<Record<Route, readonly [number, number]>>, label: string) =>
    scope.from(Float32Array.from(routes.flatMap((route) => [...from[route]])), shape, label);
  const forward = table(inForward, 'forward coefficients');
  const learn = table(learns, 'learn coefficients');
  return { forward, learn, through: detach === 'branch' ? learn : forward };
}
