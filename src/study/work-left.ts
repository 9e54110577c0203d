/** What is left to do of a run of an experiment, from its files alone. */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { curveNames, EvaluationStore, finalNames, lastCheckpoint, statesOf } from '../evaluate/index.ts';
import { relearnFolders } from '../measure/index.ts';
import { isBlind, RunDirectory } from '../run/index.ts';
import type { ExperimentPlan } from './experiment.ts';
import type { EvaluationPlan } from './experiment-schema.ts';
import { trainedStatus } from './run-experiment.ts';

/** The evaluations of a trained run that the plan asks for and that are not stored. */
export function evaluationsLeft(path: string, { sets, scales, limit, curveEvery }: EvaluationPlan) {
  const run = RunDirectory.open(path);
  const states = statesOf(run.readManifest());
  const store = new EvaluationStore(path);
  return [
    ...finalNames(states, { update: lastCheckpoint(run), sets, scales, limit }),
    ...(curveEvery === 0 ? [] : curveNames(states, run.listCheckpoints(), curveEvery)),
  ].filter((name) => !store.has(name));
}

/** Whether a run is trained, evaluated and, where the plan says so, attacked. */
async function isComplete({ experiment, runs }: ExperimentPlan, index: number, directory: string): Promise<boolean> {
  const path = join(directory, runs[index].folder);
  const end = await trainedStatus(path);
  if (end !== null && isBlind(path)) return true;
  if (end === null || evaluationsLeft(path, experiment.evaluation).length > 0) return false;
  if (experiment.evaluation.curveEvery > 0 && !existsSync(join(path, 'eval-curve.json'))) return false;
  if (end !== 'finished' || !experiment.relearn?.arms.includes(runs[index].arm)) return true;
  return (await trainedStatus(relearnFolders(resolve(path)).attack)) !== null;
}

/** Places in the plan of the runs that are not complete. */
export async function runsLeft(plan: ExperimentPlan, directory: string): Promise<number[]> {
  const left: number[] = [];
  for (const index of plan.runs.keys()) if (!(await isComplete(plan, index, directory))) left.push(index);
  return left;
}

/** A number that grows whenever a run saves something it can go on from: updates and evaluations, its own and those of its attack. */
export function savedWork(path: string): number {
  if (!existsSync(join(path, 'manifest.json'))) return 0;
  const evaluations = join(path, 'evaluations');
  const evaluated = existsSync(evaluations) ? readdirSync(evaluations).length : 0;
  return lastCheckpoint(RunDirectory.open(path)) + evaluated + savedWork(relearnFolders(resolve(path)).attack);
}
