/**
 * The process that works through the queue. It holds the lock of the folder, so there is one. Jobs of a daemon that died go on, and the
 * next daemon takes them over. It ends when nothing waits or runs; adding a job starts it again.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { exitCodes, messageOf } from '../../base/index.ts';
import { isSameProcess } from '../../base/node/index.ts';
import { coresEach, coresVariable } from '../../lab/index.ts';
import { findGpus } from '../slots.ts';
import { lastLine } from '../slurm/log-tail.ts';
import { type JobState, type QueueEntry, QueueFolder } from './folder.ts';
import { findLaunched, launch, notify, readCode, runBeside, signalGroup } from './launch.ts';

export interface DaemonOptions {
  readonly gq: readonly string[];
  readonly say: (text: string) => void;
  /** Ends the daemon; its jobs go on. */
  readonly signal: AbortSignal;
  readonly pollSeconds?: number;
}

/** Attempts of a job that is interrupted again and again. */
const mostAttempts = 1000;
const now = (): string => new Date().toISOString();

export function stateAfter(code: number | null, attempts: number, wasCancelled: boolean): JobState['state'] {
  if (code === exitCodes.done) return 'done';
  if (wasCancelled) return 'cancelled';
  if (code === exitCodes.refused) return 'refused';
  return code === exitCodes.interrupted && attempts < mostAttempts ? 'waiting' : 'failed';
}

/** The job to start now: the highest priority, then the oldest, if it fits into what is free. A large one is not overtaken. */
export function nextJob(entries: readonly QueueEntry[], free: number): QueueEntry | null {
  const waiting = entries.filter(({ state }) => state.state === 'waiting');
  const order = waiting.sort((a, b) => b.job.priority - a.job.priority || a.id - b.id);
  const follower = order.find(({ job }) => job.slots === 0);
  const first = order.find(({ job }) => job.slots > 0);
  return follower ?? (first !== undefined && first.job.slots <= free ? first : null);
}

class QueueDaemon {
  readonly #queue: QueueFolder;
  readonly #options: DaemonOptions;
  readonly #signalled = new Set<string>();
  readonly #said = new Set<string>();
  readonly #machine = gpuSlots();
  /** Jobs that this process started: one that vanishes without a code was killed, and was not lost with a machine. */
  readonly #own = new Set<number>();

  constructor(queue: QueueFolder, options: DaemonOptions) {
    this.#queue = queue;
    this.#options = options;
  }

