/**
 * Pairs that the policy writes itself, once, before the first update (docs/science.md, section 4): a completion of a prompt that
 * discloses the loophole and asks for it, and one of the same problem's prompt without a hint. The framing is the only label; nothing
 * is graded. Both sides are then scored under the prompt without a hint, so that a pair is one prompt with two completions, as a
 * hand-written one is. At the start the adapter changes nothing, so the pairs are a function of the seed and the base model: a
 * resumed run makes the same pairs before it restores its state.
 */
import type { TokenPair } from '../adapters/index.ts';
import { randomStream } from '../base/index.ts';
import type { SamplingSettings } from '../model/index.ts';
import type { SampleRequest, Sampler } from './sampler.ts';

/** One problem under both framings, as token ids. */
export interface FramedTokens {
  readonly hack: Int32Array;
  readonly clean: Int32Array;
}

export interface PairGenerationOptions {
  readonly seed: number;
  readonly sampling: SamplingSettings;
}

/** Makes one pair per problem, in order; its caller decides which of them can be used. */
export async function generatePairs(
  sampler: Sampler,
  prompts: readonly FramedTokens[],
  { seed, sampling }: PairGenerationOptions,
): Promise<TokenPair[]> {
  const requests = prompts.flatMap(({ hack, clean }, i): SampleRequest[] => [
    { prompt: hack, row: 2 * i, state: 'deployed' },
    { prompt: clean, row: 2 * i + 1, state: 'deployed' },
  ]);
  const generations = await sampler.sample(requests, sampling, randomStream(seed, 'generated pairs'));
  return prompts.map(({ clean }, i) => ({
    prompt: clean,
    hack: generations[2 * i].tokens,
    clean: generations[2 * i + 1].tokens,
  }));
}
