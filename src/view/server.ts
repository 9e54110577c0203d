/** The viewer's server: the page, its questions as /api/KIND, and files of rollouts in parts. Labels and notes of people can be added, and nothing else. */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { messageOf, UserError } from '../base/index.ts';
import { HttpProblem, isSameToken, listenOn, readJsonBody, sendAnswer } from '../base/node/index.ts';
import { userErrorOf } from '../run/index.ts';
import { addWritten, writtenKinds } from './human.ts';
import { pageKinds, ViewLibrary } from './library.ts';
import { type PageFiles, pageHtml } from './page-files.ts';
import { pathOfFile, sendFile } from './run-files.ts';
import { refuse, safeHeaders, tokenCookie } from './safety.ts';

export interface ViewOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly token?: string;
}

export type RunningView = AsyncDisposable & { readonly address: string; readonly token: string };

export async function startView(root: string, page: PageFiles, options: ViewOptions): Promise<RunningView> {
  const { host, port, token = randomBytes(24).toString('base64url') } = options;
  const library = new ViewLibrary(root);
  const server = createServer((request, response) => {
    const site = { library, page, token, host, port: request.socket.localPort ?? port };
    answer(request, response, site).catch((error: unknown) => fail(response, error));
  });
  const origin = await listenOn(server, host, port, 'view');
  return {
    address: `${origin}/?token=${encodeURIComponent(token)}`,
    token,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Site {
  readonly library: ViewLibrary;
  readonly page: PageFiles;
  readonly token: string;
  readonly host: string;
  readonly port: number;
}

const types = { '/app.js': 'text/javascript; charset=utf-8', '/app.css': 'text/css; charset=utf-8' } as const;

async function answer(request: IncomingMessage, response: ServerResponse, site: Site): Promise<void> {
  const asked = request.url ?? '/';
  if (!URL.canParse(asked, 'http://view')) return send(request, response, 400, { error: 'the address cannot be read' });
  const url = new URL(asked, 'http://view');
  const { token, page } = site;
  if (url.pathname === '/' && isSameToken(url.searchParams.get('token') ?? '', token)) {
    // The token leaves the address, so that no copied link carries it.
    const cookie = `${tokenCookie(site.port)}=${encodeURIComponent(token)}; HttpOnly; SameSite=Strict; Path=/`;
    response.writeHead(303, { ...safeHeaders, Location: '/', 'Set-Cookie': cookie }).end();
    return;
  }
  const written = writtenKinds.find((name) => url.pathname === `/api/${name}`);
  const refusal = refuse(request.method ?? '', request.headers, site, written !== undefined);
  if (refusal !== null) return send(request, response, refusal.status, { error: refusal.why });
  if (written !== undefined && request.method === 'POST') {
    const saved = await addWritten(
      site.library,
      written,
      url.searchParams.get('id') ?? '',
      await readJsonBody(request, mostBytes),
    );
    return send(request, response, 200, saved);
  }
  const { pathname } = url;
  if (pathname === '/') return sendText(request, response, 'text/html; charset=utf-8', pageHtml('server'));
  if (pathname === '/app.js' || pathname === '/app.css') {
    return sendText(request, response, types[pathname], pathname === '/app.js' ? page.script : page.style);
  }
  if (pathname === '/api/file') {
    const { path } = site.library.find(url.searchParams.get('id') ?? '');
    return sendFile(request, response, pathOfFile(path, url.searchParams.get('name') ?? ''));
  }
  const kind = pageKinds.find((name) => pathname === `/api/${name}`);
  if (kind === undefined) return send(request, response, 404, { error: 'no such page' });
  send(request, response, 200, await site.library.answer(kind, url.searchParams));
}

const mostBytes = 32_768;

function fail(response: ServerResponse, error: unknown): void {
  const known = error instanceof UserError ? error : userErrorOf(error);
  const status = error instanceof HttpProblem ? error.status : known === null ? 500 : 400;
  const message = known?.message ?? messageOf(error);
  if (response.headersSent) response.end();
  else sendAnswer(response, { status, body: JSON.stringify({ error: message }), headers: safeHeaders });
}

function send(request: IncomingMessage, response: ServerResponse, status: number, value: unknown): void {
  sendText(request, response, 'application/json', JSON.stringify(value), status);
}

const smallText = 2048;

function sendText(request: IncomingMessage, response: ServerResponse, type: string, text: string, status = 200): void {
  const headers = { ...safeHeaders, vary: 'accept-encoding' };
  const isZipped = text.length > smallText && /\bgzip\b/.test(`${request.headers['accept-encoding'] ?? ''}`);
  if (!isZipped) sendAnswer(response, { status, type, body: text, headers });
  else {
    const body = gzipSync(text, { level: 1 });
    sendAnswer(response, { status, type, body, headers: { ...headers, 'content-encoding': 'gzip' } });
  }
}
