/**
 * Draws markers: which name a hint discloses for a problem, and what counts as using it. Draws are by hash of (policy,
 * loophole, problem), so that the prompt and the judge agree without exchanging anything.
 */
import { sha256 } from '../base/node/index.ts';
import type { Loophole, LoopholeName, Marker, MarkerPolicy } from './loopholes/loophole.ts';
import { builtinLoopholes } from './loopholes/registry.ts';

/** The marker of a problem. A loophole without markers has the empty marker, which no program can use. */
export function markerFor(policy: MarkerPolicy, { name, markers }: Loophole, problemId: string): Marker {
  if (markers === undefined) return { disclosed: '', accepted: [], acceptedLines: [] };
  const family = markers[policy];
  const draw = Number.parseInt(sha256(JSON.stringify([policy, name, problemId])).slice(0, 8), 16);
  const disclosed = family[draw % family.length];
  return { disclosed, accepted: [disclosed], acceptedLines: [], ...markers.accept?.(disclosed, policy) };
}

/** The markers of one problem, by the name of the loophole. */
export type ProblemMarkers = Readonly<Record<LoopholeName, Marker>>;

export function markersFor(
  policy: MarkerPolicy,
  problemId: string,
  loopholes: readonly Loophole[] = builtinLoopholes,
): ProblemMarkers {
  return Object.fromEntries(loopholes.map((loophole) => [loophole.name, markerFor(policy, loophole, problemId)]));
}
