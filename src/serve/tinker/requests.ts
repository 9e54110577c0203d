/** Requests of Tinker's API (SDK 0.25.0), with what this server adds: `route` of a datum, `block` of a sampler, activations. An unknown key is refused. */
import { z } from 'zod';
import type { Route } from '../../adapters/index.ts';
import { HttpProblem } from '../../base/node/index.ts';
import type { PromptedCompletion } from '../../grpo/index.ts';
import { numberIn, wholeIn } from '../requests.ts';
import { readNumber, type TensorData, type WireDatum, type WireLearning } from './protobuf.ts';

export const blocks = ['full', 'deployed'] as const;
export type Block = (typeof blocks)[number];

const most = { samples: 128, stops: 16, stopTokens: 256, data: 1024, keys: 16 } as const;
const id = z.string('a text').min(1).max(200);
const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullish();
const seqId = optional(wholeIn(0, Number.MAX_SAFE_INTEGER));
const ofModel = { model_id: id, seq_id: seqId };
const kind = (name: string) => z.literal(name).optional();
const flag = z.boolean('true or false');
const block = optional(z.enum(blocks, `one of ${blocks.join(', ')}`));
/** Names of saved states are names of files. */
const name = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/, 'a name of at most 64 letters, digits, . _ and -');
// Read by hand, up to the first wrong member: a schema words a complaint for each, and a body has room for a million.
const numbers = z.custom<readonly number[]>(
  (value) => Array.isArray(value) && value.every((each) => Number.isFinite(each)),
  'a list of finite numbers',
);

const prompt = z.strictObject({
  chunks: z
    .array(z.strictObject({ type: z.literal('encoded_text', 'encoded_text').optional(), tokens: numbers }))
    .max(4096, 'at most 4096 chunks'),
});

const tensor = z.strictObject({
  data: numbers,
  dtype: z.enum(['float32', 'int64'], 'float32 or int64'),
  shape: optional(numbers),
  sparse_crow_indices: z.null('null: sparse tensors are not supported').optional(),
  sparse_col_indices: z.null('null: sparse tensors are not supported').optional(),
});

export const routeNames = { keep: 'keep', absorb: 'absorb', quarantine: 'route' } as const satisfies Record<
  string,
  Route
>;
type RouteName = keyof typeof routeNames;
const routeOrder = Object.keys(routeNames) as RouteName[];

/** A table is read key by key only if it has few: as with lists, a body has room for a million wrong ones. */
const tableOf = <Schema extends z.ZodType>(value: Schema) =>
  z
    .custom<Record<string, unknown>>(
      (given) => typeof given === 'object' && given !== null && Object.keys(given).length <= most.keys,
      `an object of at most ${most.keys} keys`,
    )
    .pipe(z.record(z.string(), value));

const datum = z.strictObject({
  model_input: prompt,
  loss_fn_inputs: tableOf(tensor),
  route: optional(z.enum(routeOrder, `one of ${routeOrder.join(', ')}`)),
});

