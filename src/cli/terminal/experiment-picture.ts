/**
 * The live display of an experiment, with the total time left. For runs one after another, a block of lines shows the arms of a
 * seed; for runs side by side, each line shows the run that its slot works on; a pack of runs has one line.
 */
import { join } from 'node:path';
import { VerdictTail } from '../../oracle/index.ts';
import { demonstrationTest } from '../../run/index.ts';
import type { ExperimentPlan, WorkReports } from '../../study/index.ts';
import { trainedStatus, WorkEstimate } from '../../study/index.ts';
import type { TextSink } from '../command.ts';
import { LivePicture } from './live-picture.ts';
import { formatDuration } from './step-table.ts';

/** How many processes work at a time, and on how many runs each. */
interface ExperimentShape {
  readonly jobs: number;
  readonly pack: number;
}

export class ExperimentPicture {
  readonly #plan: ExperimentPlan;
  readonly #directory: string;
  /** Runs that work at a time. */
  readonly #jobs: number;
  readonly #shape: ExperimentShape;
  readonly #picture: LivePicture;
  readonly #estimate = new WorkEstimate();
  /** For each run: the updates trained, and whether it is evaluated. */
  readonly #trained: number[];
  readonly #evaluated: boolean[];
  #told = '';

  private constructor(
    plan: ExperimentPlan,
    directory: string,
    shape: ExperimentShape,
    stderr: TextSink,
    trained: number[],
  ) {
    this.#plan = plan;
    this.#directory = directory;
    this.#shape = shape;
    this.#jobs = Math.min(shape.jobs * shape.pack, plan.runs.length);
    this.#picture = new LivePicture(stderr);
    this.#trained = trained;
    this.#evaluated = plan.runs.map(() => false);
  }

  static async open(plan: ExperimentPlan, directory: string, shape: ExperimentShape, stderr: TextSink) {
    const statuses = await Promise.all(plan.runs.map(({ folder }) => trainedStatus(join(directory, folder))));
    const trained = statuses.map((status, i) => (status === null ? 0 : plan.runs[i].config.updates));
    const picture = new ExperimentPicture(plan, directory, shape, stderr, trained);
    const finished = statuses.filter((status) => status !== null).length;
    if (shape.pack > 1) picture.#beginPack(finished);
    else if (shape.jobs > 1) picture.#beginSlots(finished);
    return picture;
  }

  /** What shows the progress of a run, which a process works on that has this slot. */
  reportsOf(index: number, slot: number): WorkReports {
    if (this.#shape.pack > 1) return this.#inPack(index);
    return this.#shape.jobs > 1 ? this.#inSlot(index, slot) : this.#inTurn(index);
  }

  #beginSlots(finished: number): void {
    const { length } = this.#plan.runs;
    const title = `${length} runs, ${finished} of them trained; ${this.#jobs} at a time`;
    this.#picture.begin(
      title,
      Array.from({ length: this.#jobs }, () => ({ name: '-', updates: 0 })),
    );
  }

  /** One line for all runs of the pack. */
  #beginPack(finished: number): void {
    const { runs } = this.#plan;
    const title = `${runs.length} runs, ${finished} of them trained; ${this.#jobs} at a time, packed`;
    const updates = runs.reduce((sum, { config }) => sum + config.updates, 0);
    this.#picture.begin(title, [{ name: 'pack', updates }]);
  }

  /** The line of a run, for runs one after another: every seed begins a new block. */
  #inTurn(index: number): WorkReports {
    const { runs } = this.#plan;
    const arms = runs.filter(({ seed }) => seed === runs[0].seed).length;
    const line = index % arms;
    if (line === 0) {
      const block = runs.slice(index, index + arms);
      const lines = block.map(({ arm, config }) => ({ name: arm, updates: config.updates }));
      const title = `seed ${runs[index].seed}: runs ${index + 1} to ${index + block.length} of ${runs.length}`;
      this.#picture.begin(title, lines);
    }
    return this.#reports(index, line);
  }

  /** What a run of the pack tells: its warnings under its name, and the progress of all. */
  #inPack(index: number): WorkReports {
    const { folder } = this.#plan.runs[index];
    const own = this.#reports(index, 0);
    return {
      note: () => this.#notePack(),
      warn: (text) => this.#picture.say(`${folder}: ${text}`),
      step: (update, seconds) => {
        this.#trained[index] = update;
        this.#estimate.addTraining(1, seconds);
        this.#notePack();
      },
      evaluated: (seconds) => {
        own.evaluated(seconds);
        this.#notePack();
      },
    };
  }

  /** Where nothing is redrawn, a line for each hundredth of the work is enough. */
  #notePack(): void {
    const { runs } = this.#plan;
    const total = runs.reduce((sum, { config }) => sum + config.updates, 0);
    const trained = this.#trained.reduce((sum, updates) => sum + updates, 0);
    const evaluated = this.#evaluated.filter(Boolean).length;
    const seconds = this.#secondsLeft();
    const hundredth = `${Math.floor((100 * trained) / total)} ${evaluated}`;
    if (hundredth === this.#told) return;
    this.#told = hundredth;
    const left = seconds === null ? '' : `, ${formatDuration(seconds)} left in total`;
    this.#picture.note(0, `${trained} of ${total} updates, ${evaluated} of ${runs.length} runs evaluated${left}`);
  }

  /** The line of a run, for runs side by side: the run takes the line of its slot. */
  #inSlot(index: number, slot: number): WorkReports {
    const { folder, config } = this.#plan.runs[index];
    this.#picture.change(slot, { name: folder, updates: config.updates });
    return this.#reports(index, slot);
  }

  say(text: string): void {
    this.#picture.say(text);
  }

  #reports(index: number, line: number): WorkReports {
    const { folder, config } = this.#plan.runs[index];
    const tail = new VerdictTail(join(this.#directory, folder, 'verdicts.jsonl'), demonstrationTest(config));
    return {
      note: (text) => this.#picture.note(line, text),
      warn: (text) => this.#picture.say(this.#jobs > 1 ? `${folder}: ${text}` : text),
      step: (update, seconds) => {
        this.#trained[index] = update;
        this.#estimate.addTraining(1, seconds);
        this.#picture.step(line, update, tail.read(), this.#secondsLeft());
      },
      evaluated: (seconds) => {
        this.#trained[index] = config.updates;
        this.#evaluated[index] = true;
        this.#estimate.addEvaluation(config.updates, seconds);
      },
    };
  }

  #secondsLeft(): number | null {
    const sum = (count: (updates: number, index: number) => number): number =>
      this.#plan.runs.reduce((total, { config }, index) => total + count(config.updates, index), 0);
    const toTrain = sum((updates, index) => updates - this.#trained[index]);
    const toEvaluate = sum((updates, index) => (this.#evaluated[index] ? 0 : updates));
    const left = this.#estimate.secondsLeft(toTrain, toEvaluate);
    return left === null ? null : left / this.#jobs;
  }
}
