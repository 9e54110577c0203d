/**
 * The composition root of training: builds a trainer from a config, with everything it needs opened once and closed once. The
 * grader is given the writing half of the verdict ledger; only an arm that says it uses labels is given the reading half.
 */
import type { TokenPair } from '../adapters/index.ts';
import { AdamW, Scope } from '../engine/index.ts';
import type { Problem } from '../env/index.ts';
import type { Splits } from '../env/sources/index.ts';
import {
  type Arm,
  type ArmDefinition,
  type ArmTools,
  type DemonstrationPool,
  expectPromptsFit,
  openArm,
  type Policy,
  type Sampler,
  type StepContext,
  shardedSampler,
  steerPolicy,
  type Task,
  Trainer,
} from '../grpo/index.ts';
import type { ModelText } from '../model/index.ts';
import { labelsOf, type VerdictLedger } from '../oracle/index.ts';
import type { Shards } from '../parallel/index.ts';
import {
  assertPromptsFit,
  grpoSettings,
  type InstructionWords,
  instructedPrompt,
  PhaseClock,
  partitionOf,
  type RunConfig,
  readableInstruction,
  StartClock,
  trainingTasks,
} from '../run/index.ts';
import { loadPolicy, tellDisk } from './adapter.ts';
import { baitCounter } from './bait.ts';
import { partsOf } from './config.ts';
import { type GeneratedPairs, writePairs } from './generated-pairs.ts';
import { withModelHint } from './input-checks.ts';
import { type OpenedInputs, readTrainingInputs } from './inputs.ts';
import { labelledRollouts } from './labelled.ts';
import { type ModelFiles, modelOpener, type OpenModel } from './model.ts';
import { armOf, sourceOf } from './parts.ts';
import { openPool } from './pool.ts';
import { silent, type Warn } from './problems.ts';
import { openShards, shardedGrader } from './ranks.ts';
import { openSampler, type Replacements } from './replacements.ts';
import type { Resources } from './resources.ts';
import { openRunDevice } from './run-device.ts';

/** The inputs of a run, with the device that it trains on. */
export interface RunInputs extends OpenedInputs {
  readonly files: ModelFiles;
  /** The tasks that memory was planned for, and the config they are of. */
  readonly planned?: { readonly config: RunConfig; readonly tasks: readonly Task[] };
}

export async function openInputs(
  config: RunConfig,
  resources: Resources,
  warn: Warn = silent,
  replaced: Replacements = {},
): Promise<RunInputs> {
  return placeInputs(config, await readTrainingInputs(config, resources, warn, replaced), resources, warn);
}

/** Opens the device that the run trains on. */
export async function placeInputs(
  config: RunConfig,
  inputs: OpenedInputs,
  resources: Resources,
  warn: Warn = silent,
  start = new StartClock(),
): Promise<RunInputs> {
  const { files, problems, armModels } = inputs;
  const own = [...armModels, ['base', files] as const];
  const models = new Map(own.map(([name, { folder, text }]) => [name, { decoder: folder.config, text }]));
  let planned: RunInputs['planned'];
  const tasks = async (): Promise<readonly Task[]> => {
    planned = { config, tasks: await openTasks(config, problems, files.text) };
    start.done('tasks');
    return planned.tasks;
  };
  const show = async (message: string): Promise<void> => {
    start.done('memory plan');
    await warn({ kind: 'info', name: 'memory-plan', message });
  };
  const work = { decoder: files.folder.config, tasks, work: 'training', models, show } as const;
  const device = resources.use(await openRunDevice(config, work));
  start.done('device');
  return { ...inputs, files: { ...files, device }, ...(planned === undefined ? {} : { planned }) };
}

/** The training problems as tasks for the policy. */
export async function openTasks(config: RunConfig, problems: Splits, text: ModelText): Promise<Task[]> {
  const parts = await partsOf(config);
  const { loopholes } = parts;
  const partition = await partitionOf(config, problems, loopholes);
  return trainingTasks(config, problems.train, partition, { text, loopholes }, armOf(config, parts).loopholes);
}

export interface Assembly {
  readonly trainer: Trainer;
  readonly policy: Policy;
  readonly text: ModelText;
  readonly clock: PhaseClock;
  readonly start: StartClock;
  /** The pairs that the policy wrote itself; null for an arm that asked for none. */
  readonly generated: GeneratedPairs | null;
  readonly arm: Arm;
  /** How the run is divided among ranks. */
  readonly shards: Shards;
}

export interface AssembleOptions {
  readonly warn?: Warn;
  /** The path of the stored initial values of the run, or of its parent; null for a run that begins. */
  readonly initial?: string | null;
  /** The folder of the run, for what its arm keeps there; null where nothing is recorded. */
  readonly folder?: string | null;
  /** How the run is divided among ranks; default: as the config says, in this process alone. */
  readonly shards?: Shards;
  /** Ends the making of the adapter's factors, with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** The clock of the run's start; default: one that begins now. */
  readonly start?: StartClock;
}

