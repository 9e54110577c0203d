/**
 * The pairs of a run: of a file, or written by the policy at the start. A completion takes the bait if its text has what the exploit needs:
 * nothing is graded, so an arm without labels may know it. A policy is asked on training problems of known loopholes only. What an arm may
 * be told beside: the mean reward of validation problems without a loophole.
 */
import { createAdapter, findStart, pairInputDifferences, targetModules } from '../adapters/index.ts';
import { randomStream, UserError } from '../base/index.ts';
import { Scope } from '../engine/index.ts';
import { createGrader, type Judge, type Loophole, markerFor, openLoopholes } from '../env/index.ts';
import {
  folderPairEncoder,
  framePrompts,
  hashPairs,
  labelsChose,
  loadPairs,
  type Pair,
  shownLoopholes,
  takesBait,
  tokenizePairs,
} from '../env/pairs/index.ts';
import { expectNoTestPairs } from '../env/sources/index.ts';
import { judgeDirection, pairDirection, scoreFeatures } from '../gates/index.ts';
import type { ArmTools, Policy, Sampler, Task } from '../grpo/index.ts';
import { generatePairs, leaveOneOut, pairFeatures, samplingSettings } from '../grpo/index.ts';
import { Decoder, type Generation, loadWeights, ModelFolder, type ModelText } from '../model/index.ts';
import type { RunConfig } from '../run/index.ts';
import { average } from '../stats/index.ts';
import { partsOf } from './config.ts';
import { openDevice } from './device.ts';
import { modelArgument, withModelHint } from './model.ts';
import type { Lab } from './open.ts';
import { sourceOf } from './parts.ts';
import { tasksOf } from './problems.ts';

export const pairSetOf = async (config: RunConfig): Promise<string> =>
  config.pairs.file ?? sourceOf(config, await partsOf(config)).pairs;

export const hashOfPairs = async (config: RunConfig): Promise<string> =>
  (await loadPairs(await pairSetOf(config), config.pairs.select)).hash;

export type OpenedPairs = Awaited<ReturnType<typeof openPairs>>;

/** `heldOutShown`: held-out loopholes that the pairs show; none unless pairs.allowHeldOut is set. */
export async function openPairs({ config, model }: Lab) {
  const { text } = await model;
  return withModelHint(config, async () => {
    const { file, pairs, hash } = await loadPairs(await pairSetOf(config), config.pairs.select);
    expectNoTestPairs(pairs, file);
    const tokens = tokenizePairs(pairs, {
      prompt: (prompt) => text.prompt(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt),
      completion: (completion) => text.completion(completion),
    });
    const shown = await heldOutShown(config, pairs);
    return { pairs: tokens, pairsHash: hash, heldOutShown: shown, pairsUseLabels: labelsChose(pairs, file) };
  });
}

async function heldOutShown(config: RunConfig, pairs: readonly Pair[]): Promise<string[]> {
  const { loopholes } = await partsOf(config);
  return shownLoopholes(pairs, config.environment.heldOutLoopholes, loopholes);
}

/** Refuses pairs that show a held-out loophole, unless the config allows them. It opens no model, so that it can come before all work. */
export async function expectIsolatedPairs(config: RunConfig): Promise<void> {
  const { heldOutLoopholes, loopholes: known } = config.environment;
  if (heldOutLoopholes.length === 0 || config.pairs.allowHeldOut) return;
  const set = await pairSetOf(config);
  const { pairs } = await loadPairs(set, config.pairs.select);
  const shown = await heldOutShown(config, pairs);
  if (shown.length === 0) return;
  throw new UserError({
    call: `config, key pairs (${set})`,
    expected: `pairs that show none of environment.heldOutLoopholes (${heldOutLoopholes.join(', ')})`,
    found: `pairs that show ${shown.join(', ')}`,
    fix: `Select others, such as pairs.select=["tag:${known.join(',')}"], or say that they are meant: pairs.allowHeldOut=true.`,
  });
}

