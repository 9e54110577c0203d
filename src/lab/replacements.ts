/** What may stand in place of the lab's judge and sampler. A run goes on only with those of the same names. */
import { explainForeign, UserError } from '../base/index.ts';
import type { NamedJudge } from '../env/index.ts';
import { type ComputeTable, type Policy, policySampler, type Sampler } from '../grpo/index.ts';
import type { Generation } from '../model/index.ts';

export interface NamedSampler {
  readonly name: string;
  /** Is given the lab's own sampler, which decodes in this process, and the policy that must be sampled from. */
  open(own: Sampler, policy: Policy): Sampler;
}

export interface Replacements {
  /** The judge of programs; when absent the lab's own: the sandbox, for micro problems behind the interpreter. */
  readonly judge?: NamedJudge | undefined;
  /** What samples completions; decoding in this process when absent. */
  readonly sampler?: NamedSampler | undefined;
}

export function replacementNames({
  judge,
  sampler,
}: Replacements): Readonly<Record<'judge' | 'sampler', string | null>> {
  return { judge: nameOf('judge', judge), sampler: nameOf('sampler', sampler) };
}

function nameOf(what: string, part: { readonly name: unknown } | undefined): string | null {
  if (part === undefined) return null;
  if (typeof part.name === 'string' && part.name !== '') return part.name;
  throw new UserError({ call: what, expected: 'a name', found: JSON.stringify(part.name) ?? 'nothing' });
}

export function openSampler(policy: Policy, compute: ComputeTable, named: NamedSampler | undefined): Sampler {
  const own = policySampler(policy, compute);
  if (named === undefined) return own;
  const call = `sampler ${named.name}`;
  const opened = named.open(own, policy);
  return {
    async sample(requests, settings, stream) {
      let generations: readonly Generation[];
      try {
        generations = await opened.sample(requests, settings, stream);
      } catch (error) {
        throw explainForeign(error, { call, expected: 'no error from sample()' });
      }
      const found = faultOf(generations, requests.length, settings.maxNewTokens, policy.decoder.config.vocabSize);
      if (found === null) return generations;
      throw new UserError({
        call,
        expected: `${requests.length} completions with tokens, finish and a log-probability for each token (fullLogps)`,
        found,
      });
    },
  };
}

function faultOf(answer: readonly Generation[], count: number, longest: number, vocabulary: number): string | null {
  if (!Array.isArray(answer)) return typeof answer;
  if (answer.length !== count) return `${answer.length}`;
  for (const [row, { tokens, fullLogps, finish }] of (answer as readonly Generation[]).entries()) {
    const isWhole = tokens instanceof Int32Array && fullLogps instanceof Float32Array;
    if (!isWhole || fullLogps.length !== tokens.length || (finish !== 'stop' && finish !== 'length')) {
      return `something else for request ${row}`;
    }
    if (tokens.length > longest) return `${tokens.length} tokens for request ${row}, of at most ${longest}`;
    const bad = tokens.find((token) => token < 0 || token >= vocabulary);
    if (bad !== undefined) return `token ${bad} for request ${row}, where the model knows ${vocabulary}`;
  }
  return null;
}
