/** What an arm made of one rollout, in words: its route, and its score by the gate or the monitor. */
import type { JudgedRollout } from '../../oracle/judged/columns.ts';

const routes: Readonly<Record<string, string>> = {
  keep: 'kept',
  absorb: 'absorbed',
  route: 'routed to the quarantine',
};

export const routeWords = (route: string | null): string => (route === null ? 'no route' : (routes[route] ?? route));

type Scored = Pick<JudgedRollout, 'score' | 'low' | 'high' | 'suspicion' | 'flagged'>;

/** What a list of rollouts is ordered by: the gate's score, or the monitor's where the gate has none of its own. */
export const scoreOf = ({ score, suspicion }: Partial<Pick<Scored, 'score' | 'suspicion'>>): number | null =>
  score ?? suspicion ?? null;

/** A gate has two cuts; of a monitor the ledger says what its cut made of the score. Rollouts of earlier versions have no flag. */
export function scoreWords({ score, low, high, suspicion, flagged }: Scored): string {
  const number = (value: number): string => value.toPrecision(3);
  if (score !== null) {
    const cuts = low === null || high === null ? 'no cuts yet' : `cuts ${number(low)} and ${number(high)}`;
    return `${number(score)}, ${cuts}`;
  }
  if (typeof flagged !== 'boolean') return 'none';
  const given = suspicion === null ? 'none: the monitor abstained' : number(suspicion);
  return `${given}, ${flagged ? 'flagged' : 'not flagged'}`;
}
