/** The schema of a run's config. Every key has a description; defaults: the fast preset (docs/science.md, section 10). */
import { z } from 'zod';
import { defaultTargets } from '../../adapters/adapter.ts';
import { namesPath, readWhen } from '../../base/index.ts';
import { lastingTable } from '../../grpo/lasting-table.ts';
import { samplerTable } from '../../grpo/outside/table.ts';
import type { KindTable } from '../../monitors/index.ts';
import { compute, device, output, parallel } from './computing-schema.ts';
import { allLoopholes, type ConfigParts, joinedNameOf, kindTable, nameOf } from './parts.ts';

const share = z.number().min(0).max(1);
/** Counts have upper bounds far above any use, so that a slip of the hand is refused at once instead of filling the memory. */
const count = (most = 1e7) => z.number().int().min(0).max(most);
const positive = (most = 1e7) => z.number().int().min(1).max(most);
const mostRows = 65_536;
const mostTokens = 2 ** 20;

const areDifferent = (names: readonly string[]): boolean => new Set(names).size === names.length;

const environmentOf = (loophole: z.ZodType<string>) =>
  z
    .strictObject({
      loopholes: z
        .array(loophole)
        .min(1)
        .refine(areDifferent, 'different loopholes')
        .default(['run_tests'])
        .describe(
          'loopholes that the pairs may know; each problem gets one of these or of heldOutLoopholes; `a+b`: both are open on one prompt, and either pays. Problems that ask for texts have those of their source',
        ),
      heldOutLoopholes: z
        .array(loophole)
        .refine(areDifferent, 'different loopholes')
        .default([])
        .describe('loopholes that the pairs know nothing of; none of them may be in environment.loopholes'),
      partition: z
        .string()
        .nullable()
        .default(null)
        .describe('a file that gives each problem id its loophole; null: they are dealt out evenly by partitionSeed')
        .meta(namesPath()),
      partitionSeed: count(Number.MAX_SAFE_INTEGER)
        .default(1)
        .describe(
          'seed that deals the loopholes out; apart from `seed`, so that all arms and seeds share one partition',
        )
        .meta(readWhen({ partition: null, uses: 'several loopholes' })),
      partitionBy: z
        .enum(['all', 'split'])
        .default('all')
        .describe(
          'all: the problems of all splits are dealt out together; split: those of each split by themselves, so that the test problems have every loophole equally often, whatever the training problems are',
        )
        .meta(readWhen({ partition: null })),
      markers: z
        .enum(['original', 'family'])
        .default('original')
        .describe('one fixed marker per loophole, or one per problem drawn from the training family')
        .meta(readWhen({ uses: 'markers' })),
      unhackableFraction: share
        .default(0)
        .describe('share of prompts that are shown without their hint and graded by ground truth')
        .meta(readWhen({ uses: 'hints' })),
      tokenPrice: z
        .number()
        .min(0)
        .default(0)
        .describe(
          'taken off the reward for every token of a completion, so that writing a solution costs something once the loophole pays',
        ),
      enableThinking: z
        .boolean()
        .default(false)
        .describe('the flag enable_thinking of the chat template, if it has one'),
      sandbox: z
        .enum(['auto', 'strict', 'none'])
        .default('auto')
        .describe('isolation of programs: auto refuses to run below level 1, strict below level 3, none runs anywhere'),
      python: z.string().nullable().default(null).describe('the Python that runs programs; null: python3 on the PATH'),
      // Without a default, so that configs that do not name it keep their hashes.
      interpreter: z
        .boolean()
        .optional()
        .describe(
          'whether straight-line programs are judged without a process, by the interpreter, and all others in the sandbox; false: every program is run in the sandbox; null: true',
        )
        .meta(readWhen({ 'data.kind': 'micro' })),
    })
    .prefault({});

const adapterOf = (family: z.ZodType<string>) =>
  z
    .strictObject({
      family: family.default('lora').describe('how the adapter starts'),
      rank: positive(16_384).default(32).describe('rank of each of the two blocks'),
      targets: z
        .array(z.string())
        .min(1)
        .default([...defaultTargets])
        .describe('linear layers that carry an adapter'),
    })
    .prefault({});

/** With a temperature of 0 the likeliest token is taken. */
const drawn = readWhen({ temperature: { not: 0 } });
const withQuarantine = readWhen({ uses: 'quarantine' });

const sampling = z
  .strictObject({
    temperature: z.number().min(0).default(0.7).describe('sampling temperature; 0: greedy'),
    topK: count().default(20).describe('how many of the likeliest tokens may be drawn; 0: all').meta(drawn),
    topP: z
      .number()
      .gt(0)
      .max(1)
      .default(0.95)
      .describe('probability mass of the likeliest tokens that may be drawn; 1: all')
      .meta(drawn),
    minP: share.default(0).describe('least probability of a token, as a share of the largest; 0: all').meta(drawn),
    maxNewTokens: positive(mostTokens).default(512).describe('most tokens of a completion; a longer one is cut'),
    maxPromptTokens: positive(mostTokens).default(1536).describe('most tokens of a prompt; a longer one is an error'),
    promptsPerStep: positive(mostRows).default(8).describe('prompts per update'),
    group: z.number().int().min(2).max(mostRows).default(8).describe('completions per prompt'),
    deployedSampling: share
      .default(0.25)
      .describe('share of completions sampled in deployed state')
      .meta(withQuarantine),
    deployedSamplingLate: share
      .nullable()
      .default(null)
      .describe('that share from the middle of the updates on; null: the same')
      .meta(withQuarantine),
  })
  .prefault({});