export const schemas = {
  createSession: z.looseObject({}),
  heartbeat: z.strictObject({ session_id: id, type: kind('session_heartbeat') }),
  createModel: z.strictObject({
    session_id: id,
    model_seq_id: seqId,
    base_model: id,
    user_metadata: optional(z.looseObject({})),
    lora_config: optional(
      z.strictObject({
        rank: wholeIn(1, 16_384),
        seed: optional(wholeIn(0, Number.MAX_SAFE_INTEGER)),
        train_unembed: flag.optional(),
        train_mlp: flag.optional(),
        train_attn: flag.optional(),
      }),
    ),
    type: kind('create_model'),
  }),
  learn: z.strictObject({
    ...ofModel,
    forward_backward_input: z.strictObject({
      data: z.array(datum).max(most.data, `at most ${most.data} data`),
      loss_fn: z.string(),
      loss_fn_config: optional(tableOf(z.number())),
    }),
    forward_only: flag.optional(),
    type: kind('forward_backward'),
  }),
  optimStep: z.strictObject({
    ...ofModel,
    adam_params: z.strictObject({
      learning_rate: numberIn(0, 1e6).default(1e-4),
      beta1: numberIn(0, 0.999_999_9).default(0.9),
      beta2: numberIn(0, 0.999_999_9).default(0.95),
      // Not 0, nor what is 0 on the device: a weight without a gradient would become none.
      eps: numberIn(1e-20, 1).default(1e-12),
      weight_decay: numberIn(0, 1e6).default(0),
      grad_clip_norm: numberIn(0, 1e30).default(0),
    }),
    type: kind('optim_step'),
  }),
  saveForSampler: z.strictObject({
    ...ofModel,
    path: optional(name),
    sampling_session_seq_id: seqId,
    ttl_seconds: optional(wholeIn(0, Number.MAX_SAFE_INTEGER)),
    block,
    type: kind('save_weights_for_sampler'),
  }),
  save: z.strictObject({
    ...ofModel,
    path: name,
    ttl_seconds: optional(wholeIn(0, Number.MAX_SAFE_INTEGER)),
    overwrite: flag.optional(),
    type: kind('save_weights'),
  }),
  load: z.strictObject({
    ...ofModel,
    path: id,
    optimizer: flag,
    type: kind('load_weights'),
  }),
  ofModel: z.strictObject({ model_id: id, type: z.string().optional() }),
  weightsInfo: z.strictObject({ tinker_path: id }),
  createSampler: z.strictObject({
    session_id: id,
    sampling_session_seq_id: seqId,
    base_model: optional(id),
    model_path: optional(id),
    block,
    type: kind('create_sampling_session'),
  }),
  sample: z.strictObject({
    sampling_session_id: id,
    seq_id: seqId,
    num_samples: wholeIn(1, most.samples).default(1),
    prompt,
    sampling_params: z.strictObject({
      max_tokens: optional(wholeIn(1, 2 ** 31 - 1)),
      seed: optional(wholeIn(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)),
      stop: optional(
        z.union(
          [
            z.string().min(1).max(1000),
            z.array(z.string().min(1).max(1000)).max(most.stops),
            numbers.refine(({ length }) => length <= most.stopTokens, `at most ${most.stopTokens} token ids`),
          ],
          `a text, at most ${most.stops} texts, or at most ${most.stopTokens} token ids`,
        ),
      ),
      temperature: numberIn(0, 100).default(1),
      top_k: wholeIn(-1, 2 ** 31 - 1).default(-1),
      top_p: z.number('a number above 0, at most 1').gt(0).max(1).default(1),
    }),
    prompt_logprobs: optional(flag),
    topk_prompt_logprobs: z.literal(0, '0: the likeliest tokens of a prompt are not told').optional(),
    block,
    type: kind('sample'),
  }),
  retrieve: z.strictObject({ request_id: id, allow_metadata_only: flag.optional() }),
};

export type Asked<Name extends keyof typeof schemas> = z.output<(typeof schemas)[Name]>;

export function expectBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [{ path, message }] = parsed.error.issues;
  const place = path.length === 0 ? 'the body' : path.join('.');
  throw new HttpProblem(
    400,
    `${place}: ${/^(?:Invalid|Unrecognized|Too)/.test(message) ? message : `expected ${message}`}.`,
  );
}

const numbered = z.object({ model_id: z.string(), seq_id: wholeIn(0, Number.MAX_SAFE_INTEGER) });

/** Of which model, and under which number, something was asked for, as far as it can be read; null: under none. */
export function numberOf(body: unknown): { readonly modelId: string; readonly number: number | null } {
  if (body instanceof Uint8Array) return readNumber(body);
  const { data } = numbered.safeParse(body);
  return data === undefined ? { modelId: '', number: null } : { modelId: data.model_id, number: data.seq_id };
}

