/** A lane as the page sees it: its worker, and everything that the worker has told so far. */
import { signal } from '@preact/signals';
import type { RunConfig } from '../../../run/index.ts';
import { shownPrompts } from '../../playground-plan.ts';
import type { FromLane, LaneUpdate, Ready, ShownPrompt, ToLane } from './messages.ts';

/** Of each lane: two share the cores, and threads need a page that is isolated. */
export const laneThreads = crossOriginIsolated ? Math.max(1, Math.floor(navigator.hardwareConcurrency / 2)) : 1;

export interface LanePoint extends Pick<LaneUpdate, 'update' | 'trained' | 'deployed'> {}

/** The update to train to, by those that are made. */
type Goal = (made: number) => number;

const theEnd: Goal = () => Number.MAX_SAFE_INTEGER;

interface LaneStart {
  /** Whether it trains as soon as it is open, as it did before a reload, or as the lane in its place did. */
  readonly goesOn: boolean;
  /** Whether this tab may keep what is trained. */
  readonly keeps: boolean;
  readonly givenUp: number;
  /** Updates that it had made when the page was loaded again. */
  readonly made: number;
}

/** A lane as its tab remembers it when the page is loaded again. */
export interface SeenLane {
  readonly key: string;
  readonly made: number;
  readonly trains: boolean;
}

export class LaneView {
  readonly config: RunConfig;
  /** Pausing: it was asked to pause, and finishes the update in progress. */
  readonly state = signal<'opening' | 'paused' | 'training' | 'pausing' | 'finished' | 'failed'>('opening');
  readonly trouble = signal('');
  readonly facts = signal<Ready | null>(null);
  /** Every update so far. */
  readonly updates = signal<readonly LaneUpdate[]>([]);
  readonly answers = signal<readonly ShownPrompt[]>([]);
  readonly outside = signal(0);
  /** What of the keeping went wrong. */
  readonly keepTrouble = signal('');
  /** Updates that the lane in its place had made when other settings ended it; none once this one has trained. */
  readonly givenUp = signal(0);
  /** Updates that a reload took, which none of this visit replaces yet; while it is opened: all that it had made before. */
  readonly lost = signal(0);
  /** What is asked for while it is opened: it trains to there as soon as it is open. */
  readonly asked = signal<Goal | null>(null);
  /** Whether that was asked for before the page was loaded again, or of the lane in its place, and not of this one. */
  #goesOn: boolean;
  /** Seconds from one update to the next with all that is done between them, as lately; null before one was heard. */
  readonly pace = signal<number | null>(null);
  /** When the update that is now made began. */
  #begun = 0;
  #worker: Worker;
  /** The update that it trains to. */
  readonly target = signal(0);
  readonly #keeps: boolean;

  constructor(config: RunConfig, { goesOn, keeps, givenUp, made }: LaneStart) {
    this.config = config;
    this.givenUp.value = givenUp;
    this.lost.value = made;
    this.asked.value = goesOn ? theEnd : null;
    this.#goesOn = goesOn;
    this.#keeps = keeps;
    this.#worker = this.#start();
  }

  #start(at?: number): Worker {
    const worker = new Worker('lane.js');
    worker.onmessage = ({ data }: MessageEvent<FromLane>) => this.#hear(data);
    worker.onerror = ({ message }) => this.#hear({ kind: 'failed', message });
    // These kernels give the same bytes on every machine, so that a reader's hash can be compared with the command line's.
    const computing = { prompts: shownPrompts, threads: laneThreads, variant: 'plain' } as const;
    const open: ToLane = { kind: 'open', config: this.config, ...computing, keeps: this.#keeps };
    worker.postMessage(at === undefined ? open : { ...open, at });
    return worker;
  }

  #ask(message: ToLane): void {
    this.#worker.postMessage(message);
  }

  get latest(): LaneUpdate | null {
    return this.updates.value.at(-1) ?? null;
  }

  get done(): number {
    return this.latest?.update ?? 0;
  }

  /** The updates with what was before the first; empty while it is opened. */
  get points(): readonly LanePoint[] {
    const first = this.facts.value;
    return first === null ? [] : [{ ...first, update: 0 }, ...this.updates.value];
  }

  /** Whether it trains, or will as soon as it is open. */
  get trains(): boolean {
    return this.state.value === 'training' || (this.state.value === 'opening' && this.asked.value !== null);
  }

  /** What its tab is to remember of it. */
  get seen(): SeenLane {
    return { key: JSON.stringify(this.config), made: Math.max(this.done, this.lost.value), trains: this.trains };
  }

  /** Trains to the end, or only as far as that; what it has made beyond stays. */
  train(goal = theEnd): void {
    const state = this.state.value;
    if (state === 'opening') [this.asked.value, this.#goesOn] = [goal, false];
    if (state !== 'paused' && state !== 'pausing' && state !== 'training') return;
    const target = Math.min(this.config.updates, goal(this.done));
    if (target <= this.done) {
      this.pause();
      return;
    }
    this.target.value = target;
    if (state === 'paused') this.#begun = performance.now();
    this.state.value = 'training';
    this.#ask({ kind: 'trainTo', update: target });
  }

  /** The update in progress is still finished. */
  pause(): void {
    this.asked.value = null;
    this.target.value = 0;
    if (this.state.value === 'training') this.state.value = 'pausing';
    this.#ask({ kind: 'trainTo', update: 0 });
  }

  /** Opens it again at an update that was kept, or at the last one. */
  reopen(at?: number): void {
    this.close();
    this.state.value = 'opening';
    this.#worker = this.#start(at);
  }

  download(): void {
    this.#ask({ kind: 'download' });
  }

  close(): void {
    this.#worker.terminate();
  }

  #hear(message: FromLane): void {
    if (message.kind === 'ready') this.#open(message);
    if (message.kind === 'update') this.#add(message);
    if (message.kind === 'archive') save(message.archive, message.name);
    if (message.kind === 'failed') {
      this.trouble.value = message.message;
      this.state.value = 'failed';
    }
  }

  #open(ready: Ready): void {
    this.facts.value = ready;
    this.keepTrouble.value = ready.trouble;
    this.answers.value = ready.answers;
    this.updates.value = ready.done;
    this.state.value = this.done >= this.config.updates ? 'finished' : 'paused';
    this.lost.value = Math.max(0, this.lost.value - this.done);
    // Where updates are gone the reader is told so first.
    const waits = this.#goesOn && this.lost.value > 0;
    if (this.asked.value !== null && !waits) this.train(this.asked.value);
    this.asked.value = null;
  }

  #add({ done, answers, outside, trouble }: Extract<FromLane, { kind: 'update' }>): void {
    const seconds = (performance.now() - this.#begun) / 1000;
    this.pace.value = this.pace.value === null ? seconds : (this.pace.value + seconds) / 2;
    this.#begun = performance.now();
    this.givenUp.value = 0;
    this.lost.value = 0;
    this.outside.value = outside;
    this.keepTrouble.value = trouble;
    this.answers.value = answers;
    this.updates.value = [...this.updates.value, done];
    if (done.update >= this.config.updates) this.state.value = 'finished';
    else if (done.update >= this.target.value) this.state.value = 'paused';
  }
}

function save(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
