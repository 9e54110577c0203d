/**
 * `gq pool make`: makes demonstrations for the teacher phase, from what a run sampled or from what a model is asked for. Everything is
 * graded; hacks and solves are kept, and a file beside the pool says where they came from. Hacks of held-out loopholes never enter.
 */
import { type Command, Option } from 'commander';
import { UserError } from '../../base/index.ts';
import { readVersion, writeFileAtomic } from '../../base/node/index.ts';
import type { PoolEntry } from '../../env/index.ts';
import { formatPool, limitPool, openLab, resolveConfig, samplePool, type Warn } from '../../lab/index.ts';
import { openJudged } from '../../oracle/index.ts';
import { type RunConfig, RunDirectory } from '../../run/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { expectNewFile } from '../outputs.ts';
import { Progress } from '../terminal/progress.ts';
import { tellOn } from '../terminal/tell.ts';
import { collect, parseCount } from '../values.ts';

interface PoolOptions {
  readonly out: string;
  readonly run?: string;
  readonly set: readonly string[];
  readonly keep: 'hacks' | 'solves' | 'both';
  readonly perProblem: number;
  readonly problems: number;
  readonly samples: number;
  readonly force?: true;
  readonly json?: boolean;
}

interface Pool {
  readonly entries: readonly PoolEntry[];
  readonly source: Readonly<Record<string, unknown>>;
}

export function configurePool(command: Command, context: CommandContext): void {
  command
    .helpCommand(false)
    .addHelpText(
      'after',
      examplesText(
        'gq pool make --run runs/vanilla-1 --keep hacks --out hacks.jsonl',
        'gq pool make recipes/micro-base.toml --keep solves --samples 16 --out solves.jsonl',
      ),
    );
  command
    .command('make')
    .description('sample, grade, and keep hacks or solves as a pool of demonstrations')
    .argument('[recipe]', 'recipe whose model, problems and sampling to use; not with --run')
    .requiredOption('--out <file>', 'JSON lines to write; FILE.provenance.json says where they came from')
    .option('--run <dir>', 'take the completions that this run sampled, instead of sampling')
    .option('--set <key=value>', 'change one key of the recipe; may be repeated', collect, [])
    .addOption(
      new Option('--keep <what>', 'which completions to keep').choices(['hacks', 'solves', 'both']).default('both'),
    )
    .option('--per-problem <n>', 'most hacks, and most solves, to keep per problem', parseCount, 4)
    .option('--problems <n>', 'number of problems to ask; not with --run', parseCount, 32)
    .option('--samples <n>', 'completions per problem and framing; not with --run', parseCount, 8)
    .option('--force', 'overwrite the files of --out')
    .option('--json', 'print the provenance')
    .action((recipe: string | undefined, options: PoolOptions, make: Command) => {
      if (options.run !== undefined) expectNothingToSample(recipe, make);
      return makePool(recipe, options, context);
    });
}

/** A run has sampled already: what would decide about sampling has no effect, so it is refused. */
function expectNothingToSample(recipe: string | undefined, make: Command): void {
  const call = 'gq pool make';
  if (recipe !== undefined) throw new UserError({ call, expected: 'a recipe or --run', found: 'both' });
  const given = ['set', 'problems', 'samples'].filter((name) => make.getOptionValueSource(name) === 'cli');
  if (given.length === 0) return;
  const found = given.map((name) => `--${name}`).join(', ');
  throw new UserError({ call, expected: 'no option of sampling beside --run', found });
}

async function makePool(recipe: string | undefined, options: PoolOptions, context: CommandContext): Promise<void> {
  const provenanceFile = `${options.out}.provenance.json`;
  expectNewFile(options.out, '--out', options.force);
  expectNewFile(provenanceFile, '--out', options.force);
  const { entries, source } = await (options.run === undefined
    ? poolFromModel((await resolveConfig(recipe ?? null, options.set)).config, options, tellOn(context), context.stderr)
    : poolFromRun(RunDirectory.open(options.run)));
  const kept = limitPool(
    entries.filter(({ label }) => wanted(label, options.keep)),
    options.perProblem,
  );
  const count = (label: string): number => kept.filter((entry) => entry.label === label).length;
  const provenance = {
    ...source,
    version: readVersion(),
    hacks: count('hack'),
    solves: count('solve'),
    graded: entries.length,
  };
  await writeFileAtomic(options.out, formatPool(kept));
  await writeFileAtomic(provenanceFile, `${JSON.stringify(provenance, null, 2)}\n`);
  const line = `${options.out}: ${provenance.hacks} hacks, ${provenance.solves} solves\n`;
  context.stdout.write(options.json ? `${JSON.stringify(provenance, null, 2)}\n` : line);
  if (kept.length === 0) context.exitCode = 1;
}

function wanted(label: PoolEntry['label'], keep: PoolOptions['keep']): boolean {
  return keep === 'both' || keep === `${label}s`;
}

async function poolFromRun(run: RunDirectory): Promise<Pool> {
  const { config, identity } = run.readManifest();
  const entries: PoolEntry[] = [];
  for (const { problem, completion, source, ...row } of await openJudged(run).rows()) {
    if (source !== 'student') continue;
    const { markers, hack, solve } = row;
    const loophole = row.hackable ? row.loophole : 'gt_only';
    const entry = { problem, completion, loophole, markers };
    if (solve) entries.push({ ...entry, label: 'solve' });
    else if (hack && isKnown(loophole, config)) entries.push({ ...entry, label: 'hack' });
  }
  return {
    entries,
    source: { run: run.path, configHash: identity.config, modelHash: identity.model, seed: config.seed },
  };
}

function isKnown(loophole: string, { environment }: RunConfig): boolean {
  return (
    environment.loopholes.some((known) => known === loophole) &&
    !environment.heldOutLoopholes.some((other) => other === loophole)
  );
}

async function poolFromModel(
  config: RunConfig,
  { keep, problems: count, samples }: PoolOptions,
  warn: Warn,
  stderr: CommandContext['stderr'],
): Promise<Pool> {
  await using lab = await openLab({ config }, { work: 'unplanned', warn });
  const [judge, { use }, model, tasks] = await Promise.all([lab.judge, lab.problems, lab.weights, lab.tasks]);
  const labels = (['hack', 'solve'] as const).filter((label) => wanted(label, keep));
  let bar: Progress | null = null;
  const onProgress = (done: number, of: number): void => {
    bar ??= new Progress(stderr, 'sampled', of);
    bar.show(done);
  };
  const entries = await samplePool(config, model, judge, tasks, { problems: count, samples, labels, onProgress });
  const { seed, data, sampling } = config;
  return {
    entries,
    source: { model: config.model, modelHash: await model.hash, seed, data, sampling, samples, problems: use.train },
  };
}
