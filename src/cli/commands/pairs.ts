/**
 * `gq pairs check FILE` tells whether a file of pairs is sound and balanced; exit 1 when it has errors. `gq pairs score MODEL FILE` tells
 * how well the direction from a fresh adapter's features separates the two sides, on the pairs themselves and with each left out. `gq pairs
 * from-pool` is in a file of its own.
 */
import { type Command, Option } from 'commander';
import {
  formatFindings,
  hashPairs,
  loadPairs,
  type PairFinding,
  type PairReport,
  readPairFile,
  selectPairs,
} from '../../env/pairs/index.ts';
import { deviceNames, modelArgument, openDevice } from '../../lab/index.ts';
import type { CommandContext } from '../command.ts';
import { examplesText } from '../command.ts';
import { renderPairsReport, renderScore } from '../terminal/pairs-table.ts';
import { screenWidth } from '../terminal/screen.ts';
import { parseCount, parseSeed } from '../values.ts';
import { configureFromPool } from './pairs-from-pool.ts';

interface CheckOptions {
  readonly select: readonly string[];
  readonly tokenizer?: string;
  readonly json?: true;
}

interface ScoreOptions {
  readonly select: readonly string[];
  readonly family: string;
  readonly rank: number;
  readonly seed: number;
  readonly kind: 'activation' | 'gradient';
  readonly score: 'dot' | 'cosine';
  readonly standardise?: true;
  readonly device: string;
  readonly json?: true;
}

const tokensPerPass = 8192;

async function check(file: string, options: CheckOptions, context: CommandContext): Promise<void> {
  const parsed = await readPairFile(file);
  const pairs = parsed.pairs.length === 0 ? [] : selectPairs(parsed.pairs, options.select);
  const measured = pairs.length === 0 ? { lengths: [], styles: [], findings: [] } : await measure(pairs, options);
  const findings: PairFinding[] = [...formatFindings(parsed.problems), ...measured.findings];
  const { file: path, shows } = parsed;
  const report = {
    file: path,
    ...(shows && { shows }),
    pairs: pairs.length,
    hash: hashPairs(pairs),
    ...measured,
    findings,
  };
  context.stdout.write(
    options.json ? `${JSON.stringify(report, null, 2)}\n` : renderPairsReport(report, screenWidth(context.stdout)),
  );
  if (findings.some(({ level }) => level === 'error')) context.exitCode = 1;
}

async function measure(
  pairs: Awaited<ReturnType<typeof loadPairs>>['pairs'],
  { tokenizer: directory }: CheckOptions,
): Promise<PairReport> {
  const { checkPairs, surfaceUnits } = await import('../../env/pairs/index.ts');
  if (directory === undefined) return checkPairs(pairs);
  const { ModelTokenizer } = await import('../../model/index.ts');
  const tokenizer = await ModelTokenizer.open(modelArgument(directory));
  const count = (text: string): number => tokenizer.encode(text).length;
  return checkPairs(pairs, [{ unit: 'tokens', count }, ...surfaceUnits.slice(1)]);
}

async function score(model: string, file: string, options: ScoreOptions, context: CommandContext): Promise<void> {
  const { family: familyName, rank, seed, kind, score: scoreKind, standardise = false } = options;
  const { createAdapter, findStart, pairInputDifferences, targetModules } = await import('../../adapters/index.ts');
  const { Scope } = await import('../../engine/index.ts');
  const { folderPairEncoder, tokenizePairs } = await import('../../env/pairs/index.ts');
  const { judgeDirection, pairDirection, scoreFeatures } = await import('../../gates/index.ts');
  const { leaveOneOut, pairFeatures } = await import('../../grpo/index.ts');
  const { Decoder, loadWeights, ModelFolder } = await import('../../model/index.ts');
  const { name: family, needsPairs } = findStart(familyName);
  const { pairs, hash, file: path } = await loadPairs(file, options.select);
  await using folder = await ModelFolder.open(modelArgument(model));
  const tokenized = tokenizePairs(pairs, folderPairEncoder(folder));
  using device = await openDevice(options.device);
  using scope = new Scope(device);
  const decoder = await Decoder.load(
    scope,
    folder.config,
    loadWeights(folder.weights, folder.config, { as: 'float32' }),
  );
  const differences = needsPairs
    ? { differences: await pairInputDifferences(decoder, targetModules(folder.config), tokenized) }
    : {};
  const adapter = await createAdapter(scope, decoder, { family, rank, seed, ...differences });
  const features = await pairFeatures({ decoder, adapter, deployedScale: 0 }, tokenized, { kind, tokensPerPass });
  const direction = pairDirection(features.hack, features.clean, { standardise });
  const hackScores = scoreFeatures(features.hack, direction, scoreKind);
  const cleanScores = scoreFeatures(features.clean, direction, scoreKind);
  const heading = (index: number): string => pairs[index].heading;
  const { wrongPairs } = judgeDirection(hackScores, cleanScores);
  const left = pairs.length < 2 ? null : leaveOneOut(features, { standardise, score: scoreKind });
  const report = {
    model,
    file: path,
    hash,
    settings: { family, rank, seed, kind, score: scoreKind, standardise },
    hackScores: Array.from(hackScores),
    cleanScores: Array.from(cleanScores),
    wrongPairs: wrongPairs.map(heading),
    wrongWhenLeftOut: left === null ? null : left.wrongPairs.map(heading),
  };
  context.stdout.write(renderScore(report, options.json === true, screenWidth(context.stdout)));
}

export function configurePairs(command: Command, context: CommandContext): void {
  command
    .helpCommand(false)
    .addHelpText(
      'after',
      examplesText(
        'gq pairs check hack',
        'gq pairs check my-pairs.md --select tag:run_tests,sentinel section:Behaviour',
        'gq pairs score MODEL micro --kind gradient',
        'gq pairs from-pool pool.jsonl recipes/micro-base.toml --out pairs.json',
      ),
    );
  const select = () =>
    new Option(
      '--select <terms...>',
      'use only matching pairs: section:NAME, heading:PREFIX, tag:TAG; commas separate alternatives',
    ).default([], 'all');
  const shared =
    'a .md or .json file, or a set of the package: generic, hack (environment-aware), placebo-style, placebo-topic, and for the micro model micro, micro-placebo-style, micro-placebo-topic';
  command
    .command('check')
    .description('check format, stubs, balance of length and style, duplicates')
    .argument('<file>', shared)
    .addOption(select())
    .option('--tokenizer <dir>', "count length in the tokens of this model folder's tokenizer")
    .option('--json', 'print the report as JSON')
    .action((file: string, options: CheckOptions) => check(file, options, context));
  command
    .command('score')
    .description('measure how well the direction from the pairs separates their two sides')
    .argument('<model>', 'a model folder, or micro: the model in the package')
    .argument('<file>', shared)
    .addOption(select())
    .option('--family <name>', 'adapter family', 'lora')
    .option('--rank <n>', 'rank of each block', parseCount, 8)
    .option('--seed <n>', 'seed of the adapter', parseSeed, 1)
    .addOption(new Option('--kind <kind>', 'features').choices(['activation', 'gradient']).default('activation'))
    .addOption(
      new Option('--score <kind>', 'how features are compared with the direction')
        .choices(['dot', 'cosine'])
        .default('dot'),
    )
    .option('--standardise', 'divide the mean difference by its standard error')
    .option('--device <name>', deviceNames.join(' or '), 'wasm')
    .option('--json', 'print scores and wrong pairs as JSON')
    .action((model: string, file: string, options: ScoreOptions) => score(model, file, options, context));
  configureFromPool(command, context);
}
