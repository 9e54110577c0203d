/**
 * Who asked for what: sessions with their models, samplers and futures, and the one line in which they wait for the device. Sessions take turns, so
 * that none waits for all that another has asked. Ids hold a random part that only the session is told: whoever does not know it sees nothing of it.
 */
import { randomUUID } from 'node:crypto';
import { HttpProblem } from '../../base/node/index.ts';
import { type SavedState, type TrainedModel, WorkProblem } from './model.ts';
import type { Block } from './requests.ts';

export const usualLimits = {
  sessions: 64,
  /** Models of all sessions together. */
  models: 8,
  /** Futures of a session, answered or not; beyond, answered ones are forgotten, the oldest first. */
  futures: 4096,
  /** Bytes of a session: of requests that wait, with the samples that they ask for, and of answers. */
  bytes: 64 * 2 ** 20,
  /** Bytes of all sessions together; an equal share of them is left to each, whatever the others hold. */
  allBytes: 256 * 2 ** 20,
  /** States of a model that are kept; beyond, samplers are forgotten, those without a name and the oldest first. */
  states: 16,
  /** Bytes of the folder that states are written to; beyond, none is saved under a name. */
  diskBytes: 16 * 2 ** 30,
  /** After so long without a sign of its client, a session is closed. */
  idleMs: 15 * 60_000,
  // Not the time of day, which may go back.
  clock: () => performance.now(),
};
export type SessionLimits = Readonly<typeof usualLimits>;

export type Settlement = { readonly answer: object } | { readonly error: string; readonly category: 'user' | 'server' };

export class Future {
  readonly id: string;
  /** The number that its client gave it, under which it may be sent again. */
  readonly key: string | null;
  /** Bytes of what it holds: its request, with what that will take, while it waits; then its answer. */
  bytes: number;
  outcome: Settlement | null = null;
  /** Are called once, when there is an outcome; whoever gives up waiting takes its own away. */
  readonly waiting = new Set<() => void>();

  constructor(id: string, key: string | null, bytes: number) {
    this.id = id;
    this.key = key;
    this.bytes = bytes;
  }

  settle(outcome: Settlement): void {
    if (this.outcome !== null) return;
    this.outcome = outcome;
    this.bytes = sizeOf(outcome);
    for (const tell of this.waiting) tell();
    this.waiting.clear();
  }
}

/** Roughly what an answer takes in memory: its numbers and texts, and the objects that hold them. */
function sizeOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return typeof value === 'string' ? 2 * value.length : 8;
  if (Array.isArray(value) && typeof value[0] === 'number') return 64 + 8 * value.length;
  return Object.values(value).reduce((sum: number, each) => sum + sizeOf(each), 64);
}

export interface LineJob {
  readonly future: Future;
  /** Jobs of a session that stand one after another and share this are done together, by the first of them. */
  readonly together: object;
  /** The answers to these jobs, of which it is the first. */
  run(jobs: readonly LineJob[]): Promise<readonly object[]>;
}

/** A model with the order of its requests: those of a client may arrive in another order than it numbered them. */
export interface OwnModel {
  readonly id: string;
  readonly session: Session;
  readonly model: TrainedModel;
  readonly states: Map<string, SavedState>;
  next: number;
  /** Jobs that wait for an earlier number; null: a request of that number was refused. */
  readonly early: Map<number, LineJob | null>;
}

export interface OwnSampler {
  readonly id: string;
  /** null: the base, without an adapter. */
  readonly state: SavedState | null;
  readonly block: Block;
  readonly path: string | null;
}

const mostAhead = 4096;

/** Whether a number may be the next of a model, or one of those soon after. */
export const isNear = ({ next }: OwnModel, number: number): boolean => number >= next && number <= next + mostAhead;

export class Session {
  readonly id = randomUUID();
  readonly models = new Map<string, OwnModel>();
  readonly samplers = new Map<string, OwnSampler>();
  /** Numbers of models and samplers of clients that give none. */
  made = 0;
  readonly futures = new Map<string, Future>();
  readonly line: LineJob[] = [];
  readonly #limits: SessionLimits;
  readonly #heldByAll: () => number;
  readonly #numbered = new Map<string, Future>();
  seen: number;

  constructor(limits: SessionLimits, heldByAll: () => number) {
    this.#limits = limits;
    this.#heldByAll = heldByAll;
    this.seen = limits.clock();
  }

  get held(): number {
    let sum = 0;
    for (const { bytes } of this.futures.values()) sum += bytes;
    return sum;
  }

  /** A sign of its client. */
  touch(): void {
    this.seen = this.#limits.clock();
  }

  numbered(key: string | null): Future | undefined {
    return key === null ? undefined : this.#numbered.get(key);
  }

  begin(key: string | null, bytes: number): Future {
    if (!this.makeRoom(bytes, 1))
      throw new HttpProblem(429, 'too many requests of this session wait already; fetch their answers first.');
    const future = new Future(`${this.id}:request:${randomUUID()}`, key, bytes);
    this.futures.set(future.id, future);
    if (key !== null) this.#numbered.set(key, future);
    return future;
  }

