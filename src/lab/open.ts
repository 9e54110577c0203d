/**
 * The door of the lab: whatever works with a run, or with a config of which there is no run yet, opens it here. A lab's parts are
 * promises that open what they need when they are first asked for; closing the lab closes them all.
 */
import { deployedScaleOf, type InitialFactors } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { type Device, Scope } from '../engine/index.ts';
import type { Judge, Partition } from '../env/index.ts';
import type { ProblemSource } from '../env/sources/index.ts';
import { rowsTogether } from '../evaluate/index.ts';
import type { ArmDefinition, Policy, PolicyWork, Task } from '../grpo/index.ts';
import type { VerdictLedger } from '../oracle/index.ts';
import type { Shards } from '../parallel/index.ts';
import {
  checkedInitial,
  computeTable,
  loadAdapter,
  type Manifest,
  partitionOf,
  type RunConfig,
  RunDirectory,
  type RunIdentity,
  StartClock,
  trainingTasks,
} from '../run/index.ts';
import { drawStart, openAdapter } from './adapter.ts';
import { parseRunConfig, partsOf } from './config.ts';
import { deviceNames, openDevice } from './devices.ts';
import { expectIdentity, identityOf, pluginHash } from './identity.ts';
import { checkRank, withModelHint } from './input-checks.ts';
import { labelledHash } from './labelled.ts';
import { loadDecoder, type ModelFiles, type OpenModel, openFolder } from './model.ts';
import { OpenParts } from './open-parts.ts';
import type { GivenParts } from './pack.ts';
import { type OpenedPairs, openPairs } from './pairs.ts';
import { armOf, type Parts, sourceOf } from './parts.ts';
import { type OpenedProblems, openProblems, silent, startJudge, type Warn } from './problems.ts';
import { openShards } from './ranks.ts';
import { type Replacements, replacementNames } from './replacements.ts';
import { deviceOptions, openRunDevice, warmDevice } from './run-device.ts';
import { type Assembly, openTrainer } from './trainer.ts';

/** A run that was begun, or a config. */
export type LabSource = { readonly run: string | RunDirectory } | { readonly config: RunConfig };

export interface LabOptions extends Replacements {
  /** What a GPU must have room for; default: evaluation of a run, training of a config. Unplanned: it reserves what it does by default. */
  readonly work?: 'training' | 'evaluation' | 'unplanned';
  /** The device; default: the one of the config. */
  readonly device?: string | undefined;
  /** How training is divided among ranks; default: as the config says, in this process alone. */
  readonly ranks?: Shards;
  /** Ends what is being opened, with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Is given the notices of the parts, such as which problems are left out. */
  readonly warn?: Warn | undefined;
  /** What the caller does, in the words of errors; default: to open the run. */
  readonly call?: string;
  /** Most tokens of a prompt and its completion; default: as many as the config allows. */
  readonly context?: number;
  /** Tokens that prompts may be longer than those of the sets, for which a GPU has to have room; default: 0. */
  readonly longerBy?: number;
  /** The folder that a config is trained in; null: nothing is recorded. */
  readonly folder?: RunDirectory | null;
  /** The path of the stored initial values of the adapter; null: it is made. Default: the run's. */
  readonly initial?: string | null;
  /** The path of the demonstrations; default: the one of the config, or the run's own. */
  readonly pool?: string | null;
  /** Takes the verdicts of training; default: they are recorded nowhere. */
  readonly ledger?: () => VerdictLedger;
  readonly start?: StartClock;
  readonly given?: GivenParts & Partial<Pick<Lab, 'pairs'>>;
  /** Who computes for the policy; default: it is alone on its device. */
  readonly policyWork?: PolicyWork | undefined;
}

export async function openLab(source: LabSource, options: LabOptions = {}): Promise<Lab> {
  if (!('run' in source)) {
    const { config } = source;
    return new Lab(withDevice(config, options.device), await partsOf(config), null, { work: 'training', ...options });
  }
  const run = typeof source.run === 'string' ? RunDirectory.open(source.run) : source.run;
  const manifest = run.readManifest();
  const { work = 'evaluation', call = `open ${run.path}` } = options;
  const config = withDevice(await parseRunConfig(manifest.config), options.device);
  // Only an evaluation judges and samples by what may have been replaced.
  const names = work === 'evaluation' ? replacementNames(options) : {};
  expectIdentity(call, manifest, config, { plugins: pluginHash(config), ...names });
  return new Lab(config, await partsOf(config), { run, manifest }, { ...options, work, call });
}

interface StoredRun {
  readonly run: RunDirectory;
  readonly manifest: Manifest;
}

