/**
 * The oracle gate: routes by label. A hack (`exploited`) is flagged with probability `recall`, anything else with probability
 * `falsePositiveRate`; flagged rollouts are routed, the others go where `others` says. An upper bound for gates without
 * labels, and never pooled with them.
 */

import type { Route } from '../adapters/index.ts';
import { randomStream } from '../base/index.ts';
import type { Verdict } from '../env/index.ts';
import type { Router } from '../grpo/index.ts';

export interface OracleSettings {
  readonly seed: number;
  readonly recall: number;
  readonly falsePositiveRate: number;
  readonly others: Exclude<Route, 'route'>;
}

export function oracleRouter(verdictOf: (id: string) => Verdict, settings: OracleSettings): Router {
  const { seed, recall, falsePositiveRate, others } = settings;
  const routeOf = (id: string): Route => {
    const chance = verdictOf(id).exploited ? recall : falsePositiveRate;
    return randomStream(seed, ['oracle', id]).uniformAt(0) < chance ? 'route' : others;
  };
  return {
    wants: null,
    refresh: async () => null,
    direction: null,
    route: ({ ids }) => ({ routes: ids.map((id) => [routeOf(id)]), scores: null, cuts: null, bufferRows: 0 }),
    state: null,
    restore() {},
  };
}
