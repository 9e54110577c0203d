/** A small study that is stated in a file and run by hand: each run has the outcomes that a test names. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sealRun } from '../../src/oracle/verdicts.ts';
import { countBegun } from '../../src/study/claim.ts';
import { writeExperiment } from '../../src/study/directory.ts';
import { planExperiment, readExperiment } from '../../src/study/experiment.ts';
import { temporaryFolder, writeEvaluations, writeRun } from './hand-made.ts';

export const statement = (more = '', atMost = 0.25): string => `name = "small"
why = "Does it hold?"
resolve = "Attempts of vanilla."
seeds = [1, 2]
${more}
[evaluation]
sets = ["test-original"]
curveEvery = 0
[[predictions]]
what = "Vanilla hardly attempts."
arm = "vanilla"
metric = "attempt"
atMost = ${atMost}
inSeeds = 2
[[arms]]
name = "vanilla"
recipe = "base.toml"
`;

export class SmallStudy {
  readonly folder = temporaryFolder();
  readonly file = join(this.folder, 'small.toml');
  readonly path = join(this.folder, 'study');

  constructor() {
    writeFileSync(join(this.folder, 'base.toml'), 'updates = 7\nsampling.maxNewTokens = 16\n');
    writeFileSync(this.file, statement());
  }

  /** Begins these seeds and ends them, with these outcomes, as `gq experiment` would. */
  async run(outcomes: Readonly<Record<number, string>>, settings: readonly string[] = []): Promise<void> {
    const plan = await planExperiment(readExperiment(this.file), this.file, settings);
    await writeExperiment(this.path, plan);
    const { claim, experiment } = plan;
    for (const run of plan.runs.filter(({ seed }) => outcomes[seed] !== undefined)) {
      const path = join(this.path, run.folder);
      countBegun(this.path, run, claim?.hash ?? null);
      const blind = experiment.blindSeeds?.includes(run.seed) ?? false;
      const made = { config: run.config, checkpoints: [0, 7], rollouts: [{ update: 1 }] };
      await sealRun(await writeRun(path, { ...made, claim: { hash: claim?.hash ?? '', blind } }));
      if (!blind) await this.evaluate(run.folder, outcomes[run.seed]);
    }
  }

  async evaluate(run: string, outcomes: string): Promise<void> {
    await writeEvaluations(join(this.path, run), [{ update: 7, state: 'full', set: 'test-original', outcomes }]);
  }
}
