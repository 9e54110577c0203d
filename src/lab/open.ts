/** The door of the lab: parts are promises that open what they need when first asked for; closing it closes all. */
import type { InitialFactors } from '../adapters/index.ts';
import type { Device } from '../engine/index.ts';
import type { Judge, Partition } from '../env/index.ts';
import type { ProblemSource } from '../env/sources/index.ts';
import type { ArmDefinition, Policy, PolicyWork, Task } from '../grpo/index.ts';
import type { VerdictLedger } from '../oracle/index.ts';
import type { Shards } from '../parallel/index.ts';
import { loadAdapter } from '../run/checkpoint.ts';
import type { Manifest, RunConfig, RunIdentity } from '../run/index.ts';
import { checkedInitial, RunDirectory, StartClock } from '../run/index.ts';
import { drawStart, policyAtStart } from './adapter.ts';
import { parseRunConfig, partsOf } from './config.ts';
import { openLabDevice, withDevice } from './device.ts';
import { expectIdentity, expectUnchanged, identityOf, pluginHash } from './identity.ts';
import { type Replacements, replacementNames, startJudge } from './judge.ts';
import { hashArmRuns } from './labels.ts';
import { type ModelFiles, type OpenModel, openArmModels, openModel, openWeights } from './model.ts';
import { OpenParts, type Warn } from './open-parts.ts';
import { type OpenedPairs, openPairs } from './pairs.ts';
import { armOf, type Parts, sourceOf } from './parts.ts';
import { dealLoopholes, openProblems, tasksOf } from './problems.ts';
import { openShards } from './ranks.ts';
import { type Assembly, openTrainer } from './trainer.ts';

export type LabSource = { readonly run: string | RunDirectory } | { readonly config: RunConfig };

export interface LabOptions extends Replacements {
  /** What a GPU must have room for; default: evaluation of a run, training of a config. Unplanned: it reserves what it does by default. */
  readonly work?: 'training' | 'evaluation' | 'unplanned';
  /** The memory in MiB that the device of unplanned work must have; null: whatever there is. */
  readonly neededMiB?: number | null;
  /** The device; default: the one of the config. */
  readonly device?: string;
  /** How training is divided among ranks; default: as the config says, in this process alone. */
  readonly ranks?: Shards;
  /** Ends what is being opened, with its reason. */
  readonly signal?: AbortSignal;
  /** Is given the notices of the parts, such as which problems are left out. */
  readonly warn?: Warn;
  /** What the caller does, in the words of errors; default: to open the run. */
  readonly call?: string;
  /** Most tokens of a prompt and its completion; default: as many as the config allows. */
  readonly context?: number;
  /** Tokens that prompts may be longer than those of the sets, for which a GPU has to have room; default: 0. */
  readonly longerBy?: number;
  /** Rows of an evaluation that decode together; default: as many as always. */
  readonly batch?: number | undefined;
  /** Whether its device computes for one run alone, for runs that began so. */
  readonly apart?: boolean;
  /** The folder that a config is trained in; null: nothing is recorded. */
  readonly folder?: RunDirectory | null;
  /** The path of the stored initial values of the adapter; null: it is made. Default: the run's. */
  readonly initial?: string | null;
  /** The path of the demonstrations; default: the one of the config, or the run's own. */
  readonly pool?: string | null;
  /** Takes the verdicts of training; default: they are recorded nowhere. */
  readonly ledger?: () => VerdictLedger;
  readonly start?: StartClock;
  readonly given?: GivenParts;
  /** Who computes for the policy; default: it is alone on its device. */
  readonly policyWork?: PolicyWork;
}

/** Parts that another lab has opened, and closes. */
export type GivenParts = Partial<Pick<Lab, 'model' | 'judge' | 'problems' | 'pairs' | 'device' | 'weights'>>;

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
  return new Lab(config, await partsOf(config), manifest, { ...options, folder: run, work, call });
}

export class Lab implements AsyncDisposable {
  readonly config: RunConfig;
  readonly parts: Parts;
  readonly arm: ArmDefinition;
  readonly armSettings: Readonly<Record<string, unknown>>;
  readonly source: ProblemSource;
  readonly options: LabOptions;
  readonly warn: Warn;
  readonly ranks: Shards;
  /** The run that was opened, or that is trained. */
  readonly run: RunDirectory | null;
  readonly manifest: Manifest | null;
  readonly hasQuarantine: boolean;
  readonly pool: string | null;
  readonly start: StartClock;
  readonly #opening: OpenParts;

