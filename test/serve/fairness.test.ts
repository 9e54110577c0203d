/** A greedy client and a small request beside it: how many steps of the model the small one waits, counted and not timed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReferenceDevice } from '../../src/engine/reference/index.ts';
import { Choice } from '../../src/serve/choice.ts';
import { PolicyServer } from '../../src/serve/index.ts';
import { type Asker, Scheduler } from '../../src/serve/scheduler.ts';
import { type MadePolicy, makeServed } from './served.ts';

const [rows, context] = [4, 64];
let made: MadePolicy;
beforeAll(async () => {
  made = await makeServed(createReferenceDevice(), 'nano', rows, context);
});
afterAll(() => made[Symbol.asyncDispose]());

const choice = (maxTokens: number, index = 0): Choice =>
  new Choice({
    index,
    row: {
      prompt: Int32Array.of(5, 6),
      row: index,
      scale: null,
      draw: { temperature: 1, topK: 0, topP: 1, minP: 0 },
      likeliest: 0,
      scoresPrompt: false,
    },
    maxTokens,
    stopTokens: [],
    stops: [],
    decode: () => '',
  });

/** The batch of the policy, whose steps are counted. */
class Counted {
  steps = 0;
  readonly scheduler: Scheduler;
  constructor(queue: number) {
    const { batch } = made.served;
    const step = async () => {
      this.steps++;
      return batch.step();
    };
    const counting = new Proxy(batch, {
      get: (target, name) => {
        if (name === 'step') return step;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    this.scheduler = new Scheduler(counting, { queue, seconds: 3600 });
  }

  /** Submits jobs of one request. */
  ask(asker: Asker, tokens: readonly number[]): Choice[] {
    return tokens.map((maxTokens, index) => {
      const one = choice(maxTokens, index);
      this.scheduler.submit(one, asker);
      return one;
    });
  }

  /** Steps until a job is done, from now on. */
  async stepsOf(job: Choice): Promise<number> {
    const before = this.steps;
    expect(await job.ended).toBeNull();
    return this.steps - before;
  }
}

const many = (count: number, tokens: number): number[] => new Array<number>(count).fill(tokens);

describe('beside a client that has filled the queue with long completions', () => {
  it.each([
    ['another client', { client: 'b' }],
    ['the same address', { client: 'a' }],
  ])('a request of four tokens of %s is answered after five steps', async (_, { client }) => {
    const counted = new Counted(512);
    counted.ask({ client: 'a', request: {} }, many(300, 60));
    await expect.poll(() => counted.steps).toBeGreaterThan(2);
    expect(counted.scheduler.hasRoomFor(1, client, { maxTokens: 4 })).toBe(true);
    const [small] = counted.ask({ client, request: {} }, [4]);
    expect(await counted.stepsOf(small)).toBeLessThanOrEqual(6);
    await counted.scheduler.close();
  });
});

it('beside short completions of a greedy client, another client’s first row is the next that is free', async () => {
  const counted = new Counted(512);
  counted.ask({ client: 'a', request: {} }, many(200, 30));
  await expect.poll(() => counted.steps).toBeGreaterThan(2);
  const [small] = counted.ask({ client: 'b', request: {} }, [4]);
  expect(await counted.stepsOf(small)).toBeLessThanOrEqual(30 + 6);
  await counted.scheduler.close();
});

it('rows that come free go to the client with the fewest: two clients share them', async () => {
  const counted = new Counted(512);
  counted.ask({ client: 'a', request: {} }, many(60, 8));
  const own = counted.ask({ client: 'b', request: {} }, many(10, 8));
  await Promise.all(own.map(({ ended }) => ended));
  // Two rows of four for ten completions of eight tokens: five turns.
  expect(counted.steps).toBeLessThanOrEqual(5 * 8 + 8);
  await counted.scheduler.close();
});

it('a queue that one client fills has room for another, and for few tokens of the same', async () => {
  const counted = new Counted(16);
  counted.ask({ client: 'a', request: {} }, many(15, 60));
  expect(counted.scheduler.hasRoomFor(2, 'a', { maxTokens: 60 })).toBe(false);
  expect(counted.scheduler.hasRoomFor(2, 'a', { maxTokens: 4 })).toBe(true);
  expect(counted.scheduler.hasRoomFor(2, 'b', { maxTokens: 60 })).toBe(true);
  await counted.scheduler.close();
});

it('a request for more tokens than four full batches is refused before any is made', async () => {
  await using server = await PolicyServer.start(made.served, { host: '127.0.0.1', port: 0, token: null });
  const ask = (n: number, max_tokens: number) =>
    fetch(`${server.url}/completions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ prompt: [5, 6], n, max_tokens }),
    });
  const refused = await ask(18, 60);
  expect(refused.status).toBe(400);
  expect(JSON.stringify(await refused.json())).toContain('a request may have 1024: send it in parts');
  expect((await ask(4, 2)).status).toBe(200);
});
