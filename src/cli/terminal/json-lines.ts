/** The events of a run as JSON lines, for programs: those of events.jsonl, and infos about this process. */
import type { RecordedEvent, Sink } from '../../run/index.ts';
import type { TextSink } from '../command.ts';

export class JsonLines implements Sink {
  readonly name = 'JSON lines';
  readonly #out: TextSink;

  constructor(out: TextSink) {
    this.#out = out;
  }

  event(event: RecordedEvent): void {
    if (event.kind !== 'rollouts' && event.kind !== 'direction') this.#out.write(`${JSON.stringify(event)}\n`);
  }
}
