/** Tells how a job ended: by a command, which gets it in variables, or by a webhook, which gets it as JSON. No failure stops the queue. */
import { shellLine } from '../../base/index.ts';
import type { QueueEntry, QueueSettings } from './folder.ts';
import { runShell } from './launch.ts';

export async function notify(
  { id, job, state }: QueueEntry,
  lastLine: string | null,
  { command, webhook }: QueueSettings,
  complain: (text: string) => void,
): Promise<void> {
  const told = {
    id,
    state: state.state,
    code: state.code,
    why: job.why,
    command: shellLine('gq', ...job.words),
    lastLine: lastLine ?? '',
  };
  if (command !== null) {
    // Values are variables and never parts of the line, so nothing in them is obeyed.
    const variables = Object.entries(told).map(([name, value]) => [
      `GQ_JOB_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
      `${value}`.replaceAll('\0', ''),
    ]);
    try {
      const fault = await runShell(command, Object.fromEntries(variables));
      if (fault !== null) complain(`notify command: ${fault}`);
    } catch (error) {
      // A text that is too long for a variable, for instance.
      complain(`notify command: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (webhook === null) return;
  try {
    const text = `gq job ${id} ${told.state}: ${told.command}${job.why === '' ? '' : ` (${job.why})`}`;
    const answer = await fetch(webhook, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text, ...told }),
      signal: AbortSignal.timeout(10_000),
    });
    if (!answer.ok) complain(`notify webhook: it answered ${answer.status}`);
  } catch (error) {
    complain(`notify webhook: ${error instanceof Error ? error.message : String(error)}`);
  }
}
