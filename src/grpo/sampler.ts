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
  /** One completion per request, in their order. */
  sample(
    requests: readonly SampleRequest[],
    settings: SamplingSettings,
    stream: RandomStream,
  ): Promise<readonly Generation[]>;
}

export function policySampler(policy: Policy, pace: Pace = {}): Sampler {
  const project = projectRows(policy);
  return {
    sample: (requests, settings, stream) =>
      generate(
        policy.decoder,
        requests.map(({ prompt, row, state }) => ({
          prompt,
          row,
          scale: state === 'base' ? null : scaleOf(state, policy.deployedScale),
        })),
        settings,
        { stream, project, ...pace },
      ),
  };
}
