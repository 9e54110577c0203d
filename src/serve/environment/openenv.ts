/**
 * An environment in the words of OpenEnv, as openenv-core 0.2.3 speaks them: a session on a WebSocket at /ws, and /reset, /step, /state, /schema,
 * /metadata and /health over HTTP, where nothing is remembered: a step names its task.
 */
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import { clientOf, HttpProblem, readJsonBody } from '../../base/node/index.ts';
import { Host, type HostOptions, pathOf, sendJson } from '../host.ts';
import { findTask, graderFailed, readSent, type ServedEnvironment, type ServedTask } from './served.ts';

const whole = z.number().int().min(0);
const place = z.object({ seed: whole.nullish(), split: z.string().nullish(), index: whole.nullish() });
const action = z.object({ answer: z.string(), split: z.string().nullish(), index: whole.nullish() });
const stepped = z.object({ action });
const message = z.object({ type: z.string(), data: z.unknown().optional() });

const text = { type: 'string' };
const schemas = {
  action: {
    title: 'Answer',
    type: 'object',
    properties: { answer: text, split: text, index: { type: 'integer' } },
    required: ['answer'],
  },
  observation: {
    title: 'Task',
    type: 'object',
    properties: {
      prompt: text,
      messages: { type: 'array', items: { type: 'object', properties: { role: text, content: text } } },
      split: text,
      index: { type: 'integer' },
      labels: { type: 'object', description: 'told only by a server that was started with --labels' },
    },
  },
  state: { title: 'State', type: 'object', properties: { episode_id: text, step_count: { type: 'integer' } } },
};

const most = { sockets: 256, waiting: 4, unread: 2 ** 20, message: 2 ** 20 } as const;
const idleMs = 10 * 60_000;

interface Episode {
  id: string | null;
  task: ServedTask | null;
  steps: number;
}