/** A request in JSON, in the form of the other one. */
export function learningOfJson({ model_id, seq_id, forward_backward_input: input, forward_only }: Asked<'learn'>) {
  const config = new Map(Object.entries(input.loss_fn_config ?? {}));
  const data = input.data.map(({ model_input, loss_fn_inputs, route }) => {
    const inputs = new Map<string, TensorData>(Object.entries(loss_fn_inputs));
    if (route) inputs.set('route', { dtype: 'int64', data: [routeOrder.indexOf(route)] });
    return { tokens: model_input.chunks.map(({ tokens }) => tokens), inputs };
  });
  const { loss_fn: lossFn } = input;
  return { modelId: model_id, seqId: seq_id ?? null, lossFn, config, forwardOnly: forward_only ?? false, data };
}

export type Loss =
  | { readonly kind: 'cross_entropy' }
  | { readonly kind: 'importance_sampling' }
  | { readonly kind: 'ppo'; readonly range: readonly [least: number, most: number] };

/** A datum as the trainer reads it: the completion is what has targets that follow their tokens, up to the end. */
export interface LearnedDatum extends PromptedCompletion {
  readonly route: Route;
  /** Places before the completion, whose targets are not the tokens that follow. */
  readonly before: number;
  /** Where the completion has its first weight, for activations; 0: at its beginning, or it has none. */
  readonly from: number;
  /** By token of the completion: weights of the log-likelihood, or log π_old and advantages. */
  readonly weights: Float32Array;
  readonly logpOld: Float32Array | null;
}

export interface Learning {
  readonly data: readonly LearnedDatum[];
  readonly loss: Loss;
  readonly learns: boolean;
  readonly activations: boolean;
}

const inputsOf = {
  cross_entropy: ['target_tokens', 'weights'],
  importance_sampling: ['target_tokens', 'logprobs', 'advantages'],
  ppo: ['target_tokens', 'logprobs', 'advantages'],
} as const;
type LossName = keyof typeof inputsOf;
const isLoss = (text: string): text is LossName => Object.hasOwn(inputsOf, text);

/** `context`: most tokens of a datum with its last target. */
export function learningOf(
  asked: Omit<WireLearning, 'modelId' | 'seqId'>,
  vocabulary: number,
  context: number,
): Learning {
  const { lossFn, config, forwardOnly, data } = asked;
  const names = Object.keys(inputsOf).join(', ');
  if (!isLoss(lossFn)) throw new HttpProblem(400, `loss_fn: expected one of ${names}, found ${lossFn.slice(0, 40)}.`);
  if (data.length === 0 || data.length > most.data) {
    throw new HttpProblem(400, `data: expected 1 to ${most.data}, found ${data.length}.`);
  }
  const { activations = 0, ...clip } = Object.fromEntries(config);
  const prompts = new Map<string, number>();
  const read = data.map((own, i) => datumOf(own, `data[${i}]`, lossFn, vocabulary, context, prompts));
  return { data: read, loss: lossOf(lossFn, clip), learns: !forwardOnly, activations: activations !== 0 };
}

function lossOf(lossFn: LossName, config: Readonly<Record<string, number>>): Loss {
  const { clip_low_threshold: least = 0.8, clip_high_threshold: greatest = 1.2, ...others } = config;
  const known = lossFn === 'ppo' ? Object.keys(others) : Object.keys(config);
  if (known.length > 0)
    throw new HttpProblem(400, `loss_fn_config: ${known[0].slice(0, 40)} is not known with ${lossFn}.`);
  if (lossFn !== 'ppo') return { kind: lossFn };
  if (least >= 0 && least <= 1 && greatest >= 1 && greatest < Number.POSITIVE_INFINITY)
    return { kind: 'ppo', range: [least, greatest] };
  const found = `${least} and ${greatest}`;
  throw new HttpProblem(400, `loss_fn_config: expected clip_low_threshold ≤ 1 ≤ clip_high_threshold, found ${found}.`);
}