  constructor(config: RunConfig, parts: Parts, begun: Manifest | null, options: LabOptions) {
    this.config = config;
    this.parts = parts;
    this.options = options;
    this.arm = armOf(config, parts);
    const { kind: _kind, ...settings } = config.arm;
    this.armSettings = settings;
    this.source = sourceOf(config, parts);
    this.warn = options.warn ?? (() => undefined);
    this.ranks = options.ranks ?? openShards(config);
    this.run = options.folder ?? null;
    this.manifest = begun;
    this.hasQuarantine = begun?.hasQuarantine ?? this.arm.quarantine(settings);
    const { pool, makeProblems } = config.teacher;
    const named = makeProblems === 0 || this.run === null ? pool : this.run.madePool;
    this.pool = options.pool === undefined ? named : options.pool;
    this.start = options.start ?? new StartClock();
    this.#opening = new OpenParts(options.signal, (part) => this.start.done(part));
  }

  get signal(): AbortSignal {
    return this.#opening.signal;
  }

  use<Resource extends Disposable | AsyncDisposable>(resource: Resource): Resource {
    return this.#opening.use(resource);
  }

  #part<Part>(
    name: string,
    open: (lab: Lab) => Promise<Part>,
    find: (given: GivenParts) => Promise<Part> | undefined = () => undefined,
  ): Promise<Part> {
    return this.#opening.part(name, () => find(this.options.given ?? {}) ?? open(this));
  }

  /** A part that another lab has opened. What an environment outside says is kept by the run that asked it, and shared with none. */
  #shared<Key extends 'judge' | 'problems'>(key: Key): (given: GivenParts) => GivenParts[Key] {
    const isOutside = (this.source.texts?.outside ?? null) !== null;
    return (given) => (isOutside ? undefined : given[key]);
  }

  get model(): Promise<ModelFiles> {
    return this.#part('model files', openModel, ({ model }) => model);
  }

  get judge(): Promise<Judge> {
    const { judge } = this.options;
    return judge === undefined ? this.#part('judge', startJudge, this.#shared('judge')) : Promise.resolve(judge);
  }

  get problems(): ReturnType<typeof openProblems> {
    return this.#part('problems', openProblems, this.#shared('problems'));
  }

  get partition(): Promise<Partition> {
    return this.#part('loopholes', dealLoopholes);
  }

  get pairs(): Promise<OpenedPairs> {
    return this.#part('pairs', openPairs, ({ pairs }) => pairs);
  }

  get tasks(): Promise<readonly Task[]> {
    return this.#part('tasks', async (lab) => tasksOf(lab, (await lab.problems).splits.train, lab.arm.loopholes));
  }

  get armModels(): Promise<ReadonlyMap<string, ModelFiles>> {
    return this.#part('models of the arm', openArmModels);
  }

  get armRuns(): Promise<ReadonlyMap<string, string>> {
    return this.#part('runs of the arm', hashArmRuns);
  }

  get identity(): Promise<RunIdentity> {
    return this.#part('identity', identityOf);
  }

  get unchanged(): Promise<void> {
    return this.#part('unchanged inputs', expectUnchanged);
  }

  get device(): Promise<Device> {
    return this.#part('device', openLabDevice, ({ device }) => device);
  }

  get weights(): Promise<OpenModel> {
    return this.#part('weights', openWeights);
  }

  get initial(): string | null {
    if (this.options.initial !== undefined) return this.options.initial;
    return this.manifest === null || this.run === null ? null : checkedInitial(this.run);
  }

  get factors(): Promise<ReadonlyMap<string, InitialFactors> | null> {
    return this.#part('random factors', async (lab) => (lab.initial === null ? drawStart(lab) : null));
  }

  get policy(): Promise<Policy> {
    return this.#part('adapter', policyAtStart);
  }

  /** The policy after an update of the run: its adapter is given the values of that checkpoint. */
  async at(update: number): Promise<Policy> {
    if (this.manifest === null || this.run === null) throw new RangeError('a config has no checkpoints');
    const policy = await this.policy;
    policy.adapter.load(await loadAdapter(this.run, update));
    return policy;
  }

  get trainer(): Promise<Assembly> {
    return this.#part('arm', openTrainer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opening[Symbol.asyncDispose]();
  }
}
