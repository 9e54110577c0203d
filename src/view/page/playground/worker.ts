/** One lane: opens the lab in this worker, trains as far as the page asks, tells it every update, and keeps what was trained. */
import { messageOf } from '../../../base/index.ts';
import { type PromptAnswer, ratesOf, TabLab } from '../../../browser/lab.ts';
import { letGo, type ManifestFrame, type Pieces, tarOf } from '../../../browser/record.ts';
import type { RolloutRecord, StepEvent } from '../../../grpo/events.ts';
import { KeptLane, type KeptUpdate } from './kept.ts';
import type { FromLane, LaneUpdate, ShownAnswer, ShownPrompt, ShownRollout, ToLane } from './messages.ts';

/** The most that a lane's memory may grow to: an update in which every program is as long as it may be needs about a third of it. */
const arenaBytes = 256 * 2 ** 20;

const say = (message: FromLane): void => postMessage(message);

async function fetchBytes(path: string): Promise<Uint8Array> {
  const response = await fetch(new URL(path, location.href));
  if (!response.ok) throw new Error(`${path}: HTTP status ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

const fetchText = async (path: string): Promise<string> => new TextDecoder().decode(await fetchBytes(path));

async function openLab({ config, threads, variant }: Extract<ToLane, { kind: 'open' }>): Promise<TabLab> {
  const names: readonly string[] = JSON.parse(await fetchText('model/files.json'));
  const model = await Promise.all(names.map(async (name) => [name, await fetchBytes(`model/${name}`)] as const));
  return TabLab.open({
    ...{ config, arenaBytes },
    files: { model: Object.fromEntries(model), pairs: await fetchText('pairs.md') },
    ...(threads === undefined ? {} : { threads }),
    ...(variant === undefined ? {} : { variant }),
    loadModule: (name, shared) => fetchBytes(`kernels/${shared ? `${name}-shared` : name}.wasm`),
  });
}

class Lane {
  readonly #lab: TabLab;
  readonly #name: string;
  readonly #prompts: number;
  readonly #kept: KeptLane | null;
  /** False once there is no room for more. */
  #keeps: boolean;
  #trouble: string;
  /** Of the updates after those that are kept. */
  readonly #unkept: Pieces[] = [];
  readonly #events: ReturnType<TabLab['train']>;
  #target = 0;
  /** The last update that the page was told. */
  #told: number;
  #isTraining = false;
  #turn: Promise<void> = Promise.resolve();

  private constructor(
    lab: TabLab,
    kept: KeptLane | null,
    told: number,
    name: string,
    prompts: number,
    trouble: string,
  ) {
    this.#lab = lab;
    this.#kept = kept;
    this.#keeps = kept !== null;
    this.#name = name;
    this.#prompts = prompts;
    this.#trouble = trouble;
    this.#told = told;
    this.#events = lab.train();
  }

  static async open(asked: Extract<ToLane, { kind: 'open' }>): Promise<Lane> {
    const { config, prompts } = asked;
    // A browser that keeps nothing (a private window) trains all the same.
    const kept = asked.keeps ? await KeptLane.open(JSON.stringify(config)).catch(() => null) : null;
    const { lab, first, updates, trouble } = await openAt(asked, kept);
    const { answers } = updates.length === 0 ? first : await look(lab, prompts);
    const lane = new Lane(lab, kept, updates.length, `${config.arm.kind}-${config.seed}`, prompts, trouble);
    const { hasQuarantine, device } = lab;
    const { threads = 1, variant = '' } = device as { threads?: number; variant?: string };
    const done = updates.map(({ shown }) => shown);
    say({
      kind: 'ready',
      hasQuarantine,
      threads,
      variant,
      ...first.rates,
      done,
      answers,
      tasks: lab.asked(prompts),
      keeps: kept !== null,
      trouble,
    });
    return lane;
  }

  /** One thing after the other: what is asked for while an update is made waits for its end. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async trainTo(update: number): Promise<void> {
    this.#target = update;
    if (this.#isTraining) return;
    this.#isTraining = true;
    while (this.#told < this.#target) await this.#inTurn(() => this.#updateOnce());
    this.#isTraining = false;
  }

  async #updateOnce(): Promise<void> {
    const started = performance.now();
    let records: readonly RolloutRecord[] = [];
    for (;;) {
      const { value, done } = await this.#events.next();
      if (done === true) throw new RangeError('nothing is left to train');
      if (value.kind === 'stop') throw new Error(`Training was stopped: ${value.detail}`);
      if (value.kind === 'rollouts') records = value.records;
      if (value.kind === 'step') return this.#tell(value, records, (performance.now() - started) / 1000);
    }
  }

  async #tell(
    { update, meanReward, adapterHash: hash }: StepEvent,
    records: readonly RolloutRecord[],
    seconds: number,
  ): Promise<void> {
    const rollouts = records.map((record) => this.#show(record));
    const pieces = this.#lab.takePieces();
    const { rates, answers } = await look(this.#lab, this.#prompts);
    const done = { update, meanReward, hash, rollouts, seconds, ...rates };
    if (!(await this.#keep(done, pieces))) this.#unkept.push(pieces);
    this.#told = update;
    say({ kind: 'update', done, answers, outside: this.#lab.judge.outside, trouble: this.#trouble });
  }

  /** Whether it is kept: what cannot be is trained all the same. */
  async #keep(shown: LaneUpdate, pieces: Pieces): Promise<boolean> {
    if (this.#kept === null || !this.#keeps) return false;
    const state = await this.#lab.trainer.state();
    try {
      await this.#kept.add(shown.update, { shown, pieces }, state);
    } catch (error) {
      this.#keeps = false;
      this.#trouble = `the browser keeps no more (${String(error)}): a reload goes on from update ${shown.update - 1}`;
    }
    letGo(state);
    return this.#keeps;
  }

  #show({ rollout, reward, route }: RolloutRecord): ShownRollout {
    const verdict = this.#lab.verdicts.get(rollout.id);
    const attempt = (verdict?.channels.length ?? 0) > 0;
    // Where there is no quarantine, what trains both blocks trains the deployed one, which is the only one.
    const trains = !this.#lab.hasQuarantine && route === 'absorb' ? 'keep' : route;
    return { route: trains, reward, attempt, solve: verdict?.correct ?? false, text: rollout.text };
  }

  download(): Promise<void> {
    return this.#inTurn(() => this.#download());
  }

  async #download(): Promise<void> {
    const frame: ManifestFrame = JSON.parse(await fetchText('manifest.json'));
    const kept = (await this.#kept?.pieces(this.#told - this.#unkept.length)) ?? [];
    const files = await this.#lab.files(frame, this.#name, [...kept, ...this.#unkept]);
    const packed = new Blob([tarOf(this.#name, files) as Uint8Array<ArrayBuffer>])
      .stream()
      .pipeThrough(new CompressionStream('gzip'));
    say({ kind: 'archive', name: `${this.#name}.tar.gz`, archive: await new Response(packed).blob() });
  }
}

/** The lab with what was kept, or from its start where that cannot be read: it is forgotten then. */
async function openAt(asked: Extract<ToLane, { kind: 'open' }>, kept: KeptLane | null) {
  const lab = await openLab(asked);
  const first = await look(lab, asked.prompts);
  const begun = { lab, first, updates: [] as readonly KeptUpdate[], trouble: '' };
  if (kept === null) return begun;
  try {
    const { updates, state } = await kept.read(asked.at);
    if (state !== undefined) lab.trainer.restore(state);
    return { ...begun, updates };
  } catch {
    // What is restored in part is no start.
    lab[Symbol.dispose]();
    await kept.forget().catch(() => undefined);
    const trouble = 'what the browser had kept could not be read, so this lane began anew';
    return { ...begun, lab: await openLab(asked), trouble };
  }
}

const shown = ({ text, verdict }: PromptAnswer): ShownAnswer => ({
  text,
  attempt: verdict.channels.length > 0,
  hack: verdict.exploited,
  solve: verdict.correct,
});

/** What the policy answers to held-out prompts now, in both states, and how often it attempts and solves. */
async function look(lab: TabLab, prompts: number) {
  const states = lab.hasQuarantine ? (['full', 'deployed'] as const) : (['full'] as const);
  const [trained, deployed = trained] = await lab.answers(states, prompts);
  const answers = trained.map((answer, i): ShownPrompt => {
    return { question: answer.question, trained: shown(answer), deployed: shown(deployed[i]) };
  });
  return { rates: { trained: ratesOf(trained), deployed: ratesOf(deployed) }, answers };
}

let lane: Promise<Lane> | null = null;

async function hear(message: ToLane): Promise<void> {
  if (message.kind === 'open') lane = Lane.open(message);
  const opened = await lane;
  if (message.kind === 'trainTo') await opened?.trainTo(message.update);
  if (message.kind === 'download') await opened?.download();
}

addEventListener('message', ({ data }: MessageEvent<ToLane>) => {
  hear(data).catch((error: unknown) => {
    say({ kind: 'failed', message: messageOf(error) });
  });
});
