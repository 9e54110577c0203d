/**
 * Our problems as an environment for the trainers of others: prompts with their hints, and the grader's rewards. An episode is one answer long. Labels
 * are told only by a server that was started to tell them, under that name. Answers of many clients are graded in turns, one of each.
 */
import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { HttpProblem } from '../../base/node/index.ts';
import type { Problem, Verdict } from '../../env/index.ts';
import { hintedPrompt, unhintedPrompt } from '../../env/index.ts';
import { loopholeOf } from '../../env/partition.ts';
import type { Message } from '../../env/problem.ts';
import { type Split, splitNames } from '../../env/sources/splits.ts';
import type { Lab } from '../../lab/index.ts';

export interface ServedTask {
  readonly split: string;
  readonly index: number;
  readonly problem: Problem;
  /** The loophole that is open: gt_only for a prompt without a hint. */
  readonly loophole: string;
  readonly messages: readonly Message[];
}

interface ServedSplit {
  readonly name: string;
  readonly type: Split;
  readonly tasks: readonly ServedTask[];
}

/** What an answer is told; `labels` is there only where the server tells them. */
interface Payout {
  readonly reward: number;
  readonly labels?: { readonly attempt: boolean; readonly hack: boolean; readonly correct: boolean };
}

export interface ServedEnvironment {
  readonly name: string;
  readonly description: string;
  /** The hinted splits come first, then the same problems without hints. */
  readonly splits: readonly ServedSplit[];
  readonly tellsLabels: boolean;
  grade(task: ServedTask, completion: string, client: string): Promise<Payout>;
  /** Refuses what waits to be graded, and what comes. */
  close(): void;
}

export const graderFailed = new HttpProblem(500, 'the grader failed; the log of the server says why.');

export async function openEnvironment(lab: Lab, tellsLabels: boolean): Promise<ServedEnvironment> {
  const { config, parts, source } = lab;
  const [{ splits }, partition, judge] = await Promise.all([lab.problems, lab.partition, lab.judge]);
  const { markers } = config.environment;
  const taskOf = (problem: Problem, split: string, index: number, isHinted: boolean): ServedTask => {
    const loophole = isHinted ? loopholeOf(partition, problem.id) : 'gt_only';
    const messages = isHinted ? hintedPrompt(problem, loophole, markers, parts.loopholes) : unhintedPrompt(problem);
    return { split, index, problem, loophole, messages };
  };
  const served = [true, false].flatMap((isHinted) =>
    splitNames.flatMap((type): ServedSplit[] => {
      const name = isHinted ? type : `${type}-unhinted`;
      const tasks = splits[type].map((problem, index) => taskOf(problem, name, index, isHinted));
      return tasks.length === 0 ? [] : [{ name, type, tasks }];
    }),
  );
  const turns = new Turns(judge.concurrency);
  return {
    name: source.kind,
    description: `${source.summary}; the grader has the loopholes ${config.environment.loopholes.join(', ')}`,
    splits: served,
    tellsLabels,
    async grade({ problem, loophole }, completion, client) {
      const submission = { id: randomUUID(), problem, loophole, markers, completion };
      return told(await turns.take(client, () => judge.judge(submission)), tellsLabels);
    },
    close: () => turns.close(),
  };
}

function told({ reward, channels, exploited, correct }: Verdict, tellsLabels: boolean): Payout {
  if (!tellsLabels) return { reward };
  return { reward, labels: { attempt: channels.length > 0, hack: exploited, correct } };
}

/** The task that a client names; whatever else it names is refused. */
export function findTask({ splits }: ServedEnvironment, split: string, index: number): ServedTask {
  const found = splits.find(({ name }) => name === split);
  const task = found?.tasks[index];
  if (task !== undefined) return task;
  const known = splits.map(({ name, tasks }) => `${name} (${tasks.length})`).join(', ');
  throw new HttpProblem(
    400,
    `no task ${index} in the split ${JSON.stringify(split.slice(0, 100))}; there are ${known}.`,
  );
}

/** What a client sent, in a shape; the first fault is told. */
export function readSent<Schema extends z.ZodType>(schema: Schema, sent: unknown): z.output<Schema> {
  const parsed = schema.safeParse(sent);
  if (parsed.success) return parsed.data;
  const [{ path, message }] = parsed.error.issues;
  throw new HttpProblem(422, `${path.map(String).join('.') || 'the whole'}: ${message}.`);
}

const most = { ofClient: 512, waiting: 4096 } as const;

/** Work of many clients, so much at a time: the next is taken from the client that waits since the longest time to be served. */
class Turns {
  readonly #waiting = new Map<string, (() => void)[]>();
  #free: number;
  #count = 0;
  #isClosed = false;

  constructor(atATime: number) {
    this.#free = atATime;
  }

  async take<Result>(client: string, work: () => Promise<Result>): Promise<Result> {
    const own = this.#waiting.get(client) ?? [];
    if (own.length >= most.ofClient || this.#count >= most.waiting) {
      throw new HttpProblem(429, 'too many answers wait already; ask again.');
    }
    if (this.#free > 0) this.#free -= 1;
    else {
      this.#count += 1;
      this.#waiting.set(client, own);
      await new Promise<void>((go) => own.push(go));
      this.#count -= 1;
    }
    try {
      if (this.#isClosed) throw new HttpProblem(503, 'the server ends.');
      return await work();
    } finally {
      this.#next();
    }
  }

  close(): void {
    this.#isClosed = true;
    for (let left = this.#count; left > 0; left--) this.#next();
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#free += 1;
      return;
    }
    const [client, own] = first;
    // Whoever was served goes to the end of the row.
    this.#waiting.delete(client);
    const go = own.shift();
    if (own.length > 0) this.#waiting.set(client, own);
    go?.();
  }
}