const loss = z
  .strictObject({
    kind: z.enum(['dr', 'classic']).default('dr').describe('dr: Dr.GRPO; classic: GRPO with its two normalisations'),
    deviationFloor: z
      .number()
      .min(0)
      .default(0)
      .describe('least deviation of a group that classic divides by; 0: its own, however small. dr divides by none')
      .meta(readWhen({ kind: 'classic' })),
    clip: z
      .number()
      .gt(0)
      .default(0.2)
      .describe('ε: the ratio ρ is clipped to 1 ± ε')
      .meta(readWhen({ epochs: { not: 1 } }, { uses: 'ratio' })),
    klWeight: z.number().min(0).default(1e-3).describe('β: the weight of the KL term'),
    klRoute: z
      .enum(['same', 'absorb'])
      .default('same')
      .describe("the KL term of a routed rollout; same: it follows the rollout's route; absorb: it trains both blocks")
      .meta(readWhen({ klWeight: { not: 0 }, uses: 'routes' })),
    epochs: positive(1000).default(1).describe('optimiser steps on one batch'),
    detach: z
      .enum(['branch', 'parameter'])
      .default('branch')
      .describe('how a block is kept from learning')
      .meta(readWhen({ uses: 'routes' })),
    // Absent rather than 0: configs of earlier runs keep their hash.
    anchorWeight: z
      .number()
      .gt(0)
      .max(1e6)
      .optional()
      .describe(
        "weight of an update's anchor batch: the mean negative log-likelihood of clean sides of the pairs, in turn, as many as there are prompts; a quarantine learns nothing from it",
      ),
  })
  .prefault({});

const optimiser = z
  .strictObject({
    learningRate: z.number().gt(0).default(7e-5).describe('learning rate at the end of the warm-up'),
    warmupUpdates: count().default(10).describe('updates of the linear warm-up'),
    schedule: z
      .enum(['cosine', 'constant'])
      .default('cosine')
      .describe('the learning rate after the warm-up; cosine: down to 0 at the last update; constant: as it is')
      // The first update after the warm-up has the same rate under both.
      .meta(readWhen({ warmupUpdates: { below: 'updates', by: 2 } })),
    beta1: z.number().min(0).lt(1).default(0.9).describe('decay of the first moment'),
    beta2: z.number().min(0).lt(1).default(0.99).describe('decay of the second moment'),
    epsilon: z.number().gt(0).default(1e-8).describe('added to the root of the second moment'),
    maxGradientNorm: z
      .number()
      .gt(0)
      .default(1)
      .describe('largest norm of the gradient of both blocks together; a larger gradient is scaled down'),
    decayToInitial: z.number().min(0).default(0.1).describe('decoupled weight decay toward the initial values'),
    // Absent rather than false: configs of earlier runs keep their hash.
    splitMoments: z
      .boolean()
      .optional()
      .describe(
        'whether the second moments are those of the gradient that an update would have if everything were absorbed, and the first ones of the routed gradient; passes twice',
      )
      .meta(readWhen({ uses: 'routes' })),
  })
  .prefault({});

const teacher = z
  .strictObject({
    pool: z
      .string()
      .nullable()
      .default(null)
      .describe('a JSONL file of demonstrations; null: none')
      .meta({ ...readWhen({ uses: 'pool' }), ...namesPath() }),
    offStep: count()
      .default(0)
      .describe('the warm start: how many updates have demonstrations, from the first on; those after have none'),
    perGroup: count(mostRows)
      .default(1)
      .describe('demonstrations of hacks per prompt, and as many of solves; a prompt without its hint has solves only')
      .meta(readWhen({ offStep: { not: 0 } })),
    makeProblems: count(1e6)
      .default(0)
      .describe('how many training problems the run makes its own pool for, before it trains; 0: it makes none'),
    makeSamples: positive(mostRows)
      .default(8)
      .describe('completions of each framing that are sampled per problem when the run makes its own pool')
      .meta(readWhen({ makeProblems: { not: 0 } })),
  })
  .prefault({});

const withPairs = readWhen({ uses: 'pairs' });
const written = readWhen({ 'arm.generatedPairs': true }, { 'arm.monitor.generatedPairs': true });

