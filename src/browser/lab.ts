/**
 * The lab in a page: the trainer of the command line with the micro model, the embedded device and the interpreter, from files that the page
 * has fetched. Everything that decides a run's bytes is the same code; what a page cannot have (other models, pools, judges, plugins, other
 * runs) is refused by name.
 */
import { type Adapter, createAdapter, deployedScaleOf } from '../adapters/index.ts';
import { builtinStarts } from '../adapters/starts/registry.ts';
import { provideFile, withdrawFolder } from '../base/browser/index.ts';
import { randomStream, UserError } from '../base/index.ts';
import { AdamW, type Device, Scope } from '../engine/index.ts';
import { createWasmDevice, type LoadModule, type Variant } from '../engine/wasm/index.ts';
import { createWebgpuDevice } from '../engine/webgpu/index.ts';
import { createGrader } from '../env/grader.ts';
import { InterpreterJudge } from '../env/interpreter/judge.ts';
import type { Submission } from '../env/judge.ts';
import { builtinLoopholes } from '../env/loopholes/registry.ts';
import { parsePairsMarkdown } from '../env/pairs/markdown.ts';
import { requirePairs } from '../env/pairs/pair.ts';
import { selectPairs } from '../env/pairs/select.ts';
import { tokenizePairs } from '../env/pairs/tokenize.ts';
import { microSource } from '../env/sources/micro.ts';
import type { Verdict } from '../env/verdict.ts';
import { blindArms } from '../grpo/arms/registry.ts';
import {
  type ArmDefinition,
  type ArmTools,
  adapterHash,
  openArm,
  type Policy,
  policySampler,
  samplingSettings,
  steerPolicy,
  type Task,
  type TrainEvent,
  type Trainer,
} from '../grpo/index.ts';
import { assembleTrainer, trainedFacts } from '../lab/assemble.ts';
import { Decoder, loadWeights, ModelFolder, type ModelText, modelText } from '../model/index.ts';
import { chanceMonitor } from '../monitors/chance.ts';
import { builtinCuts } from '../monitors/cuts.ts';
import { directionMonitor } from '../monitors/direction.ts';
import { watchedArms } from '../monitors/kinds.ts';
import { regexMonitor } from '../monitors/regex.ts';
import { builtinRemedies } from '../monitors/registry.ts';
import { labelsOf, oracleArm, oracleMonitor } from '../oracle/labels.ts';
import { Shards } from '../parallel/shards.ts';
import { grpoSettings } from '../run/config/settings.ts';
import type { RunConfig } from '../run/index.ts';
import { PhaseClock } from '../run/sink.ts';
import { assertPromptsFit, instructedPrompt, partitionOf, readableInstruction, trainingTasks } from '../run/tasks.ts';
import { filesOfRun, type ManifestFrame, type Pieces, piecesOf } from './record.ts';

/** Numbers the folders under which the page provides the files of a model. */
let modelFolders = 0;

export interface TabFiles {
  /** The files of the micro model, by their names. */
  readonly model: Readonly<Record<string, Uint8Array>>;
  /** The pairs of the micro problems, as Markdown. */
  readonly pairs: string;
}

export interface TabOptions {
  readonly config: RunConfig;
  readonly files: TabFiles;
  readonly threads?: number;
  readonly variant?: Variant;
  readonly arenaBytes?: number;
  readonly loadModule?: LoadModule;
}

/** Attempts and solves of held-out prompts with their hints, in one state of the policy. */
export interface Rates {
  readonly prompts: number;
  readonly attempts: number;
  readonly cleanSolves: number;
}

export function ratesOf(answers: readonly PromptAnswer[]): Rates {
  const attempts = answers.filter(({ verdict }) => verdict.channels.length > 0);
  const cleanSolves = answers.filter(({ verdict }) => verdict.correct && verdict.channels.length === 0);
  return { prompts: answers.length, attempts: attempts.length, cleanSolves: cleanSolves.length };
}

