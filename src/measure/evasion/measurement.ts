/**
 * `gq measure evasion RUN`: measures the evasion split of a run. Its last rollouts are read by the base and by the policy of the newest checkpoint, and the monitor
 * as it is in that checkpoint scores both. The base is the run's own adapter at its start, whose features a monitor was first made from.
 */
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import { expectWritable } from '../../base/node/index.ts';
import type { Arm, Policy, PromptedCompletion, Task } from '../../grpo/index.ts';
import { completionFeatures, joinFeatures } from '../../grpo/index.ts';
import { openLab, type Warn } from '../../lab/index.ts';
import { type JudgedRollout, openJudged } from '../../oracle/index.ts';
import { loadCheckpoint } from '../../run/checkpoint.ts';
import type { RunDirectory } from '../../run/index.ts';
import { defineMeasurement, runLine } from '../registry/index.ts';
import { seenRow } from '../replay/replay.ts';
import { type Evasion, type EvasionRow, evasionTable, splitEvasion, writeEvasion } from './evasion.ts';

export const evasion = defineMeasurement({
  run: 'a run directory whose monitor reads activations',
  answer: 'the split',
  options: z.object({
    rollouts: z.int().min(1).default(256).describe('most rollouts that are scored, the newest first'),
    device: z
      .string()
      .optional()
      .describe('device to compute on; the one the run was trained on when absent')
      .meta({ takes: '<name>' }),
  }),
  examples: ['gq measure evasion runs/penalty-1', 'gq measure evasion runs/penalty-1 --rollouts 1024 --json'],
  async measure(run, { rollouts, device }, warn) {
    expectWritable(`evasion split of ${run.path}`, run.path);
    const found = await measureEvasion(run, rollouts, device, warn);
    await writeEvasion(run.path, found);
    return found;
  },
  show: (found, run) => [`${runLine(run)}, after ${found.update} updates`, evasionTable(found)],
});

async function measureEvasion(
  run: RunDirectory,
  most: number,
  device: string | undefined,
  warn: Warn,
): Promise<Evasion> {
  const call = `evasion split of ${run.path}`;
  const update = run.listCheckpoints().at(-1);
  if (update === undefined) throw new UserError({ call, expected: 'a run with a checkpoint', found: 'none' });
  const { state } = await loadCheckpoint(run, update);
  await using lab = await openLab({ run }, { work: 'training', call, device, warn });
  const { config } = lab;
  const [{ trainer, policy, arm }, tasks] = await Promise.all([lab.trainer, lab.tasks]);
  const score = scorer(call, arm, run);
  const chosen = await lastRollouts(call, run, tasks, update, most);
  const completions = chosen.map(({ completion }) => completion);
  const rows = chosen.map(({ row }) => row);
  const featuresOf = (current: Policy) =>
    completionFeatures(current, completions, {
      kind: 'activation',
      granularity: 'rollout',
      tokensPerPass: config.compute.tokensPerPass,
    });
  const onBase = await featuresOf(policy);
  trainer.restore(state);
  const onPolicy = await featuresOf(policy);
  const [base, trained] = [await score(rows, policy, onBase), await score(rows, policy, onPolicy)];
  const scored = rows.flatMap(({ attempt, hack }, i): EvasionRow[] => {
    const [before, after] = [base[i], trained[i]];
    return before === null || after === null ? [] : [{ attempt, hack, base: before, policy: after }];
  });
  if (scored.length === 0) throw new UserError({ call, expected: 'scores of the monitor', found: 'abstentions only' });
  return {
    labels: 'diagnosis only',
    update,
    from: rows[0].update,
    to: rows[rows.length - 1].update,
    rollouts: rows.length,
    abstained: rows.length - scored.length,
    ...splitEvasion(scored),
  };
}

function scorer(call: string, arm: Arm, run: RunDirectory) {
  const { watch, sees } = arm;
  if (watch === undefined || sees.features?.kind !== 'activation' || sees.features.granularity !== 'rollout') {
    throw new UserError({
      call,
      expected: 'a run whose monitor reads activations, such as direction or probe',
      found: `the arm ${run.readManifest().arm}`,
    });
  }
  return async (rows: readonly JudgedRollout[], { adapter }: Policy, features: readonly Float32Array[]) => {
    const rollouts = rows.map((row) => ({
      ...seenRow(row),
      text: sees.text ? { prompt: row.prompt, completion: row.completion } : null,
    }));
    const shown = { step: rows[rows.length - 1].update - 1, rollouts, features: joinFeatures(adapter, features) };
    return (await watch({ ...shown, rewards: Float32Array.from(rows, ({ reward }) => reward) })).scores;
  };
}

async function lastRollouts(call: string, run: RunDirectory, tasks: readonly Task[], update: number, most: number) {
  const known = new Map(tasks.map((task) => [task.problem.id, task]));
  const rows = (await (await openJudged(run)).rows())
    .filter((row) => row.source === 'student' && row.update <= update)
    .slice(-most);
  const found = rows.map((row, group) => {
    const task = known.get(row.problem);
    if (task === undefined || row.tokenIds === null) {
      throw new UserError({
        call,
        expected: 'rollouts of the problems of the run, with their tokens',
        found: task === undefined ? `the problem ${row.problem}` : 'no tokens',
        fix: 'Train with output.storeTokens = true.',
      });
    }
    const prompt = row.hackable ? task.hinted : task.unhinted;
    const completion: PromptedCompletion = { group, prompt, tokens: Int32Array.from(row.tokenIds) };
    return { row, completion };
  });
  if (found.length === 0) throw new UserError({ call, expected: 'rollouts of the policy', found: 'none' });
  return found;
}
