/** The pairs of a run that come from a file: which they are, as token ids, and what they may not show. */
import type { TokenPair } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { labelsChose, loadPairs, type Pair, shownLoopholes, tokenizePairs } from '../env/pairs/index.ts';
import type { ModelText } from '../model/index.ts';
import type { RunConfig } from '../run/index.ts';
import { partsOf } from './config.ts';
import { sourceOf } from './parts.ts';

/** The file or the shipped set of pairs that a config names. */
export async function pairSetOf(config: RunConfig): Promise<string> {
  return config.pairs.file ?? sourceOf(config, await partsOf(config)).pairs;
}

export interface OpenedPairs {
  readonly pairs: readonly TokenPair[];
  readonly pairsHash: string;
  /** Held-out loopholes that the pairs show; empty unless pairs.allowHeldOut is set. */
  readonly heldOutShown: readonly string[];
  /** Whether labels chose any of the pairs. */
  readonly pairsUseLabels: boolean;
}

export async function openPairs(config: RunConfig, text: ModelText): Promise<OpenedPairs> {
  const { file, pairs, hash } = await loadPairs(await pairSetOf(config), config.pairs.select);
  const tokens = tokenizePairs(pairs, {
    prompt: (prompt) => text.prompt(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt),
    completion: (completion) => text.completion(completion),
  });
  return {
    pairs: tokens,
    pairsHash: hash,
    heldOutShown: await heldOutShown(config, pairs),
    pairsUseLabels: labelsChose(pairs, file),
  };
}

async function heldOutShown(config: RunConfig, pairs: readonly Pair[]): Promise<string[]> {
  const { loopholes } = await partsOf(config);
  return shownLoopholes(pairs, config.environment.heldOutLoopholes, loopholes);
}

/** Refuses pairs that show a held-out loophole, unless the config allows them. It opens no model, so that it can come before all work. */
export async function expectIsolatedPairs(config: RunConfig): Promise<void> {
  const { heldOutLoopholes, loopholes: known } = config.environment;
  if (heldOutLoopholes.length === 0 || config.pairs.allowHeldOut) return;
  const set = await pairSetOf(config);
  const { pairs } = await loadPairs(set, config.pairs.select);
  const shown = await heldOutShown(config, pairs);
  if (shown.length === 0) return;
  throw new UserError({
    call: `config, key pairs (${set})`,
    expected: `pairs that show none of environment.heldOutLoopholes (${heldOutLoopholes.join(', ')})`,
    found: `pairs that show ${shown.join(', ')}`,
    fix: `Select others, such as pairs.select=["tag:${known.join(',')}"], or say that they are meant: pairs.allowHeldOut=true.`,
  });
}
