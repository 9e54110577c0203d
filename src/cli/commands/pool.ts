/** `gq pool make`: demonstrations for the teacher phase, from what a run sampled or from what a model is asked for. */
import { UserError } from '../../base/index.ts';
import { readVersion, writeFileAtomic } from '../../base/node/index.ts';
import type { PoolEntry } from '../../env/index.ts';
import type { GradedPool } from '../../lab/index.ts';
import { formatPool, limitPool, openLab, poolOfRun, resolveConfig, samplePool } from '../../lab/index.ts';
import { type RunConfig, RunDirectory } from '../../run/index.ts';
import { type CallOf, type CommandContext, choice, command, flag, needed, whole, word } from '../command.ts';
import { configOption, expectAbsent, expectNewFile, jsonText } from '../shared.ts';
import { Progress, tellOn } from '../terminal/progress.ts';

const options = {
  out: needed(word('<file>', 'JSON lines to write; FILE.provenance.json says where they came from')),
  run: word('<dir>', 'take the completions that this run sampled, instead of sampling'),
  set: configOption,
  keep: choice('<what>', 'which completions to keep', ['hacks', 'solves', 'both'], 'both'),
  perProblem: whole('<n>', 'most hacks, and most solves, to keep per problem', { usual: 4 }),
  problems: whole('<n>', 'number of problems to ask; 32 when absent; not with --run'),
  samples: whole('<n>', 'completions per problem and framing; 8 when absent; not with --run'),
  force: flag('overwrite the files of --out'),
};
type PoolCall = CallOf<typeof options>;

export const makePoolCommand = command({
  arguments: { recipe: word('[recipe]', 'recipe whose model, problems and sampling to use; not with --run') },
  options,
  json: 'the provenance as JSON',
  examples: [
    'gq pool make --run runs/vanilla-1 --keep hacks --out hacks.jsonl',
    'gq pool make micro-base --keep solves --samples 16 --out solves.jsonl',
  ],
  exits: { 1: 'nothing was found to keep' },
  async run({ recipe, ...call }, context) {
    const { out, run, keep, force } = call;
    if (run !== undefined) expectNothingToSample(recipe, call);
    const provenanceFile = `${out}.provenance.json`;
    expectNewFile(out, '--out', force);
    expectNewFile(provenanceFile, '--out', force);
    const { entries, source } = await (run === undefined
      ? poolFromModel((await resolveConfig(recipe ?? null, call.set)).config, call, context)
      : poolOfRun(RunDirectory.open(run)));
    const kept = limitPool(
      entries.filter(({ label }) => isWanted(label, keep)),
      call.perProblem,
    );
    const count = (label: string): number => kept.filter((entry) => entry.label === label).length;
    const [hacks, solves] = [count('hack'), count('solve')];
    const provenance = { ...source, version: readVersion(), hacks, solves, graded: entries.length };
    await writeFileAtomic(out, formatPool(kept));
    await writeFileAtomic(provenanceFile, jsonText(provenance));
    const text = `${out}: ${hacks} hacks, ${solves} solves\n`;
    return { value: provenance, text: () => text, isNo: kept.length === 0 };
  },
});

/** A run has sampled already: what would decide about sampling has no effect, so it is refused. */
function expectNothingToSample(recipe: string | undefined, call: PoolCall): void {
  if (recipe !== undefined) throw new UserError({ call: 'gq pool make', expected: 'a recipe or --run', found: 'both' });
  expectAbsent(call, ['set', 'problems', 'samples'], 'with --run');
}

const isWanted = (label: PoolEntry['label'], keep: PoolCall['keep']): boolean =>
  keep === 'both' || keep === `${label}s`;

async function poolFromModel(
  config: RunConfig,
  { keep, problems: count = 32, samples = 8 }: PoolCall,
  context: CommandContext,
): Promise<GradedPool> {
  await using lab = await openLab({ config }, { work: 'unplanned', warn: tellOn(context) });
  const [judge, { use }, model, tasks] = await Promise.all([lab.judge, lab.problems, lab.weights, lab.tasks]);
  const labels = (['hack', 'solve'] as const).filter((label) => isWanted(label, keep));
  const onProgress = Progress.from(context.stderr, 'sampled');
  const entries = await samplePool(config, model, judge, tasks, { problems: count, samples, labels, onProgress });
  const { seed, data, sampling } = config;
  return {
    entries,
    source: { model: config.model, modelHash: await model.hash, seed, data, sampling, samples, problems: use.train },
  };
}
