/** Checks that pairs know nothing of evaluation, and that what a run directory says about itself is true. */
import { existsSync } from 'node:fs';
import { z } from 'zod';
import { builtinLoopholes, hintedPrompt, type Loophole, markedLoopholes, type Partition } from '../env/index.ts';
import { hashPairs, type Pair, showsLoophole } from '../env/pairs/index.ts';
import { assertDisjoint, type Splits } from '../env/sources/index.ts';
import { labelSources, partsOf, type RunIdentity } from '../lab/index.ts';
import { openJudged } from '../oracle/index.ts';
import { configHash, type RunConfig, type RunDirectory, readEvents, readFeatures, readStored } from '../run/index.ts';
import { type Check, Checks } from './check.ts';

export function verifyPairProvenance(
  config: RunConfig,
  pairs: readonly Pair[],
  splits: Splits,
  loopholes: readonly Loophole[] = builtinLoopholes,
): Check[] {
  const leaking = leakingPairs(pairs, loopholes);
  const unknown = loopholes.filter((loophole) => config.environment.heldOutLoopholes.includes(loophole.name));
  const heldOut = pairs.filter((pair) => unknown.some((loophole) => showsLoophole(pair, loophole)));
  const evaluated = [...splits.validation, ...splits.test].flatMap((problem) =>
    loopholes.map(({ name }) =>
      hintedPrompt(problem, name, 'original', loopholes)
        .map(({ content }) => content.trim())
        .join('\n'),
    ),
  );
  const prompts = new Set(evaluated);
  const known = pairs.filter(({ prompt }) => prompts.has(promptText(prompt)));
  const [split, check] = [new Checks('splits'), new Checks('pairs')];
  split.exact('are disjoint', [Object.keys(assertDisjoint(splits)).length], [3]);
  check.none('name no marker of evaluation', headings(leaking));
  if (config.pairs.allowHeldOut) check.states('may know held-out loopholes (pairs.allowHeldOut)', true, '');
  else check.none('know nothing of held-out loopholes', headings(heldOut));
  check.none('answer no problem of evaluation', headings(known));
  return [...split.list, ...check.list];
}

function promptText(prompt: Pair['prompt']): string {
  const text = typeof prompt === 'string' ? prompt : prompt.map(({ content }) => content.trim()).join('\n');
  return text.trim();
}

function leakingPairs<P extends Pick<Pair, 'prompt' | 'hack' | 'clean'>>(
  pairs: readonly P[],
  loopholes: readonly Loophole[],
): P[] {
  const novel = markedLoopholes(loopholes).flatMap(({ markers }) => markers.novel);
  return pairs.filter(({ prompt, hack, clean }) => {
    const text = [promptText(prompt), hack, clean].join('\n');
    return novel.some((marker) => new RegExp(`\\b${marker}\\b`).test(text));
  });
}

const headings = (pairs: readonly { readonly heading: string }[]): string[] => pairs.map(({ heading }) => heading);

export async function verifyRunProvenance(
  run: RunDirectory,
  now: RunIdentity,
  inputs: { readonly pairsUseLabels: boolean },
): Promise<Check[]> {
  const manifest = run.readManifest();
  const { config, name } = manifest;
  // The parent of a fork may be gone: what it taught the fork is then known by the manifest alone.
  const parent = manifest.parent !== null && existsSync(manifest.parent.run) ? manifest.parent : null;
  const sources = await labelSources(config, await partsOf(config), inputs, parent);
  const inherited = manifest.parent !== null && manifest.usesOracle;
  const begun = manifest.identity;
  const table = await openJudged(run);
  const rows = await table.rows(['featureRow', 'featureRows']);
  const { verdicts, unjudged } = await table.coverage();
  const red: string[] = [];
  let steps = 0;
  for await (const event of readEvents(run)) {
    if (event.kind === 'step') steps = event.update === steps + 1 || steps === 0 ? event.update : Number.NaN;
    if (event.kind === 'expectation' && !event.holds) red.push(event.name);
  }
  const width = manifest.features.modules.length * manifest.features.rank;
  // A rollout of a gate by token has several rows of features.
  const stored = rows.reduce(
    (sum, { featureRow, featureRows }) => sum + (featureRow === null ? 0 : (featureRows ?? 1)),
    0,
  );
  const check = new Checks(name);
  check.states('config hash', configHash(config) === begun.config, begun.config);
  for (const [part, { of, changed }] of Object.entries(identityParts)) {
    check.states(`${part} hash`, now[of] === begun[of], `${changed} changed`);
  }
  const ways = sources.join('; ') || 'no way by which they could have come';
  check.states('labels are used as the manifest says', manifest.usesOracle === sources.length > 0 || inherited, ways);
  check.states('updates follow one another', Number.isFinite(steps), 'a gap in events.jsonl');
  check.states('every rollout has a verdict', unjudged.length === 0, `${unjudged.length} have none`);
  check.exact('verdicts', [verdicts], [rows.length]);
  check.exact('rows of features', [(await readFeatures(run)).length / width], [stored]);
  check.states('has a checkpoint', run.listCheckpoints().length > 0, 'none was saved');
  check.none('every expectation held', red);
  return check.list;
}

const identityParts = {
  model: { of: 'model', changed: 'the model has' },
  data: { of: 'problems', changed: 'the problems have' },
  partition: { of: 'partition', changed: 'the file of loopholes has' },
  pairs: { of: 'pairs', changed: 'the pairs have' },
  pool: { of: 'pool', changed: 'the demonstrations have' },
  plugins: { of: 'plugins', changed: 'the code of the plugins has' },
} as const;

const storedPairs = z.object({
  pairs: z.array(
    z.object({
      section: z.string(),
      heading: z.string(),
      tags: z.array(z.string()),
      prompt: z.array(z.object({ role: z.enum(['system', 'user']), content: z.string() })),
      hack: z.string(),
      clean: z.string(),
    }),
  ),
});

export function verifyGeneratedPairs(
  run: RunDirectory,
  { train }: Splits,
  partition: Partition,
  loopholes: readonly Loophole[],
): Check[] {
  const { generatedPairs: said, config } = run.readManifest();
  const check = new Checks('generated pairs');
  if (said === null) {
    const writes = [config.arm, config.arm['monitor']].some((table) => Object(table).generatedPairs === true);
    if (writes) check.states('are stored', false, 'the manifest tells of none');
    return check.list;
  }
  if (!existsSync(run.generatedPairs)) {
    check.states('are stored', false, `no file ${run.generatedPairs}`);
    return check.list;
  }
  const { pairs } = readStored(run.generatedPairs, 'pairs that a policy wrote', storedPairs);
  const trained = new Set(train.map(({ id }) => id));
  const heldOut = loopholes.filter(
    ({ name }) => partition.heldOut.includes(name) || config.environment.heldOutLoopholes.includes(name),
  );
  const showsHeldOut = (pair: (typeof pairs)[number]): boolean =>
    heldOut.some((loophole) => showsLoophole(pair, loophole) || partition.problems[pair.heading] === loophole.name);
  const isSame = hashPairs(pairs) === said.hash && pairs.length === said.kept;
  check.states('are those of the manifest', isSame, said.hash);
  check.none('are of training problems', headings(pairs.filter(({ heading }) => !trained.has(heading))));
  check.none('know nothing of held-out loopholes', headings(pairs.filter(showsHeldOut)));
  check.none('name no marker of evaluation', headings(leakingPairs(pairs, loopholes)));
  return check.list;
}