export class OpenEnvServer extends Host {
  readonly #environment: ServedEnvironment;
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: most.message, perMessageDeflate: false });
  /** The next task of a reset that names none. */
  #next = 0;

  private constructor(environment: ServedEnvironment, options: HostOptions) {
    super(options, 'env serve', graderFailed);
    this.#environment = environment;
    this.server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  static start(environment: ServedEnvironment, options: HostOptions): Promise<OpenEnvServer> {
    return new OpenEnvServer(environment, options).listen();
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    await super[Symbol.asyncDispose]();
  }

  protected override async endWork(): Promise<void> {
    this.#environment.close();
  }

  protected async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { name, description } = this.#environment;
    const say = (value: unknown): void => sendJson(response, value);
    const path = pathOf(request);
    const key = `${request.method} ${path}`;
    if (key === 'GET /health') return say({ status: 'healthy' });
    if (key === 'GET /schema') return say(schemas);
    if (key === 'GET /metadata') return say({ name, description });
    if (key === 'GET /state') return say({ episode_id: null, step_count: 0 });
    if (key !== 'POST /reset' && key !== 'POST /step') {
      throw new HttpProblem(
        404,
        `no ${request.method} ${path.slice(0, 200)}; see /ws, /reset, /step, /state, /schema, /health.`,
      );
    }
    const body = await readJsonBody(request, this.bodyBytes);
    using _kept = this.keep(request);
    if (key === 'POST /reset') return say(observed(this.#taskOf(readSent(place, body))));
    const given = readSent(stepped, body).action;
    if (given.split == null || given.index == null) {
      const expected =
        'over HTTP nothing is remembered: an action needs split and index beside the answer; /ws remembers its reset.';
      throw new HttpProblem(422, expected);
    }
    const task = findTask(this.#environment, given.split, given.index);
    say(await this.#step(task, given.answer, clientOf(request.socket)));
  }

  #taskOf({ seed, split, index }: z.infer<typeof place>): ServedTask {
    const { splits } = this.#environment;
    const { name, tasks } = splits.find((each) => each.name === split) ?? splits[0];
    if (split != null && name !== split) return findTask(this.#environment, split, index ?? 0);
    return index == null ? tasks[(seed ?? this.#next++) % tasks.length] : findTask(this.#environment, name, index);
  }

  async #step(task: ServedTask, answer: string, client: string) {
    const { reward, labels } = await this.#environment.grade(task, answer, client);
    const told = labels === undefined ? {} : { labels };
    const { split, index } = task;
    return { observation: { prompt: '', messages: [], split, index, ...told }, reward, done: true };
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const refuse = (status: number, words: string): void => {
      const told = `HTTP/1.1 ${status} ${words}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
      // A client that keeps its half open would hold up the end of the server.
      socket.end(told, () => socket.destroy());
    };
    socket.on('error', () => undefined);
    const fault = this.#faultOf(request);
    if (fault !== null) {
      refuse(...fault);
      return;
    }
    const kept = this.keep(request);
    request.socket.once('close', () => kept[Symbol.dispose]());
    this.#sockets.handleUpgrade(request, socket, head, (opened) => this.#serve(opened, clientOf(request.socket)));
  }

  /** Why a WebSocket is not granted; null: it is. */
  #faultOf(request: IncomingMessage): [status: number, words: string] | null {
    try {
      this.expectAllowed(request);
    } catch (error) {
      const status = error instanceof HttpProblem ? error.status : 403;
      return [status, STATUS_CODES[status] ?? ''];
    }
    if (pathOf(request) !== '/ws') return [404, 'Not Found'];
    return this.#sockets.clients.size >= most.sockets ? [503, 'Service Unavailable'] : null;
  }

  #serve(socket: WebSocket, client: string): void {
    const episode: Episode = { id: null, task: null, steps: 0 };
    const patience = setTimeout(() => socket.terminate(), idleMs);
    let [waiting, last] = [0, Promise.resolve()];
    socket.on('error', () => undefined);
    socket.on('close', () => clearTimeout(patience));
    socket.on('message', (data, isBinary) => {
      patience.refresh();
      if (isBinary || waiting >= most.waiting) return socket.terminate();
      waiting += 1;
      last = last.then(async () => {
        await this.#reply(socket, episode, data, client);
        waiting -= 1;
      });
    });
  }

  async #reply(socket: WebSocket, episode: Episode, data: RawData, client: string): Promise<void> {
    const say = (type: string, value: unknown): void => {
      if (socket.readyState !== socket.OPEN) return;
      socket.send(JSON.stringify({ type, data: value }));
      if (socket.bufferedAmount > most.unread) socket.terminate();
    };
    const fail = (code: string, words: string): void => say('error', { message: words, code });
    let parsed: ReturnType<typeof message.safeParse>;
    try {
      parsed = message.safeParse(JSON.parse(data.toString()));
    } catch {
      return fail('INVALID_JSON', 'the message is no JSON.');
    }
    if (!parsed.success) return fail('VALIDATION_ERROR', 'expected an object with type and data.');
    const { type, data: given = {} } = parsed.data;
    try {
      if (type === 'close') socket.close();
      else if (type === 'state') say('state', { episode_id: episode.id, step_count: episode.steps });
      else if (type === 'reset') {
        Object.assign(episode, { id: randomUUID(), task: this.#taskOf(readSent(place, given)), steps: 0 });
        if (episode.task !== null) say('observation', observed(episode.task));
      } else if (type === 'step') {
        const { task } = episode;
        if (task === null || episode.steps > 0) return fail('EXECUTION_ERROR', 'the episode is over; reset it first.');
        const { answer } = readSent(action, given);
        episode.steps += 1;
        say('observation', await this.#step(task, answer, client));
      } else fail('UNKNOWN_TYPE', `unknown type ${JSON.stringify(type.slice(0, 100))}.`);
    } catch (error) {
      if (!(error instanceof HttpProblem)) {
        this.warn(error);
        return fail('EXECUTION_ERROR', graderFailed.message);
      }
      const code =
        error.status === 429 ? 'CAPACITY_REACHED' : error.status === 422 ? 'VALIDATION_ERROR' : 'EXECUTION_ERROR';
      fail(code, error.message);
    }
  }
}

function observed({ messages, split, index }: ServedTask) {
  const prompt = messages.map(({ content }) => content).join('\n\n');
  return { observation: { prompt, messages, split, index }, reward: null, done: false };
}
