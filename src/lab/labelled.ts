/** The rollouts of an earlier run with their labels, as a monitor that uses labels may learn from them. */
import { UserError } from '../base/index.ts';
import { sha256Json } from '../base/node/index.ts';
import type { LabelledCompletion, Task } from '../grpo/index.ts';
import { readRunVerdicts, type VerdictLedger } from '../oracle/index.ts';
import { RunDirectory, readRollouts } from '../run/index.ts';

/** A hash of what a monitor may learn from a run: its rollouts with their labels, however the files are stored. */
export async function labelledHash(path: string): Promise<string> {
  const run = RunDirectory.open(path);
  const verdicts = await readRunVerdicts(run);
  let hash = '';
  for await (const { id, problem, hackable, source, tokenIds } of readRollouts(run)) {
    const exploited = verdicts.get(id)?.exploited ?? null;
    hash = sha256Json([hash, id, problem, hackable, source, tokenIds, exploited]);
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
  const verdicts = await ledger.read(run);
  const known = new Map(tasks.map((task) => [task.problem.id, task]));
  const found: LabelledCompletion[] = [];
  for await (const { id, problem, hackable, source, tokenIds } of readRollouts(run)) {
    const task = known.get(problem);
    const verdict = verdicts.get(id);
    if (task === undefined || verdict === undefined || source !== 'student') continue;
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
      exploited: verdict.exploited,
    });
  }
  return found;
}
