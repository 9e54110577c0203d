/**
 * Stops a program that sleeps. The kernel tells for every thread how long it ran and how long it waited for a core; what is left
 * of the clock's time the program idled. Waiting for a core is the machine's doing and is never counted, nor is time in which the
 * program waits for an answer or this process is itself held up. Where the kernel does not tell, nothing is counted.
 */
import { readdirSync, readFileSync } from 'node:fs';

const firstLookMs = 300;
const lookEveryMs = 100;
/** A longer pause between two looks means that this process was held up: it is not counted. */
const longestPauseMs = 200;

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

/** The program below a worker's processes: it has one child, the process that comes after it. Between two programs there is none. */
function programBelow(pid: number, above: number): number | null {
  const line = [pid];
  for (let next = childrenOf(pid); next.length === 1; next = childrenOf(next[0])) line.push(next[0]);
  return line.length === above + 2 ? line[above] : null;
}

interface Look {
  readonly pid: number;
  readonly at: number;
  /** Milliseconds in which the threads ran or waited for a core. */
  readonly awakeMs: number;
  /** Whether every thread sleeps. One that could run, or waits for a disk, is not asleep. */
  readonly asleep: boolean;
}

function lookAt(pid: number): Look {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);
  const nanoseconds = threads.reduce((sum, folder) => {
    const [ran, waited] = readFileSync(`${folder}/schedstat`, 'utf8').split(' ').map(Number);
    return sum + ran + waited;
  }, 0);
  const asleep = threads.every((folder) => readFileSync(`${folder}/stat`, 'utf8').includes(') S '));
  return { pid, at: performance.now(), awakeMs: nanoseconds / 1e6, asleep };
}

export class IdleWatch {
  idleMs = 0;
  fired = false;
  /** Whether the program waits for this process. */
  answering = 0;
  readonly #worker: number;
  readonly #above: number;
  readonly #allowedMs: number;
  readonly #onIdle: () => void;
  #timer: NodeJS.Timeout;
  #last: Look | null = null;

  constructor(worker: number, above: number, allowedMs: number, onIdle: () => void) {
    this.#worker = worker;
    this.#above = above;
    this.#allowedMs = allowedMs;
    this.#onIdle = onIdle;
    this.#timer = setTimeout(() => this.#look(), firstLookMs);
  }

  /** Something came from the program, or went to it: the time since the last look is not counted. */
  touch(): void {
    this.#last = null;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #look(): void {
    try {
      this.#measure();
    } catch {
      // The program has just ended, or this kernel does not tell.
      this.#last = null;
    }
    if (this.idleMs > this.#allowedMs) {
      this.fired = true;
      this.#onIdle();
      return;
    }
    this.#timer = setTimeout(() => this.#look(), lookEveryMs);
  }

  #measure(): void {
    const pid = this.#last?.pid ?? programBelow(this.#worker, this.#above);
    if (pid === null) return;
    const now = lookAt(pid);
    const before = this.#last;
    if (before?.asleep === true && now.asleep && this.answering === 0 && now.at - before.at <= longestPauseMs) {
      this.idleMs += Math.max(0, now.at - before.at - Math.max(0, now.awakeMs - before.awakeMs));
    }
    this.#last = now;
  }
}
