/**
 * `gq pairs from-pool POOL`: pairs from the demonstrations of a pool, a hack beside a solve of the same problem. Everything is graded
 * again. Labels chose both sides, so the pairs and a file beside them say that they are unsuitable for the primary result, and they are
 * recorded by what they say, to be known again without their tag.
 */
import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { readVersion, sha256File, writeFileAtomic } from '../../base/node/index.ts';
import { importPool } from '../../env/index.ts';
import {
  contentHashes,
  formatPairsJson,
  hashPairs,
  pairsFromPool,
  poolDerivedNote,
  provenanceEnding,
  recordLabelled,
} from '../../env/pairs/index.ts';
import { openLab, resolveConfig } from '../../lab/index.ts';
import type { CommandContext } from '../command.ts';
import { expectNewFile } from '../outputs.ts';
import { tellOn } from '../terminal/tell.ts';
import { collect, parseCount } from '../values.ts';

interface FromPoolOptions {
  readonly out: string;
  readonly set: readonly string[];
  readonly perProblem: number;
  readonly force?: true;
  readonly json?: boolean;
}

export function configureFromPool(command: Command, context: CommandContext): void {
  command
    .command('from-pool')
    .description('make pairs from demonstrations: labels choose them, and runs that use them are stamped so')
    .argument('<pool>', 'a JSONL file of demonstrations, as `gq pool make` writes it')
    .argument('[recipe]', 'recipe whose problems the demonstrations answer; without one, the defaults')
    .requiredOption('--out <file>', 'the .json file of pairs to write; FILE.provenance.json says where they came from')
    .option('--set <key=value>', 'change one key of the recipe; may be repeated', collect, [])
    .option('--per-problem <n>', 'most pairs of one problem', parseCount, 1)
    .option('--force', 'overwrite the files of --out')
    .option('--json', 'print the provenance')
    .action((pool: string, recipe: string | undefined, options: FromPoolOptions) =>
      fromPool(pool, recipe ?? null, options, context),
    );
}

async function fromPool(
  pool: string,
  recipe: string | null,
  options: FromPoolOptions,
  context: CommandContext,
): Promise<void> {
  const { out, perProblem, force } = options;
  if (!out.endsWith('.json')) {
    throw new UserError({ call: '--out', expected: 'a name that ends in .json', found: out });
  }
  const provenanceFile = `${out}${provenanceEnding}`;
  expectNewFile(out, '--out', force);
  expectNewFile(provenanceFile, '--out', force);
  const { config } = await resolveConfig(recipe, options.set);
  await using lab = await openLab({ config }, { warn: tellOn(context) });
  const [judge, { splits }] = await Promise.all([lab.judge, lab.problems]);
  const problems = new Map(splits.train.map((problem) => [problem.id, problem]));
  const { loopholes } = lab.parts;
  const imported = await importPool(pool, problems, judge, loopholes);
  const heldOut = config.environment.heldOutLoopholes;
  const pairs = pairsFromPool(imported, problems, { heldOut, perProblem, loopholes });
  if (pairs.length === 0) {
    throw new UserError({
      call: `gq pairs from-pool ${pool}`,
      expected: 'a problem of the train split with a hack and a solve',
      found: `${imported.hacks.size} problems with hacks, ${imported.solves.size} with solves, none with both; ${imported.refused.length} demonstrations refused`,
      fix: 'Name the recipe that the pool was made for, or make a larger pool.',
    });
  }
  const provenance = {
    provenance: poolDerivedNote,
    pool,
    poolHash: await sha256File(pool),
    pairs: pairs.length,
    pairsHash: hashPairs(pairs),
    refused: imported.refused.length,
    heldOutLoopholes: heldOut,
    version: readVersion(),
    contents: contentHashes(pairs),
  };
  await recordLabelled(pairs);
  await writeFileAtomic(out, formatPairsJson(pairs));
  await writeFileAtomic(provenanceFile, `${JSON.stringify(provenance, null, 2)}\n`);
  const line = `${out}: ${pairs.length} pairs, ${poolDerivedNote}\n`;
  context.stdout.write(options.json ? `${JSON.stringify(provenance, null, 2)}\n` : line);
}
