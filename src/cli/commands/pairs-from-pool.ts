/**
 * `gq pairs from-pool POOL`: pairs from the demonstrations of a pool, a hack beside a solve of the same problem. Everything is graded
 * again. Labels chose both sides, so the pairs and a file beside them say that they are unsuitable for the primary result, and they are
 * recorded by what they say, to be known again without their tag.
 */
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
import { argument, command, flag, needed, whole, word } from '../command.ts';
import { configOption, jsonOption } from '../options.ts';
import { expectNewFile, jsonText, printAnswer } from '../outputs.ts';
import { tellOn } from '../terminal/progress.ts';

export const fromPoolCommand = command({
  arguments: {
    pool: argument('<pool>', 'a JSONL file of demonstrations, as `gq pool make` writes it'),
    recipe: word('[recipe]', 'recipe whose problems the demonstrations answer; without one, the defaults'),
  },
  options: {
    out: needed(word('<file>', 'the .json file of pairs to write; FILE.provenance.json says where they came from')),
    set: configOption,
    perProblem: whole('<n>', 'most pairs of one problem', { usual: 1 }),
    force: flag('overwrite the files of --out'),
    json: jsonOption('the provenance'),
  },
  examples: ['gq pairs from-pool pool.jsonl recipes/micro-base.toml --out pairs.json'],
  async run({ pool, recipe = null, out, set, perProblem, force, json }, context) {
    if (!out.endsWith('.json')) {
      throw new UserError({ call: '--out', expected: 'a name that ends in .json', found: out });
    }
    const provenanceFile = `${out}${provenanceEnding}`;
    expectNewFile(out, '--out', force);
    expectNewFile(provenanceFile, '--out', force);
    const { config } = await resolveConfig(recipe, set);
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
    await writeFileAtomic(provenanceFile, jsonText(provenance));
    printAnswer(context, json, provenance, () => `${out}: ${pairs.length} pairs, ${poolDerivedNote}\n`);
  },
});
