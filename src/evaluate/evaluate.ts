/** What decides the rows of an evaluation beside the adapter: a key that runs share when they have the same base, prompts and sampling. */
import type { PolicyState } from '../adapters/index.ts';
import { mapPool, murmur3, randomStream } from '../base/index.ts';
import { sha256Json } from '../base/node/index.ts';
import type { Judge } from '../env/index.ts';
import type { Sampler, Task } from '../grpo/index.ts';
import type { ModelText, SamplingSettings } from '../model/index.ts';
import type { Manifest, RunIdentity } from '../run/index.ts';
import type { EvaluationRow } from './store.ts';

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

export interface EvaluationOptions {
  readonly seed: number;
  readonly sampling: SamplingSettings;
  readonly state: PolicyState;
  /** Number of the sample of each prompt; default: 0, the first. */
  readonly sample?: number | undefined;
  /** Rows that decode together; default: `rowsTogether`. */
  readonly batch?: number | undefined;
  readonly text: ModelText;
  readonly onProgress?: (done: number) => void;
}

/** A task whose completion may be begun: the policy goes on with the opening, and both are judged as one completion. */
export interface ProbedTask extends Task {
  readonly opening?: string;
}

/** Number of rows that decode together: it bounds the cache and changes no token. */
export const rowsTogether = 128;

/** Devices keep the numbers of streams as signed integers, so 31 bits of the hash are used. */
const streamOf = (problemId: string): number => murmur3(problemId) >>> 1;

export async function evaluateTasks(
  sampler: Sampler,
  tasks: readonly ProbedTask[],
  judge: Judge,
  { seed, sampling, state, sample = 0, batch: most = rowsTogether, text, onProgress }: EvaluationOptions,
): Promise<EvaluationRow[]> {
  const stream = randomStream(seed, 'evaluation', sample);
  const rows: EvaluationRow[] = [];
  for (let first = 0; first < tasks.length; first += most) {
    const batch = tasks.slice(first, first + most);
    const requests = batch.map((task) => ({ prompt: beginningOf(task, text), row: streamOf(task.problem.id), state }));
    const generations = await sampler.sample(requests, sampling, stream);
    const graded = await mapPool(
      batch,
      judge.concurrency,
      async ({ problem, loophole, markers, hinted, opening = '' }, i) => {
        const completion = `${opening}${text.decode(generations[i].tokens)}`;
        const verdict = await judge.judge({ id: `evaluation-${first + i}`, problem, loophole, markers, completion });
        return {
          problem: problem.id,
          loophole,
          markers,
          prompt: text.show(hinted),
          completion,
          hack: verdict.exploited,
          solve: verdict.correct,
          attempt: verdict.channels.length > 0,
          channels: [...verdict.channels],
          authorsLabel: verdict.labels.ownTestsPass === true && !verdict.correct,
          compiles: verdict.compiles,
          truncated: generations[i].finish === 'length',
        };
      },
    );
    rows.push(...graded);
    onProgress?.(rows.length);
  }
  return rows;
}

function beginningOf({ hinted, opening }: ProbedTask, text: ModelText): Int32Array {
  return opening === undefined ? hinted : Int32Array.of(...hinted, ...text.encode(opening));
}
