/** An environment in the words of the Open Reward Standard, as ors-sdk 0.1.0 for Python speaks them. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { clientOf, EventWriter, HttpProblem, readJsonBody } from '../../base/node/index.ts';
import { Host, type HostOptions, pathOf, sendJson } from '../host.ts';
import { findTask, graderFailed, readSent, type ServedEnvironment, type ServedTask } from './served.ts';

const whole = z.number().int().min(0);
const named = z.object({ split: z.string() });
const placed = named.extend({ index: whole });
const ranged = named.extend({ start: z.number().int().nullish(), stop: z.number().int().nullish() });
const created = z.object({
  task_spec: placed.nullish(),
  split: z.string().nullish(),
  index: whole.nullish(),
});
const called = z.object({ name: z.literal('answer'), input: z.object({ answer: z.string() }) });

const tool = {
  name: 'answer',
  description: 'Give the answer, which is graded; the episode is over then.',
  input_schema: {
    type: 'object',
    properties: { answer: { type: 'string', description: 'the whole answer' } },
    required: ['answer'],
  },
};

interface Session {
  readonly task: ServedTask;
  /** Who began it. */
  readonly client: string;
  used: number;
  isOver: boolean;
}

const most = { sessions: 4096, ofClient: 512 } as const;
const idleMs = 15 * 60_000;
const pieceLength = 4096;

export class OrsServer extends Host {
  readonly #environment: ServedEnvironment;
  readonly #sessions = new Map<string, Session>();

  private constructor(environment: ServedEnvironment, options: HostOptions) {
    super(options, 'env serve', graderFailed);
    this.#environment = environment;
  }

  static start(environment: ServedEnvironment, options: HostOptions): Promise<OrsServer> {
    return new OrsServer(environment, options).listen();
  }

  protected override async endWork(): Promise<void> {
    this.#environment.close();
  }

  protected async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { splits, name } = this.#environment;
    const say = (value: unknown): void => sendJson(response, value);
    const path = pathOf(request);
    const own = path.startsWith(`/${name}/`) ? path.slice(name.length + 1) : path;
    const key = `${request.method} ${own}`;
    if (key === 'GET /health') return say({ status: 'ok' });
    if (key === 'GET /list_environments') return say([name]);
    if (key === 'GET /tools' || key === 'GET /task_tools') return say({ tools: [tool] });
    if (key === 'GET /splits') return say(splits.map(({ name: split, type }) => ({ name: split, type })));
    if (key === 'GET /prompt') return say(this.#session(request).task.messages.map(blockOf));
    if (key === 'POST /create_session')
      return sayEvents(response, [
        ['task_id', randomUUID()],
        ['end', ''],
      ]);
    if (key === 'POST /ping') return say({ status: 'ok', split: this.#session(request).task.split });
    if (key === 'POST /delete' || key === 'POST /delete_session') {
      const sid = sessionOf(request);
      this.#sessions.delete(sid);
      return say({ sid });
    }
    if (request.method !== 'POST') throw new HttpProblem(404, `no ${request.method} ${path.slice(0, 200)}.`);
    const body = await readJsonBody(request, this.bodyBytes);
    using _kept = this.keep(request);
    if (key === 'POST /num_tasks') return say({ num_tasks: this.#split(readSent(named, body).split).length });
    if (key === 'POST /tasks')
      return say({ tasks: this.#split(readSent(named, body).split).map(specOf), env_name: name });
    if (key === 'POST /task') {
      const { split, index } = readSent(placed, body);
      return say({ task: specOf(findTask(this.#environment, split, index)) });
    }
    if (key === 'POST /task_range') {
      const { split, start, stop } = readSent(ranged, body);
      return say({
        tasks: this.#split(split)
          .slice(start ?? 0, stop ?? undefined)
          .map(specOf),
      });
    }
    if (key === 'POST /create') return say(this.#create(request, readSent(created, body)));
    if (key === 'POST /call') return this.#call(request, response, body);
    throw new HttpProblem(404, `no POST ${path.slice(0, 200)}.`);
  }

  #split(split: string): readonly ServedTask[] {
    findTask(this.#environment, split, 0);
    return this.#environment.splits.find(({ name }) => name === split)?.tasks ?? [];
  }

  #create(request: IncomingMessage, { task_spec: spec, split, index }: z.infer<typeof created>) {
    const [sid, client, now] = [sessionOf(request), clientOf(request.socket), Date.now()];
    for (const [id, { used }] of this.#sessions) if (now - used > idleMs) this.#sessions.delete(id);
    if (this.#sessions.has(sid)) throw new HttpProblem(400, 'this session exists already.');
    const place = spec ?? (split != null && index != null ? { split, index } : null);
    if (place === null) throw new HttpProblem(400, 'expected task_spec, or split and index.');
    const task = findTask(this.#environment, place.split, place.index);
    this.#makeRoom(client);
    this.#sessions.set(sid, { task, client, used: now, isOver: false });
    return { sid };
  }

  /** A place for one more session of a client: of its own, and of all, the oldest whose episode is over goes. */
  #makeRoom(client: string): void {
    const all = [...this.#sessions];
    const own = all.filter(([, session]) => session.client === client);
    const crowd = own.length >= most.ofClient ? own : all.length >= most.sessions ? all : null;
    if (crowd === null) return;
    const over = crowd.find(([, { isOver }]) => isOver);
    if (over === undefined) throw new HttpProblem(429, 'too many sessions are open; ask again.');
    this.#sessions.delete(over[0]);
  }

  #session(request: IncomingMessage): Session {
    const session = this.#sessions.get(sessionOf(request));
    if (session === undefined) throw new HttpProblem(404, 'no such session; create one.');
    session.used = Date.now();
    return session;
  }

  async #call(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const session = this.#session(request);
    const parsed = called.safeParse(body);
    const tell = (result: object): void => {
      const text = JSON.stringify(result);
      const pieces = text.match(new RegExp(`.{1,${pieceLength}}`, 'gsu')) ?? [];
      const events = pieces.map((piece, i) => [i === pieces.length - 1 ? 'end' : 'chunk', piece] as const);
      sayEvents(response, [['task_id', randomUUID()], ...events]);
    };
    if (!parsed.success) return tell({ ok: false, error: 'expected the tool answer with the text answer.' });
    if (session.isOver) return tell({ ok: false, error: 'the episode is over.' });
    session.isOver = true;
    const { reward, labels } = await this.#environment.grade(
      session.task,
      parsed.data.input.answer,
      clientOf(request.socket),
    );
    const metadata = labels === undefined ? null : { labels };
    const blocks = [{ text: `reward ${reward}`, detail: null, type: 'text' }];
    tell({ ok: true, output: { blocks, metadata, reward, finished: true } });
  }
}

function sessionOf({ headers }: IncomingMessage): string {
  const id = headers['x-session-id'];
  if (typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id)) return id;
  throw new HttpProblem(400, 'expected the header x-session-id.');
}

const specOf = ({ split, index, problem: { id } }: ServedTask) => ({ split, index, id });
const blockOf = ({ role, content }: ServedTask['messages'][number]) => ({
  text: content,
  detail: { role },
  type: 'text',
});

function sayEvents(response: ServerResponse, events: readonly (readonly [event: string, data: string])[]): void {
  const writer = new EventWriter(response);
  for (const [event, data] of events) writer.write(`event: ${event}\ndata: ${data}\n\n`);
  writer.end();
}
