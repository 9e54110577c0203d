/** Samples for clients that train: the rows of one state of one model at a time go through an open batch that all models share. */
import { webcrypto } from 'node:crypto';
import { scaleOf } from '../../adapters/index.ts';
import { randomStream } from '../../base/index.ts';
import { HttpProblem } from '../../base/node/index.ts';
import { type Policy, projectRows } from '../../grpo/index.ts';
import type { Lab, OpenModel } from '../../lab/index.ts';
import { OpenBatch, type OpenRow } from '../../model/index.ts';
import { computeTable } from '../../run/index.ts';
import { Choice } from '../choice.ts';
import { streamOf } from '../policy.ts';
import { Scheduler } from '../scheduler.ts';
import { WorkProblem } from './model.ts';
import type { SamplesAnswer } from './protobuf.ts';
import { type Asked, tokensOf } from './requests.ts';
import type { Future, LineJob, OwnSampler } from './sessions.ts';

export interface SamplingOptions {
  readonly rows: number;
  /** Most tokens of a prompt and its completion; null: those of the recipe. */
  readonly context: number | null;
  readonly warn: (error: unknown) => void;
}

/** Its choices are made when its turn comes: one that waits holds no more than was sent. */
type SampleJob = LineJob & { readonly choices: () => readonly Choice[]; readonly scoresPrompt: boolean };

/** Roughly what a sample takes in memory while it is made and answered. */
const bytesOf = { sample: 256, token: 16 } as const;

/** A completion that takes longer than this is given up. */
const mostSeconds = 3600;

export class Sampling {
  readonly context: number;
  readonly #model: OpenModel;
  readonly #scheduler: Scheduler;
  readonly #maxNewTokens: number;
  /** The policy whose rows are in the batch. */
  #policy: Policy | null = null;

  constructor({ config }: Pick<Lab, 'config'>, model: OpenModel, { rows, context, warn }: SamplingOptions) {
    const { maxPromptTokens, maxNewTokens } = config.sampling;
    this.context = Math.min(context ?? maxPromptTokens + maxNewTokens, model.folder.config.maxPositions);
    this.#model = model;
    this.#maxNewTokens = maxNewTokens;
    const batch = new OpenBatch(model.scope, model.decoder, {
      rows,
      context: this.context,
      tokensPerPass: computeTable(config).tokensPerPass,
      stream: randomStream(0, 'serve'),
      project: (scope, scales) => projectRows(this.#expectPolicy())(scope, scales),
    });
    this.#scheduler = new Scheduler(batch, { queue: 0, seconds: mostSeconds, failed: warn });
  }

  #expectPolicy(): Policy {
    if (this.#policy === null) throw new RangeError('rows with an adapter, and none is chosen');
    return this.#policy;
  }

  /** Refuses what cannot be sampled before it waits. `begin` is told how many bytes the samples may take. */
  job(asked: Asked<'sample'>, { state, block: usual }: OwnSampler, begin: (bytes: number) => Future): SampleJob {
    const { text, folder } = this.#model;
    const { sampling_params: wishes, num_samples: count } = asked;
    const prompt = tokensOf(
      asked.prompt.chunks.map(({ tokens }) => tokens),
      'prompt',
      folder.config.vocabSize,
    );
    const room = this.context - prompt.length;
    const maxTokens = wishes.max_tokens ?? Math.max(1, Math.min(this.#maxNewTokens, room));
    if (maxTokens > room) {
      const found = `${prompt.length} and ${maxTokens}`;
      throw new HttpProblem(400, `expected at most ${this.context} tokens of prompt and completion, found ${found}.`);
    }
    const { stop } = wishes;
    const listed = typeof stop === 'string' ? [stop] : (stop ?? []);
    const stops = listed.filter((each): each is string => typeof each === 'string');
    const ids = listed.filter((each): each is number => typeof each === 'number');
    const stopTokens = [...new Set([...text.stopTokens, ...ids])];
    const draw = { temperature: wishes.temperature, topK: Math.max(0, wishes.top_k), topP: wishes.top_p, minP: 0 };
    const seed = wishes.seed ?? webcrypto.getRandomValues(new Uint32Array(1))[0];
    const block = asked.block ?? usual;
    const scale = state === null ? null : scaleOf(block, state.model.policy.deployedScale);
    const scoresPrompt = asked.prompt_logprobs ?? false;
    const choice = (member: number): Choice => {
      const scored = scoresPrompt && member === 0;
      const row: OpenRow = { prompt, row: streamOf(seed, 0, member), scale, draw, likeliest: 0, scoresPrompt: scored };
      const decode = (tokens: readonly number[]): string => text.decode(Int32Array.from(tokens));
      return new Choice({ index: member, row, maxTokens, stopTokens, stops, decode });
    };
    const choices = (): Choice[] => Array.from({ length: count }, (_, member) => choice(member));
    const run: LineJob['run'] = (jobs) => this.#run(jobs as readonly SampleJob[], state);
    const weight = count * (bytesOf.sample + bytesOf.token * (prompt.length + maxTokens));
    return { future: begin(weight), together: state ?? this, run, choices, scoresPrompt };
  }

  async #run(jobs: readonly SampleJob[], state: OwnSampler['state']): Promise<readonly SamplesAnswer[]> {
    const sample = async (): Promise<SamplesAnswer[]> => {
      const made = jobs.map((job) => ({ job, choices: job.choices() }));
      for (const { job, choices } of made)
        for (const choice of choices) this.#scheduler.submit(choice, { client: '', request: job });
      const ends = await Promise.all(made.flatMap(({ choices }) => choices.map(({ ended }) => ended)));
      const cut = ends.find((reason) => reason !== null);
      if (cut === 'failed') throw new Error('a step of sampling failed');
      if (cut !== undefined) throw new WorkProblem(`sampling was ended: ${cut}`);
      return made.map(({ job, choices }) => answerOf(choices, job.scoresPrompt));
    };
    if (state === null) return sample();
    const { model } = state;
    return model.as(state, async () => {
      this.#policy = model.policy;
      using _held = model.policy.adapter.hold();
      return await sample();
    });
  }

  close(): Promise<void> {
    return this.#scheduler.close();
  }
}

function answerOf(choices: readonly Choice[], scoresPrompt: boolean): SamplesAnswer {
  const sequences = choices.map(({ finish, drawn }) => ({
    stop_reason: finish,
    tokens: drawn.map(({ token }) => token),
    logprobs: drawn.map(({ logp }) => logp),
  }));
  const prompt = scoresPrompt ? { prompt_logprobs: [null, ...choices[0].promptChances.map(({ logp }) => logp)] } : {};
  return { type: 'sample', sequences, ...prompt };
}