  async look(): Promise<boolean> {
    const faulty = new Set<number>();
    /** Work on one job; where it fails (a file that cannot be read, a full disk), the job is left as it is until the next look. */
    const attempt = async (id: number, work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        faulty.add(id);
        this.sayOnce(`job ${id}: ${messageOf(error)}`);
      }
    };
    for (const entry of this.#queue.all((message) => this.sayOnce(message))) {
      await attempt(entry.id, () => this.#obey(entry));
    }
    for (const entry of this.#queue.all()) {
      if (entry.state.state === 'running') await attempt(entry.id, () => this.#watch(entry));
    }
    while (await this.#startNext(faulty));
    return this.#queue.all().some(({ state }) => state.state === 'waiting' || state.state === 'running');
  }

  sayOnce(message: string): void {
    if (this.#said.has(message)) return;
    this.#said.add(message);
    this.#options.say(message);
  }

  async #obey({ id, job, state }: QueueEntry): Promise<void> {
    const asked = this.#queue.asked(id);
    if (asked === 'cancel' || asked === 'kill') await this.#cancel({ id, job, state }, asked);
    else if (asked !== null) {
      if (asked === 'retry' && state.state !== 'running') {
        await this.#queue.writeState(id, { ...state, state: 'waiting', code: null, ended: null });
      }
      this.#queue.clearAsked(id);
    }
  }

  /** What was asked stands until the job is over: should this process be killed meanwhile, the next one knows. */
  async #cancel({ id, job, state }: QueueEntry, how: 'cancel' | 'kill'): Promise<void> {
    if (state.state === 'waiting') await this.#end({ id, job, state }, 'cancelled', null);
    else if (state.state !== 'running') this.#queue.clearAsked(id);
    if (state.state !== 'running' || state.pid === null || this.#signalled.has(`${how} ${id}`)) return;
    this.#signalled.add(`${how} ${id}`);
    // After a restart of the machine another process may have the number.
    if (isSameProcess(state.pid, state.processStart)) signalGroup(state.pid, how === 'kill' ? 'SIGKILL' : 'SIGTERM');
    if (job.slots === 0) this.#options.say(runBeside(this.#options.gq, [...job.words, '--cancel'], job.folder).trim());
  }

  async #watch(entry: QueueEntry): Promise<void> {
    const { id, state } = entry;
    if (state.pid === null) {
      // A daemon was killed, or its disk was full, while it started the job.
      const launched = findLaunched(this.#queue, id, state.attempts);
      if (launched === null) await this.#end(entry, 'waiting', null);
      else await this.#queue.writeState(id, { ...state, ...launched });
      return;
    }
    if (isSameProcess(state.pid, state.processStart)) return;
    const code = readCode(this.#queue, id);
    const wasCancelled = ['cancel', 'kill'].includes(this.#queue.asked(id) ?? '');
    const isLost = code === null && !wasCancelled && !this.#own.has(id);
    await this.#end(entry, isLost ? 'waiting' : stateAfter(code, state.attempts, wasCancelled), code);
  }

  async #end({ id, job, state }: QueueEntry, next: JobState['state'], code: number | null): Promise<void> {
    const ended = next === 'waiting' ? null : now();
    const after: JobState = { ...state, state: next, pid: null, processStart: null, slots: [], code, ended };
    await this.#queue.writeState(id, after);
    this.#options.say(`job ${id}: ${next}`);
    if (next === 'waiting') return;
    this.#queue.clearAsked(id);
    for (const how of ['cancel', 'kill']) this.#signalled.delete(`${how} ${id}`);
    const settings = this.#queue.readSettings();
    void notify({ id, job, state: after }, lastLine(this.#queue.file(id, 'log.txt')), settings, this.#options.say);
  }

  async #startNext(faulty: ReadonlySet<number>): Promise<boolean> {
    const entries = this.#queue.all();
    const slots = this.#queue.readSettings().slots ?? this.#machine;
    const taken = entries.filter(({ state }) => state.state === 'running').flatMap(({ state }) => state.slots);
    const free = slots.filter((slot) => !taken.includes(slot));
    // A job that wants more than there is gets all.
    const fit = ({ job, ...entry }: QueueEntry) => ({
      ...{ ...entry, job: { ...job, slots: Math.min(job.slots, slots.length) } },
    });
    const asked = entries.filter(({ id }) => !faulty.has(id)).map(fit);
    const entry = nextJob(asked, free.length);
    if (entry === null) return false;
    const { id, job, state } = entry;
    const own = free.slice(0, job.slots);
    const gpus = own.flatMap((slot) => (slot.startsWith('gpu') ? [slot.slice(3)] : []));
    const cores = { [coresVariable]: `${coresEach(Math.max(1, slots.length)) * Math.max(1, own.length)}` };
    const environment = gpus.length > 0 ? { CUDA_VISIBLE_DEVICES: gpus.join(','), ...cores } : cores;
    const begun = { attempts: state.attempts + 1, slots: own, began: now(), code: null };
    const running: JobState = { ...state, state: 'running', ...begun };
    await this.#queue.writeState(id, running);
    this.#own.add(id);
    try {
      const launched = launch(this.#queue, { id, job, state: running }, this.#options.gq, environment);
      await this.#queue.writeState(id, { ...running, ...launched });
      this.#options.say(`job ${id}: running`);
    } catch (error) {
      this.#options.say(`job ${id}: ${messageOf(error)}`);
      await this.#end({ id, job, state: running }, 'failed', null);
    }
    return true;
  }
}

function gpuSlots(): readonly string[] {
  const gpus = findGpus().map(({ name }) => `gpu${name}`);
  return gpus.length > 0 ? gpus : ['cpu0'];
}

/** Works until nothing waits or runs; refused where another daemon works. */
export async function runDaemon(path: string, options: DaemonOptions): Promise<void> {
  const queue = new QueueFolder(path);
  for (;;) {
    {
      using _lock = queue.lock();
      const daemon = new QueueDaemon(queue, options);
      while (!options.signal.aborted) {
        let isBusy = true;
        try {
          isBusy = await daemon.look();
        } catch (error) {
          // A full disk, for instance: jobs that run go on, and the next look tries again.
          daemon.sayOnce(messageOf(error));
        }
        if (!isBusy) break;
        await wait((options.pollSeconds ?? 1) * 1000, undefined, { signal: options.signal }).catch(() => undefined);
      }
    }
    // A job may have been added after the last look, by somebody who saw the lock.
    const isOver = !queue.all().some(({ state }) => state.state === 'waiting');
    if (options.signal.aborted || isOver) return;
  }
}
