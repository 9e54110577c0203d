/** The server and clients that are slow, broken or hostile. */
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Client, plain, prompt } from './client.ts';
import { exchange } from './exchange.ts';

const client = new Client();
const health = async () =>
  (await (await fetch(client.server.url.replace('/v1', '/health'))).json()) as { running: number; waiting: number };

async function untilIdle(): Promise<void> {
  await expect.poll(health, { timeout: 4000 }).toMatchObject({ running: 0, waiting: 0 });
}

describe('clients that are slow, broken or hostile', () => {
  it('free their rows when they go away, also in the middle of a stream', async () => {
    await client.start();
    const stop = new AbortController();
    const long = { ...plain, max_tokens: 2900, ignore_eos: true };
    const gone = Array.from({ length: 12 }, (_, i) =>
      client.post('/completions', { ...long, stream: i % 2 === 0 }, { signal: stop.signal }),
    );
    await expect.poll(health).toMatchObject({ running: 5 });
    stop.abort();
    await Promise.allSettled(gone);
    await untilIdle();
    expect((await client.ask('/completions', plain)).choices[0].token_ids).toEqual(
      await client.made.alone('deployed', Int32Array.from(prompt), 3, 1, 8),
    );
    expect(client.warnings).toEqual([]);
  });

  it('are let go when their request does not arrive, and others are answered meanwhile', async () => {
    await client.start({ arrivalMs: 300 });
    const ended = [
      'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Le',
      'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"pro',
      '\0\0garbage\r\n\r\n',
    ].map((text) => exchange(client.server.url, text));
    expect((await client.ask('/completions', plain)).choices).toHaveLength(1);
    await Promise.all(ended);
    expect(client.warnings).toEqual([]);
  });

  it('cannot lock others out by connections that they hold open', async () => {
    await client.start({ connections: 8 });
    const { port } = new URL(client.server.url);
    const long = client.post('/completions', { ...plain, max_tokens: 400, ignore_eos: true });
    await expect.poll(health).toMatchObject({ running: 1 });
    const head = 'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    const held = Array.from({ length: 40 }, (_, i) => {
      const socket = connect(Number(port), '127.0.0.1', () =>
        socket.write(i % 2 ? head : `${head}Content-Length: 9\r\n\r\n{`),
      );
      return socket.on('error', () => undefined).resume();
    });
    await expect.poll(() => held.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(30);
    const body = JSON.stringify(plain);
    const answer = await exchange(
      client.server.url,
      `${head}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect((await long).status).toBe(200);
    for (const socket of held) socket.destroy();
  });

  it('wait in a line of limited length and time', async () => {
    await client.start({ queue: 2, seconds: 0.2 });
    const long = { ...plain, max_tokens: 2900, ignore_eos: true, n: 6 };
    const responses = await Promise.all(Array.from({ length: 6 }, () => client.post('/completions', long)));
    const statuses = responses.map(({ status }) => status);
    expect(statuses).toEqual(expect.arrayContaining([429, 503]));
    expect(statuses.every((status) => [429, 503].includes(status))).toBe(true);
    for (const response of responses) await response.text();
    await untilIdle();
  });

  it('see a clean end when the server ends', async () => {
    await client.start();
    const asked = client.post('/completions', { ...plain, max_tokens: 2900, ignore_eos: true });
    await expect.poll(health).toMatchObject({ running: 1 });
    const closing = client.server[Symbol.asyncDispose]();
    expect((await asked).status).toBe(503);
    await closing;
    await client.start();
  });
});
