/** A trainer from the parts of a lab. Only an arm that says it uses labels gets the reading half of the ledger; a server samples where the config names one. */
import { basename, join, resolve } from 'node:path';
import type { TokenPair } from '../adapters/index.ts';
import { UserError } from '../base/index.ts';
import { sha256 } from '../base/node/index.ts';
import { AdamW, Scope } from '../engine/index.ts';
import type { Judge } from '../env/index.ts';
import type { Arm, ArmTools, DemonstrationPool, Policy, Sampler, Task } from '../grpo/index.ts';
import { openArm, shardedSampler, steerPolicy } from '../grpo/index.ts';
import { VerdictLedger } from '../oracle/index.ts';
import { labelsOf } from '../oracle/labels.ts';
import { assertPromptsFit, grpoSettings, instructedPrompt, PhaseClock, readableInstruction } from '../run/index.ts';
import { tellDisk } from './adapter.ts';
import { assembleTrainer } from './assemble.ts';
import { openSampler } from './judge.ts';
import { admitOutside, labelledRollouts } from './labels.ts';
import { modelOpener, type OpenModel } from './model.ts';
import type { Lab } from './open.ts';
import { baitCounter, type GeneratedPairs, soundRewardOf, writePairs } from './pairs.ts';
import { openPool } from './pool.ts';
import { isWriter, shardedGrader } from './ranks.ts';

export type Assembly = Awaited<ReturnType<typeof openTrainer>>;

export async function openTrainer(lab: Lab) {
  const { config, options, warn, start, ranks: shards } = lab;
  const settings = grpoSettings(config);
  await admitOutside(lab);
  const [unsteered, model, judge, { pairs }, tasks] = await Promise.all([
    lab.policy,
    lab.weights,
    lab.judge,
    lab.pairs,
    lab.tasks,
  ]);
  const { text } = model;
  const { adapter } = unsteered;
  await tellDisk(lab, adapter);
  assertPromptsFit(tasks, config.sampling, model.folder.config);
  const samplerOf = (policy: Policy): Sampler => openSampler(policy, settings.compute, options.sampler);
  const { ledger: openLedger = () => new VerdictLedger(null) } = options;
  const ledger = lab.use(openLedger());
  const pool = await openPool(lab, tasks, ledger.tell(judge), model);
  // The pairs that the policy wrote itself, for an arm that asked for some.
  let generated = null as GeneratedPairs | null;
  const keep = async (made: GeneratedPairs): Promise<void> => {
    generated = made;
    const message = `${made.pairs.length} of ${made.attempted} pairs that the policy wrote took the bait and are used`;
    await warn({ kind: 'info', name: 'generated-pairs', message });
  };
  const openModel = modelOpener(model, await lab.armModels, lab);
  const tools = armTools(lab, unsteered, { pairs, pool, tasks, model, judge, ledger, samplerOf, keep, openModel });
  const arm = await openArm(lab.arm, lab.armSettings, tools);
  const policy = steerPolicy(unsteered, arm);
  const clock = new PhaseClock();
  const ready = async (): Promise<void> => {
    start.done('pairs and tripwire');
    const notice = start.notice();
    if (notice !== null) await warn(notice);
  };
  const trainer = assembleTrainer({
    ...{ config, policy, arm, tasks, pairs, text, shards, pool, ready },
    optimiser: lab.use(new AdamW(adapter.parameters)),
    sampler: shardedSampler(await openOutside(lab, policy, arm, samplerOf(policy)), shards, settings),
    grader: shardedGrader(judge, ledger, shards, config),
    enter: (phase) => clock.enter(phase),
  });
  return { trainer, policy, text, clock, start, generated, arm, ledger, shards };
}

interface ArmSurroundings {
  readonly pairs: readonly TokenPair[];
  readonly tasks: readonly Task[];
  readonly model: OpenModel;
  readonly judge: Judge;
  readonly ledger: VerdictLedger;
  readonly samplerOf: (policy: Policy) => Sampler;
  readonly pool: DemonstrationPool | null;
  readonly keep: (made: GeneratedPairs) => Promise<void>;
  readonly openModel: ArmTools['openModel'];
}