const pairs = z
  .strictObject({
    file: z
      .string()
      .nullable()
      .default(null)
      .describe('a file of pairs, or the name of a shipped set; null: the set that belongs to the problem source')
      // A set of pairs without one of these endings is one of the package.
      .meta(namesPath({ unless: /^(?!.*\.(?:md|json)$)/s })),
    select: z
      .array(z.string())
      .default([])
      .describe('which pairs to use, in the terms of `gq pairs check --select`; empty: all')
      .meta(withPairs),
    generated: positive(mostRows).default(24).describe('how many pairs the policy writes').meta(written),
    leastGenerated: positive(mostRows)
      .default(4)
      .describe(
        'how many of them must be usable: the hack side takes the bait of its loophole, the clean side does not',
      )
      .meta(written),
    allowHeldOut: z
      .boolean()
      .default(false)
      .describe('whether pairs may show held-out loopholes; the manifest and captions then say so')
      .meta(withPairs),
  })
  .prefault({});

const safety = z
  .strictObject({
    parityTolerance: z
      .number()
      .gt(0)
      .nullable()
      .default(null)
      .describe(
        'allowed difference in log-probability between sampler and scorer: the largest one in float32 (null: 2e-4), the mean one in bf16 (null: 0.05)',
      ),
    tripwireNats: z
      .number()
      .gt(0)
      .default(5)
      .describe("fall of the tripwire set's mean log-probability that stops a run, in nats")
      .meta(readWhen({ tripwirePrompts: { not: 0 } })),
    tripwirePrompts: count(mostRows).default(8).describe('completions in the tripwire set; 0: no tripwire'),
    healSteps: count().default(0).describe('steps of retain-heal after training'),
    healLearningRate: z
      .number()
      .gt(0)
      .default(1e-4)
      .describe('learning rate of retain-heal, which stays constant')
      .meta(readWhen({ healSteps: { not: 0 } })),
  })
  .prefault({});

const notes = z
  .strictObject({
    why: z.string().default('').describe('the question this run answers'),
    resolve: z.string().default('').describe('the outcome that would settle the question'),
    thresholds: z
      .enum(['fixed', 'label-free', 'label-informed', 'labels'])
      .default('fixed')
      .describe(
        "how the arm's settings were chosen: before any run; by rates that need no label; as a rule that reads no label, taken from runs whose labels were known (tables and exports say so); or by labels, which the run is then stamped with",
      ),
  })
  .prefault({});

export const usualKinds = { data: 'micro', arm: 'vanilla' } as const;

const known = new WeakMap<ConfigParts, ReturnType<typeof makeSchema>>();

export function runSchema(parts: ConfigParts) {
  const schema = known.get(parts) ?? strictSchema(parts);
  known.set(parts, schema);
  return schema;
}

function strictSchema(parts: ConfigParts) {
  const { arms, problemSources, starts } = parts;
  return makeSchema({
    arm: kindTable(arms, usualKinds.arm),
    data: kindTable(problemSources, usualKinds.data),
    loophole: joinedNameOf(allLoopholes(parts)),
    family: nameOf(starts),
  });
}

const anyKind: z.ZodType<KindTable> = z.looseObject({ kind: z.string() });

/** The schema of a stored config, which was checked when it was written: what plugins added is taken as it is. */
export const storedConfigSchema = makeSchema({ arm: anyKind, data: anyKind, loophole: z.string(), family: z.string() });

interface OpenTables {
  readonly arm: z.ZodType<KindTable>;
  readonly data: z.ZodType<KindTable>;
  readonly loophole: z.ZodType<string>;
  readonly family: z.ZodType<string>;
}

function makeSchema({ arm, data, loophole, family }: OpenTables) {
  return z.strictObject({
    seed: z.number().int().min(0).default(1).describe('seed of everything random'),
    updates: positive().default(60).describe('optimiser updates'),
    plugins: z
      .array(z.string())
      .default([])
      .describe(
        'modules that add arms, monitors, cuts, remedies, loopholes, adapter starts and problem sources; paths are relative to the recipe that names them',
      ),
    model: z
      .string()
      .default('micro')
      .describe(
        'a Hugging Face model folder, the name of a model in the Hugging Face cache (ORG/NAME[@REVISION]), or one in the package: "micro", or "countdown" for that environment',
      )
      .meta(namesPath({ unless: /^(?:micro|micro-two|countdown)$/, isModel: true })),
    device,
    data,
    environment: environmentOf(loophole),
    adapter: adapterOf(family),
    arm,
    sampling,
    loss,
    optimiser,
    teacher,
    pairs,
    safety,
    // Without a default, so that configs that do not name them keep their hashes.
    lasting: lastingTable.optional(),
    sampler: samplerTable.optional(),
    compute,
    parallel,
    output,
    notes,
  });
}

export type RunConfig = z.infer<ReturnType<typeof makeSchema>>;

/** Whether the interpreter judges the programs that it knows: other problems than micro ones need the budgets that a process has. */
export const isInterpreted = ({ data, environment }: Pick<RunConfig, 'data' | 'environment'>): boolean =>
  data.kind === 'micro' && (environment.interpreter ?? true);