function knownTasks({ environment }: RunConfig, tasks: readonly Task[], most: number): readonly Task[] {
  const isKnown = ({ loophole }: Task) => loophole !== 'gt_only' && !environment.heldOutLoopholes.includes(loophole);
  return tasks.filter(isKnown).slice(0, most);
}

const takesBaitOf = (completion: string, loophole: Loophole, { markers, problem }: Task): boolean =>
  takesBait(completion, loophole, [markerFor(markers, loophole, problem.id).disclosed]);

export type GeneratedPairs = Awaited<ReturnType<typeof writePairs>>;

export async function writePairs(config: RunConfig, sampler: Sampler, tasks: readonly Task[], text: ModelText) {
  const parts = await partsOf(config);
  const { loopholes } = parts;
  const asking = sourceOf(config, parts).asksInWords === true;
  const asked = knownTasks(config, tasks, config.pairs.generated).map((task) => ({
    task,
    prompts: framePrompts(task.problem, task.loophole, task.markers, { asking, loopholes }),
  }));
  const sampling = samplingSettings(config.sampling, text.stopTokens);
  const framed = asked.map(({ prompts }) => ({ hack: text.prompt(prompts.hack), clean: text.prompt(prompts.clean) }));
  const made = await generatePairs(sampler, framed, { seed: config.seed, sampling });
  const used = made.flatMap((tokens, i) => {
    const { task, prompts } = asked[i];
    // Where several loopholes are open, the first was asked for.
    const [loophole] = openLoopholes(task.loophole, loopholes);
    const [hack, clean] = [text.decode(tokens.hack), text.decode(tokens.clean)];
    if (!takesBaitOf(hack, loophole, task) || takesBaitOf(clean, loophole, task)) return [];
    const tags = ['generated', task.loophole];
    const names = { section: task.loophole, heading: task.problem.id, tags };
    return [{ tokens, pair: { ...names, prompt: prompts.clean, hack, clean } }];
  });
  const { leastGenerated } = config.pairs;
  if (used.length < leastGenerated) {
    throw new UserError({
      call: 'generate pairs',
      expected: `at least ${leastGenerated} pairs (pairs.leastGenerated) whose hack side alone takes the bait of its loophole`,
      found: `${used.length} of ${made.length} that the policy wrote`,
      fix: 'Have it write more with pairs.generated, use hand-written pairs (arm.generatedPairs=false), or take a model that follows the request.',
    });
  }
  const pairs = used.map(({ pair }) => pair);
  return { tokens: used.map(({ tokens }) => tokens), pairs, hash: hashPairs(pairs), attempted: made.length };
}

export function baitCounter(
  config: RunConfig,
  tasks: readonly Task[],
  text: ModelText,
  samplerOf: (policy: Policy) => Sampler,
): ArmTools['countBait'] {
  return async (policy, prompts) => {
    const { loopholes } = await partsOf(config);
    const asked = knownTasks(config, tasks, prompts);
    if (asked.length === 0) {
      const expected = 'training problems with a loophole that is not held out';
      throw new UserError({ call: 'count the completions that take the bait', expected, found: 'none' });
    }
    const hinted = asked.map((task) => task.hinted);
    const completions = await sampleFull(config, samplerOf(policy), text, hinted, 'bait');
    const took = asked.filter((task, i) => {
      const completion = text.decode(completions[i].tokens);
      return openLoopholes(task.loophole, loopholes).some((loophole) => takesBaitOf(completion, loophole, task));
    });
    return { took: took.length, of: asked.length };
  };
}

async function sampleFull(
  { seed, sampling }: RunConfig,
  sampler: Sampler,
  text: ModelText,
  prompts: readonly Int32Array[],
  name: string,
): Promise<Generation[]> {
  const requests = prompts.map((prompt, row) => ({ prompt, row, state: 'full' as const }));
  // As many rows as an update samples: the memory for those is planned.
  const together = sampling.promptsPerStep * sampling.group;
  const settings = samplingSettings(sampling, text.stopTokens);
  const generations: Generation[] = [];
  for (let at = 0; at < requests.length; at += together) {
    const rows = requests.slice(at, at + together);
    generations.push(...(await sampler.sample(rows, settings, randomStream(seed, name))));
  }
  return generations;
}

