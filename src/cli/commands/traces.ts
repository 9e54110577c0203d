/** `gq traces RUN`: prints, for every loophole, the first hack, a solve, a kept, an absorbed and a routed rollout in full. */
import type { Command } from 'commander';
import { visibleLine } from '../../base/index.ts';
import { chooseTraces, type Trace } from '../../measure/index.ts';
import { openJudged } from '../../oracle/index.ts';
import { RunDirectory } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';

export function configureTraces(command: Command, context: CommandContext): void {
  command
    .argument('<run>', 'a run directory')
    .option('--json', 'print the rollouts as JSON')
    .addHelpText('after', examplesText('gq traces runs/activation-1', 'gq traces runs/activation-1 --json'))
    .action(async (path: string, { json }: { json?: true }) => {
      const traces = chooseTraces(await openJudged(RunDirectory.open(path)).rows());
      if (json) context.stdout.write(`${JSON.stringify({ run: path, traces }, null, 2)}\n`);
      else context.stdout.write(`${traces.map(renderTrace).join('\n')}\n`);
    });
}

function renderTrace({ loophole, kind, rollout }: Trace): string {
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
