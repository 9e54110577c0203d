/** Refuses, before anything is trained, an experiment whose evaluation would find a set of prompts empty. */
import { type EvaluationSet, expectFilled } from '../evaluate/index.ts';
import { openLab } from '../lab/index.ts';
import type { ExperimentPlan } from './experiment.ts';

export async function expectFilledSets({ experiment, runs }: ExperimentPlan): Promise<void> {
  const { sets: final, curveEvery } = experiment.evaluation;
  const sets: readonly EvaluationSet[] = curveEvery === 0 ? final : [...final, 'curve'];
  const checked = new Set<string>();
  for (const { arm, config } of runs) {
    const { data, plugins, environment } = config;
    const problems = JSON.stringify([data, plugins, environment.python, environment.sandbox]);
    if (checked.has(problems)) continue;
    checked.add(problems);
    await using lab = await openLab({ config });
    expectFilled(`experiment ${experiment.name}, arm ${arm}`, sets, (await lab.problems).splits);
  }
}
