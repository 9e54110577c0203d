/**
 * The composition root of training: from a config to a trainer, with everything it needs built once and closed once. The
 * grader is given the writing half of the verdict ledger; only the oracle arm is given the reading half.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Adapter } from '../adapters/adapter.ts';
import { createAdapter, needsPairs, pairInputDifferences, targetModules } from '../adapters/index.ts';
import type { TokenPair } from '../adapters/pair-inputs.ts';
import { UserError } from '../base/errors.ts';
import { sha256File } from '../base/hash.ts';
import { AdamW, type Device, Scope } from '../engine/index.ts';
import { createGrader } from '../env/grader.ts';
import { loadProblems } from '../env/importers/load.ts';
import { Judge } from '../env/judge.ts';
import { loadPairs } from '../env/pairs/load.ts';
import { importPool } from '../env/pools.ts';
import type { Problem } from '../env/problem.ts';
import { Sandbox } from '../env/sandbox/sandbox.ts';
import { checkProblems } from '../env/soundness.ts';
import type { Policy } from '../grpo/policy.ts';
import type { Rollout, Task } from '../grpo/rollout.ts';
import type { DemonstrationPool } from '../grpo/sample.ts';
import { Trainer } from '../grpo/train.ts';
import { Decoder } from '../model/decoder.ts';
import { ModelFolder } from '../model/folder.ts';
import { loadWeights } from '../model/weights.ts';
import { oracleRouter, VerdictLedger } from '../oracle/index.ts';
import { blindRouter, deployedScale } from '../run/arms.ts';
import type { RunConfig } from '../run/schema.ts';
import { PhaseClock } from '../run/session.ts';
import { grpoSettings } from '../run/settings.ts';
import { partitionOf, type Splits, splitProblems, trainingTasks } from '../run/tasks.ts';
import { type ModelText, modelText } from '../run/text.ts';
import { openDevice } from './devices.ts';

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

/** The frozen model on its device, with its text side. */
export interface OpenModel {
  readonly device: Device;
  readonly scope: Scope;
  readonly folder: ModelFolder;
  readonly decoder: Decoder;
  readonly text: ModelText;
  readonly hash: string;
}

export async function openModel(config: RunConfig, resources: Resources): Promise<OpenModel> {
  const folder = resources.use(await ModelFolder.open(modelDirectory(config.model)));
  const device = resources.use(await openDevice(config.device.kind, config.device));
  const scope = resources.use(new Scope(device));
  const as = device.floats[0] === 'f32' ? 'float32' : 'stored';
  const maxPositions = Math.min(
    folder.config.maxPositions,
    config.sampling.maxPromptTokens + config.sampling.maxNewTokens,
  );
  const decoder = await Decoder.load(scope, folder.config, loadWeights(folder.weights, folder.config, { as }), {
    maxPositions,
  });
  const hashes = await Promise.all(folder.weights.files.map(({ path }) => sha256File(path)));
  return {
    device,
    scope,
    folder,
    decoder,
    text: modelText(folder, config.environment.enableThinking),
    hash: hashes.join(' '),
  };
}

/** The sandboxed judge of programs. */
export async function openJudge({ environment }: RunConfig, resources: Resources): Promise<Judge> {
  const sandbox = await Sandbox.start({
    ...(environment.python === null ? {} : { python: environment.python }),
    ...(environment.sandbox === 'strict' ? { strictLevel: 1 as const } : {}),
  });
  return new Judge(resources.use(sandbox));
}

export async function openProblems(config: RunConfig, judge: Judge): Promise<Splits> {
  if (config.data.kind === 'micro') return splitProblems(config, []);
  const { sound } = await checkProblems(await loadProblems(config.data.path), judge);
  return splitProblems(config, sound);
}

export async function openPairs(config: RunConfig, text: ModelText): Promise<{ pairs: TokenPair[]; hash: string }> {
  const name = config.pairs.file ?? (config.data.kind === 'micro' ? 'micro' : 'hack');
  const { pairs, hash } = await loadPairs(name, config.pairs.select);
  const tokens = pairs.map(({ prompt, hack, clean }) => ({
    prompt: text.prompt(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt),
    hack: text.completion(hack),
    clean: text.completion(clean),
  }));
  return { pairs: tokens, hash };
}

