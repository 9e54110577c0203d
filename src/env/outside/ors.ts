/**
 * A client of the Open Reward Standard, as ors-sdk 0.1.0 for Python speaks it: lists over HTTP, a session for each episode, a tool call whose
 * result comes as server-sent events with a reward beside it. An answer is the text of one argument of one tool.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { mapPool } from '../../base/index.ts';
import { sha256, sha256Json } from '../../base/node/hash.ts';
import type { Message } from '../problem.ts';
import { type Split, splitNames } from '../sources/splits.ts';
import {
  hasUserText,
  type OutsideEnvironment,
  type OutsideSettings,
  type OutsideTask,
  type Payment,
  rewardShape,
  toldLabels,
} from './environment.ts';
import { BrokenOff, mostBytes, mostListBytes, type OutsideServer } from './server.ts';

interface OrsSettings extends OutsideSettings {
  readonly environment: string;
  readonly tool: string;
  readonly argument: string;
}

const name = z.string().regex(/^(?!\.+$)[\w.-]{1,128}$/, 'a name of letters, digits, dots and dashes');
const splitShape = z.object({ name: z.string().min(1).max(256), type: z.enum(splitNames) });
const toolShape = z.object({
  name: z.string(),
  description: z.string(),
  input_schema: z.record(z.string(), z.json()).nullish(),
});
const blockShape = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string(), detail: z.record(z.string(), z.json()).nullish() }),
  z.object({ type: z.literal('image') }),
]);
const resultShape = z.discriminatedUnion('ok', [
  z.object({
    ok: z.literal(true),
    output: z.object({
      blocks: z.array(z.unknown()),
      metadata: z.record(z.string(), z.json()).nullish(),
      reward: rewardShape.nullish(),
      finished: z.boolean(),
    }),
  }),
  z.object({ ok: z.literal(false), error: z.string() }),
]);

interface Told {
  readonly event: string;
  readonly data: string;
}

/** The events of a stream whose text is bounded. */
async function* eventsOf(pieces: AsyncIterable<string>, tooLong: () => Error): AsyncGenerator<Told> {
  let [rest, event, length] = ['', '', 0];
  let data: string[] = [];
  for await (const piece of pieces) {
    length += piece.length;
    if (length > mostBytes) throw tooLong();
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (event !== '') yield { event, data: data.join('\n') };
        [event, data] = ['', []];
      }
      const [, field, value] = /^(event|data): ?(.*)$/.exec(line) ?? [];
      if (field === 'event') event = value;
      if (field === 'data') data.push(value);
    }
  }
}

export class OrsEnvironment implements OutsideEnvironment {
  readonly #server: OutsideServer;
  readonly #settings: OrsSettings;
  /** The ids of sessions that have not ended. */
  readonly #open = new Set<string>();
  #name: Promise<string> | undefined;
  #tool: Promise<{ readonly name: string; readonly argument: string }> | undefined;

  constructor(server: OutsideServer, settings: OrsSettings) {
    this.#server = server;
    this.#settings = settings;
  }