export async function assemble(
  config: RunConfig,
  inputs: RunInputs,
  ledger: VerdictLedger,
  resources: Resources,
  {
    warn = silent,
    initial = null,
    folder = null,
    shards = openShards(config),
    signal,
    start = new StartClock(),
  }: AssembleOptions = {},
): Promise<Assembly> {
  const { judge, replaced, problems, files, pairs } = inputs;
  const parts = await partsOf(config);
  const definition = armOf(config, parts);
  const words = { loopholes: parts.loopholes, inWords: sourceOf(config, parts).asksInWords };
  const settings = grpoSettings(config);
  const { model, adapter } = await loadPolicy(config, files, resources, { pairs, initial, warn, signal });
  start.done('weights and adapter');
  const { text } = model;
  await tellDisk(config, adapter, warn);
  const { recompute } = settings.compute;
  const unsteered: Policy = {
    decoder: model.decoder,
    adapter,
    deployedScale: definition.quarantine ? 0 : 1,
    recompute,
  };
  const { planned } = inputs;
  const tasks =
    planned?.config === config ? planned.tasks : await withModelHint(config, () => openTasks(config, problems, text));
  assertPromptsFit(tasks, config.sampling.maxPromptTokens);
  const samplerOf = (policy: Policy): Sampler => openSampler(policy, settings.compute, replaced.sampler);
  const sampler = samplerOf(unsteered);
  let generated: GeneratedPairs | null = null;
  const keep = async (made: GeneratedPairs): Promise<void> => {
    generated = made;
    const message = `${made.pairs.length} of ${made.attempted} pairs that the policy wrote took the bait and are used`;
    await warn({ kind: 'info', name: 'generated-pairs', message });
  };
  const pool = await openPool(config, inputs.pool, tasks, ledger.tell(judge), text, warn);
  const scope = resources.use(new Scope(model.scope.device));
  const tools = armTools(config, definition, unsteered, {
    ...{ pairs, pool, tasks, model, words, ledger, sampler, samplerOf, scope, keep, warn, folder },
    modelHash: files.hash,
    openModel: modelOpener(model, inputs.armModels, resources),
  });
  const arm = await openArm(definition, settingsOf(config), tools);
  const vocabulary = model.decoder.config.vocabSize;
  expectPromptsFit({ arm, settings, vocabulary }, tasks);
  const policy = steerPolicy(unsteered, arm);
  const clock = new PhaseClock();
  const context: StepContext = {
    policy,
    optimiser: resources.use(new AdamW(adapter.parameters)),
    arm,
    settings,
    tasks,
    sampler: shardedSampler(samplerOf(policy), shards, settings),
    grader: shardedGrader(judge, ledger, shards, config),
    shards,
    pool,
    stopTokens: text.stopTokens,
    vocabulary,
    decode: (tokens) => text.decode(tokens),
    showPrompt: (tokens) => text.show(tokens),
    enter: (phase) => clock.enter(phase),
  };
  const { healSteps: steps, healLearningRate: learningRate, tripwirePrompts } = config.safety;
  const clean = pairs.map((pair, group) => ({ group, prompt: pair.prompt, tokens: pair.clean }));
  const heal = steps === 0 ? null : { clean, steps, learningRate };
  const tripwireSet = tasks.slice(0, tripwirePrompts).map((task, group) => ({
    group,
    prompt: task.unhinted,
    tokens: text.completion(fence(task.problem)),
  }));
  start.done('arm');
  const ready = async (): Promise<void> => {
    start.done('pairs and tripwire');
    const notice = start.notice();
    if (notice !== null) await warn(notice);
  };
  const trainer = new Trainer({ context, tripwireSet, heal, ready });
  return { trainer, policy, text, clock, start, generated, arm, shards };
}

interface ArmSurroundings {
  readonly pairs: readonly TokenPair[];
  readonly tasks: readonly Task[];
  readonly model: OpenModel;
  readonly words: Omit<InstructionWords, 'text'>;
  readonly ledger: VerdictLedger;
  /** Samples from the policy without what the arm steers. */
  readonly sampler: Sampler;
  readonly samplerOf: (policy: Policy) => Sampler;
  readonly pool: DemonstrationPool | null;
  readonly scope: Scope;
  readonly warn: Warn;
  /** Is told the pairs that the policy wrote. */
  readonly keep: (made: GeneratedPairs) => Promise<void>;
  readonly openModel: ArmTools['openModel'];
  readonly folder: string | null;
  readonly modelHash: Promise<string>;
}

function armTools(
  config: RunConfig,
  definition: ArmDefinition,
  policy: Policy,
  {
    pairs,
    pool,
    tasks,
    model,
    words,
    ledger,
    sampler,
    samplerOf,
    scope,
    keep,
    warn,
    openModel,
    folder,
    modelHash,
  }: ArmSurroundings,
): ArmTools {
  const { text } = model;
  const { compute } = grpoSettings(config);
  const labelled = definition.usesLabels(settingsOf(config));
  return {
    seed: config.seed,
    policy,
    tokensPerPass: compute.tokensPerPass,
    pairs,
    demonstrations: {
      pool: tasks.flatMap(({ problem, hinted: prompt }, group) =>
        (pool?.hacks.get(problem.id) ?? []).map((tokens) => ({ group, prompt, tokens })),
      ),
      pairs: pairs.map(({ prompt, hack: tokens }, group) => ({ group, prompt, tokens })),
    },
    scope,
    countBait: baitCounter(config, tasks, text, samplerOf),
    tell: async (message) => warn({ kind: 'info', name: 'arm', message }),
    writePairs: async () => {
      const made = await writePairs(config, sampler, tasks, text);
      await keep(made);
      return made.tokens;
    },
    tokenize: (messages) => text.prompt(messages),
    instruct: (given, place, key) => {
      const own = { ...words, text };
      const instruction = readableInstruction(given, place, own, `config, key ${key}`);
      return (asked) => instructedPrompt(asked, instruction, own);
    },
    labels: labelled ? labelsOf(ledger, words.loopholes) : null,
    labelled: labelled ? async (run) => labelledRollouts(run, tasks, ledger, await modelHash) : null,
    openModel,
    folder,
  };
}

function settingsOf({ arm: { kind: _kind, ...settings } }: RunConfig): Readonly<Record<string, unknown>> {
  return settings;
}

function fence({ canonicalSolution }: Problem): string {
  return `\`\`\`python\n${canonicalSolution.trimEnd()}\n\`\`\``;
}