  /** Forgets answers, the oldest first and fresh ones never, until so much more has room; whether it has. */
  makeRoom(bytes: number, futures: number, fresh: ReadonlySet<Future> = new Set()): boolean {
    const { held: own } = this;
    const { allBytes, sessions } = this.#limits;
    const left = Math.max(allBytes / sessions, allBytes - (this.#heldByAll() - own));
    let held = own + bytes;
    const fits = (): boolean =>
      held <= Math.min(this.#limits.bytes, left) && this.futures.size + futures <= this.#limits.futures;
    for (const [id, future] of this.futures) {
      if (fits()) return true;
      if (future.outcome === null || fresh.has(future)) continue;
      this.futures.delete(id);
      held -= future.bytes;
      if (future.key !== null) this.#numbered.delete(future.key);
    }
    return fits();
  }

  /** Puts a job in line in the order of its model's numbers; null: a refused request, whose number counts all the same. */
  order(model: OwnModel, number: number | null, job: LineJob | null): void {
    if (number === null) {
      if (job !== null) this.line.push(job);
      return;
    }
    if (isNear(model, number) && (job !== null || !model.early.has(number))) model.early.set(number, job);
    for (let due = model.early.get(model.next); due !== undefined; due = model.early.get(model.next)) {
      model.early.delete(model.next++);
      if (due !== null) this.line.push(due);
    }
  }
}

export class Sessions {
  readonly limits: SessionLimits;
  readonly #open = new Map<string, Session>();
  readonly #warn: (error: unknown) => void;
  #working: Promise<void> | null = null;
  #isBusy = false;
  /** Closed ones, whose models are not freed yet. */
  readonly #closed = new Set<Session>();

  constructor(limits: SessionLimits, warn: (error: unknown) => void) {
    this.limits = limits;
    this.#warn = warn;
  }

  get count(): number {
    return this.#open.size;
  }

  get held(): number {
    return [...this.#open.values()].reduce((sum, { held }) => sum + held, 0);
  }

  get models(): number {
    return [...this.#open.values()].reduce((sum, { models }) => sum + models.size, 0);
  }

  open(): Session {
    this.closeIdle();
    if (this.#open.size >= this.limits.sessions) {
      throw new HttpProblem(429, `${this.#open.size} sessions are open, which is the most; ask again.`);
    }
    const session = new Session(this.limits, () => this.held);
    this.#open.set(session.id, session);
    return session;
  }

  find(id: string): Session | undefined {
    return this.#open.get(id.slice(0, 36));
  }

  /** The session that an id begins with. */
  of(id: string, what: string): Session {
    this.closeIdle();
    const session = this.find(id);
    if (session === undefined)
      throw new HttpProblem(
        404,
        `no such ${what}; sessions end with the server, and when nothing was heard of them for long.`,
      );
    session.touch();
    return session;
  }

  closeIdle(): void {
    const now = this.limits.clock();
    for (const session of this.#open.values()) {
      if (now - session.seen > this.limits.idleMs) this.#close(session);
    }
  }

  /** Its models are freed when nothing is at work: another session may be sampling from them. */
  #close(session: Session): void {
    this.#open.delete(session.id);
    session.line.length = 0;
    for (const future of session.futures.values())
      future.settle({ error: 'the session was closed.', category: 'user' });
    this.#closed.add(session);
    if (!this.#isBusy) this.#free();
  }

  #free(): void {
    for (const session of this.#closed) freeModels(session);
    this.#closed.clear();
  }

  /** Begins to work, where nobody does. */
  wake(): void {
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
    });
  }

  async #work(): Promise<void> {
    for (let session = this.#next(); session !== null; session = this.#next()) {
      this.#isBusy = true;
      const jobs = takeTogether(session.line, mostTogether.share * this.limits.bytes);
      try {
        const answers = await jobs[0].run(jobs);
        jobs.forEach(({ future }, i) => {
          future.settle({ answer: answers[i] });
        });
      } catch (error) {
        const isTold = error instanceof WorkProblem;
        if (!isTold) this.#warn(error);
        const words = isTold ? error.message : 'the server failed; its log says why';
        for (const { future } of jobs) future.settle({ error: `${words}.`, category: isTold ? 'user' : 'server' });
      }
      session.makeRoom(0, 0, new Set(jobs.map(({ future }) => future)));
      this.#isBusy = false;
      this.#free();
    }
  }

  /** The first session with work, and then the one after it, in turns. */
  #next(): Session | null {
    for (const session of this.#open.values()) {
      if (session.line.length === 0) continue;
      this.#open.delete(session.id);
      this.#open.set(session.id, session);
      return session;
    }
    return null;
  }

  async close(): Promise<void> {
    for (const session of [...this.#open.values()]) this.#close(session);
    await this.#working;
  }
}

/** Most jobs of a session that are done in one turn, and their share of its bytes: a sample in the making takes five times what its answer does. */
const mostTogether = { jobs: 64, share: 1 / 8 } as const;

function takeTogether(line: LineJob[], mostBytes: number): LineJob[] {
  let [count, bytes] = [1, line[0].future.bytes];
  for (; count < mostTogether.jobs && line[count]?.together === line[0].together; count++) {
    bytes += line[count].future.bytes;
    if (bytes > mostBytes) break;
  }
  return line.splice(0, count);
}

function freeModels({ models, samplers }: Session): void {
  for (const { model } of models.values()) model[Symbol.dispose]();
  models.clear();
  samplers.clear();
}
