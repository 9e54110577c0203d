/** A lane as the page sees it: its worker, and everything that the worker has told so far. */
import { signal } from '@preact/signals';
import type { RunConfig } from '../../../run/index.ts';
import type { FromLane, LaneUpdate, ToLane } from './messages.ts';

/** Held-out prompts that are sampled in each state after every update. */
const prompts = 32;

export interface LanePoint extends Pick<LaneUpdate, 'update' | 'trained' | 'deployed'> {}

export class LaneView {
  readonly name: string;
  readonly state = signal<'opening' | 'paused' | 'training' | 'finished' | 'failed'>('opening');
  readonly trouble = signal('');
  readonly facts = signal<Extract<FromLane, { kind: 'ready' }> | null>(null);
  readonly points = signal<readonly LanePoint[]>([]);
  readonly latest = signal<LaneUpdate | null>(null);
  readonly answers = signal<Extract<FromLane, { kind: 'answers' }> | null>(null);
  readonly outside = signal(0);
  readonly #worker = new Worker('lane.js');
  readonly #last: number;
  #target = 0;

  constructor(name: string, config: RunConfig) {
    this.name = name;
    this.#last = config.updates;
    this.#worker.onmessage = ({ data }: MessageEvent<FromLane>) => this.#hear(data);
    this.#worker.onerror = ({ message }) => this.#hear({ kind: 'failed', message });
    // These kernels give the same bytes on every machine, so that a reader's hash can be compared with the command line's.
    this.#ask({ kind: 'open', config, prompts, variant: 'plain' });
  }

  #ask(message: ToLane): void {
    this.#worker.postMessage(message);
  }

  /** Trains on; `updates` from here, or to the end. */
  train(updates = this.#last): void {
    if (this.state.value !== 'paused') return;
    this.#target = Math.min(this.#last, (this.latest.value?.update ?? 0) + updates);
    this.state.value = 'training';
    this.#ask({ kind: 'trainTo', update: this.#target });
  }

  /** The update in progress is still finished. */
  pause(): void {
    this.#target = 0;
    this.#ask({ kind: 'trainTo', update: 0 });
  }

  close(): void {
    this.#worker.terminate();
  }

  #hear(message: FromLane): void {
    if (message.kind === 'ready') {
      this.facts.value = message;
      this.points.value = [{ update: 0, trained: message.trained, deployed: message.deployed }];
      this.state.value = 'paused';
    }
    if (message.kind === 'update') {
      const { done } = message;
      this.outside.value = message.outside;
      this.latest.value = done;
      this.points.value = [...this.points.value, done];
      if (done.update >= this.#last) this.state.value = 'finished';
      else if (done.update >= this.#target) this.state.value = 'paused';
      this.#ask({ kind: 'answer', prompt: 0 });
    }
    if (message.kind === 'answers') this.answers.value = message;
    if (message.kind === 'failed') {
      this.trouble.value = message.message;
      this.state.value = 'failed';
    }
  }
}
