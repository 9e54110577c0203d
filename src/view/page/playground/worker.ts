/** One lane: opens the lab in this worker, trains as far as the page asks, and tells it every update. */
import { type PromptAnswer, TabLab } from '../../../browser/lab.ts';
import type { RolloutRecord, StepEvent } from '../../../grpo/events.ts';
import type { FromLane, LaneUpdate, ShownAnswer, ShownRollout, ToLane } from './messages.ts';

/** The micro lab needs far less than the command line reserves. */
const arenaBytes = 256 * 2 ** 20;

const say = (message: FromLane): void => postMessage(message);

async function fetchBytes(path: string): Promise<Uint8Array> {
  const response = await fetch(new URL(path, location.href));
  if (!response.ok) throw new Error(`${path}: HTTP status ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

class Lane {
  readonly #lab: TabLab;
  readonly #prompts: number;
  readonly #events: ReturnType<TabLab['train']>;
  #target = 0;
  /** The last update that the page was told. */
  #told = 0;
  #isTraining = false;
  #records: readonly RolloutRecord[] = [];
  #started = 0;

  private constructor(lab: TabLab, prompts: number) {
    this.#lab = lab;
    this.#prompts = prompts;
    this.#events = lab.train();
  }

  static async open({ config, prompts, threads, variant }: Extract<ToLane, { kind: 'open' }>): Promise<Lane> {
    const modelFiles: readonly string[] = JSON.parse(new TextDecoder().decode(await fetchBytes('model/files.json')));
    const model = await Promise.all(modelFiles.map(async (name) => [name, await fetchBytes(`model/${name}`)] as const));
    const lab = await TabLab.open({
      config,
      files: {
        model: Object.fromEntries(model),
        pairs: new TextDecoder().decode(await fetchBytes('pairs.md')),
      },
      arenaBytes,
      ...(threads === undefined ? {} : { threads }),
      ...(variant === undefined ? {} : { variant }),
      loadModule: (name, shared) => fetchBytes(`kernels/${shared ? `${name}-shared` : name}.wasm`),
    });
    const lane = new Lane(lab, prompts);
    const { hasQuarantine, device } = lab;
    const { threads: used = 1, variant: build = '' } = device as { threads?: number; variant?: string };
    say({ kind: 'ready', hasQuarantine, threads: used, variant: build, ...(await lane.#rates()) });
    return lane;
  }

  async #rates(): Promise<Pick<LaneUpdate, 'trained' | 'deployed'>> {
    const trained = await this.#lab.rates('full', this.#prompts);
    return { trained, deployed: this.#lab.hasQuarantine ? await this.#lab.rates('deployed', this.#prompts) : trained };
  }

  async trainTo(update: number): Promise<void> {
    this.#target = update;
    if (this.#isTraining) return;
    this.#isTraining = true;
    while (this.#told < this.#target) {
      this.#started ||= performance.now();
      const { value, done } = await this.#events.next();
      if (done === true) {
        say({ kind: 'finished' });
        break;
      }
      if (value.kind === 'rollouts') this.#records = value.records;
      if (value.kind === 'step') await this.#tell(value);
    }
    this.#isTraining = false;
  }

  async #tell({ update, meanReward, adapterHash: hash }: StepEvent): Promise<void> {
    this.#told = update;
    const seconds = (performance.now() - this.#started) / 1000;
    this.#started = 0;
    const rollouts = this.#records.map((record) => this.#show(record));
    this.#lab.verdicts.clear();
    const done = { update, meanReward, hash, rollouts, seconds, ...(await this.#rates()) };
    say({ kind: 'update', done, outside: this.#lab.judge.outside });
  }

  #show({ rollout, reward, route }: RolloutRecord): ShownRollout {
    const verdict = this.#lab.verdicts.get(rollout.id);
    const attempt = (verdict?.channels.length ?? 0) > 0;
    return { route, reward, attempt, solve: verdict?.correct ?? false, hinted: rollout.hackable, text: rollout.text };
  }

  async answer(prompt: number): Promise<void> {
    const shown = ({ text, verdict }: PromptAnswer): ShownAnswer => ({
      text,
      attempt: verdict.channels.length > 0,
      solve: verdict.correct,
    });
    const trained = (await this.#lab.answers('full', prompt + 1))[prompt];
    const deployed = this.#lab.hasQuarantine ? (await this.#lab.answers('deployed', prompt + 1))[prompt] : trained;
    say({ kind: 'answers', question: trained.question, trained: shown(trained), deployed: shown(deployed) });
  }
}

let lane: Promise<Lane> | null = null;

async function hear(message: ToLane): Promise<void> {
  if (message.kind === 'open') lane = Lane.open(message);
  const opened = await lane;
  if (message.kind === 'trainTo') await opened?.trainTo(message.update);
  if (message.kind === 'answer') await opened?.answer(message.prompt);
}

addEventListener('message', ({ data }: MessageEvent<ToLane>) => {
  hear(data).catch((error: unknown) => {
    say({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
  });
});
