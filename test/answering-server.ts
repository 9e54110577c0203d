/** A server on this machine that speaks like a chat-completions endpoint, and answers each question as its test says. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ServedRequest {
  readonly path: string;
  readonly authorization: string | null;
  readonly body: { readonly model: string; readonly messages: readonly { readonly content: string }[] } & Readonly<
    Record<string, unknown>
  >;
}

/** `count`: how many requests came before this one. */
export type Respond = (response: ServerResponse, request: ServedRequest, count: number) => void;

export interface AnsweringServer extends AsyncDisposable {
  /** Such as `http://127.0.0.1:PORT/v1`. */
  readonly endpoint: string;
  readonly requests: readonly ServedRequest[];
  /** Most requests that waited for an answer at the same time; one whose connection is cut counts to the end. */
  readonly together: number;
}

/** Answers with a chat completion of this text. */
export function say(response: ServerResponse, content: unknown, tokens = 7): void {
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({ choices: [{ message: { content }, finish_reason: 'stop' }], usage: { total_tokens: tokens } }),
  );
}

export async function answeringServer(respond: Respond): Promise<AnsweringServer> {
  const requests: ServedRequest[] = [];
  let [open, together] = [0, 0];
  const server = createServer((incoming, response) => {
    together = Math.max(together, ++open);
    // A response is finished before its reader can ask again, and closed at any time after.
    response.once('finish', () => open--);
    void readBody(incoming).then((text) => {
      const { url = '', headers } = incoming;
      const request = { path: url, authorization: headers.authorization ?? null, body: JSON.parse(text) };
      requests.push(request);
      respond(response, request, requests.length - 1);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}/v1`,
    requests,
    get together() {
      return together;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