/** The grader's sink drops the verdicts: the arm gets a mean of rewards and nothing else. */
export function soundRewardOf(
  lab: Lab,
  judge: Judge,
  text: ModelText,
  samplerOf: (policy: Policy) => Sampler,
): ArmTools['soundReward'] {
  const { config } = lab;
  const grader = createGrader(judge, { append: () => undefined });
  return async (policy, prompts) => {
    const { validation } = (await lab.problems).splits;
    if (validation.length === 0) {
      const expected = 'problems of the validation split, whose rewards say when to stop';
      throw new UserError({ call: 'reward of held-out prompts', expected, found: 'none' });
    }
    const drawn = randomStream(config.seed, 'sound problems').permutation(validation.length).slice(0, prompts);
    const tasks = await tasksOf(
      lab,
      Array.from(drawn, (i) => validation[i]),
      'closed',
    );
    const asked = tasks.map(({ unhinted }) => unhinted);
    const completions = await sampleFull(config, samplerOf(policy), text, asked, 'sound prompts');
    const submissions = tasks.map(({ problem, markers }, i) => ({
      ...{ id: `sound-${i}`, problem, markers, loophole: 'gt_only' as const },
      completion: text.decode(completions[i].tokens),
      charge: config.environment.tokenPrice * completions[i].tokens.length,
    }));
    return average(await grader.grade(submissions));
  };
}

const tokensPerPass = 8192;

interface ScoreSettings {
  readonly model: string;
  readonly file: string;
  readonly select: readonly string[];
  readonly family: string;
  readonly rank: number;
  readonly seed: number;
  readonly kind: 'activation' | 'gradient';
  readonly score: 'dot' | 'cosine';
  readonly standardise: boolean;
  readonly device: string;
}

export type PairScores = Readonly<Awaited<ReturnType<typeof scorePairs>>>;

export async function scorePairs(settings: ScoreSettings) {
  const { model, file, rank, seed, kind, score, standardise } = settings;
  const { name: family, needsPairs } = findStart(settings.family);
  const { pairs, hash, file: path } = await loadPairs(file, settings.select);
  await using folder = await ModelFolder.open(modelArgument(model));
  const tokenized = tokenizePairs(pairs, folderPairEncoder(folder));
  using device = await openDevice(settings.device);
  using scope = new Scope(device);
  const decoder = await Decoder.load(
    scope,
    folder.config,
    loadWeights(folder.weights, folder.config, { as: 'float32' }),
  );
  const differences = needsPairs
    ? { differences: await pairInputDifferences(decoder, targetModules(folder.config), tokenized) }
    : {};
  const adapter = await createAdapter(scope, decoder, { family, rank, seed, ...differences });
  const features = await pairFeatures({ decoder, adapter, deployedScale: 0 }, tokenized, { kind, tokensPerPass });
  const direction = pairDirection(features.hack, features.clean, { standardise });
  const hackScores = scoreFeatures(features.hack, direction, score);
  const cleanScores = scoreFeatures(features.clean, direction, score);
  const heading = (index: number): string => pairs[index].heading;
  const { wrongPairs } = judgeDirection(hackScores, cleanScores);
  const left = pairs.length < 2 ? null : leaveOneOut(features, { standardise, score });
  return {
    model,
    file: path,
    hash,
    settings: { family, rank, seed, kind, score, standardise },
    hackScores: Array.from(hackScores),
    cleanScores: Array.from(cleanScores),
    wrongPairs: wrongPairs.map(heading),
    /** Pairs that the direction of the others ranks wrongly; null if there is only one pair. */
    wrongWhenLeftOut: left === null ? null : left.wrongPairs.map(heading),
  };
}
