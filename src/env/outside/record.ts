/**
 * What came from an environment outside, in two files of a run: its tasks with their prompts, and what it paid for each answer. A run that goes on
 * asks for neither again. Whether the environment is still the one that the run began with is asked: by what it says of itself, and by the prompts of
 * its first and its last task.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { messageOf, UserError } from '../../base/index.ts';
import { writeFileAtomic } from '../../base/node/atomic-file.ts';
import { ChainedLines } from '../../base/node/chained-lines.ts';
import { sha256Json } from '../../base/node/hash.ts';
import { readRegularText } from '../../base/node/regular-file.ts';
import { splitNames } from '../sources/splits.ts';
import { messagesShape, type OutsideEnvironment, type Payment, toldLabels } from './environment.ts';
import { rewardsName, tasksName } from './names.ts';

const taskShape = z.strictObject({
  id: z.string(),
  split: z.enum(splitNames).nullable(),
  place: z.record(z.string(), z.union([z.string(), z.number()])),
  messages: messagesShape,
});
const recordShape = z.strictObject({
  address: z.string(),
  name: z.string(),
  fingerprint: z.string(),
  tasks: z.array(taskShape).min(1),
  /** Of everything above. */
  hash: z.string(),
});
export type OutsideRecord = Readonly<z.infer<typeof recordShape>>;

const paymentShape = z.strictObject({
  /** Hash of the rollout's id, the task's and the completion. */
  key: z.string(),
  rollout: z.string(),
  task: z.string(),
  reward: z.number(),
  labels: toldLabels.nullable(),
});
type StoredPayment = Readonly<z.infer<typeof paymentShape>>;

/** The tasks of an environment, as the run in `folder` began with them; asked for, and kept there, where it begins. */
export async function openTasks(
  environment: OutsideEnvironment,
  address: string,
  { folder, keeps }: { readonly folder: string | null; readonly keeps: boolean },
  done: (count: number) => void,
): Promise<OutsideRecord> {
  const path = folder === null ? null : join(folder, tasksName);
  const stored = path !== null && existsSync(path) ? readRecord(path) : null;
  const { name, fingerprint } = await environment.describe();
  if (stored !== null) {
    await expectSame(environment, { ...stored, path: path ?? '' }, fingerprint);
    return stored;
  }
  const content = { address, name, fingerprint, tasks: [...(await environment.tasks(done))] };
  const record = recordShape.parse({ ...content, hash: sha256Json(content) });
  if (path !== null && keeps) await writeFileAtomic(path, `${JSON.stringify(record)}\n`);
  return record;
}

export function readRecord(path: string): OutsideRecord {
  const refuse = (found: string, cause?: unknown): never => {
    const fix = 'Restore the file, or train a new run.';
    throw new UserError(
      { call: `read ${path}`, expected: 'the tasks of a run, as they were written', found, fix },
      { cause },
    );
  };
  let value: unknown;
  try {
    value = JSON.parse(readRegularText(path));
  } catch (cause) {
    return refuse(messageOf(cause), cause);
  }
  const { data } = recordShape.safeParse(value);
  if (data === undefined) return refuse('something else');
  const { hash, ...content } = data;
  return hash === sha256Json(content) ? data : refuse('content that its hash does not fit');
}

async function expectSame(
  environment: OutsideEnvironment,
  { path, address, tasks, ...stored }: OutsideRecord & { readonly path: string },
  fingerprint: string,
): Promise<void> {
  const refuse = (found: string): never => {
    const fix = 'Serve the environment as it was, or train a new run.';
    throw new UserError({ call: `environment at ${address}`, expected: `the one of ${path}`, found, fix });
  };
  if (fingerprint !== stored.fingerprint) refuse('another one: its tools, splits, tasks or schemas have changed');
  for (const { id, place, messages } of new Set([tasks[0], tasks[tasks.length - 1]])) {
    if (!isDeepStrictEqual(await environment.prompt(place), messages)) refuse(`another prompt of task ${id}`);
  }
}

/** What answers were paid. The same rollout with the same completion is paid once, and what it was paid stays. */
export class Payments implements Disposable {
  readonly #lines: ChainedLines<StoredPayment>;
  readonly #known: Map<string, Payment>;

  private constructor(lines: ChainedLines<StoredPayment>) {
    this.#lines = lines;
    this.#known = new Map(lines.stored.map((payment) => [payment.key, payment]));
  }

  static async open(folder: string | null): Promise<Payments> {
    const path = folder === null ? null : join(folder, rewardsName);
    return new Payments(await ChainedLines.open<StoredPayment>(path, 'a reward', paymentShape));
  }

  async of(
    { rollout, task, completion }: { readonly rollout: string; readonly task: string; readonly completion: string },
    ask: () => Promise<Payment>,
  ): Promise<Payment> {
    const key = sha256Json([rollout, task, completion]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const { reward, labels } = await ask();
    const payment = { key, rollout, task, reward, labels };
    this.#lines.append(payment);
    this.#known.set(key, payment);
    return payment;
  }

  [Symbol.dispose](): void {
    this.#lines.close();
  }
}
