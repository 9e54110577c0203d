/**
 * Checks of provenance and splits: pairs know nothing of evaluation, and what a run directory says about itself is true: its config
 * and hashes, ledgers that fit together, and whether its arm uses labels.
 */
import { existsSync } from 'node:fs';
import { UserError } from '../base/index.ts';
import type { Loophole } from '../env/index.ts';
import { builtinLoopholes, hintedPrompt, markedLoopholes } from '../env/index.ts';
import { type Pair, showsLoophole } from '../env/pairs/index.ts';
import { assertDisjoint, type Splits } from '../env/sources/index.ts';
import { labelSources, partsOf, type RunIdentity } from '../lab/index.ts';
import { openJudged } from '../oracle/index.ts';
import type { RunConfig, RunDirectory } from '../run/index.ts';
import { configHash, expectCheckpoint, readEvents, readFeatures } from '../run/index.ts';
import { type Check, compareExact, stated } from './check.ts';

export function verifyPairProvenance(
  config: RunConfig,
  pairs: readonly Pair[],
  splits: Splits,
  loopholes: readonly Loophole[] = builtinLoopholes,
): Check[] {
  const texts = pairs.map(({ heading, prompt, hack, clean }) => {
    const shown = typeof prompt === 'string' ? prompt : prompt.map(({ content }) => content).join('\n');
    return { heading, text: [shown, hack, clean].join('\n') };
  });
  const novel = markedLoopholes(loopholes).flatMap(({ markers }) => markers.novel);
  const leaking = texts.filter(({ text }) => novel.some((marker) => new RegExp(`\\b${marker}\\b`).test(text)));
  const unknown = loopholes.filter((loophole) => config.environment.heldOutLoopholes.includes(loophole.name));
  const heldOut = pairs.filter((pair) => unknown.some((loophole) => showsLoophole(pair, loophole)));
  const allowed = config.pairs.allowHeldOut;
  const evaluated = [...splits.validation, ...splits.test].flatMap((problem) =>
    loopholes.map(({ name }) =>
      hintedPrompt(problem, name, 'original', loopholes)
        .map(({ content }) => content.trim())
        .join('\n'),
    ),
  );
  const prompts = new Set(evaluated);
  const known = pairs.filter(({ prompt }) => {
    const text = typeof prompt === 'string' ? prompt : prompt.map(({ content }) => content.trim()).join('\n');
    return prompts.has(text.trim());
  });
  const name = (found: readonly { heading: string }[]): string => found.map(({ heading }) => heading).join(', ');
  return [
    compareExact('splits', 'are disjoint', [Object.keys(assertDisjoint(splits)).length], [3]),
    stated('pairs', 'name no marker of evaluation', leaking.length === 0, name(leaking)),
    allowed
      ? stated('pairs', 'may know held-out loopholes (pairs.allowHeldOut)', true, '')
      : stated('pairs', 'know nothing of held-out loopholes', heldOut.length === 0, name(heldOut)),
    stated('pairs', 'answer no problem of evaluation', known.length === 0, name(known)),
  ];
}

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
  const incomplete: number[] = [];
  for (const update of run.listCheckpoints()) {
    try {
      expectCheckpoint(run, update, config.output.keepState === 'all');
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      incomplete.push(update);
    }
  }
  return [
    stated(name, 'config hash', configHash(config) === begun.config, begun.config),
    stated(name, 'model hash', now.model === begun.model, 'the model has changed'),
    stated(name, 'data hash', now.problems === begun.problems, 'the problems have changed'),
    stated(name, 'partition hash', now.partition === begun.partition, 'the file of loopholes has changed'),
    stated(name, 'pairs hash', now.pairs === begun.pairs, 'the pairs have changed'),
    stated(name, 'pool hash', now.pool === begun.pool, 'the demonstrations have changed'),
    stated(name, 'plugins hash', now.plugins === begun.plugins, 'the code of the plugins has changed'),
    stated(
      name,
      'labels are used as the manifest says',
      manifest.usesOracle === sources.length > 0 || inherited,
      sources.join('; ') || 'no way by which they could have come',
    ),
    stated(name, 'updates follow one another', Number.isFinite(steps), 'a gap in events.jsonl'),
    stated(name, 'every rollout has a verdict', unjudged.length === 0, `${unjudged.length} have none`),
    compareExact(name, 'verdicts', [verdicts], [rows.length]),
    compareExact(name, 'rows of features', [(await readFeatures(run)).length / width], [stored]),
    stated(
      name,
      'checkpoints are complete and as they were saved',
      run.listCheckpoints().length > 0 && incomplete.length === 0,
      incomplete.join(', '),
    ),
    stated(name, 'every expectation held', red.length === 0, red.join(', ')),
  ];
}
