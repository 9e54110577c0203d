/** The same two coefficients for every token, forward and backward. */
import type { BlockCoefficients, Scope } from '../../src/engine/index.ts';

export function blockScales(scope: Scope, tokens: number, first: number, second: number): BlockCoefficients {
  const data = new Float32Array(2 * tokens);
  for (let t = 0; t < tokens; t++) data.set([first, second], 2 * t);
  const forward = scope.from(data, [tokens, 2], 'block scales');
  return { forward, through: forward, learn: forward };
}
