/** A lane as the page sees it: its worker, and everything that the worker has told so far. */
import { signal } from '@preact/signals';
import type { RunConfig } from '../../../run/index.ts';
import { shownPrompts } from '../../playground-plan.ts';
import type { FromLane, LaneUpdate, Ready, ShownPrompt, ToLane } from './messages.ts';

/** Of each lane: two share the cores, and threads need a page that is isolated. */
export const laneThreads = crossOriginIsolated ? Math.max(1, Math.floor(navigator.hardwareConcurrency / 2)) : 1;

export interface LanePoint extends Pick<LaneUpdate, 'update' | 'trained' | 'deployed'> {}

interface LaneStart {
  /** Whether it trains as soon as it is open, as it did before a reload, or as the lane in its place did. */
  readonly goesOn: boolean;
  /** Whether this tab may keep what is trained. */
  readonly keeps: boolean;
  readonly givenUp: number;
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
  /** Updates that were asked for while it is opened: it trains so many as soon as it is open. */
  readonly asked = signal(0);
  /** Seconds from one update to the next with all that is done between them, as lately; null before one was heard. */
  readonly pace = signal<number | null>(null);
  /** When the update that is now made began. */
  #begun = 0;
  #worker: Worker;
  /** The update that it trains to. */
  readonly target = signal(0);
  readonly #keeps: boolean;

  constructor(config: RunConfig, { goesOn, keeps, givenUp }: LaneStart) {
    this.config = config;
    this.givenUp.value = givenUp;
    this.asked.value = goesOn ? config.updates : 0;
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
    return this.state.value === 'training' || (this.state.value === 'opening' && this.asked.value > 0);
  }

  /** Trains on; `updates` from here, or to the end. */
  train(updates = this.config.updates): void {
    if (this.state.value === 'opening') this.asked.value = updates;
    if (this.state.value !== 'paused' && this.state.value !== 'pausing') return;
    this.target.value = Math.min(this.config.updates, this.done + updates);
    if (this.state.value === 'paused') this.#begun = performance.now();
    this.state.value = 'training';
    this.#ask({ kind: 'trainTo', update: this.target.value });
  }

  /** The update in progress is still finished. */
  pause(): void {
    this.asked.value = 0;
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
    if (this.asked.value > 0) this.train(this.asked.value);
    this.asked.value = 0;
  }

  #add({ done, answers, outside, trouble }: Extract<FromLane, { kind: 'update' }>): void {
    const seconds = (performance.now() - this.#begun) / 1000;
    this.pace.value = this.pace.value === null ? seconds : (this.pace.value + seconds) / 2;
    this.#begun = performance.now();
    this.givenUp.value = 0;
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
