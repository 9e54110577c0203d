/** Requests of OpenAI's API, with keys of vLLM's. A key that would change tokens and is not known is refused. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { HttpProblem } from '../base/node/index.ts';
import type { ChatMessage } from '../model/index.ts';

export class RequestProblem extends HttpProblem {
  readonly parameter: string | null;
  readonly code: string | null;

  constructor(status: number, message: string, parameter: string | null = null, code: string | null = null) {
    super(status, message);
    this.parameter = parameter;
    this.code = code;
  }
}

export function problemBody(problem: HttpProblem): string {
  const { status, message } = problem;
  const type = status >= 500 ? 'server_error' : 'invalid_request_error';
  const usual = status === 401 ? 'invalid_api_key' : null;
  const [param, code] = problem instanceof RequestProblem ? [problem.parameter, problem.code] : [null, usual];
  return `${JSON.stringify({ error: { message, type, param, code } })}\n`;
}

const most = { choices: 128, stops: 16, likeliest: 20, messages: 4096 } as const;

function withoutEffect<K extends string>(values: Readonly<Record<K, readonly unknown[]>>) {
  const schemas = Object.entries<readonly unknown[]>(values).map(([key, allowed]) => {
    const isAllowed = (value: unknown): boolean =>
      value === undefined || value === null || allowed.some((each) => isDeepStrictEqual(each, value));
    return [
      key,
      z
        .unknown()
        .refine(isAllowed, { error: `${key} is not supported` })
        .optional(),
    ];
  });
  return Object.fromEntries(schemas) as Record<K, z.ZodOptional<z.ZodUnknown>>;
}

const text = z.string('text');
export const wholeIn = (least: number, greatest: number) => {
  const message = `a whole number from ${least} to ${greatest}`;
  return z.number(message).int(message).min(least, message).max(greatest, message);
};
export const numberIn = (least: number, greatest: number) => {
  const message = `a number from ${least} to ${greatest}`;
  return z.number(message).min(least, message).max(greatest, message);
};

const common = {
  model: text.nullish(),
  temperature: numberIn(0, 100).nullish(),
  top_p: z.number('a number above 0, at most 1').gt(0).max(1).nullish(),
  top_k: wholeIn(-1, 2 ** 31 - 1).nullish(),
  min_p: numberIn(0, 1).nullish(),
  n: wholeIn(1, most.choices).nullish(),
  seed: wholeIn(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER).nullish(),
  stop: z
    .union([text.min(1).max(1000), z.array(text.min(1).max(1000)).max(most.stops)], `a text, or at most ${most.stops}`)
    .nullish(),
  stop_token_ids: z
    .array(wholeIn(0, 2 ** 31 - 1), 'a list of token ids')
    .max(most.stops)
    .nullish(),
  ignore_eos: z.boolean('true or false').nullish(),
  stream: z.boolean('true or false').nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  return_token_ids: z.boolean('true or false').nullish(),
  ...withoutEffect({
    presence_penalty: [0],
    frequency_penalty: [0],
    repetition_penalty: [1],
    logit_bias: [{}],
    response_format: [{ type: 'text' }],
    guided_json: [],
    guided_regex: [],
    prompt_logprobs: [],
    min_tokens: [0],
  }),
};

// Lists are read by hand, up to the first wrong member: a schema words a complaint for each, and a body has room for a million.
const isText = (value: unknown): value is string => typeof value === 'string';
const isId = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31;
const isIds = (value: unknown): value is readonly number[] => isListOf(value, isId) && value.length > 0;
const isPart = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && 'text' in value
    ? value.type === 'text' && isText(value.text)
    : false;

const isListOf = (value: unknown, isMember: (member: unknown) => boolean): value is readonly unknown[] =>
  Array.isArray(value) && value.every(isMember);

type Prompt = string | readonly number[];
const prompt = z.custom<Prompt | readonly Prompt[]>(
  (value) => isText(value) || isIds(value) || ((isListOf(value, isText) || isListOf(value, isIds)) && value.length > 0),
  'a text, a list of texts, a list of token ids, or a list of such lists',
);
const content = z.custom<string | readonly { readonly text: string }[]>(
  (value) => isText(value) || isListOf(value, isPart),
  'a text, or a list of parts of type text',
);

const completionSchema = z.object({
  ...common,
  prompt,
  max_tokens: wholeIn(0, 2 ** 31 - 1).nullish(),
  logprobs: wholeIn(0, most.likeliest).nullish(),
  echo: z.boolean('true or false').nullish(),
  ...withoutEffect({ suffix: [''], best_of: [1] }),
});

const message = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool'], 'system, user, assistant or tool'),
  content: content.nullish(),
  ...withoutEffect({ tool_calls: [[]] }),
});

const chatSchema = z.object({
  ...common,
  messages: z.array(message, 'a list of messages').min(1, 'at least one message').max(most.messages),
  max_tokens: wholeIn(1, 2 ** 31 - 1).nullish(),
  max_completion_tokens: wholeIn(1, 2 ** 31 - 1).nullish(),
  logprobs: z.boolean('true or false').nullish(),
  top_logprobs: wholeIn(0, most.likeliest).nullish(),
  ...withoutEffect({ tools: [[]], functions: [[]], tool_choice: ['none', 'auto'], chat_template_kwargs: [{}] }),
});

type Common = z.infer<z.ZodObject<typeof common>>;

interface KindWishes {
  readonly maxTokens: number | null;
  readonly logprobs: number | null;
  /** Whether the answer begins with the prompt; then the prompt is scored too, where there are log-probabilities. */
  readonly echo: boolean;
}

