/** The events and counts of a run that is not over: each look reads what was written since the last, since a page looks every second. */
import { followJsonl, type JsonlFollower } from '../base/node/index.ts';
import type { StepEvent } from '../grpo/index.ts';
import { VerdictTail } from '../oracle/index.ts';
import { checkEvent, demonstrationTest, noticeText, type RunDirectory, type RunEvent } from '../run/index.ts';
import type { RunPage } from './api.ts';

export interface RunStory {
  readonly steps: readonly StepEvent[];
  readonly notices: RunPage['notices'];
}

/** What a page tells of events. */
export function storyOf(events: Iterable<RunEvent>): RunStory {
  const steps: StepEvent[] = [];
  const notices: { update: number | null; text: string }[] = [];
  for (const event of events) {
    if (event.kind === 'step') steps.push(event);
    const text = noticeText(event);
    if (text !== null) notices.push({ update: 'update' in event ? event.update : null, text });
  }
  return { steps, notices };
}

export class GrowingRun {
  readonly #events: JsonlFollower;
  readonly #verdicts: VerdictTail;
  #known: RunEvent[] = [];

  constructor(run: RunDirectory) {
    this.#events = followJsonl(run.ledger('events'));
    this.#verdicts = new VerdictTail(run.ledger('verdicts'), demonstrationTest(run.readManifest().config));
  }

  read(): RunStory & Pick<RunPage, 'training'> {
    const { values, restarted } = this.#events.read();
    if (restarted) this.#known = [];
    for (const value of values) this.#known.push(checkEvent(value, `read ${this.#events.path}`));
    const story = storyOf(this.#known);
    const training = this.#verdicts.read().map((counts, i) => ({ update: i + 1, ...counts }));
    // Verdicts of an update that is not over are not counted.
    return { ...story, training: training.slice(0, story.steps.length) };
  }
}
