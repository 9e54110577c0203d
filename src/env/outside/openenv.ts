/**
 * A client of OpenEnv, as openenv-core 0.2.3 speaks it: a WebSocket at `/ws` for each episode, with the messages reset, step and close, and
 * `/schema` over HTTP. A task is what a reset with its seed gives; an answer is the text of one key of the action. Its `/reset` and `/step` over
 * HTTP are not used: the server makes a new environment for each, so that no step would belong to its reset.
 */
import { isDeepStrictEqual } from 'node:util';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { mapPool } from '../../base/index.ts';
import { sha256Json } from '../../base/node/hash.ts';
import type { Message } from '../problem.ts';
import {
  hasUserText,
  messagesShape,
  type OutsideEnvironment,
  type OutsideSettings,
  type OutsideTask,
  type Payment,
  rewardShape,
} from './environment.ts';
import { oneTurn, readLabels, textKeys } from './ors.ts';
import { BrokenOff, mostBytes, type OutsideServer } from './server.ts';

type Json = z.infer<ReturnType<typeof z.json>>;
type Table = Readonly<Record<string, Json>>;

interface OpenEnvSettings extends OutsideSettings {
  readonly prompt: string;
  readonly action: string;
  readonly reset: Table;
  readonly step: Table;
  readonly seed: number;
}

const table = z.record(z.string(), z.json());
const schemaShape = z.object({ action: table, observation: table });
const seenShape = z.object({ observation: table, reward: rewardShape.nullish(), done: z.boolean() });
const replyShape = z.object({ type: z.string(), data: table });

export class OpenEnvEnvironment implements OutsideEnvironment {
  readonly #server: OutsideServer;
  readonly #settings: OpenEnvSettings;
  #action: Promise<readonly string[]> | undefined;

  constructor(server: OutsideServer, settings: OpenEnvSettings) {
    this.#server = server;
    this.#settings = settings;
  }

  async describe() {
    const { reset, step } = this.#settings;
    const schema = await this.#schema();
    const title = z.string().catch('environment').parse(schema.action['title']);
    return { name: this.#server.shown(title), fingerprint: sha256Json([schema, reset, step]) };
  }

  async tasks(done: (count: number) => void): Promise<readonly OutsideTask[]> {
    const { seed: first, tasks, concurrency } = this.#settings;
    let known = 0;
    const all = await mapPool(Array.from({ length: tasks }), concurrency, async (_, i): Promise<OutsideTask> => {
      const place = { seed: first + i };
      const messages = await this.prompt(place);
      done(++known);
      return { id: `seed-${place.seed}`, split: null, place, messages };
    });
    if (tasks > 1 && all.every(({ messages }) => isDeepStrictEqual(messages, all[0].messages))) {
      const fix = 'What a reset needs beside the seed is said in data.reset.';
      throw this.#server.wrong('another task for another seed', `the same prompt for ${tasks} seeds`, fix);
    }
    return all;
  }

  async prompt({ seed }: OutsideTask['place']): Promise<readonly Message[]> {
    return this.#server.persist(() => this.#episode(async (ask) => this.#begin(ask, seed)));
  }

  async answer({ id, place, messages }: OutsideTask, completion: string): Promise<Payment> {
    const server = this.#server;
    const action = filled(this.#settings.step, await this.#actionKey(), completion);
    const { observation, reward, done } = await server.persist(() =>
      this.#episode(async (ask) => {
        const begun = await this.#begin(ask, place['seed']);
        if (!isDeepStrictEqual(begun, messages)) {
          const fix =
            'It has to give the same task for the same seed; what a reset needs beside it is said in data.reset.';
          throw server.wrong(`the prompt of ${id} again`, 'another one for the same seed', fix);
        }
        return ask({ type: 'step', data: action });
      }),
    );
    if (!done) throw server.wrong('an episode that ends with its first answer (done)', 'one that goes on', oneTurn);
    if (reward === null || reward === undefined) throw server.wrong('a reward', 'none');
    if (!this.#settings.labels) return { reward, labels: null };
    return { reward, labels: readLabels(server, observation['labels']) };
  }

  #schema() {
    return this.#server.persist(() =>
      this.#server.json('/schema', 'the schemas of action and observation', schemaShape),
    );
  }

  #actionKey(): Promise<readonly string[]> {
    this.#action ??= (async () => {
      const { action: named } = this.#settings;
      if (named !== '') return named.split('.');
      const texts = textKeys((await this.#schema()).action);
      if (texts.length === 1) return texts;
      throw this.#server.wrong(
        'one key of the action that takes a text',
        texts.join(', ') || 'none',
        'Name it in data.action.',
      );
    })();
    return this.#action;
  }

  async #begin(ask: Ask, seed: Json): Promise<readonly Message[]> {
    const { observation, done } = await ask({ type: 'reset', data: { ...this.#settings.reset, seed } });
    if (done) throw this.#server.wrong('an episode that waits for an answer', 'one that is over after its reset');
    return this.#promptIn(observation);
  }

  #promptIn(observation: Table): readonly Message[] {
    const { prompt: named } = this.#settings;
    const texts = Object.entries(observation).filter(([, value]) => typeof value === 'string' && value !== '');
    const usual = ['messages', 'prompt'].find((key) => Object.hasOwn(observation, key));
    const key = named !== '' ? named : (usual ?? (texts.length === 1 ? texts[0][0] : ''));
    const value = Object.hasOwn(observation, key) ? observation[key] : undefined;
    const messages = typeof value === 'string' ? [{ role: 'user', content: value }] : value;
    const parsed = messagesShape.safeParse(messages);
    if (parsed.success && hasUserText(parsed.data)) return this.#server.withoutKey('a prompt', parsed.data);
    const expected = 'a key of the observation that is the prompt: a text, or messages with role and content';
    const found = `"${key}" of ${Object.keys(observation).join(', ') || 'none'}`;
    throw this.#server.wrong(expected, found, 'Name it in data.prompt.');
  }

  /** An episode on a connection of its own. */
  async #episode<Answer>(work: (ask: Ask) => Promise<Answer>): Promise<Answer> {
    const { address, key, timeoutMs, signal } = this.#server;
    signal.throwIfAborted();
    const socket = new WebSocket(`${address.replace(/^http/, 'ws')}/ws`, {
      maxPayload: mostBytes,
      handshakeTimeout: timeoutMs,
      followRedirects: false,
      perMessageDeflate: false,
      headers: key === null ? {} : { authorization: `Bearer ${key}`, 'x-api-key': key },
    });
    const talk = new Talk(socket, this.#server);
    try {
      await talk.opened;
      const answer = await work((message) => talk.ask(message));
      socket.send(JSON.stringify({ type: 'close' }));
      socket.close();
      return answer;
    } finally {
      talk.end();
    }
  }
}

