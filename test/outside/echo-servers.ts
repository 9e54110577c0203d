/**
 * Two environments on this machine that others might have written: one of the Open Reward Standard, over HTTP, and one of OpenEnv, over a
 * WebSocket. Both ask for one statement and pay for the right one; they count what they are asked.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';

export interface EchoServer extends AsyncDisposable {
  readonly url: string;
  /** Every answer that was paid, in the order in which they came. */
  readonly paid: readonly string[];
  /** How often a prompt was given. */
  prompts: number;
  /** What tasks say before their statement; another text makes it another environment. */
  opening: string;
  /** The headers of every request. */
  readonly headers: readonly IncomingMessage['headers'][];
}

const tasks = 24;
const promptOf = (opening: string, index: number): string => `${opening}start with n. add ${index + 1}. correct.\n`;

/** Half for any statement, and one more for the right one. */
function rewardOf(index: number, answer: string): number {
  const written = answer.match(/n [-+*%]= \d+/g) ?? [];
  return written.length === 0 ? 0 : 0.5 + Number(written[0] === `n += ${index + 1}`);
}

export async function listening(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : JSON.parse(text);
}

export function sayEvents(
  response: ServerResponse,
  ...events: readonly (readonly [event: string, data: string])[]
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  // As sse-starlette writes them, with a comment between.
  response.end(`: ping\r\n\r\n${events.map(([event, data]) => `event: ${event}\r\ndata: ${data}\r\n\r\n`).join('')}`);
}

interface OrsOptions {
  /** What clients must show. */
  readonly key?: string | null;
  /** Answers a request in another way than an honest server would, and says that it did. */
  readonly meddle?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export async function orsEcho({ key = null, meddle = () => false }: OrsOptions = {}): Promise<EchoServer> {
  const sessions = new Map<string, number | null>();
  const paid: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    headers.push(request.headers);
    if (meddle(request, response)) return;
    const json = (value: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const body = await bodyOf(request);
    if (key !== null && request.headers['x-api-key'] !== key)
      return json({ detail: `not ${request.headers['x-api-key']}` }, 401);
    const session = String(request.headers['x-session-id'] ?? '');
    const index = sessions.get(session) ?? null;
    switch (`${request.method} ${request.url}`) {
      case 'GET /list_environments':
        return json(['statements']);
      case 'GET /statements/splits':
        return json([{ name: 'train', type: 'train' }]);
      case 'GET /statements/tools': {
        const schema = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] };
        return json({ tools: [{ name: 'submit', description: 'Submit a statement.', input_schema: schema }] });
      }
      case 'POST /statements/num_tasks':
        return json({ num_tasks: tasks });
      case 'POST /statements/task_range':
        return json({ tasks: Array.from({ length: tasks }, (_, i) => ({ add: i + 1, say: echo.opening })) });
      case 'POST /create_session': {
        const sid = randomUUID();
        sessions.set(sid, null);
        return sayEvents(response, ['task_id', sid], ['end', '']);
      }
      case 'POST /create':
        if (!sessions.has(session)) return json({ detail: 'no such session' }, 404);
        sessions.set(session, Number(body['index']));
        return json({ sid: session });
      case 'POST /delete':
      case 'POST /delete_session':
        sessions.delete(session);
        return json({ sid: session });
    }
    if (index === null) return json({ detail: `no ${request.method} ${request.url}` }, 404);
    if (request.url === '/statements/prompt') {
      echo.prompts += 1;
      return json([{ type: 'text', text: promptOf(echo.opening, index), detail: null }]);
    }
    const answer = String((body['input'] as Record<string, unknown>)['code']);
    paid.push(answer);
    const output = {
      blocks: [{ type: 'text', text: answer }],
      metadata: null,
      reward: rewardOf(index, answer),
      finished: true,
    };
    const result = JSON.stringify({ ok: true, output });
    // Long results come in pieces.
    sayEvents(response, ['task_id', randomUUID()], ['chunk', result.slice(0, 20)], ['end', result.slice(20)]);
  };
  const server = createServer((request, response) => void respond(request, response));
  const echo = {
    ...{ url: await listening(server), paid, headers, prompts: 0, opening: '' },
    [Symbol.asyncDispose]: () => closed(server),
  };
  return echo;
}

interface OpenEnvOptions {
  readonly meddle?: (socket: WebSocket, type: string) => boolean;
  /** Answers requests for a WebSocket that an honest server would grant. */
  readonly upgrade?: (socket: Duplex) => void;
}

export async function openEnvEcho({ meddle = () => false, upgrade }: OpenEnvOptions = {}): Promise<EchoServer> {
  const paid: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const server = createServer((request, response) => {
    headers.push(request.headers);
    const action = { title: 'StatementAction', properties: { code: { type: 'string' } }, required: ['code'] };
    const schemas = { action, observation: { title: 'StatementObservation' }, state: {} };
    const found = request.url === '/schema' ? schemas : { status: 'healthy' };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found));
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    if (upgrade === undefined)
      sockets.handleUpgrade(request, socket, head, (opened) => sockets.emit('connection', opened, request));
    else upgrade(socket);
  });
  sockets.on('connection', (socket, request) => {
    headers.push(request.headers);
    let index: number | null = null;
    const see = (observation: object, reward: number | null, done: boolean): void =>
      socket.send(JSON.stringify({ type: 'observation', data: { observation, reward, done } }));
    socket.on('message', (text) => {
      const { type, data } = JSON.parse(text.toString());
      if (meddle(socket, type)) return;
      if (type === 'close') socket.close();
      else if (type === 'reset') {
        index = Number(data.seed) % tasks;
        echo.prompts += 1;
        see({ task: promptOf(echo.opening, index), echoed: '' }, null, false);
      } else if (type === 'step' && index !== null) {
        paid.push(data.code);
        see({ task: '', echoed: data.code }, rewardOf(index, data.code), true);
      } else socket.send(JSON.stringify({ type: 'error', data: { message: 'reset first', code: 'EXECUTION_ERROR' } }));
    });
  });
  const echo = {
    ...{ url: await listening(server), paid, headers, prompts: 0, opening: '' },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets.clients) socket.terminate();
      await closed(server);
    },
  };
  return echo;
}
