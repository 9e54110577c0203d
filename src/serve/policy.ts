/** A policy as a server offers it: a checkpoint of a run, its states by name, the open batch that all requests share, and how requests become rows of it. */
import { webcrypto } from 'node:crypto';
import { murmur3, randomStream, UserError } from '../base/index.ts';
import { projectRows } from '../grpo/index.ts';
import { type Lab, openLab } from '../lab/index.ts';
import {
  type ModelText,
  type ModelTokenizer,
  OpenBatch,
  type OpenRow,
  type RowAdapter,
  type SamplingSettings,
} from '../model/index.ts';
import { computeTable, type RunConfig, RunDirectory } from '../run/index.ts';
import { LoadedAdapters } from './adapters.ts';
import { Choice, type ChoicePiece } from './choice.ts';
import { RequestProblem, type TextRequest } from './requests.ts';

/** deployed: without the quarantine; trained: with everything; base: without the adapter. */
export const servedStates = ['deployed', 'trained', 'base'] as const;
export type ServedState = (typeof servedStates)[number];

export interface ServedPolicy {
  readonly name: string;
  /** The states that may be asked for; the first is meant where a request names none. */
  readonly states: readonly ServedState[];
  readonly batch: OpenBatch;
  /** What clients have loaded; null: they may load nothing. */
  readonly adapters: LoadedAdapters | null;
  readonly text: ModelText;
  readonly tokenizer: ModelTokenizer;
  readonly vocabulary: number;
  readonly deployedScale: number;
  /** What counts where a request does not say: the settings that the run samples with. */
  readonly defaults: Pick<SamplingSettings, 'temperature' | 'topK' | 'topP' | 'minP' | 'maxNewTokens'>;
}

export interface OpenPolicyOptions {
  readonly states: readonly ServedState[];
  readonly rows: number;
  readonly context?: number | undefined;
  readonly update?: number | undefined;
  /** The folder that clients may load adapters from; absent: none. */
  readonly adapters?: string | undefined;
  readonly device?: RunConfig['device']['kind'] | undefined;
}

export function openServed(path: string, { device, context }: OpenPolicyOptions, signal?: AbortSignal): Promise<Lab> {
  const call = `serve ${path}`;
  const { maxNewTokens } = RunDirectory.open(path).readManifest().config.sampling;
  if (context !== undefined && context <= maxNewTokens) {
    throw new UserError({
      call: '--context',
      expected: `more than ${maxNewTokens}, the new tokens of a completion (sampling.maxNewTokens of the run)`,
      found: `${context}`,
    });
  }
  return openLab({ run: path }, { work: 'unplanned', call, signal, device, context });
}

export async function openPolicy(
  lab: Lab,
  { states, rows, context, update: wanted, adapters }: OpenPolicyOptions,
): Promise<ServedPolicy> {
  const { config, run } = lab;
  if (run === null) throw new RangeError('only a run can be served');
  const manifest = run.readManifest();
  const update = chooseUpdate(run, wanted);
  const { hash, folder } = await lab.model;
  if ((await hash) !== manifest.identity.model) {
    throw new UserError({
      call: `serve ${run.path}`,
      expected: 'the model that the run was trained on',
      found: `other content in ${config.model}`,
      fix: 'Restore what was changed since.',
    });
  }
  const [policy, { scope, text }] = [await lab.at(update), await lab.weights];
  const { temperature, topK, topP, minP, maxNewTokens, maxPromptTokens } = config.sampling;
  const batch = new OpenBatch(scope, policy.decoder, {
    rows,
    context: Math.min(context ?? maxPromptTokens + maxNewTokens, folder.config.maxPositions),
    tokensPerPass: computeTable(config).tokensPerPass,
    stream: randomStream(0, 'serve'),
    project: projectRows(policy),
  });
  return {
    name: `${manifest.name}@${update}`,
    states,
    batch,
    adapters: adapters === undefined ? null : new LoadedAdapters(policy.decoder, adapters),
    text,
    tokenizer: folder.tokenizer,
    vocabulary: folder.config.vocabSize,
    deployedScale: policy.deployedScale,
    defaults: { temperature, topK, topP, minP, maxNewTokens },
  };
}

function chooseUpdate(run: RunDirectory, wanted: number | undefined): number {
  const checkpoints = run.listCheckpoints();
  const update = wanted ?? checkpoints.at(-1);
  if (update !== undefined && checkpoints.includes(update)) return update;
  const expected = `one of its checkpoints: ${checkpoints.join(', ') || 'none yet'}`;
  throw new UserError({ call: `serve ${run.path}`, expected, found: `update ${wanted ?? 'none'}` });
}

