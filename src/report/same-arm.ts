/** Which runs may be pooled as seeds of one arm: those whose configs and inputs differ in nothing but the seed. */
import { UserError } from '../base/index.ts';
import { armDifferences, type Manifest, type RunConfig } from '../run/index.ts';

/** What is compared of a run. */
export interface ComparedRun {
  readonly path: string;
  readonly seed: number;
  readonly config: RunConfig;
  readonly manifest: Manifest;
}

/** Refuses runs that are not seeds of one arm, and names what differs. The runs are in the order of their seeds. */
export function expectOneArm(arm: string, runs: readonly ComparedRun[]): void {
  const [first, ...others] = runs;
  for (const other of others) {
    const differences = [
      ...armDifferences(first.config, other.config),
      ...inputDifferences(first.manifest, other.manifest),
    ];
    if (differences.length === 0) continue;
    throw new UserError({
      call: `results of the arm ${arm}`,
      expected: 'runs that differ in the seed only',
      found: `${first.path} and ${other.path}, which differ in ${differences.join(', ')}`,
      fix: 'They are different arms: put them into different folders, or make them arms of an experiment.',
    });
  }
  const twice = runs.find(({ seed }, i) => i > 0 && runs[i - 1].seed === seed);
  if (twice !== undefined) {
    const paths = runs.filter(({ seed }) => seed === twice.seed).map(({ path }) => path);
    throw new UserError({
      call: `results of the arm ${arm}`,
      expected: 'one run a seed',
      found: `seed ${twice.seed} twice (${paths.join(' and ')})`,
      fix: 'Put one of them into another folder.',
    });
  }
}

/** The same config may name files that changed between two runs. */
function inputDifferences(first: Manifest, second: Manifest): string[] {
  const compared: readonly (readonly [string, unknown, unknown])[] = [
    ['the weights of the model', first.identity.model, second.identity.model],
    ['the problems', first.identity.problems, second.identity.problems],
    ['the pairs', first.identity.pairs, second.identity.pairs],
    ['the models of the arm', JSON.stringify(first.identity.armModels), JSON.stringify(second.identity.armModels)],
    ['the run that the monitor learns from', runsOf(first, second), runsOf(second, first)],
    ['the file of loopholes', first.identity.partition, second.identity.partition],
    // Forks of one config may differ in what their parents learned from.
    ['the use of labels', first.usesOracle, second.usesOracle],
    ['the code of the plugins', first.identity.plugins, second.identity.plugins],
    ['the judge', first.identity.judge, second.identity.judge],
    ['the sampler', first.identity.sampler, second.identity.sampler],
    ['whether they were forked without a state', first.parent?.adapterOnly ?? null, second.parent?.adapterOnly ?? null],
    ['the update they were forked at', first.parent?.update ?? null, second.parent?.update ?? null],
  ];
  return compared.flatMap(([what, before, after]) => (before === after ? [] : [what]));
}

/** The runs that a run's arm learned from; where nobody noted them, those of the other. */
function runsOf({ identity: { armRuns } }: Manifest, other: Manifest): string {
  return JSON.stringify(armRuns ?? other.identity.armRuns);
}
