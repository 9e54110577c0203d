/** What decides the rows of an evaluation beside the adapter: a key that runs share when they have the same base, prompts and sampling. */
import { sha256Json } from '../base/node/index.ts';
import type { Manifest, RunIdentity } from '../run/index.ts';

/** Seed of the samples. Another number than before says that samples are drawn by another rule: 20260 drew them by row. */
export const evaluationSeed = 20_261;

export type KeyedRun = Pick<Manifest, 'config'> & {
  readonly identity: Pick<RunIdentity, 'model' | 'problems' | 'judge' | 'sampler'>;
  readonly plugins: readonly { readonly hash: string }[];
};

export function evaluationKey({ config, identity, plugins }: KeyedRun): string {
  const { judge, sampler } = identity;
  const { environment, sampling } = config;
  const code = plugins.map(({ hash }) => hash);
  return sha256Json({
    modelHash: identity.model,
    dataHash: identity.problems,
    environment,
    sampling,
    evaluationSeed,
    ...(code.length === 0 ? {} : { code }),
    ...(judge === null ? {} : { judge }),
    ...(sampler === null ? {} : { sampler }),
  });
}
