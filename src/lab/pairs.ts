/** The contrastive pairs of a run as token ids: hand-written ones from a file, or those that the policy writes itself. */
import type { TokenPair } from '../adapters/index.ts';
import { framePrompts, loadPairs } from '../env/pairs/index.ts';
import { generatePairs, type Sampler, samplingSettings, type Task } from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import type { RunConfig } from '../run/index.ts';
import { partsOf } from './config.ts';
import { sourceOf } from './parts.ts';

/** The file or the shipped set of pairs that a config names. */
export async function pairSetOf(config: RunConfig): Promise<string> {
  return config.pairs.file ?? sourceOf(config, await partsOf(config)).pairs;
}

export async function openPairs(config: RunConfig, text: ModelText): Promise<{ pairs: TokenPair[]; hash: string }> {
  const { pairs, hash } = await loadPairs(await pairSetOf(config), config.pairs.select);
  const tokens = pairs.map(({ prompt, hack, clean }) => ({
    prompt: text.prompt(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt),
    hack: text.completion(hack),
    clean: text.completion(clean),
  }));
  return { pairs: tokens, hash };
}

/** Has the policy write pairs at the start, with the framing and without; the hack is asked for in words if the problem source says so. */
export async function writePairs(
  config: RunConfig,
  sampler: Sampler,
  tasks: readonly Task[],
  text: ModelText,
): Promise<TokenPair[]> {
  const parts = await partsOf(config);
  const { asksInWords: asking } = sourceOf(config, parts);
  const { loopholes } = parts;
  const prompts = tasks
    .flatMap(({ problem, loophole, markers }) =>
      loophole === 'gt_only' ? [] : [framePrompts(problem, loophole, markers, { asking, loopholes })],
    )
    .slice(0, config.pairs.generated)
    .map(({ hack, clean }) => ({ hack: text.prompt(hack), clean: text.prompt(clean) }));
  const sampling = samplingSettings(config.sampling, text.stopTokens);
  return generatePairs(sampler, prompts, { seed: config.seed, sampling });
}
