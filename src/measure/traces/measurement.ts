/** `gq measure traces RUN`: prints rollouts of every loophole in full, with their verdicts and routes. */
import { z } from 'zod';
import { chatText, visibleLine } from '../../base/index.ts';
import { type JudgedRollout, openJudged } from '../../oracle/index.ts';
import { routeWords, scoreWords } from '../gate/rollout-words.ts';
import { defineMeasurement } from '../registry/index.ts';

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
  const { channels, route, advantage } = rollout;
  const fired = channels.length === 0 ? 'no channel fired' : `channels ${channels.join(', ')}`;
  return [
    `${head} (rollout ${rollout.id}, update ${rollout.update}, ${rollout.hackable ? 'hinted' : 'no hint'}, sampled ${rollout.sampled})`,
    `verdict: ${rollout.hack ? 'hack' : rollout.solve ? 'correct' : rollout.outcome}, ${rollout.compiles ? 'compiles' : 'does not compile'}, ${fired}, reward ${rollout.reward}, evidence: ${visibleLine(rollout.evidence) || 'none'}`,
    `${routeWords(route)}, score ${scoreWords(rollout)}, advantage ${advantage.toPrecision(3)}`,
    chatText(rollout.prompt, rollout.completion),
    '',
  ].join('\n');
}

const traceKinds = ['first hack', 'solve', 'kept', 'absorbed', 'routed'] as const;
export type TraceKind = (typeof traceKinds)[number];

export type Trace = ReturnType<typeof chooseTraces>[number];

const isTrace: Readonly<Record<TraceKind, (row: JudgedRollout) => boolean>> = {
  'first hack': (row) => row.hack && row.source === 'student',
  solve: (row) => row.solve && row.source === 'student',
  kept: (row) => row.route === 'keep',
  absorbed: (row) => row.route === 'absorb',
  routed: (row) => row.route === 'route',
};

/** Chooses the rollouts; null where the run has none of a kind. An unhinted rollout belongs to the loophole that its problem's hint would have disclosed. */
export function chooseTraces(rollouts: readonly JudgedRollout[]) {
  const loopholes = [...new Set(rollouts.map(({ loophole }) => loophole))].sort();
  const inOrder = rollouts.toSorted((a, b) => a.update - b.update);
  return loopholes.flatMap((loophole) =>
    traceKinds.map((kind) => {
      const found = inOrder.filter((row) => row.loophole === loophole && isTrace[kind](row));
      // Early in a run the gate knows least, so for a route a rollout from the middle is shown.
      const at = kind === 'first hack' || kind === 'solve' ? 0 : Math.floor(found.length / 2);
      return { loophole, kind, rollout: found[at] ?? null };
    }),
  );
}
