/**
 * Gradient routing (Cloud et al., arXiv 2410.04332): flagged rollouts train the quarantine alone, which deployment deletes. The others are
 * absorbed or kept; of a cut with a low side, what is below it is kept. With the own mean (docs/science.md, section 6) the others are
 * compared among themselves. The mass-matched placebo deals the routes of its own run out at random.
 */
import { z } from 'zod';
import type { Route } from '../../adapters/index.ts';
import { readWhen } from '../../base/index.ts';
import { meanKey, setApart } from '../../grpo/advantage.ts';
import type { Routing, ScoredRollouts } from '../../grpo/arm.ts';
import { dealRoutes } from '../../grpo/arms/gate.ts';
import { placeboSeedKey } from '../direction.ts';
import { defineRemedy, type RemedyDefinition, type Told } from '../remedy.ts';

export const othersKey: z.ZodDefault<z.ZodEnum<{ keep: 'keep'; absorb: 'absorb' }>> = z
  .enum(['keep', 'absorb'])
  .default('absorb')
  .describe('where the rollouts that are not routed go');
export const keepOnlyKey: z.ZodDefault<z.ZodEnum<{ any: 'any'; praised: 'praised' }>> = z
  .enum(['any', 'praised'])
  .default('any')
  .describe('praised: what would be kept is kept only with a positive advantage, and absorbed otherwise');

/** What the placebo does that deals routes out: they are as many as in the gate's run only where the cut flags as many there. */
export const massMatchedWords =
  'mass-matched: the routes that the cuts make in the very run of this placebo, dealt out at random among rollouts whose advantages have the same sign; they may be several times as many as in the run of the gate';

export const routeSettings = z.strictObject({
  others: othersKey,
  mean: meanKey,
  keepOnly: keepOnlyKey.meta(
    readWhen(
      { others: 'keep' },
      { 'arm.cut.kind': ['quantile', 'otsu', 'mixture'], 'arm.cut.keepTail': { not: [null, 0] } },
      { 'arm.cut.kind': 'pairs', 'arm.cut.low': true },
    ),
  ),
  placebo: z.enum(['none', 'mass-matched']).default('none').describe(massMatchedWords),
  placeboSeed: placeboSeedKey.meta(readWhen({ placebo: 'mass-matched' })),
});
type RouteSettings = z.infer<typeof routeSettings>;

export const routeRemedy: RemedyDefinition = defineRemedy({
  kind: 'route',
  summary: 'flagged rollouts train the quarantine, which deployment deletes',
  quarantine: true,
  settings: routeSettings,
  placebos: ['mass-matched'],
  words: ({ others, mean, keepOnly, placebo }) => {
    const details = [
      ...(others === 'keep' ? ['others kept'] : []),
      ...(mean === 'own' ? ['own mean'] : []),
      ...(keepOnly === 'praised' ? ['praised'] : []),
      ...(placebo === 'none' ? [] : [placebo]),
    ];
    return details.length === 0 ? 'routed' : `routed, ${details.join(', ')},`;
  },
  act: (settings, seed) => ({
    ...(settings.mean === 'own' ? { screen: ({ watched }) => setApart(watched.flagged) } : {}),
    route: (scored) => {
      const routing = { routes: routesOf(scored, settings), scores: null, cuts: null, bufferRows: 0 };
      return dealt(routing, scored, settings, seed);
    },
  }),
});

/** The routes, or those of their placebo. */
export function dealt(
  routing: Routing,
  scored: ScoredRollouts,
  { placebo, placeboSeed }: Pick<RouteSettings, 'placebo' | 'placeboSeed'>,
  seed: number,
): Routing {
  return placebo === 'none' ? routing : dealRoutes(routing, scored, placeboSeed ?? seed);
}

function routesOf(
  { watched: { flagged, scores, low }, advantages }: Told<ScoredRollouts>,
  { others, keepOnly }: RouteSettings,
): Route[][] {
  const isKept = (i: number): boolean => {
    const score = scores[i];
    const isBelow = others === 'keep' || (low !== undefined && score !== null && score <= low);
    return isBelow && (keepOnly === 'any' || advantages[i] > 0);
  };
  return flagged.map((flag, i) => [flag ? 'route' : isKept(i) ? 'keep' : 'absorb']);
}
