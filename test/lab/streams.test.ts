/** Evaluating the trained policy between updates changes nothing about training: three updates of the shipped base. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PolicyState } from '../../src/adapters/policy-state.ts';
import { evaluateTasks } from '../../src/evaluate/evaluate.ts';
import { evaluationTasks } from '../../src/evaluate/sets.ts';
import type { EvaluationRow } from '../../src/evaluate/store.ts';
import { policySampler } from '../../src/grpo/sampler.ts';
import { builtinParts, openLab, resolveBuiltin } from '../../src/lab/index.ts';
import { VerdictLedger } from '../../src/oracle/index.ts';
import { computeTable } from '../../src/run/config/settings.ts';
import { temporaryFolder } from './hand-made.ts';

const settings = ['updates=3', 'sampling.promptsPerStep=4', 'sampling.group=4', 'device.threads=1', 'arm.warmupRows=1'];

interface Trained {
  readonly hashes: readonly string[];
  readonly rows: readonly EvaluationRow[];
  /** Some of the last rows, evaluated again in another order. */
  readonly again: readonly EvaluationRow[];
}

async function train(evaluateBetween: boolean): Promise<Trained> {
  const { config } = resolveBuiltin('recipes/micro-activation.toml', settings);
  const path = join(temporaryFolder(), 'verdicts.jsonl');
  await using lab = await openLab({ config }, { ledger: () => new VerdictLedger(path) });
  const [{ trainer, policy, text }, judge, { splits }] = await Promise.all([lab.trainer, lab.judge, lab.problems]);
  const { loopholes } = builtinParts;
  const partition = await lab.partition;
  const sampler = policySampler(policy, computeTable(config));
  const states: readonly PolicyState[] = ['base', 'full', 'deployed'];
  const tasks = evaluationTasks('test-novel', { config, splits, partition, text, loopholes }, 8);
  const hashes: string[] = [];
  const rows: EvaluationRow[] = [];
  for await (const event of trainer.train()) {
    if (event.kind !== 'step') continue;
    hashes.push(`${event.adapterHash} ${event.loss} ${event.meanReward}`);
    if (!evaluateBetween) continue;
    const sampling = { ...config.sampling, stopTokens: text.stopTokens };
    for (const state of states) {
      const options = { seed: 1, sampling, state, text };
      rows.push(...(await evaluateTasks(sampler, tasks, judge, options)));
    }
  }
  const options = { seed: 1, sampling: { ...config.sampling, stopTokens: text.stopTokens }, text };
  const others = [tasks[6], tasks[3]];
  const again = await evaluateTasks(sampler, others, judge, { ...options, state: 'deployed' });
  return { hashes, rows, again };
}

describe('evaluation beside training', () => {
  it('leaves every update as it would have been, and gives the same rows each time', async () => {
    const [alone, evaluated] = [await train(false), await train(true)];
    expect(alone.hashes).toHaveLength(3);
    expect(evaluated.hashes).toEqual(alone.hashes);
    expect(new Set(alone.hashes).size).toBe(3);
    expect(evaluated.rows).toHaveLength(72);
    // The base does not change while the adapter is trained: its rows are the same before every update.
    const base = (update: number) => evaluated.rows.slice(24 * update, 24 * update + 8);
    expect(base(1)).toEqual(base(0));
    expect(base(2)).toEqual(base(0));
    // A sample belongs to its problem: among other prompts and in another order it is the same.
    const last = evaluated.rows.slice(-8);
    expect(evaluated.again).toEqual([last[6], last[3]]);
    expect(new Set(last.map(({ completion }) => completion)).size).toBeGreaterThan(1);
  });
});