type Ask = (message: { readonly type: string; readonly data: Table }) => Promise<z.infer<typeof seenShape>>;

/** One question and its answer at a time. */
class Talk {
  readonly #socket: WebSocket;
  readonly #server: OutsideServer;
  readonly opened: Promise<void>;
  #waiting: { resolve(text: string): void; reject(error: unknown): void } | null = null;
  #fault: unknown = null;
  readonly #stop = () => this.#fail(this.#server.signal.reason);

  constructor(socket: WebSocket, server: OutsideServer) {
    this.#socket = socket;
    this.#server = server;
    server.signal.addEventListener('abort', this.#stop, { once: true });
    socket.on('error', (error: NodeJS.ErrnoException) => this.#fail(this.#explain(error)));
    socket.on('close', () => this.#fail(new BrokenOff('a connection that was closed')));
    socket.on('unexpected-response', (request, { statusCode = 0 }) => {
      request.destroy();
      const found = `status ${statusCode} to GET /ws`;
      const passing = statusCode === 429 || statusCode >= 500;
      const moved = statusCode >= 300 && statusCode < 400;
      const fix = moved
        ? 'Redirects are not followed: name the address that it moved to.'
        : 'Check data.url and the key.';
      this.#fail(passing ? new BrokenOff(found) : server.wrong('a WebSocket', found, fix));
    });
    socket.on('message', (data, isBinary) => {
      const waiting = this.#waiting;
      this.#waiting = null;
      if (isBinary || waiting === null) {
        this.#fail(server.wrong('one text for each message', isBinary ? 'bytes' : 'a text that nobody asked for'));
        waiting?.reject(this.#fault);
      } else waiting.resolve(data.toString());
    });
    this.opened = this.#inTime(new Promise((resolve) => socket.once('open', () => resolve())));
    this.opened.catch(() => undefined);
  }

  async ask(message: Parameters<Ask>[0]): ReturnType<Ask> {
    if (this.#fault !== null) throw this.#fault;
    const text = await this.#inTime(
      new Promise<string>((resolve, reject) => {
        this.#waiting = { resolve, reject };
        this.#socket.send(JSON.stringify(message));
      }),
    );
    const { type, data } = this.#server.read(text, `a reply to ${message.type}`, replyShape);
    if (type === 'observation') {
      return this.#server.read(JSON.stringify(data), `an observation, with a number as its reward`, seenShape);
    }
    const said = z.object({ message: z.string().catch(''), code: z.string().catch('') }).parse(data);
    if (said.code === 'CAPACITY_REACHED') throw new BrokenOff(said.message);
    throw this.#server.wrong(`an observation after ${message.type}`, `${type} ${said.code}: ${said.message}`);
  }

  end(): void {
    this.#server.signal.removeEventListener('abort', this.#stop);
    this.#fault ??= new BrokenOff('an episode that is over');
    this.#socket.terminate();
  }

  #explain(error: NodeJS.ErrnoException): Error {
    return error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'
      ? this.#server.wrong(`at most ${mostBytes} bytes in a message`, 'more')
      : new BrokenOff(error.message || `${error.code}`);
  }

  #fail(error: unknown): void {
    this.#fault ??= error;
    this.#failed.reject(this.#fault);
    if (this.#socket.readyState !== WebSocket.CLOSED) this.#socket.terminate();
  }

  readonly #failed = rejection();

  /** What comes within the time for one answer, or why it does not. */
  async #inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
    let clock: NodeJS.Timeout | undefined;
    const { timeoutMs } = this.#server;
    const late = new Promise<never>((_, reject) => {
      const error = new BrokenOff(`no answer from /ws within ${timeoutMs / 1000} seconds`);
      clock = setTimeout(() => reject(error), timeoutMs);
    });
    try {
      return await Promise.race([answer, late, this.#failed.promise]);
    } finally {
      clearTimeout(clock);
    }
  }
}

/** A promise that is only ever rejected, and whose rejection nobody has to hear. */
function rejection() {
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<never>((_, no) => {
    reject = no;
  });
  promise.catch(() => undefined);
  return { promise, reject };
}

/** A copy of a table with a text at a path of keys. */
function filled(given: Table, [key, ...rest]: readonly string[], text: string): Table {
  if (rest.length === 0) return { ...given, [key]: text };
  const inner = table.catch({}).parse(given[key]);
  return { ...given, [key]: filled(inner, rest, text) };
}
