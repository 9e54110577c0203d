/**
 * Quarantine scales and routes as coefficients of packed tokens. The base state has none: give the decoder no projection. A
 * group's prompt is computed once, so all completions of a packed group share one scale or one route.
 */
import { ShapeError } from '../base/index.ts';
import type { BlockCoefficients, Scope } from '../engine/index.ts';
import type { PackedGroups, Span } from '../model/index.ts';
import { type Detach, type Route, routeCoefficients } from './routes.ts';

/** Coefficients from one quarantine scale per token. */
function quarantineScales(scope: Scope, scales: Float32Array): BlockCoefficients {
  const data = new Float32Array(2 * scales.length);
  scales.forEach((scale, t) => {
    data.set([1, scale], 2 * t);
  });
  const forward = scope.from(data, [scales.length, 2], 'block coefficients');
  return { forward, through: forward, learn: forward };
}

/** One quarantine scale in [0, 1] per group: 1 is full, 0 is deployed. */
export function scaleGroups(
  scope: Scope,
  packed: Pick<PackedGroups, 'prompts' | 'tokens'>,
  scales: readonly number[],
): BlockCoefficients {
  const perToken = new Float32Array(packed.tokens);
  groupSpans(packed, scales.length).forEach((span, group) => {
    perToken.fill(expectScale(scales[group]), span.start, span.end);
  });
  return quarantineScales(scope, perToken);
}

/** One scale per row of a decoding batch: each row is one token. */
export function scaleRows(scope: Scope, scales: readonly number[]): BlockCoefficients {
  return quarantineScales(scope, Float32Array.from(scales, expectScale));
}

/** One route per group. */
export function routeGroups(
  scope: Scope,
  packed: PackedGroups,
  routes: readonly Route[],
  detach: Detach,
): BlockCoefficients {
  const perToken = new Array<Route>(packed.tokens);
  groupSpans(packed, routes.length).forEach((span, group) => {
    perToken.fill(routes[group], span.start, span.end);
  });
  return routeCoefficients(scope, perToken, detach);
}

/** One route per token of the batch, for gates that decide by token. */
export function routeTokens(
  scope: Scope,
  packed: PackedGroups,
  routes: readonly Route[],
  detach: Detach,
): BlockCoefficients {
  if (routes.length !== packed.tokens) {
    throw new ShapeError({ call: 'routeTokens', expected: `${packed.tokens} routes`, found: `${routes.length}` });
  }
  return routeCoefficients(scope, routes, detach);
}

/** The span of each group, from its prompt to the end of its last completion. */
function groupSpans({ prompts, tokens }: Pick<PackedGroups, 'prompts' | 'tokens'>, count: number): Span[] {
  if (prompts.length !== count) {
    throw new ShapeError({
      call: 'coefficients of groups',
      expected: `one per group (${prompts.length})`,
      found: `${count}`,
    });
  }
  return prompts.map(({ start }, g) => ({ start, end: prompts[g + 1]?.start ?? tokens }));
}

function expectScale(scale: number): number {
  if (scale >= 0 && scale <= 1) return scale;
  throw new ShapeError({ call: 'quarantine scale', expected: 'a number in [0, 1]', found: `${scale}` });
}
