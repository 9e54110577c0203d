/** Opens the results of a directory as its experiment, if it is one, says they are to be read. */
import { UserError } from '../base/index.ts';
import type { Experiment } from '../report/experiment-schema.ts';
import { type Design, type OnReading, type Results, readResults } from '../report/index.ts';
import { claimFacts } from './claim-progress.ts';
import { findExperiment } from './directory.ts';

export async function openResults(
  directory: string,
  options: { readonly baseline?: string; readonly placebo?: string; readonly from?: readonly string[] } = {},
  onReading?: OnReading,
): Promise<Results> {
  const { experiment, barChanged, runs, damaged } = findExperiment(directory, options.from);
  const source = {
    name: experiment?.name ?? null,
    baseline: options.baseline ?? experiment?.baseline ?? null,
    placebo: options.placebo ?? (experiment === null ? 'haar' : experiment.placebo),
    arms: experiment?.arms.map(({ name }) => name) ?? [],
    runs,
    damaged,
    design: experiment === null ? undefined : await designOf(directory, experiment, barChanged, options.placebo),
  };
  const results = await readResults(directory, source, onReading);
  for (const name of ['baseline', 'placebo'] as const) expectArm(`--${name}`, options[name], results);
  return results;
}

/** The design of an experiment. A placebo that was asked for takes the place of those that the arms name. */
async function designOf(
  directory: string,
  experiment: Experiment,
  barChanged: boolean,
  placebo?: string,
): Promise<Design> {
  const arms = experiment.arms.map((arm) => (placebo === undefined ? arm : { ...arm, placebos: null }));
  return { ...experiment, arms, barChanged, claim: await claimFacts(directory, experiment) };
}

function expectArm(option: string, name: string | undefined, { arms }: Results): void {
  if (name === undefined || arms.some(({ arm }) => arm === name)) return;
  const expected = `an arm of these results: ${arms.map(({ arm }) => arm).join(', ')}`;
  throw new UserError({ call: option, expected, found: name });
}
