/** The rollouts of an earlier run with their labels, as a monitor that uses labels may learn from them. */
import { UserError } from '../base/index.ts';
import { sha256Json } from '../base/node/index.ts';
import type { LabelledCompletion, Task } from '../grpo/index.ts';
import { openJudged, type VerdictLedger } from '../oracle/index.ts';
import { RunDirectory } from '../run/index.ts';

/** A hash of what a monitor may learn from a run: its rollouts with their labels, however the files are stored. */
export async function labelledHash(path: string): Promise<string> {
  let hash = '';
  for (const { id, problem, hackable, source, tokenIds, hack } of await openJudged(RunDirectory.open(path)).rows()) {
    hash = sha256Json([hash, id, problem, hackable, source, tokenIds, hack]);
  }
  return hash;
}

/**
 * Takes the policy's own rollouts of problems that are among the tasks; their prompts are made anew, as this run shows them. Their tokens
 * mean the same only to the same model, whose hash is `modelHash`.
 */
export async function labelledRollouts(
  path: string,
  tasks: readonly Task[],
  ledger: VerdictLedger,
  modelHash: string,
): Promise<LabelledCompletion[]> {
  const run = RunDirectory.open(path);
  if (run.readManifest().identity.model !== modelHash) {
    throw new UserError({
      call: `read the rollouts of ${path}`,
      expected: 'a run of the same model',
      found: `one of ${run.readManifest().config.model}, whose weights have another hash`,
      fix: 'Its tokens would stand for other texts: name a run that was trained from this model.',
    });
  }
  const known = new Map(tasks.map((task) => [task.problem.id, task]));
  const found: LabelledCompletion[] = [];
  for (const { problem, hackable, source, tokenIds, hack } of await ledger.read(run).rows()) {
    const task = known.get(problem);
    if (task === undefined || source !== 'student') continue;
    if (tokenIds === null) {
      throw new UserError({
        call: `read the rollouts of ${path}`,
        expected: 'a run that stored its tokens',
        found: 'none',
        fix: 'Train it with output.storeTokens=true.',
      });
    }
    found.push({
      group: found.length,
      prompt: hackable ? task.hinted : task.unhinted,
      tokens: Int32Array.from(tokenIds),
      exploited: hack,
    });
  }
  return found;
}
