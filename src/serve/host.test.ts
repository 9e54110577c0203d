/** What a server does with requests that are on their way when it closes. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { HttpProblem, readJsonBody } from '../base/node/index.ts';
import { Host, sendJson } from './host.ts';

class Counting extends Host {
  begun = 0;
  whileClosing: () => Promise<void> = async () => undefined;

  static start(): Promise<Counting> {
    const failed = new HttpProblem(500, 'failed');
    return new Counting({ host: '127.0.0.1', port: 0, token: null }, 'serve', failed).listen();
  }

  nextRequest(): Promise<unknown> {
    return once(this.server, 'request');
  }

  protected async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await readJsonBody(request, 100);
    using _kept = this.keep(request);
    this.begun += 1;
    sendJson(response, {});
  }

  protected override endWork(): Promise<void> {
    return this.whileClosing();
  }
}

it('begins nothing for a request whose end arrives after it was told to close', async () => {
  const host = await Counting.start();
  const address = new URL(host.url);
  const socket = connect(Number(address.port), '127.0.0.1');
  const heard = async (): Promise<string> => String(await once(socket, 'data'));
  const head = `POST / HTTP/1.1\r\nhost: ${address.host}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n`;
  socket.write(`${head}{}`);
  expect(await heard()).toMatch(/^HTTP\/1\.1 200 /);
  const half = host.nextRequest();
  socket.write(`${head}{`);
  await half;
  host.whileClosing = async () => {
    const said = heard();
    socket.write('}');
    expect(await said).toMatch(/^HTTP\/1\.1 503 .*the server ends\./s);
  };
  await host[Symbol.asyncDispose]();
  expect(host.begun).toBe(1);
});
