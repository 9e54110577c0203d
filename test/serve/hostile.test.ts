/** The server and clients that are slow, broken or hostile. */
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Client, plain, prompt } from './client.ts';
import { exchange } from './exchange.ts';

const client = new Client();
const health = async () =>
  (await (await fetch(client.server.url.replace('/v1', '/health'))).json()) as { running: number; waiting: number };

async function untilIdle(): Promise<void> {
  await expect.poll(health).toMatchObject({ running: 0, waiting: 0 });
}

/** A stream that has begun, and all that follows. */
async function begin(body: object) {
  const response = await client.post('/completions', { ...body, stream: true });
  const pieces = (response.body as ReadableStream<Uint8Array>).getReader();
  await pieces.read();
  const rest = async (): Promise<string> => {
    let text = '';
    for (let next = await pieces.read(); !next.done; next = await pieces.read()) text += Buffer.from(next.value);
    return text;
  };
  return { rest };
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

  const unfinished = [
    'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Le',
    'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"pro',
  ];

  it('are let go when their request does not arrive', async () => {
    await client.start({ arrivalMs: 100 });
    const ended = [...unfinished, '\0\0garbage\r\n\r\n'].map((text) => exchange(client.server.url, text));
    await Promise.all(ended);
    expect(client.warnings).toEqual([]);
  });

  it('keep nobody waiting while their request arrives', async () => {
    await client.start();
    const { port } = new URL(client.server.url);
    const held = unfinished.map(() => connect(Number(port), '127.0.0.1').on('error', () => undefined));
    await Promise.all(held.map((socket, i) => new Promise((sent) => socket.write(unfinished[i], sent))));
    expect((await client.ask('/completions', plain)).choices).toHaveLength(1);
    for (const socket of held) socket.destroy();
  });

  it('cannot lock others out by connections that they hold open', async () => {
    await client.start({ connections: 8 });
    const { port } = new URL(client.server.url);
    // The first piece of a stream says that its request has arrived: it must be answered to the end.
    const stream = await begin({ ...plain, max_tokens: 400, ignore_eos: true });
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
    expect(await stream.rest()).toMatch(/data: \[DONE\]\n\n$/);
    for (const socket of held) socket.destroy();
  });

  it('wait in a line of limited length', async () => {
    await client.start({ queue: 2 });
    const long = { ...plain, max_tokens: 2900, ignore_eos: true };
    const stop = new AbortController();
    // More than can run or wait; those that do have thousands of tokens to write.
    const line = Array.from({ length: 30 }, async () => {
      return (await client.post('/completions', long, { signal: stop.signal })).status;
    });
    expect(await Promise.race(line)).toBe(429);
    stop.abort();
    await Promise.allSettled(line);
    await untilIdle();
  });

  it('wait in line for a limited time', async () => {
    await client.start({ seconds: 0.2 });
    const long = { ...plain, max_tokens: 2900, ignore_eos: true, n: 6 };
    const responses = await Promise.all([1, 2, 3].map(() => client.post('/completions', long)));
    expect(responses.map(({ status }) => status)).toEqual([503, 503, 503]);
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