export async function openAdapter(config: RunConfig, model: OpenModel, pairs: readonly TokenPair[]): Promise<Adapter> {
  const { family, rank, targets } = config.adapter;
  const modules = targetModules(model.decoder.config, targets);
  const differences = needsPairs(family) ? await pairInputDifferences(model.decoder, modules, pairs) : undefined;
  return createAdapter(model.scope, model.decoder, {
    family,
    rank,
    seed: config.seed,
    targets,
    ...(differences === undefined ? {} : { differences }),
  });
}

export interface Assembly {
  readonly trainer: Trainer;
  readonly policy: Policy;
  readonly model: OpenModel;
  readonly ledger: VerdictLedger;
  readonly clock: PhaseClock;
  readonly problems: Splits;
  readonly pairsHash: string;
}

export async function assemble(config: RunConfig, directory: string, resources: Resources): Promise<Assembly> {
  const judge = await openJudge(config, resources);
  const problems = await openProblems(config, judge);
  const model = await openModel(config, resources);
  const { pairs, hash: pairsHash } = await openPairs(config, model.text);
  const adapter = await openAdapter(config, model, pairs);
  const policy: Policy = { decoder: model.decoder, adapter, deployedScale: deployedScale(config.arm) };
  const ledger = resources.use(new VerdictLedger(join(directory, 'verdicts.jsonl')));
  const router =
    config.arm.kind === 'oracle'
      ? oracleRouter((id) => ledger.of(id), { ...config.arm, seed: config.seed })
      : blindRouter(config, policy, pairs);
  const clock = new PhaseClock();
  const tasks = trainingTasks(config, problems, await partitionOf(config, problems), model.text);
  const context = {
    policy,
    optimiser: resources.use(new AdamW(adapter.parameters)),
    tasks,
    grader: createGrader(judge, ledger.sink),
    router,
    settings: grpoSettings(config, model.text.stopTokens),
    pool: await openPool(config, problems.train, judge, model.text),
    decode: (tokens: Int32Array) => model.text.decode(tokens),
    readEvery: config.output.readEvery,
    enter: (phase: Parameters<PhaseClock['enter']>[0]) => clock.enter(phase),
  };
  const { healSteps: steps, healLearningRate: learningRate, tripwirePrompts } = config.safety;
  const heal =
    steps === 0
      ? null
      : { clean: pairs.map((pair, i) => demonstration(tasks[0], i, pair.prompt, pair.clean)), steps, learningRate };
  const reference = tasks
    .slice(0, tripwirePrompts)
    .map((task, i) => demonstration(task, i, task.unhinted, model.text.completion(fence(task.problem))));
  return { trainer: new Trainer({ context, reference, heal }), policy, model, ledger, clock, problems, pairsHash };
}

function fence({ canonicalSolution }: Problem): string {
  return `\`\`\`python\n${canonicalSolution.trimEnd()}\n\`\`\``;
}

/** A completion that nobody sampled, to be scored or taught. */
function demonstration(task: Task | undefined, group: number, prompt: Int32Array, tokens: Int32Array): Rollout {
  if (task === undefined) throw new UserError({ call: 'training tasks', expected: 'at least one', found: 'none' });
  const id = `reference-${group}`;
  const rest = { step: 0, member: 0, hackable: false, source: 'teacher-solve', sampled: 'full', text: '' } as const;
  return { id, group, task, prompt, tokens, ...rest, truncated: false, sampledLogps: null };
}

async function openPool(
  { teacher }: RunConfig,
  problems: readonly Problem[],
  judge: Judge,
  text: ModelText,
): Promise<DemonstrationPool | null> {
  if (teacher.pool === null) return null;
  const { hacks, solves } = await importPool(
    teacher.pool,
    new Map(problems.map((problem) => [problem.id, problem])),
    judge,
  );
  const tokenize = (entries: typeof hacks) =>
    new Map([...entries].map(([id, own]) => [id, own.map(({ completion }) => text.completion(completion))]));
  return { hacks: tokenize(hacks), solves: tokenize(solves) };
}
