/** What a person sees of an experiment: a forecast before it, and while it works a display with the time left. */
import { join } from 'node:path';
import { counted } from '../../base/index.ts';
import { emergence } from '../../measure/index.ts';
import { VerdictTail } from '../../oracle/index.ts';
import { demonstrationTest, trainedStatus } from '../../run/index.ts';
import type { ExperimentPlan } from '../../study/experiment.ts';
import { type Forecast, gigabytes } from '../../study/forecast.ts';
import type { Report, RunReport } from '../../study/job.ts';
import { WorkEstimate } from '../../study/rates.ts';
import type { JobEnd } from '../../study/run.ts';
import type { TextSink } from '../command.ts';
import { LivePicture } from './live-picture.ts';
import { formatDuration } from './step-table.ts';

const ratesText = `attempt, solve: of training's own samples in the last ${emergence.window} updates; an arm with a quarantine samples some as deployed`;

type ExperimentShape = { readonly jobs: number; readonly pack: number };

export class ExperimentPicture {
  readonly #plan: ExperimentPlan;
  readonly #directory: string;
  readonly #atATime: number;
  readonly #shape: ExperimentShape;
  readonly #picture: LivePicture;
  readonly #estimate = new WorkEstimate();
  readonly #trained: number[];
  readonly #evaluated: boolean[];
  #told = '';
  #isExplained = false;

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
    this.#atATime = Math.min(shape.jobs * shape.pack, plan.runs.length);
    this.#picture = new LivePicture(stderr);
    this.#trained = trained;
    this.#evaluated = plan.runs.map(() => false);
  }

  static async open(plan: ExperimentPlan, directory: string, shape: ExperimentShape, stderr: TextSink) {
    const statuses = await Promise.all(plan.runs.map(({ folder }) => trainedStatus(join(directory, folder))));
    const trained = statuses.map((status, i) => (status === null ? 0 : plan.runs[i].config.updates));
    const picture = new ExperimentPicture(plan, directory, shape, stderr, trained);
    if (picture.#atATime > 1 || shape.pack > 1) picture.#begin(statuses.filter((status) => status !== null).length);
    return picture;
  }

  /** Of a run that did not end well the whole text stands at the end; whoever watches learns of it now. */
  readonly onEnd = (index: number, { end, detail }: JobEnd): void => {
    const [first] = detail.split('\n', 1);
    if (end === 'failed') this.#picture.say(`${this.#plan.runs[index].folder} failed: ${first}`);
    if (end === 'held') this.#picture.say(`${this.#plan.runs[index].folder} is left to ${first}`);
  };

  #begin(finished: number): void {
    const { runs } = this.#plan;
    const isPacked = this.#shape.pack > 1;
    const title = `${counted(runs.length, 'run')}, ${finished} of them trained; ${this.#atATime} at a time${isPacked ? ', packed' : ''}`;
    const updates = runs.reduce((sum, { config }) => sum + config.updates, 0);
    const slots = Array.from({ length: this.#atATime }, () => ({ name: '-', updates: 0 }));
    this.#picture.begin(title, isPacked ? [{ name: 'pack', updates }] : slots);
  }

  reportOf(index: number, slot: number): Report {
    const { folder, config } = this.#plan.runs[index];
    const isPacked = this.#shape.pack > 1;
    const line = isPacked ? 0 : this.#shape.jobs > 1 ? slot : this.#lineInTurn(index);
    if (!isPacked && this.#shape.jobs > 1) this.#picture.change(slot, { name: folder, updates: config.updates });
    const tail = new VerdictTail(join(this.#directory, folder, 'verdicts.jsonl'), demonstrationTest(config));
    return (report) => {
      if (report.kind === 'warn') this.#picture.say(this.#atATime > 1 ? `${folder}: ${report.text}` : report.text);
      else this.#count(index, report);
      if (isPacked) this.#notePack();
      else if (report.kind === 'note') this.#picture.note(line, report.text);
      else if (report.kind === 'step') {
        this.#explainRates();
        this.#picture.step(line, report.update, tail.read(), this.#secondsLeft());
      }
    };
  }

  #count(index: number, report: RunReport): void {
    const { updates } = this.#plan.runs[index].config;
    if (report.kind === 'step') {
      this.#trained[index] = report.update;
      this.#estimate.addTraining(1, report.seconds);
    } else if (report.kind === 'evaluated') {
      this.#trained[index] = updates;
      this.#evaluated[index] = true;
      this.#estimate.addEvaluation(updates, report.seconds);
    }
  }

  #lineInTurn(index: number): number {
    const { runs } = this.#plan;
    const arms = runs.filter(({ seed }) => seed === runs[0].seed).length;
    const line = index % arms;
    if (line === 0) {
      const block = runs.slice(index, index + arms);
      const lines = block.map(({ arm, config }) => ({ name: arm, updates: config.updates }));
      const title = `seed ${runs[index].seed}: runs ${index + 1} to ${index + block.length} of ${runs.length}`;
      this.#picture.begin(title, lines);
    }
    return line;
  }

  /** Once, and not to whoever sees no rates: they are neither those as trained nor those as deployed that the end tells. */
  #explainRates(): void {
    if (!this.#isExplained) this.#picture.say(ratesText);
    this.#isExplained = true;
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
    const rate = this.#estimate.updatesPerSecond;
    const speed = rate < 0.1 ? `${formatDuration(1 / rate)} an update` : `${rate.toFixed(1)} updates a second`;
    const left = seconds === null ? '' : `, ${speed}, ${formatDuration(seconds)} left in total`;
    this.#picture.note(0, `${trained} of ${total} updates, ${evaluated} of ${runs.length} runs evaluated${left}`);
  }

  say(text: string): void {
    this.#picture.say(text);
  }

  #secondsLeft(): number | null {
    const sum = (count: (updates: number, index: number) => number): number =>
      this.#plan.runs.reduce((total, { config }, index) => total + count(config.updates, index), 0);
    const toTrain = sum((updates, index) => updates - this.#trained[index]);
    const toEvaluate = sum((updates, index) => (this.#evaluated[index] ? 0 : updates));
    const left = this.#estimate.secondsLeft(toTrain, toEvaluate);
    return left === null ? null : left / this.#atATime;
  }
}

const gibibytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

export function forecastLines(forecast: Forecast, runs: number): string[] {
  const { left, updates, evaluations, atATime, disk, gpus, hostBytes, hostFreeBytes } = forecast;
  const { checkpointBytes, ledgerBytes, freeBytes } = disk;
  const ledgers = ledgerBytes === null ? 'ledgers not known yet' : `ledgers ${gigabytes(ledgerBytes)}, measured`;
  return [
    `runs     ${left.length} of ${runs} left, ${counted(updates, 'update')} and ${counted(evaluations, 'evaluation')}; ${atATime} at a time`,
    `time     ${timeText(forecast)}`,
    `disk     ${gigabytes(checkpointBytes + (ledgerBytes ?? 0))} of ${gigabytes(freeBytes)} free: checkpoints ${gigabytes(checkpointBytes)}, ${ledgers}`,
    ...gpus.map(({ name, freeBytes: free, neededBytes }) => {
      const room =
        free === null ? '' : ` of ${gibibytes(free)} free${neededBytes > free ? ', which is too little' : ''}`;
      return `GPU ${name.padEnd(4)} at most ${gibibytes(neededBytes)}${name === '' ? '; none is visible here' : room}`;
    }),
    hostBytes === null
      ? `host     memory of its processes not known yet; ${gibibytes(hostFreeBytes)} free`
      : `host     memory of its processes ${gibibytes(hostBytes)} of ${gibibytes(hostFreeBytes)} free, measured`,
  ];
}

function timeText({ left, seconds, leastSeconds, unmeasured, rates, atATime }: Forecast): string {
  if (left.length === 0) return 'none';
  if (seconds === null) {
    const known =
      leastSeconds === 0
        ? 'not known'
        : `${formatDuration(leastSeconds)} for the arms measured here; of the others not known`;
    return `${known} until an experiment on this machine has finished a run like ${unmeasured.join(', ')}, however few its updates`;
  }
  const assumed = unmeasured.length === 0 ? '' : `; assumed of ${counted(unmeasured.length, 'arm')} not measured here`;
  if (rates.length === 0) return `about ${formatDuration(seconds)}${assumed}`;
  const measured = [...new Set(rates.map((rate) => rate.atATime))].sort((a, b) => a - b);
  const days = rates.map(({ at }) => at.slice(0, 10)).sort();
  const beside = measured.join() === `${atATime}` ? '' : `, with ${measured.join(' and ')} at a time`;
  return `${formatDuration(seconds)}, as runs of the same shape took on this machine${beside} (since ${days[0]})${assumed}`;
}
