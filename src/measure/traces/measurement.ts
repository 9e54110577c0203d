/** `gq measure traces RUN`: prints rollouts of every loophole in full, with their verdicts and routes. */
import { z } from 'zod';
import { visibleLine } from '../../base/index.ts';
import { openJudged } from '../../oracle/index.ts';
import { defineMeasurement } from '../registry/index.ts';
import { chooseTraces, type Trace } from './traces.ts';

export const traces = defineMeasurement({
  run: 'a run directory',
  answer: 'the rollouts',
  options: z.object({}),
  examples: ['gq measure traces runs/activation-1', 'gq measure traces runs/activation-1 --json'],
  measure: async (run) => ({ traces: chooseTraces(await (await openJudged(run)).rows()) }),
  show: (found) => [found.traces.map(traceText).join('\n')],
});

function traceText({ loophole, kind, rollout }: Trace): string {
  const head = visibleLine(`━━ ${loophole}: ${kind}`);
  if (rollout === null) return `${head}: none in this run\n`;
  const { channels, score, low, high, route } = rollout;
  const number = (value: number | null): string => (value === null ? '-' : value.toPrecision(4));
  const fired = channels.length === 0 ? 'no channel fired' : `channels ${channels.join(', ')}`;
  return [
    `${head} (rollout ${rollout.id}, update ${rollout.update}, ${rollout.hackable ? 'hinted' : 'no hint'}, sampled ${rollout.sampled})`,
    `verdict: ${rollout.hack ? 'hack' : rollout.solve ? 'correct' : rollout.outcome}, ${rollout.compiles ? 'compiles' : 'does not compile'}, ${fired}, reward ${rollout.reward}, evidence: ${visibleLine(rollout.evidence) || 'none'}`,
    `gate: route ${route ?? 'none'}, score ${number(score)}, cuts ${number(low)} and ${number(high)}, advantage ${number(rollout.advantage)}`,
    rollout.prompt.trimEnd(),
    rollout.completion,
    '',
  ].join('\n');
}
