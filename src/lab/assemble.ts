/**
 * The composition root of training: from a config to a trainer, with everything it needs built once and closed once. The
 * grader is given the writing half of the verdict ledger; only the oracle arm is given the reading half.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Adapter, TokenPair } from '../adapters/index.ts';
import {
  createAdapter,
  findStart,
  pairInputDifferences,
  readCheckpoint,
  restoreStart,
  targetModules,
} from '../adapters/index.ts';
import { cacheFolder, sha256File } from '../base/index.ts';
import { AdamW, type Device, Scope } from '../engine/index.ts';
import type { Judge, Problem } from '../env/index.ts';
import { checkProblems, createGrader, importPool, loadProblems, type PoolEntry, SandboxJudge } from '../env/index.ts';
import { framePrompts, loadPairs } from '../env/pairs/index.ts';
import { Sandbox } from '../env/sandbox/index.ts';
import { rowsTogether } from '../evaluate/index.ts';
import type { DemonstrationPool, Policy, Router, StepContext, Task } from '../grpo/index.ts';
import { generatePairs, Trainer } from '../grpo/index.ts';
import { Decoder, loadWeights, ModelFolder, type ModelText, modelText } from '../model/index.ts';
import { oracleRouter, type VerdictLedger } from '../oracle/index.ts';
import type { Notice, RunConfig } from '../run/index.ts';
import {
  assertPromptsFit,
  blindRouter,
  deployedScale,
  grpoSettings,
  PhaseClock,
  paceOf,
  partitionOf,
  type RunDirectory,
  type Splits,
  splitProblems,
  trainingTasks,
} from '../run/index.ts';
import { coresLimit } from './cores.ts';
import { openDevice } from './devices.ts';
import { deviceOptions, openRunDevice } from './run-device.ts';

/** What is open, closed in the opposite order. */
export class Resources implements AsyncDisposable {
  readonly #closers: (() => unknown)[] = [];

  use<T extends Disposable | AsyncDisposable>(resource: T): T {
    this.#closers.push(() =>
      Symbol.asyncDispose in resource ? resource[Symbol.asyncDispose]() : resource[Symbol.dispose](),
    );
    return resource;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }
}

export function modelDirectory(model: string): string {
  return model === 'micro' ? fileURLToPath(new URL('../../models/micro', import.meta.url)) : model;
}

/** A model as its files describe it, and the device it will live on: nothing heavy is loaded yet. */
export interface ModelFiles {
  readonly device: Device;
  readonly folder: ModelFolder;
  readonly text: ModelText;
  readonly hash: string;
}

/** The frozen model on its device. */
export interface OpenModel extends ModelFiles {
  readonly scope: Scope;
  readonly decoder: Decoder;
}

/** The files of a model, checked and hashed. */
async function openFolder(config: RunConfig, resources: Resources): Promise<Omit<ModelFiles, 'device'>> {
  const folder = resources.use(await ModelFolder.open(modelDirectory(config.model)));
  const hashes = await Promise.all(folder.weights.files.map(({ path }) => sha256File(path)));
  return { folder, text: modelText(folder, config.environment.enableThinking), hash: hashes.join(' ') };
}

async function loadModel({ sampling }: RunConfig, files: ModelFiles, resources: Resources): Promise<OpenModel> {
  const { device, folder } = files;
  const scope = resources.use(new Scope(device));
  const as = device.floats[0] === 'f32' ? 'float32' : 'stored';
  const maxPositions = Math.min(folder.config.maxPositions, sampling.maxPromptTokens + sampling.maxNewTokens);
  const weights = loadWeights(folder.weights, folder.config, { as });
  return { ...files, scope, decoder: await Decoder.load(scope, folder.config, weights, { maxPositions }) };
}

/** With `tasks`, on a device with as much memory as evaluating them needs; without, with as much as it takes by itself. */
export async function openModel(
  config: RunConfig,
  resources: Resources,
  tasks?: (text: ModelText) => Promise<readonly Task[]>,
): Promise<OpenModel> {
  const files = await openFolder(config, resources);
  const open = () =>
    tasks === undefined
      ? openDevice(config.device.kind, deviceOptions(config))
      : openRunDevice(config, {
          decoder: files.folder.config,
          tasks: () => tasks(files.text),
          work: { rowsTogether },
          show: () => undefined,
        });
  const device = resources.use(await open());
  return loadModel(config, { ...files, device }, resources);
}

