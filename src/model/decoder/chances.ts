/** What a model says of one token and of those that are likelier, from the logits of one place. */

export interface TokenChance {
  readonly token: number;
  /** Log-probability under the whole distribution at temperature 1. */
  readonly logp: number;
}

export interface RankedToken extends TokenChance {
  /** The likeliest tokens, as many as were asked for, the likeliest first. */
  readonly likeliest: readonly TokenChance[];
}

/** The chances of a token and of the `count` likeliest ones; of equal ones the smaller id first. `known`: the token's own, where it is known. */
export function rankToken(logits: Float32Array, token: number, count: number, known?: number): RankedToken {
  let top = Number.NEGATIVE_INFINITY;
  for (const value of logits) top = Math.max(top, value);
  let sum = 0;
  for (const value of logits) sum += Math.exp(value - top);
  const normaliser = top + Math.log(sum);
  // One token has one number, whether it is drawn or among the likeliest: clients compare them.
  const own = known ?? Math.fround(logits[token] - normaliser);
  const chance = (id: number): TokenChance => ({
    token: id,
    logp: id === token ? own : Math.fround(logits[id] - normaliser),
  });
  return { ...chance(token), likeliest: findLargest(logits, count).map(chance) };
}

function findLargest(values: Float32Array, count: number): number[] {
  if (count === 0) return [];
  const best: number[] = [];
  for (let id = 0; id < values.length; id++) {
    if (best.length === count && values[id] <= values[best[count - 1]]) continue;
    let place = Math.min(best.length, count - 1);
    for (; place > 0 && values[best[place - 1]] < values[id]; place--) best[place] = best[place - 1];
    best[place] = id;
  }
  return best;
}