function wishesOf(body: Common, ofKind: KindWishes) {
  const { stop, top_k: topK = null } = body;
  return {
    ...ofKind,
    model: body.model ?? null,
    temperature: body.temperature ?? null,
    topP: body.top_p ?? null,
    topK: topK === null ? null : Math.max(0, topK),
    minP: body.min_p ?? null,
    choices: body.n ?? 1,
    seed: body.seed ?? null,
    stops: typeof stop === 'string' ? [stop] : (stop ?? []),
    stopTokens: body.stop_token_ids ?? [],
    ignoreEnd: body.ignore_eos ?? false,
    stream: body.stream ?? false,
    usageInStream: body.stream_options?.include_usage ?? false,
    tokenIds: body.return_token_ids ?? false,
  };
}

type Wishes = ReturnType<typeof wishesOf>;

export type TextRequest =
  | { readonly kind: 'completion'; readonly prompts: readonly Prompt[]; readonly wishes: Wishes }
  | { readonly kind: 'chat'; readonly messages: readonly ChatMessage[]; readonly wishes: Wishes };

export const countRows = (request: TextRequest): number =>
  request.wishes.choices * (request.kind === 'chat' ? 1 : request.prompts.length);

export function parseCompletion(body: unknown): TextRequest {
  const parsed = expectBody(completionSchema, body);
  const { prompt: given } = parsed;
  const isOne = typeof given === 'string' || typeof given[0] === 'number';
  const prompts = (isOne ? [given] : given) as readonly Prompt[];
  const [maxTokens, logprobs, echo] = [parsed.max_tokens ?? null, parsed.logprobs ?? null, parsed.echo ?? false];
  if (echo && parsed.stream) throw new RequestProblem(400, 'echo is not supported in a stream.', 'echo');
  return { kind: 'completion', prompts, wishes: wishesOf(parsed, { maxTokens, logprobs, echo }) };
}

export function parseChat(body: unknown): TextRequest {
  const parsed = expectBody(chatSchema, body);
  const { max_tokens, max_completion_tokens, logprobs, top_logprobs } = parsed;
  const messages = parsed.messages.map(
    ({ role, content }): ChatMessage => ({
      role: role === 'developer' ? 'system' : role,
      content: typeof content === 'string' ? content : (content ?? []).map((each) => each.text).join(''),
    }),
  );
  const maxTokens = max_completion_tokens ?? max_tokens ?? null;
  const wishes = wishesOf(parsed, { maxTokens, logprobs: logprobs ? (top_logprobs ?? 0) : null, echo: false });
  return { kind: 'chat', messages, wishes };
}

function expectBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [{ path, message: complaint }] = parsed.error.issues;
  const key = path.length === 0 ? null : path.join('.');
  const expected = key === null ? 'the body: expected a JSON object' : `${key}: expected ${complaint}`;
  throw new RequestProblem(400, `${complaint.endsWith('is not supported') ? complaint : expected}.`, key);
}