/** The sandboxed judge of programs. */
export async function openJudge({ environment }: RunConfig, resources: Resources): Promise<Judge> {
  const cores = coresLimit();
  const sandbox = await Sandbox.start({
    ...(cores === null ? {} : { workers: 2 * cores }),
    ...(environment.python === null ? {} : { python: environment.python }),
    ...(environment.sandbox === 'strict' ? { strictLevel: 1 as const } : {}),
  });
  return new SandboxJudge(resources.use(sandbox));
}

/** Is told what was left out, and why. */
export type Warn = (notice: Notice) => void | Promise<void>;
const silent: Warn = () => undefined;

export async function openProblems(config: RunConfig, judge: Judge, warn: Warn = silent): Promise<Splits> {
  if (config.data.kind === 'micro') return splitProblems(config, []);
  const { sound, unsound } = await checkProblems(await loadProblems(config.data.path), judge);
  for (const { id, reason } of unsound) {
    const message = `problem ${id} is left out: ${reason}`;
    await warn({ kind: 'warning', name: 'problem-left-out', message, detail: { problem: id, reason } });
  }
  return splitProblems(config, sound);
}

/** The file, or the shipped set, that a config means. */
export function pairSetOf({ pairs, data }: RunConfig): string {
  return pairs.file ?? (data.kind === 'micro' ? 'micro' : 'hack');
}

export async function openPairs(config: RunConfig, text: ModelText): Promise<{ pairs: TokenPair[]; hash: string }> {
  const { pairs, hash } = await loadPairs(pairSetOf(config), config.pairs.select);
  const tokens = pairs.map(({ prompt, hack, clean }) => ({
    prompt: text.prompt(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt),
    hack: text.completion(hack),
    clean: text.completion(clean),
  }));
  return { pairs: tokens, hash };
}

/** The adapter's tensors in the last checkpoint of a run that has one. */
export function lastAdapter(run: RunDirectory): string | null {
  const last = run.checkpoints.at(-1);
  return last === undefined ? null : join(run.checkpoint(last), 'adapter.safetensors');
}

/** The adapter at its start. A start that costs singular vectors takes its factors from `stored`, a checkpoint of the same run. */
export async function openAdapter(
  config: RunConfig,
  model: OpenModel,
  pairs: readonly TokenPair[],
  stored: string | null = null,
): Promise<Adapter> {
  const { family, rank, targets } = config.adapter;
  const modules = targetModules(model.decoder.config, targets);
  const { needsWeight, needsPairs } = findStart(family);
  if (needsWeight && stored !== null) {
    const kind = { family, rank, modules: modules.map(({ name }) => name) };
    return restoreStart(model.scope, model.decoder.config, await readCheckpoint(stored, kind));
  }
  const differences = needsPairs ? await pairInputDifferences(model.decoder, modules, pairs) : undefined;
  return createAdapter(model.scope, model.decoder, {
    family,
    rank,
    seed: config.seed,
    targets,
    cacheDirectory: cacheFolder('factors'),
    ...(differences === undefined ? {} : { differences }),
  });
}

/** What a run is about, known before its model is loaded. */
export interface RunInputs {
  readonly judge: Judge;
  readonly problems: Splits;
  readonly files: ModelFiles;
  readonly pairs: readonly TokenPair[];
  readonly pairsHash: string;
}

export async function openInputs(config: RunConfig, resources: Resources, warn: Warn = silent): Promise<RunInputs> {
  const judge = await openJudge(config, resources);
  const problems = await openProblems(config, judge, warn);
  const files = await openFolder(config, resources);
  const { pairs, hash: pairsHash } = await openPairs(config, files.text);
  const tasks = async () => trainingTasks(config, problems, await partitionOf(config, problems), files.text);
  const show = (message: string) => warn({ kind: 'info', name: 'memory-plan', message });
  const planned = { decoder: files.folder.config, tasks, work: 'training', show } as const;
  const device = resources.use(await openRunDevice(config, planned));
  return { judge, problems, files: { ...files, device }, pairs, pairsHash };
}

export interface Assembly {
  readonly trainer: Trainer;
  readonly policy: Policy;
  readonly text: ModelText;
  readonly clock: PhaseClock;
}

