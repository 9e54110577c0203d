/** Where completions come from. The one implementation decodes with the policy in this process. */
import { type PolicyState, scaleOf } from '../adapters/index.ts';
import type { RandomStream } from '../base/index.ts';
import { type Generation, generate, type Pace, type SamplingSettings } from '../model/index.ts';
import { type Policy, projectRows } from './policy.ts';

export interface SampleRequest {
  readonly prompt: Int32Array;
  /** Names the row's own random numbers: the same row gets the same tokens in any company. */
  readonly row: number;
  readonly state: PolicyState;
}

export interface Sampler {
  /** One completion per request, in their order. The base decodes without an adapter, so it is not mixed with other states. */
  sample(
    requests: readonly SampleRequest[],
    settings: SamplingSettings,
    stream: RandomStream,
  ): Promise<readonly Generation[]>;
}

export function policySampler(policy: Policy, { readEvery, rowStep, tokensPerPass }: Required<Pace>): Sampler {
  const pace = { readEvery, rowStep, tokensPerPass };
  const project = projectRows(policy);
  return {
    sample(requests, settings, stream) {
      const scaled = requests.flatMap(({ prompt, row, state }) =>
        state === 'base' ? [] : [{ prompt, row, scale: scaleOf(state, policy.deployedScale) }],
      );
      if (scaled.length === requests.length)
        return generate(policy.decoder, scaled, settings, { stream, project, ...pace });
      if (scaled.length > 0) throw new RangeError('the base is sampled on its own');
      const plain = requests.map(({ prompt, row }) => ({ prompt, row, scale: 0 }));
      return generate(policy.decoder, plain, settings, { stream, ...pace });
    },
  };
}