/** A state of the policy: with its quarantine, or as it would be deployed. */
type TabState = 'full' | 'deployed';

export interface PromptAnswer {
  /** The prompt as a reader sees it. */
  readonly question: string;
  readonly text: string;
  readonly verdict: Verdict;
}

const arms: readonly ArmDefinition[] = [
  ...blindArms,
  oracleArm,
  ...watchedArms({
    monitors: [directionMonitor, chanceMonitor, regexMonitor, oracleMonitor],
    cuts: builtinCuts,
    remedies: builtinRemedies,
  }),
];

function refuse(what: string): never {
  throw new UserError({ call: 'the lab in a page', expected: 'what a page can do', found: what });
}

export class TabLab implements Disposable {
  /** What the grader said of the rollouts of this update, by their ids: for the page, and for an arm that says it uses labels. */
  readonly verdicts = new Map<string, Verdict>();
  readonly hasQuarantine: boolean;
  readonly device: Device;
  readonly trainer: Trainer;
  readonly policy: Policy;
  readonly judge: InterpreterJudge;
  readonly #text: ModelText;
  readonly #config: RunConfig;
  readonly #heldOut: readonly Task[];
  readonly #resources: readonly Disposable[];
  readonly #facts: OpenTab['facts'];
  /** The last answer to each prompt in each state: what is written again is not judged again. */
  readonly #answers = new Map<string, PromptAnswer>();
  readonly #clock: PhaseClock;
  #events: TrainEvent[] = [];

  private constructor(parts: OpenTab) {
    this.verdicts = parts.verdicts;
    this.hasQuarantine = parts.policy.deployedScale === 0;
    this.device = parts.device;
    this.trainer = parts.trainer;
    this.policy = parts.policy;
    this.judge = parts.judge;
    this.#text = parts.text;
    this.#config = parts.config;
    this.#heldOut = parts.heldOut;
    this.#resources = parts.resources;
    this.#facts = parts.facts;
    this.#clock = parts.clock;
  }

  static async open(options: TabOptions): Promise<TabLab> {
    return new TabLab(await openTab(options));
  }

  async *train(): AsyncGenerator<TrainEvent, void, void> {
    for await (const event of this.trainer.train()) {
      this.#events.push(event);
      yield event;
      // What the page did between two updates is no part of either.
      if (event.kind === 'step') this.#clock.take();
    }
  }

