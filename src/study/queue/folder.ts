/**
 * The folder of the queue: one folder for each job. `job.json` is what people say about the job, `state.json` what became of it,
 * `asked` what somebody wants of the daemon, `log.txt` what it printed. Commands write the first and the third, the daemon the second,
 * so none overwrites what another says. A damaged job is named and left alone, and the others go on.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { messageOf, UserError } from '../../base/index.ts';
import {
  isLocked,
  makeFolder,
  readRegularText,
  stateFolder,
  takeLock,
  writeFileAtomic,
} from '../../base/node/index.ts';
import { readStored } from '../../run/index.ts';

const jobSchema = z.object({
  format: z.literal(1),
  /** Words after `gq`. */
  words: z.array(z.string()).min(1),
  folder: z.string(),
  why: z.string(),
  resolve: z.string(),
  priority: z.number().int(),
  /** Slots it takes; 0 for a job that only follows a cluster. */
  slots: z.number().int().min(0),
  /** Where its results will be, if the words tell; null otherwise. */
  output: z.string().nullable(),
  added: z.string(),
});
export type QueueJob = Readonly<z.infer<typeof jobSchema>>;

const jobStates = ['waiting', 'running', 'done', 'failed', 'refused', 'cancelled'] as const;
const stateSchema = z.object({
  state: z.enum(jobStates),
  attempts: z.number().int().min(0),
  /** Signals go to the group of this number; 0 and 1 would mean every process. */
  pid: z.number().int().min(2).nullable(),
  processStart: z.string().nullable(),
  slots: z.array(z.string()),
  code: z.number().int().nullable(),
  began: z.string().nullable(),
  ended: z.string().nullable(),
});
export type JobState = Readonly<z.infer<typeof stateSchema>>;

const settingsSchema = z.object({
  /** At least one: a job that gets none begins at once. */
  slots: z.array(z.string()).min(1).nullable().default(null),
  command: z.string().nullable().default(null),
  webhook: z.string().nullable().default(null),
});
export type QueueSettings = Readonly<z.infer<typeof settingsSchema>>;

export const newState: JobState = {
  state: 'waiting',
  attempts: 0,
  pid: null,
  processStart: null,
  slots: [],
  code: null,
  began: null,
  ended: null,
};

export interface QueueEntry {
  readonly id: number;
  readonly job: QueueJob;
  readonly state: JobState;
}

export const queueVariable = 'GQ_QUEUE';

/** One queue for each user of a machine, unless the variable names another folder. */
export function queueFolder(): string {
  return process.env[queueVariable] || stateFolder('queue');
}

export class QueueFolder {
  readonly path: string;

  constructor(path: string = queueFolder()) {
    this.path = path;
    makeFolder(join(path, 'jobs'));
  }

  lock(): Disposable {
    const expected = 'a queue that no other daemon works through';
    return takeLock(join(this.path, 'lock.json'), { call: `queue ${this.path}`, expected });
  }

  get isWorked(): boolean {
    return isLocked(join(this.path, 'lock.json'));
  }

  file(id: number, name: string): string {
    return join(this.path, 'jobs', `${id}`, name);
  }

  /** Takes the next free number: of two that add at once, each gets one of its own. */
  async add(job: QueueJob): Promise<number> {
    for (let id = Math.max(0, ...this.ids()) + 1; ; id++) {
      try {
        mkdirSync(join(this.path, 'jobs', `${id}`));
      } catch (error) {
        if (existsSync(join(this.path, 'jobs', `${id}`))) continue;
        throw error;
      }
      try {
        await this.writeJob(id, job);
      } catch (error) {
        rmSync(join(this.path, 'jobs', `${id}`), { recursive: true, force: true });
        throw error;
      }
      return id;
    }
  }

  ids(): number[] {
    const names = readdirSync(join(this.path, 'jobs')).filter((name) => /^[1-9]\d{0,8}$/.test(name));
    return names.map(Number).sort((a, b) => a - b);
  }

  read(id: number): QueueEntry {
    if (!existsSync(this.file(id, 'job.json'))) {
      const expected = 'a job of the queue (gq queue list)';
      throw new UserError({ call: `job ${id}`, expected, found: 'none of that number' });
    }
    const fix = `Move ${join(this.path, 'jobs', `${id}`)} away, and add the job again.`;
    const job = readStored(this.file(id, 'job.json'), 'a job of the queue', jobSchema, fix);
    const path = this.file(id, 'state.json');
    return { id, job, state: existsSync(path) ? readStored(path, 'the state of a job', stateSchema, fix) : newState };
  }

  all(damaged: (message: string) => void = () => undefined): QueueEntry[] {
    return this.ids().flatMap((id) => {
      // A folder without a job is one that is being added.
      if (!existsSync(this.file(id, 'job.json'))) return [];
      try {
        return [this.read(id)];
      } catch (error) {
        damaged(messageOf(error));
        return [];
      }
    });
  }

  writeJob(id: number, job: QueueJob): Promise<void> {
    return writeJson(this.file(id, 'job.json'), job);
  }

  writeState(id: number, state: JobState): Promise<void> {
    return writeJson(this.file(id, 'state.json'), state);
  }

  /** Asks something of the daemon. `kill` is for a job that does not end when it is cancelled. */
  async ask(id: number, what: 'cancel' | 'kill' | 'retry'): Promise<void> {
    await writeFileAtomic(this.file(id, 'asked'), what);
  }

  asked(id: number): string | null {
    const path = this.file(id, 'asked');
    return existsSync(path) ? readRegularText(path) : null;
  }

  clearAsked(id: number): void {
    rmSync(this.file(id, 'asked'), { force: true });
  }

  readSettings(): QueueSettings {
    const path = join(this.path, 'settings.json');
    const fix = 'Delete it, and set slots and notify again.';
    return existsSync(path)
      ? readStored(path, 'the settings of the queue', settingsSchema, fix)
      : settingsSchema.parse({});
  }

  writeSettings(settings: QueueSettings): Promise<void> {
    return writeJson(join(this.path, 'settings.json'), settings);
  }
}

const writeJson = (path: string, value: object): Promise<void> =>
  writeFileAtomic(path, `${JSON.stringify(value, null, 1)}\n`);

export function questionsAbout(directory: string): QueueEntry[] {
  // A look at results makes no queue where there is none.
  if (!existsSync(join(queueFolder(), 'jobs'))) return [];
  const asked = new QueueFolder().all().filter(({ job }) => job.why !== '' || job.resolve !== '');
  return asked.filter(({ job }) => job.output === resolve(directory));
}

export function questionFacts({ id, job: { why, resolve: answer } }: QueueEntry): (readonly [string, string])[] {
  return [
    ...(why === '' ? [] : [[`why (job ${id})`, why] as const]),
    ...(answer === '' ? [] : [[`resolved (job ${id})`, answer] as const]),
  ];
}