  async describe() {
    const [own, tools, splits] = [await this.#named(), await this.#tools(), await this.#splits()];
    const tasks = await Promise.all(splits.map(async ({ name: split }) => this.#specs(split)));
    return { name: own, fingerprint: sha256Json([own, tools, splits, tasks]) };
  }

  async tasks(done: (count: number) => void): Promise<readonly OutsideTask[]> {
    const places = await Promise.all(
      (await this.#splits()).map(async ({ name: split, type }) => {
        const count = Math.min((await this.#specs(split)).count, this.#settings.tasks);
        return Array.from({ length: count }, (_, index) => ({ type, place: { split, index } }));
      }),
    );
    let known = 0;
    return mapPool(places.flat(), this.#settings.concurrency, async ({ type, place }) => {
      const messages = await this.prompt(place);
      done(++known);
      return { id: `${type}-${place.index}`, split: type, place, messages };
    });
  }

  async prompt(place: OutsideTask['place']): Promise<readonly Message[]> {
    return this.#server.persist(() => this.#session(place, (headers) => this.#promptOf(headers)));
  }

  async #promptOf(headers: Readonly<Record<string, string>>): Promise<readonly Message[]> {
    const path = `/${await this.#named()}/prompt`;
    const blocks = await this.#server.json(path, 'the blocks of a prompt', z.array(blockShape).min(1), { headers });
    const messages = blocks.map((block): Message => {
      if (block.type === 'image') throw this.#server.wrong('a prompt of text blocks', 'an image');
      return { role: block.detail?.['role'] === 'system' ? 'system' : 'user', content: block.text };
    });
    if (!hasUserText(messages)) throw this.#server.wrong('a prompt with text', 'an empty one');
    return this.#server.withoutKey('a prompt', messages);
  }

  async answer({ id, place, messages }: OutsideTask, completion: string): Promise<Payment> {
    const server = this.#server;
    const [own, { name: tool, argument }] = [await this.#named(), await this.#chosenTool()];
    const question = { method: 'POST', body: { name: tool, input: { [argument]: completion } } } as const;
    const text = await server.persist(() =>
      this.#session(place, async (headers) => {
        if (!isDeepStrictEqual(await this.#promptOf(headers), messages)) {
          const fix = 'It has to give the same task for the same split and index.';
          throw server.wrong(`the prompt of ${id} again`, 'another one', fix);
        }
        return this.#streamed(`/${own}/call`, { ...question, headers });
      }),
    );
    const result = server.read(text, 'the result of a tool call, with a number as its reward', resultShape);
    if (!result.ok) throw server.wrong(`that ${tool} takes an answer`, result.error);
    const { finished, reward, metadata } = result.output;
    if (!finished)
      throw server.wrong('an episode that ends with its first answer (finished)', 'one that goes on', oneTurn);
    if (reward === null || reward === undefined) throw server.wrong('a reward', 'none');
    if (!this.#settings.labels) return { reward, labels: null };
    return { reward, labels: readLabels(server, metadata?.['labels']) };
  }

  #named(): Promise<string> {
    this.#name ??= this.#server.persist(async () => {
      const names = await this.#server.json('/list_environments', 'names of environments', z.array(name).min(1));
      const { environment } = this.#settings;
      const found = environment === '' && names.length === 1 ? names[0] : names.find((each) => each === environment);
      if (found !== undefined) return this.#server.withoutKey('the name of an environment', found);
      throw this.#server.wrong(
        'the name of an environment in data.environment',
        `"${environment}" of ${names.join(', ')}`,
      );
    });
    return this.#name;
  }

  async #tools() {
    const path = `/${await this.#named()}/tools`;
    const shape = z.object({ tools: z.array(toolShape).min(1) });
    return this.#server.persist(async () => (await this.#server.json(path, 'a list of tools', shape)).tools);
  }

  #chosenTool() {
    this.#tool ??= this.#tools().then((tools) => {
      const { tool: wanted, argument: named } = this.#settings;
      const tool = wanted === '' && tools.length === 1 ? tools[0] : tools.find((each) => each.name === wanted);
      if (tool === undefined) {
        const found = `"${wanted}" of ${tools.map((each) => each.name).join(', ')}`;
        throw this.#server.wrong('the name of a tool in data.tool', found);
      }
      const texts = textKeys(tool.input_schema ?? {});
      const argument = named === '' && texts.length === 1 ? texts[0] : texts.find((each) => each === named);
      if (argument !== undefined) return { name: tool.name, argument };
      const found = `"${named}" of ${texts.join(', ') || 'none'}`;
      throw this.#server.wrong(`an argument of ${tool.name} that takes a text in data.argument`, found);
    });
    return this.#tool;
  }

  /** The first split of each type. */
  async #splits() {
    const path = `/${await this.#named()}/splits`;
    const all = await this.#server.persist(() =>
      this.#server.json(path, 'a list of splits', z.array(splitShape).min(1)),
    );
    const first = new Map<Split, z.infer<typeof splitShape>>();
    for (const split of all) if (!first.has(split.type)) first.set(split.type, split);
    return this.#server.withoutKey('a list of splits', [...first.values()]);
  }

  /** How many tasks a split has, and a hash of those that are used. */
  async #specs(split: string): Promise<{ readonly count: number; readonly hash: string }> {
    const own = await this.#named();
    const question = { method: 'POST', body: { split } } as const;
    return this.#server.persist(async () => {
      const counted = z.object({ num_tasks: z.number().int().min(0).max(1e9) });
      const { num_tasks: count } = await this.#server.json(`/${own}/num_tasks`, 'a number of tasks', counted, question);
      const range = { split, start: 0, stop: Math.min(count, this.#settings.tasks) };
      const listed = { method: 'POST', body: range, most: mostListBytes } as const;
      return { count, hash: sha256(await this.#server.text(`/${own}/task_range`, listed)) };
    });
  }

  async #session<Answer>(
    place: OutsideTask['place'],
    work: (headers: Readonly<Record<string, string>>) => Promise<Answer>,
  ): Promise<Answer> {
    let id: string | null = null;
    const made = await this.#streamed('/create_session', { method: 'POST', body: {} }, (told) => {
      id = told.trim();
    });
    const given = made === '' ? null : this.#server.read(made, 'a session', z.object({ sid: z.string() })).sid;
    const sid = given ?? id ?? '';
    if (!/^[\x21-\x7e]{1,256}$/.test(sid)) throw this.#server.wrong('the id of a session', sid === '' ? 'none' : sid);
    if (this.#open.has(sid)) throw this.#server.wrong('a session for each episode', 'the id of another one');
    this.#open.add(sid);
    const headers = { 'x-session-id': sid };
    try {
      const body = { env_name: await this.#named(), ...place };
      await this.#server.text('/create', { method: 'POST', body, headers });
      return await work(headers);
    } finally {
      for (const path of ['/delete', '/delete_session']) {
        // A session that cannot be ended is ended by its server after a while; the answer counts all the same.
        await this.#server.text(path, { method: 'POST', body: {}, headers, seconds: 5 }).catch(() => undefined);
      }
      this.#open.delete(sid);
    }
  }

  /** What a stream of events ends with. */
  async #streamed(
    path: string,
    question: { readonly method: 'POST'; readonly body: object; readonly headers?: Readonly<Record<string, string>> },
    onTask: (id: string) => void = () => undefined,
  ): Promise<string> {
    const server = this.#server;
    const headers = { accept: 'text/event-stream', ...question.headers };
    return server.stream(path, { ...question, headers }, async (pieces) => {
      let whole = '';
      const tooLong = () => server.wrong(`at most ${mostBytes} characters from ${path}`, 'more');
      for await (const { event, data } of eventsOf(pieces, tooLong)) {
        if (event === 'task_id') onTask(data);
        if (event === 'chunk' || event === 'end') whole += data;
        if (event === 'error') throw server.wrong(`an answer to ${path}`, data || 'an error');
        if (event === 'end') return whole;
      }
      throw new BrokenOff(`a stream of ${path} that broke off`);
    });
  }
}

export const oneTurn = 'Environments of several turns cannot be trained on: an answer is one completion.';

export function readLabels(server: OutsideServer, given: unknown) {
  const parsed = toldLabels.safeParse(given);
  if (parsed.success) return parsed.data;
  const fix = 'Ask a server that tells them, such as gq env serve --labels, or set data.labels=false.';
  throw server.wrong('labels (attempt, hack, correct) beside the reward', given === undefined ? 'none' : 'others', fix);
}

const properties = z.object({
  properties: z.record(z.string(), z.looseObject({ type: z.string().optional() })).default({}),
  required: z.array(z.string()).optional(),
});

/** The keys of a JSON schema that must be given and take a text. */
export function textKeys(schema: unknown): string[] {
  const parsed = properties.safeParse(schema);
  if (!parsed.success) return [];
  const { properties: keys, required = [] } = parsed.data;
  return Object.entries(keys).flatMap(([key, { type }]) => (type === 'string' && required.includes(key) ? [key] : []));
}