function datumOf(
  { tokens: chunks, inputs }: WireDatum,
  place: string,
  lossFn: LossName,
  vocabulary: number,
  context: number,
  prompts: Map<string, number>,
): LearnedDatum {
  const refuse = (key: string, expected: string, found: string): never => {
    throw new HttpProblem(400, `${place}.${key}: expected ${expected}, found ${found}.`);
  };
  const tokens = tokensOf(chunks, `${place}.model_input`, vocabulary);
  const { length } = tokens;
  if (length >= context) refuse('model_input', `fewer than ${context} tokens`, `${length}`);
  const needed = inputsOf[lossFn];
  const given = (key: string): Float64Array => {
    const { dtype, data, shape = null } = inputs.get(key) ?? refuse(key, 'a tensor', 'none');
    const expected = key === 'target_tokens' ? 'int64' : 'float32';
    if (dtype !== expected) refuse(key, expected, dtype);
    const found = shape === null ? `${data.length}` : `the shape [${shape.join()}] of ${data.length} numbers`;
    if (data.length !== length || (shape !== null && (shape.length !== 1 || shape[0] !== length))) {
      refuse(key, `${length} numbers in one row, one for each token`, found);
    }
    const values = Float64Array.from(data);
    const wrong = values.findIndex((value) => !Number.isFinite(value));
    return wrong < 0 ? values : refuse(key, 'finite numbers', `${values[wrong]} at ${wrong}`);
  };
  const unknown = [...inputs.keys()].find((key) => key !== 'route' && !needed.some((name) => name === key));
  if (unknown !== undefined) refuse(unknown.slice(0, 40), `${needed.join(', ')} or route with ${lossFn}`, 'it');
  const targets = given('target_tokens');
  const wrong = targets.find((target) => !isToken(target, vocabulary));
  if (wrong !== undefined) refuse('target_tokens', `tokens below ${vocabulary}`, `${wrong}`);
  let before = length - 1;
  while (before > 0 && targets[before - 1] === tokens[before]) before--;
  const weightKey = lossFn === 'cross_entropy' ? 'weights' : 'advantages';
  const weights = given(weightKey);
  const first = weights.findIndex((weight) => weight !== 0);
  if (first >= 0 && first < before) {
    refuse(
      'target_tokens',
      `the token that follows at every place from ${first} on, where ${weightKey} begin`,
      `another at ${before - 1}`,
    );
  }
  const cut = (values: Float64Array): Float32Array => Float32Array.from(values.subarray(before));
  const promptTokens = tokens.slice(0, before + 1);
  const key = promptTokens.join();
  const group = prompts.get(key) ?? prompts.size;
  prompts.set(key, group);
  return {
    group,
    prompt: promptTokens,
    tokens: Int32Array.from(targets.subarray(before)),
    route: routeNames[routeOf(inputs.get('route'), refuse)],
    before,
    from: first < 0 ? 0 : first - before,
    weights: cut(weights),
    logpOld: lossFn === 'cross_entropy' ? null : cut(given('logprobs')),
  };
}

function routeOf(
  tensor: TensorData | undefined,
  refuse: (key: string, expected: string, found: string) => never,
): RouteName {
  if (tensor === undefined) return 'absorb';
  const { data, dtype } = tensor;
  const found = dtype === 'int64' && data.length === 1 ? routeOrder[data[0]] : undefined;
  const expected = `one int64: ${routeOrder.map((route, i) => `${i} ${route}`).join(', ')}`;
  return found ?? refuse('route', expected, `${dtype} ${Array.from(data).slice(0, 4).join()}`);
}

const isToken = (value: number, vocabulary: number): boolean =>
  Number.isInteger(value) && value >= 0 && value < vocabulary;

export function tokensOf(chunks: readonly ArrayLike<number>[], place: string, vocabulary: number): Int32Array {
  const tokens = chunks.flatMap((chunk) => Array.from(chunk));
  const wrong = tokens.find((token) => !isToken(token, vocabulary));
  if (wrong !== undefined) throw new HttpProblem(400, `${place}: expected tokens below ${vocabulary}, found ${wrong}.`);
  if (tokens.length === 0) throw new HttpProblem(400, `${place}: expected tokens, found none.`);
  return Int32Array.from(tokens);
}