/** `policy` is the one without what the arm steers. */
function armTools(
  lab: Lab,
  policy: Policy,
  { pairs, pool, tasks, model, judge, ledger, samplerOf, keep, openModel }: ArmSurroundings,
): ArmTools {
  const { config, parts, source, warn } = lab;
  const { text } = model;
  const words = { loopholes: parts.loopholes, inWords: source.asksInWords, text };
  const labelled = lab.arm.usesLabels(lab.armSettings);
  // An arm writes where it is trained, never into a run that was opened.
  const folder = lab.manifest === null ? lab.run : null;
  return {
    seed: config.seed,
    policy,
    tokensPerPass: grpoSettings(config).compute.tokensPerPass,
    pairs,
    demonstrations: {
      pool: tasks.flatMap(({ problem, hinted: prompt }, group) =>
        (pool?.hacks.get(problem.id) ?? []).map((tokens) => ({ group, prompt, tokens })),
      ),
      pairs: pairs.map(({ prompt, hack: tokens }, group) => ({ group, prompt, tokens })),
    },
    scope: lab.use(new Scope(model.scope.device)),
    countBait: baitCounter(config, tasks, text, samplerOf),
    soundReward: soundRewardOf(lab, judge, text, samplerOf),
    tell: async (message) => warn({ kind: 'info', name: 'arm', message }),
    writePairs: async () => {
      const made = await writePairs(config, samplerOf(policy), tasks, text);
      await keep(made);
      return made.tokens;
    },
    tokenize: (messages) => text.prompt(messages),
    instruct: (given, place, key) => {
      const instruction = readableInstruction(given, place, words, `config, key ${key}`);
      return (asked) => instructedPrompt(asked, instruction, words);
    },
    labels: labelled ? labelsOf(ledger, words.loopholes) : null,
    labelled: labelled ? async (path) => labelledRollouts(path, tasks, ledger, await model.hash) : null,
    openModel,
    folder: folder !== null && isWriter(lab.ranks) ? folder.path : null,
  };
}

/** The run's own sampler, or one that asks the server and has that one to fall back on. */
async function openOutside(lab: Lab, policy: Policy, arm: Arm, own: Sampler): Promise<Sampler> {
  const { sampler: table } = lab.config;
  const url = table?.url ?? null;
  if (table === undefined || url === null) return own;
  expectPossible(lab, arm, url, table.maxStaleness);
  const { OutsideSampler } = await import('../grpo/outside/sampler.ts');
  const { text } = await lab.weights;
  // A server need not have been started in the folder in which this process was.
  const place = resolve(lab.run?.path ?? '.');
  return lab.use(
    new OutsideSampler({
      ...{ url, table, policy, own },
      tokensPerPass: grpoSettings(lab.config).compute.tokensPerPass,
      rules: { vocabulary: policy.decoder.config.vocabSize, decode: (tokens) => text.decode(tokens) },
      model: lab.config.model,
      // Runs of the same name in other folders may share the server.
      prefix: `gq-${basename(place).replaceAll(/[^\w.-]/g, '_')}-${sha256(place).slice(0, 8)}-`,
      folder: table.folder ?? join(place, 'sampler'),
      scope: lab.use(new Scope(policy.decoder.head.device)),
      starts: lab.parts.starts,
    }),
  );
}

function expectPossible({ config, ranks, options }: Lab, arm: Arm, url: string, maxStaleness: number): void {
  const refuse = (key: string, expected: string, found: string): never => {
    throw new UserError({ call: `config, key ${key}`, expected, found });
  };
  if (ranks.ranks > 1) refuse('sampler', 'nothing in a run of several ranks', url);
  if (options.sampler !== undefined) refuse('sampler', `nothing beside the sampler ${options.sampler.name}`, url);
  if (arm.steer !== undefined) {
    refuse('sampler', `nothing with the arm ${config.arm.kind}, which steers the policy while it samples`, url);
  }
  if (maxStaleness > 0 && arm.prompt !== undefined) {
    const why = `0 with the arm ${config.arm.kind}, which may learn under other prompts than it samples under`;
    refuse('sampler.maxStaleness', why, `${maxStaleness}`);
  }
}