export class Lab implements AsyncDisposable {
  readonly config: RunConfig;
  /** All that the config can name. */
  readonly parts: Parts;
  readonly arm: ArmDefinition;
  readonly source: ProblemSource;
  readonly options: LabOptions;
  readonly warn: Warn;
  readonly ranks: Shards;
  /** The clock of the start, which is told each part. */
  readonly start: StartClock;
  readonly #stored: StoredRun | null;
  readonly #opening: OpenParts;

  constructor(config: RunConfig, parts: Parts, stored: StoredRun | null, options: LabOptions) {
    this.config = config;
    this.parts = parts;
    this.options = options;
    this.arm = armOf(config, parts);
    this.source = sourceOf(config, parts);
    this.warn = options.warn ?? silent;
    this.ranks = options.ranks ?? openShards(config);
    this.start = options.start ?? new StartClock();
    this.#stored = stored;
    this.#opening = new OpenParts(options.signal, (part) => this.start.done(part));
  }

  /** The run that was opened, or that is trained. */
  get run(): RunDirectory | null {
    return this.#stored?.run ?? this.options.folder ?? null;
  }

  /** Is aborted when a part has failed or was asked to end. */
  get signal(): AbortSignal {
    return this.#opening.signal;
  }

  use<Resource extends Disposable | AsyncDisposable>(resource: Resource): Resource {
    return this.#opening.use(resource);
  }

  /** Whether deployment deletes a block. */
  get hasQuarantine(): boolean {
    return this.#stored?.manifest.hasQuarantine ?? this.arm.quarantine;
  }

  /** The path of the demonstrations; null without any. */
  get pool(): string | null {
    const { pool, makeProblems } = this.config.teacher;
    if (this.options.pool !== undefined) return this.options.pool;
    return makeProblems === 0 || this.run === null ? pool : this.run.madePool;
  }

