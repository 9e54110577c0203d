/** Where completions come from: the policy in this process decodes, or a server does (outside/sampler.ts). */
import { type PolicyState, scaleOf } from '../adapters/index.ts';
import type { RandomStream } from '../base/index.ts';
import type { Generation, Pace, SamplingSettings } from '../model/index.ts';
import { type Policy, projectRows } from './policy.ts';
import { workAlone } from './work.ts';

export interface SampleRequest {
  readonly prompt: Int32Array;
  /** Selects the row's random numbers: a row gets the same tokens whichever rows are sampled with it. */
  readonly row: number;
  readonly state: PolicyState;
}

export interface SampledCompletion extends Generation {
  /** Updates between the weights that sampled it and those that learn from it; absent: 0. */
  readonly staleness?: number;
}

/** How the rollouts of an update were sampled, where a server may have. */
export interface SamplerReport {
  readonly by: 'local' | 'vllm' | 'sglang';
  readonly requests: number;
  /** Requests that were made again. */
  readonly retries: number;
  /** Names of the adapters that the server sampled by, and how many updates older their weights are than those that learned. */
  readonly adapters?: readonly string[];
  readonly staleness?: number;
  /** Mean and largest |log ratio| of the server's probabilities to ours. */
  readonly meanLogRatio?: number;
  readonly largestLogRatio?: number;
  /** Why this process samples from this update on; null: it did before. */
  readonly reason?: string | null;
}

export interface Sampler {
  /** Returns one completion per request, in order. The base decodes without an adapter and cannot be mixed with other states. */
  sample(
    requests: readonly SampleRequest[],
    settings: SamplingSettings,
    stream: RandomStream,
  ): Promise<readonly SampledCompletion[]>;
  /** How the last rollouts were sampled; absent: by this process. */
  report?(): SamplerReport | null;
}

export function policySampler(policy: Policy, { readEvery, rowStep, tokensPerPass }: Required<Pace>): Sampler {
  const pace = { readEvery, rowStep, tokensPerPass };
  const { decoder, work = workAlone } = policy;
  const project = projectRows(policy);
  return {
    async sample(requests, settings, stream) {
      const scaled = requests.flatMap(({ prompt, row, state }) =>
        state === 'base' ? [] : [{ prompt, row, scale: scaleOf(state, policy.deployedScale) }],
      );
      const common = { decoder, settings, stream, pace };
      if (scaled.length === requests.length) {
        using _held = policy.adapter.hold();
        return await work.generate({ ...common, requests: scaled, project });
      }
      if (scaled.length > 0) throw new RangeError('requests for the base cannot be mixed with other states');
      const plain = requests.map(({ prompt, row }) => ({ prompt, row, scale: 0 }));
      // The base is no policy's own: other runs of a pack may wait for what is sampled from it, so it waits for none of them.
      return workAlone.generate({ ...common, requests: plain });
    },
  };
}