/** What a request is answered by: a state of the policy, or an adapter that was loaded, which stays until this is disposed of. */
export interface Addressed extends Disposable {
  readonly name: string;
  readonly scale: number | null;
  readonly adapter?: RowAdapter;
}

export const servedNames = ({ states, adapters }: ServedPolicy): string[] => [...states, ...(adapters?.names ?? [])];

export function addressed(policy: ServedPolicy, model: string | null): Addressed {
  const { states, adapters, deployedScale } = policy;
  const name = model ?? states[0];
  const state = states.find((each) => each === name);
  if (state !== undefined) {
    const scale = state === 'base' ? null : state === 'deployed' ? deployedScale : 1;
    return { name, scale, [Symbol.dispose]: () => undefined };
  }
  const found = adapters?.use(name) ?? null;
  if (found !== null) return { name, scale: 0, ...found };
  const there = servedNames(policy).join(', ');
  throw new RequestProblem(404, `no model ${name}; there is ${there}.`, 'model', 'model_not_found');
}

export function choicesOf(
  policy: ServedPolicy,
  request: TextRequest,
  { scale, adapter }: Addressed,
  piece: ((piece: ChoicePiece) => void) | undefined,
): Choice[] {
  const { wishes } = request;
  const { temperature, topK, topP, minP, maxNewTokens } = policy.defaults;
  const draw = {
    temperature: wishes.temperature ?? temperature,
    topK: wishes.topK ?? topK,
    topP: wishes.topP ?? topP,
    minP: wishes.minP ?? minP,
  };
  const [fallback] = webcrypto.getRandomValues(new Uint32Array(1));
  const seed = wishes.seed ?? fallback;
  return promptsOf(policy, request).flatMap((prompt, at) => {
    const room = policy.batch.context - prompt.length;
    const maxTokens = wishes.maxTokens ?? Math.min(maxNewTokens, room);
    if (maxTokens > room || room < 1) throw tooLong(policy, prompt.length, wishes.maxTokens);
    return Array.from({ length: wishes.choices }, (_, member) => {
      const chances = { likeliest: wishes.logprobs ?? 0, scoresPrompt: wishes.echo && wishes.logprobs !== null };
      const row: OpenRow = { prompt, row: streamOf(seed, at, member), scale, adapter, draw, ...chances };
      return new Choice({
        index: at * wishes.choices + member,
        row,
        maxTokens,
        stopTokens: [...(wishes.ignoreEnd ? [] : policy.text.stopTokens), ...wishes.stopTokens],
        stops: wishes.stops,
        decode: (tokens) => policy.text.decode(Int32Array.from(tokens)),
        piece,
      });
    });
  });
}

export const streamOf = (seed: number, prompt: number, member: number): number =>
  murmur3(JSON.stringify([seed, prompt, member])) % 2 ** 31;

/** Characters that the tokens of a text have on average at most: those of indented code have four to eight. */
const mostCharactersPerToken = 16;

function promptsOf(policy: ServedPolicy, request: TextRequest): Int32Array[] {
  // A text that cannot fit is refused before it is tokenized.
  const longest = mostCharactersPerToken * policy.batch.context;
  const characters =
    request.kind === 'chat'
      ? request.messages.reduce((sum, { content }) => sum + content.length, 0)
      : Math.max(...request.prompts.map(({ length }) => length));
  if (characters > longest) {
    throw new RequestProblem(400, `the prompt has ${characters} characters; at most ${longest} can fit.`, 'prompt');
  }
  try {
    if (request.kind === 'chat') return [policy.text.prompt(request.messages)];
    return request.prompts.map((prompt) => tokensOf(policy, prompt));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    // The call names a file of this machine, which is no business of a client.
    const { expected, found } = error.complaint;
    const key = request.kind === 'chat' ? 'messages' : 'prompt';
    throw new RequestProblem(400, `${key}: expected ${expected}, found ${found}.`, key);
  }
}

function tokensOf({ tokenizer, vocabulary }: ServedPolicy, prompt: string | readonly number[]): Int32Array {
  const tokens =
    typeof prompt === 'string' ? tokenizer.encode(prompt, { addSpecialTokens: true }) : Int32Array.from(prompt);
  const unknown = tokens.find((token) => token >= vocabulary);
  if (unknown !== undefined) {
    throw new RequestProblem(400, `token ${unknown} is not below ${vocabulary}, the vocabulary.`, 'prompt');
  }
  if (tokens.length > 0) return tokens;
  throw new RequestProblem(400, 'the prompt has no tokens.', 'prompt');
}

function tooLong({ batch }: ServedPolicy, prompt: number, asked: number | null): RequestProblem {
  const message = `the prompt has ${prompt} tokens; with ${asked ?? 1} new ones that is more than ${batch.context}.`;
  return new RequestProblem(400, message, 'max_tokens', 'context_length_exceeded');
}