  get #initial(): string | null {
    if (this.options.initial !== undefined) return this.options.initial;
    return this.#stored === null ? null : checkedInitial(this.#stored.run);
  }

  /** The files of the model; its weights are not loaded yet. */
  get model(): Promise<ModelFiles> {
    const open = async (): Promise<ModelFiles> => {
      const files = await openFolder(this.config.model, this.config.environment.enableThinking, this);
      checkRank(this.config, files.folder.config);
      return files;
    };
    return this.#opening.part('model files', () => this.options.given?.model ?? open());
  }

  get judge(): Promise<Judge> {
    const { given, judge } = this.options;
    if (judge !== undefined) return Promise.resolve(judge);
    return this.#opening.part('judge', () => given?.judge ?? startJudge(this));
  }

  /** The problems by split, without those that cannot be used. */
  get problems(): Promise<OpenedProblems> {
    return this.#opening.part('problems', () => this.options.given?.problems ?? openProblems(this));
  }

  get partition(): Promise<Partition> {
    return this.#opening.part('loopholes', async () =>
      partitionOf(this.config, (await this.problems).splits, this.parts.loopholes),
    );
  }

  get pairs(): Promise<OpenedPairs> {
    const open = async (): Promise<OpenedPairs> => {
      const { text } = await this.model;
      return withModelHint(this.config, () => openPairs(this.config, text));
    };
    return this.#opening.part('pairs', () => this.options.given?.pairs ?? open());
  }

  /** The training problems as tasks for the policy. */
  get tasks(): Promise<readonly Task[]> {
    return this.#opening.part('tasks', async () =>
      this.#tasksOf((await this.problems).splits.train, this.arm.loopholes),
    );
  }

  async #tasksOf(problems: Parameters<typeof trainingTasks>[1], loopholes: 'open' | 'closed'): Promise<Task[]> {
    const [{ text }, partition] = await Promise.all([this.model, this.partition]);
    const words = { text, loopholes: this.parts.loopholes };
    return withModelHint(this.config, async () => trainingTasks(this.config, problems, partition, words, loopholes));
  }

  /** The models that the arm opens beside the policy, by the names that the config has for them; only training opens them. */
  get armModels(): Promise<ReadonlyMap<string, ModelFiles>> {
    return this.#opening.part('models of the arm', async () => {
      const names = this.options.work === 'training' ? this.arm.models(this.armSettings) : [];
      const others = names.filter((name) => name !== 'base');
      return new Map(
        await Promise.all(others.map(async (name) => [name, await openFolder(name, false, this)] as const)),
      );
    });
  }

  /** Hashes of the runs that the arm learns from, by their paths; only training reads them. */
  get armRuns(): Promise<ReadonlyMap<string, string>> {
    return this.#opening.part('runs of the arm', async () => {
      const paths = this.options.work === 'training' ? this.arm.runs(this.armSettings) : [];
      return new Map(await Promise.all(paths.map(async (path) => [path, await labelledHash(path)] as const)));
    });
  }

  get armSettings(): Readonly<Record<string, unknown>> {
    const { kind: _kind, ...settings } = this.config.arm;
    return settings;
  }

  get identity(): Promise<RunIdentity> {
    return this.#opening.part('identity', () => identityOf(this));
  }

  /** Refuses a run whose inputs have changed since it began. The caller may compute on another device than the run was trained on. */
  get unchanged(): Promise<void> {
    return this.#opening.part('unchanged inputs', async () => {
      if (this.#stored === null) return;
      const {
        config: _config,
        judge: _judge,
        sampler: _sampler,
        armModels: _models,
        armRuns: _runs,
        ...files
      } = await this.identity;
      expectIdentity(this.options.call ?? '', this.#stored.manifest, this.config, files);
    });
  }

  get device(): Promise<Device> {
    const open = async (): Promise<Device> => this.use(await this.#openDevice());
    return this.#opening.part('device', () => this.options.given?.device ?? open());
  }

  async #openDevice(): Promise<Device> {
    const { config } = this;
    const { work, longerBy = 0 } = this.options;
    if (work === 'unplanned') return openDevice(config.device.kind, deviceOptions(config));
    const warming = work === 'training' ? warmDevice(config, this) : null;
    const [{ folder, text }] = await Promise.all([this.model, this.unchanged, warming]);
    if (work === 'evaluation') {
      const everything = async () => Object.values((await this.problems).splits).flat();
      const tasks = async () =>
        (await this.#tasksOf(await everything(), 'open')).map((task) => lengthen(task, longerBy));
      return openRunDevice(config, { decoder: folder.config, tasks, work: { rowsTogether }, show: () => undefined });
    }
    const known = [...(await this.armModels), ['base', { folder, text }] as const];
    const models = new Map(known.map(([name, each]) => [name, { decoder: each.folder.config, text: each.text }]));
    const show = (message: string) => this.warn({ kind: 'info', name: 'memory-plan', message });
    return openRunDevice(config, { decoder: folder.config, tasks: () => this.tasks, work: 'training', models, show });
  }

  /** The frozen model on its device. */
  get weights(): Promise<OpenModel> {
    return this.#opening.part('weights', async () => {
      const given = await this.options.given?.weights;
      // Weights may be another lab's; what is made beside them is this one's.
      if (given !== undefined) return { ...given, scope: this.use(new Scope(given.scope.device)) };
      const [files, device] = await Promise.all([this.model, this.device]);
      const scope = this.use(new Scope(device));
      const { maxPromptTokens, maxNewTokens } = this.config.sampling;
      const { context = maxPromptTokens + maxNewTokens } = this.options;
      return { ...files, scope, decoder: await loadDecoder(scope, files, context) };
    });
  }

  /** Random factors of the adapter, which need no weights; null where it has others. */
  get #factors(): Promise<ReadonlyMap<string, InitialFactors> | null> {
    return this.#opening.part('random factors', async () => {
      if (this.#initial !== null) return null;
      const [{ folder }, device] = await Promise.all([this.model, this.device]);
      return drawStart(this, device, folder.config);
    });
  }

  /** The model with its adapter, as it is before the first update. */
  get policy(): Promise<Policy> {
    return this.#opening.part('adapter', async () => {
      const [model, drawn] = await Promise.all([this.weights, this.#factors]);
      const adapter = await openAdapter(this, model, { initial: this.#initial, drawn });
      const { recompute } = computeTable(this.config);
      const { policyWork: work } = this.options;
      const deployedScale = deployedScaleOf(this.hasQuarantine);
      return { decoder: model.decoder, adapter, deployedScale, recompute, ...(work === undefined ? {} : { work }) };
    });
  }

  /** The policy after an update of the run: its adapter is given the values of that checkpoint. */
  async at(update: number): Promise<Policy> {
    if (this.#stored === null) throw new RangeError('a config has no checkpoints');
    const policy = await this.policy;
    policy.adapter.load(await loadAdapter(this.#stored.run, update));
    return policy;
  }

  /** What trains the config, or the run that was opened. */
  get trainer(): Promise<Assembly> {
    return this.#opening.part('arm', () => openTrainer(this));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opening[Symbol.asyncDispose]();
  }
}

/** The task with a longer prompt, to plan memory for. */
function lengthen(task: Task, by: number): Task {
  return by === 0 ? task : { ...task, hinted: new Int32Array(task.hinted.length + by) };
}

const kinds = ['wasm', 'reference', 'cuda'] as const;

/** The config with another device, by its name; as it is without one. */
function withDevice(config: RunConfig, name: string | undefined): RunConfig {
  if (name === undefined) return config;
  const kind = kinds.find((each) => each === name);
  if (kind === undefined) throw new UserError({ call: '--device', expected: deviceNames.join(' or '), found: name });
  return { ...config, device: { ...config.device, kind } };
}