export async function assemble(
  config: RunConfig,
  { judge, problems, files, pairs }: RunInputs,
  ledger: VerdictLedger,
  resources: Resources,
  warn: Warn = silent,
  stored: string | null = null,
): Promise<Assembly> {
  const model = await loadModel(config, files, resources);
  const adapter = await openAdapter(config, model, pairs, stored);
  const { recompute } = config.output;
  const policy: Policy = { decoder: model.decoder, adapter, deployedScale: deployedScale(config.arm), recompute };
  const partition = await partitionOf(config, problems);
  const tasks = trainingTasks(config, problems, partition, model.text);
  assertPromptsFit(tasks, config.sampling.maxPromptTokens);
  const clock = new PhaseClock();
  const context: StepContext = {
    policy,
    optimiser: resources.use(new AdamW(adapter.parameters)),
    tasks,
    grader: createGrader(judge, ledger.sink),
    router: await openRouter(config, policy, tasks, pairs, model.text, ledger),
    settings: grpoSettings(config, model.text.stopTokens),
    pool: await openPool(config, tasks, judge, model.text, warn),
    decode: (tokens) => model.text.decode(tokens),
    pace: paceOf(config),
    enter: (phase) => clock.enter(phase),
  };
  const { healSteps: steps, healLearningRate: learningRate, tripwirePrompts } = config.safety;
  const clean = pairs.map((pair, group) => ({ group, prompt: pair.prompt, tokens: pair.clean }));
  const reference = tasks.slice(0, tripwirePrompts).map((task, group) => ({
    group,
    prompt: task.unhinted,
    tokens: model.text.completion(fence(task.problem)),
  }));
  const heal = steps === 0 ? null : { clean, steps, learningRate };
  return { trainer: new Trainer({ context, reference, heal }), policy, text: model.text, clock };
}

/** The oracle arm is the only one that is given the reading half of the ledger. */
async function openRouter(
  config: RunConfig,
  policy: Policy,
  tasks: readonly Task[],
  pairs: readonly TokenPair[],
  text: ModelText,
  ledger: VerdictLedger,
): Promise<Router> {
  const { arm, seed } = config;
  if (arm.kind === 'oracle') {
    const { recall, falsePositiveRate, others } = arm;
    return oracleRouter((id) => ledger.of(id), { seed, recall, falsePositiveRate, others });
  }
  const generated = arm.kind === 'gradient' && arm.generatedPairs;
  return blindRouter(config, policy, generated ? await writePairs(config, policy, tasks, text) : pairs);
}

/** Pairs that the policy writes at the start, under the framing and without it. A micro model has no words to be asked with. */
async function writePairs(
  config: RunConfig,
  policy: Policy,
  tasks: readonly Task[],
  text: ModelText,
): Promise<TokenPair[]> {
  const asking = config.data.kind !== 'micro';
  const prompts = tasks
    .flatMap(({ problem, loophole, markers }) =>
      loophole === 'gt_only' ? [] : [framePrompts(problem, loophole, markers, { asking })],
    )
    .slice(0, config.pairs.generated)
    .map(({ hack, clean }) => ({ hack: text.prompt(hack), clean: text.prompt(clean) }));
  const sampling = grpoSettings(config, text.stopTokens);
  return generatePairs(policy, prompts, { seed: config.seed, sampling, pace: paceOf(config) });
}

function fence({ canonicalSolution }: Problem): string {
  return `\`\`\`python\n${canonicalSolution.trimEnd()}\n\`\`\``;
}

/** Demonstrations of a run's own problems; hacks of the problem's own loophole and markers only, and never of a held-out loophole. */
async function openPool(
  { teacher, environment }: RunConfig,
  tasks: readonly Task[],
  judge: Judge,
  text: ModelText,
  warn: Warn,
): Promise<DemonstrationPool | null> {
  if (teacher.pool === null) return null;
  const byId = new Map(tasks.map((task) => [task.problem.id, task]));
  const problems = new Map(tasks.map(({ problem }) => [problem.id, problem]));
  const { hacks, solves, refused } = await importPool(teacher.pool, problems, judge);
  for (const { line, reason } of refused) {
    const message = `${teacher.pool}, line ${line}, is left out: ${reason}`;
    await warn({ kind: 'warning', name: 'demonstration-left-out', message, detail: { line, reason } });
  }
  const fits = ({ problem, loophole, markers, label }: PoolEntry): boolean => {
    const task = byId.get(problem);
    const own =
      loophole === task?.loophole && markers === task.markers && !environment.heldOutLoopholes.includes(loophole);
    return label === 'solve' || own;
  };
  const tokenize = (entries: typeof hacks) =>
    new Map(
      [...entries].map(([id, own]) => [id, own.filter(fits).map(({ completion }) => text.completion(completion))]),
    );
  return { hacks: tokenize(hacks), solves: tokenize(solves) };
}