  /** What the run's files gain by the events and verdicts since it was last asked; both are forgotten. */
  takePieces(): Pieces {
    const { storeTokens } = this.#config.output;
    const promptText = (tokens: Int32Array): string => this.#text.show(tokens);
    const stored = { storeTokens, promptText };
    const pieces = piecesOf(this.#events, this.verdicts.values(), this.#clock.take(), stored);
    this.#events = [];
    this.verdicts.clear();
    return pieces;
  }

  /** The run as the command line would have left it after as many updates, had it been interrupted there. */
  async files(frame: ManifestFrame, name: string, pieces: readonly Pieces[]): Promise<ReadonlyMap<string, Uint8Array>> {
    const [state, initial] = [await this.trainer.state(), await this.trainer.initialValues()];
    return filesOfRun({ frame, name, config: this.#config, facts: this.#facts, state, initial, pieces });
  }

  hash(): Promise<string> {
    return adapterHash(this.policy);
  }

  /** What answers to the held-out prompts are judged by. */
  asked(prompts: number): readonly Pick<Submission, 'problem' | 'loophole' | 'markers'>[] {
    const { markers } = this.#config.environment;
    return this.#heldOut.slice(0, prompts).map(({ problem, loophole }) => ({ problem, loophole, markers }));
  }

  /** Answers to held-out prompts with their hints in some states, with the quarantine or without it: those of all states are written together. */
  async answers(states: readonly TabState[], prompts: number): Promise<readonly (readonly PromptAnswer[])[]> {
    const { seed, sampling } = this.#config;
    const [tasks, asked] = [this.#heldOut.slice(0, prompts), this.asked(prompts)];
    const requests = states.flatMap((state) => tasks.map(({ hinted }, row) => ({ prompt: hinted, row, state })));
    const sampler = policySampler(this.policy, grpoSettings(this.#config).compute);
    const stream = randomStream(seed, 'page');
    const made = await sampler.sample(requests, samplingSettings(sampling, this.#text.stopTokens), stream);
    const answer = async (state: TabState, row: number, tokens: Int32Array): Promise<PromptAnswer> => {
      const id = `${state} ${row}`;
      const text = this.#text.decode(tokens);
      const before = this.#answers.get(id);
      if (before?.text === text) return before;
      const question = before?.question ?? this.#text.show(tasks[row].hinted);
      const made = { question, text, verdict: await this.judge.judge({ ...asked[row], id, completion: text }) };
      this.#answers.set(id, made);
      return made;
    };
    return Promise.all(
      states.map((state, i) =>
        Promise.all(tasks.map((_, row) => answer(state, row, made[i * tasks.length + row].tokens))),
      ),
    );
  }

  [Symbol.dispose](): void {
    for (const resource of [...this.#resources].reverse()) resource[Symbol.dispose]();
  }
}

interface OpenTab {
  readonly config: RunConfig;
  readonly device: Device;
  readonly trainer: Trainer;
  readonly policy: Policy;
  readonly text: ModelText;
  readonly judge: InterpreterJudge;
  readonly heldOut: readonly Task[];
  readonly verdicts: Map<string, Verdict>;
  readonly resources: readonly Disposable[];
  readonly clock: PhaseClock;
  readonly facts: Parameters<typeof filesOfRun>[0]['facts'];
}

async function openTab({ config, files, loadModule, ...computing }: TabOptions): Promise<OpenTab> {
  const { data, environment, teacher, parallel, output, plugins } = config;
  if (data.kind !== 'micro' || config.pairs.file !== null) refuse('problems or pairs of one’s own');
  if (teacher.pool !== null || teacher.makeProblems > 0 || parallel.shards > 0) refuse('a pool, or several ranks');
  if ((config.sampler?.url ?? null) !== null) refuse('a server that samples');
  if (output.storeFeatures || plugins.length > 0) refuse('stored features, or plugins');
  const device = await openDevice(config, { ...computing, loadModule });
  const scope = new Scope(device);
  const { decoder, text } = await openMicroModel(scope, config, files.model);
  const { kind, ...armSettings } = config.arm;
  const definition = arms.find((arm) => arm.kind === kind) ?? refuse(`the arm ${kind}`);
  if (definition.runs(armSettings).length > 0) refuse('a monitor that learns from another run');
  const words = { text, loopholes: builtinLoopholes, inWords: microSource.asksInWords };
  const { kind: _data, ...problemSettings } = data;
  const { splits } = await microSource.load(problemSettings);
  const partition = await partitionOf({ environment }, splits, builtinLoopholes);
  const tasks = trainingTasks(config, splits.train, partition, words, definition.loopholes);
  assertPromptsFit(tasks, config.sampling, decoder.config);
  const heldOut = trainingTasks(config, splits.test, partition, words, definition.loopholes);
  const pairs = pairsOf(config, files.pairs, text);
  const { family, rank, targets } = config.adapter;
  const adapter = await createAdapter(scope, decoder, {
    family,
    rank,
    targets,
    seed: config.seed,
    starts: builtinStarts,
  });
  const settings = grpoSettings(config);
  const unsteered: Policy = {
    ...{ decoder, adapter, recompute: settings.compute.recompute },
    deployedScale: deployedScaleOf(definition.quarantine(armSettings)),
  };
  const armScope = new Scope(device);
  const verdicts = new Map<string, Verdict>();
  const of = (id: string): Verdict => verdicts.get(id) ?? refuse(`no verdict of rollout ${id}`);
  const usesLabels = definition.usesLabels(armSettings);
  const labels = usesLabels ? labelsOf({ of }, builtinLoopholes) : null;
  const tools = toolsOf(config, { policy: unsteered, pairs, scope: armScope, labels, words });
  const arm = await openArm(definition, armSettings, tools);
  const policy = steerPolicy(unsteered, arm);
  const judge = new InterpreterJudge();
  const clock = new PhaseClock();
  const optimiser = new AdamW((adapter as Adapter).parameters);
  const trainer = assembleTrainer({
    ...{ config, policy, arm, tasks, pairs, text, optimiser, pool: null, shards: Shards.alone },
    sampler: policySampler(policy, settings.compute),
    grader: createGrader(judge, { append: (verdict) => void verdicts.set(verdict.id, verdict) }),
    enter: (phase) => clock.enter(phase),
  });
  const resources = [device, scope, armScope, optimiser];
  const usesOracle = usesLabels || config.notes.thresholds === 'labels';
  const facts = { ...trainedFacts(definition, armSettings, arm.sees, device), usesOracle };
  return { config, device, trainer, policy, text, judge, heldOut, verdicts, resources, clock, facts };
}

/** The embedded device, or the browser's GPU where the config asks for it. */
async function openDevice(
  { device: { kind } }: RunConfig,
  { loadModule, ...computing }: Omit<TabOptions, 'config' | 'files'>,
): Promise<Device> {
  if (kind === 'webgpu') return createWebgpuDevice(computing);
  if (kind !== 'wasm') refuse(`the device ${kind}`);
  return createWasmDevice({ ...computing, ...(loadModule === undefined ? {} : { loadModule }) });
}

async function openMicroModel(scope: Scope, { sampling, environment }: RunConfig, files: TabFiles['model']) {
  // A folder of its own: labs may be opened side by side.
  const path = `model-${modelFolders++}`;
  for (const [name, bytes] of Object.entries(files)) provideFile(`${path}/${name}`, bytes);
  await using folder = await ModelFolder.open(path);
  const maxPositions = Math.min(folder.config.maxPositions, sampling.maxPromptTokens + sampling.maxNewTokens);
  const weights = loadWeights(folder.weights, folder.config, { as: 'float32', finite: false });
  const decoder = await Decoder.load(scope, folder.config, weights, { maxPositions });
  // The weights are on the device now.
  withdrawFolder(path);
  return { decoder, text: modelText(folder, environment.enableThinking) };
}

function pairsOf({ pairs: { select } }: RunConfig, markdown: string, text: ModelText) {
  return tokenizePairs(selectPairs(requirePairs(parsePairsMarkdown(markdown, 'micro.md')), select), {
    prompt: (prompt) => text.prompt(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt),
    completion: (completion) => text.completion(completion),
  });
}

interface TabTools extends Pick<ArmTools, 'policy' | 'pairs' | 'scope' | 'labels'> {
  readonly words: Parameters<typeof instructedPrompt>[2] & Parameters<typeof readableInstruction>[2];
}

function toolsOf(config: RunConfig, { policy, pairs, scope, labels, words }: TabTools): ArmTools {
  return {
    ...{ policy, pairs, scope, labels, seed: config.seed, labelled: null, folder: null },
    tokensPerPass: grpoSettings(config).compute.tokensPerPass,
    demonstrations: { pool: [], pairs: pairs.map(({ prompt, hack: tokens }, group) => ({ group, prompt, tokens })) },
    countBait: async () => refuse('a count of completions that take the bait'),
    soundReward: async () => refuse('the reward of held-out prompts'),
    tell: async () => undefined,
    writePairs: async () => refuse('pairs that the policy writes'),
    tokenize: (messages) => words.text.prompt(messages),
    instruct: (given, place, key) => {
      const instruction = readableInstruction(given, place, words, `config, key ${key}`);
      return (asked) => instructedPrompt(asked, instruction, words);
    },
    openModel: async (name) => refuse(`the model ${name}`),
  };
}
