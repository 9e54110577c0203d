/**
 * The config of a run. Strict: an unknown key is an error. Every key has a description (the reference page is made from
 * them) and most have defaults: those of the fast preset (docs/science.md, section 10) where nothing else is said.
 */
import { z } from 'zod';
import { defaultTargets } from '../adapters/index.ts';

const share = z.number().min(0).max(1);
const count = z.number().int().min(0);
const positive = z.number().int().min(1);

const device = z
  .strictObject({
    kind: z.enum(['wasm', 'reference', 'cuda']).default('wasm').describe('where tensors live and kernels run'),
    threads: count.default(0).describe('worker threads of the wasm device; 0: as many as cores'),
    variant: z
      .enum(['auto', 'plain', 'relaxed', 'wide'])
      .default('auto')
      .describe('wasm kernels; plain gives the same bytes on every machine'),
    arenaMiB: positive
      .nullable()
      .default(null)
      .describe('memory for tensors, at most; null: 1024, on cuda as much as the run needs of what is free'),
    precision: z
      .enum(['bf16', 'f32'])
      .default('bf16')
      .describe('of the cuda device: bf16 for speed, f32 for parity with the others'),
    libraries: z
      .string()
      .nullable()
      .default(null)
      .describe('a folder with the CUDA libraries, looked at before the usual places'),
  })
  .prefault({});

const environmentOf = (loophole: z.ZodType<string>) =>
  z
    .strictObject({
      loopholes: z.array(loophole).min(1).default(['run_tests']).describe('loopholes; each problem gets one of them'),
      heldOutLoopholes: z
        .array(loophole)
        .default([])
        .describe('loopholes the pairs know nothing of; disjoint from loopholes'),
      partition: z
        .string()
        .nullable()
        .default(null)
        .describe('file of problem id → loophole; null: dealt out evenly by seed'),
      markers: z
        .enum(['original', 'family'])
        .default('original')
        .describe('one fixed marker per loophole, or one per problem drawn from the training family'),
      unhackableFraction: share
        .default(0.25)
        .describe('share of prompts shown without their hint, graded by ground truth'),
      enableThinking: z.boolean().default(false).describe('passed to the chat template, where it reads it'),
      sandbox: z.enum(['auto', 'strict']).default('auto').describe('strict refuses to run below isolation level 1'),
      python: z.string().nullable().default(null).describe('the python3 that runs programs; null: found on the PATH'),
    })
    .prefault({});

const adapterOf = (family: z.ZodType<string>) =>
  z
    .strictObject({
      family: family.default('lora').describe('how the adapter starts'),
      rank: positive.default(32).describe('of each of the two blocks'),
      targets: z
        .array(z.string())
        .min(1)
        .default([...defaultTargets])
        .describe('linear layers that carry an adapter'),
    })
    .prefault({});

const sampling = z
  .strictObject({
    temperature: z.number().min(0).default(0.7).describe('0 is greedy'),
    topK: count.default(20).describe('0: all'),
    topP: z.number().gt(0).max(1).default(0.95).describe('1: all'),
    minP: share.default(0).describe('0: all'),
    maxNewTokens: positive.default(512).describe('a completion is cut there'),
    maxPromptTokens: positive.default(1536).describe('a longer prompt is an error'),
    promptsPerStep: positive.default(8).describe('prompts of an update'),
    group: z.number().int().min(2).default(8).describe('completions of a prompt'),
    deployedSampling: share.default(0.25).describe('share of completions sampled in deployed state'),
  })
  .prefault({});

const loss = z
  .strictObject({
    kind: z.enum(['dr', 'classic']).default('dr').describe('Dr.GRPO, or GRPO with its two normalisations'),
    clip: z.number().gt(0).default(0.2).describe('ρ is clipped to 1 ± this'),
    klWeight: z.number().min(0).default(1e-3).describe('β of the k3 term'),
    klRoute: z
      .enum(['same', 'absorb'])
      .default('same')
      .describe('whether the KL of a routed rollout follows its route'),
    epochs: positive.default(1).describe('optimiser steps on one batch'),
    detach: z.enum(['branch', 'parameter']).default('branch').describe('how a block is kept from learning'),
  })
  .prefault({});

const optimiser = z
  .strictObject({
    learningRate: z.number().gt(0).default(7e-5).describe('at the end of the warm-up'),
    warmupUpdates: count.default(10).describe('linear, then cosine to 0'),
    beta1: z.number().min(0).lt(1).default(0.9).describe('decay of the first moment'),
    beta2: z.number().min(0).lt(1).default(0.99).describe('decay of the second moment'),
    epsilon: z.number().gt(0).default(1e-8).describe('added to the root of the second moment'),
    maxGradientNorm: z.number().gt(0).default(1).describe('global clip'),
    decayToInitial: z.number().min(0).default(0.1).describe('decoupled decay toward the initial values'),
  })
  .prefault({});

const teacher = z
  .strictObject({
    pool: z.string().nullable().default(null).describe('JSONL of demonstrations; null: none'),
    offStep: count.default(0).describe('the first update without demonstrations'),
    perGroup: count.default(1).describe('hacks, and as many solves, per prompt'),
  })
  .prefault({});

const pairs = z
  .strictObject({
    file: z
      .string()
      .nullable()
      .default(null)
      .describe('a file, or the name of a shipped set; null: the one for the data'),
    select: z.array(z.string()).default([]).describe('terms as `gq pairs check --select` takes them; empty: all'),
    generated: positive.default(16).describe('pairs to write, where the gate has the policy write them'),
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
        'between the sampler and the scorer, in log-probability: the largest difference in float32 (null: 2e-4), the mean one in bf16 (null: 0.05)',
      ),
    tripwireNats: z.number().gt(0).default(5).describe('fall of the reference set that stops a run'),
    tripwirePrompts: count.default(8).describe('reference completions; 0: no tripwire'),
    healSteps: count.default(0).describe('steps of retain-heal after training'),
    healLearningRate: z.number().gt(0).default(1e-4).describe('constant while healing'),
  })
  .prefault({});

const output = z
  .strictObject({
    checkpointEvery: positive.default(10).describe('updates between checkpoints; 0 and the last are always kept'),
    storeFeatures: z.boolean().default(true).describe('keep the features of every rollout, for replay'),
    storeTokens: z.boolean().default(true).describe('keep token ids and log-probabilities of every rollout'),
  })
  .prefault({});

const compute = z
  .strictObject({
    tokensPerPass: positive.default(16_384).describe('most tokens of one pass: memory against speed'),
    recompute: z
      .boolean()
      .default(false)
      .describe('give up activations (SwiGLU) and compute them again: less memory, a little slower'),
    readEvery: positive
      .nullable()
      .default(null)
      .describe('tokens drawn between looks at the device; null: 1, on cuda 16'),
    rowStep: positive
      .nullable()
      .default(null)
      .describe('a batch shrinks to multiples of this as rows finish; null: 1, on cuda 32'),
  })
  .prefault({});

const notes = z
  .strictObject({
    why: z.string().default('').describe('the question this run answers'),
    resolve: z.string().default('').describe('what outcome would settle it'),
  })
  .prefault({});

/** What a table with a kind is when it names none. */
export const usualKinds = { data: 'micro', arm: 'vanilla' } as const;

/** What a config may name: the parts of the package, and those of plugins. */
export interface ConfigParts {
  readonly arms: readonly ArmPart[];
  readonly problemSources: readonly ConfigPart[];
  readonly loopholes: readonly { readonly name: string }[];
  readonly starts: readonly { readonly name: string }[];
}

export interface ConfigPart {
  readonly kind: string;
  readonly summary: string;
  readonly settings: z.ZodObject;
}

export interface ArmPart extends ConfigPart {
  /** Whether deployment deletes a block. */
  readonly quarantine: boolean;
}

/** A table whose keys depend on its kind: whoever owns the kind knows their types. */
export interface KindTable {
  readonly kind: string;
  readonly [key: string]: unknown;
}

const known = new WeakMap<ConfigParts, ReturnType<typeof makeSchema>>();

export function runSchema(parts: ConfigParts) {
  const schema = known.get(parts) ?? strictSchema(parts);
  known.set(parts, schema);
  return schema;
}

function strictSchema({ arms, problemSources, loopholes, starts }: ConfigParts) {
  return makeSchema({
    arm: kindTable(arms, usualKinds.arm),
    data: kindTable(problemSources, usualKinds.data),
    loophole: nameOf(loopholes),
    family: nameOf(starts),
  });
}

const anyKind: z.ZodType<KindTable> = z.looseObject({ kind: z.string() });

/** A config that was checked when it was stored: what only its plugins know is taken as it is. */
export const storedConfigSchema = makeSchema({ arm: anyKind, data: anyKind, loophole: z.string(), family: z.string() });

interface OpenTables {
  readonly arm: z.ZodType<KindTable>;
  readonly data: z.ZodType<KindTable>;
  readonly loophole: z.ZodType<string>;
  readonly family: z.ZodType<string>;
}

function makeSchema({ arm, data, loophole, family }: OpenTables) {
  return z.strictObject({
    seed: count.default(1).describe('seed of everything random'),
    updates: positive.default(60).describe('optimiser updates'),
    plugins: z
      .array(z.string())
      .default([])
      .describe(
        'modules with own arms, loopholes, adapter starts and problem sources; paths from the recipe that names them',
      ),
    model: z.string().default('micro').describe('a Hugging Face folder, or "micro": the model in the package'),
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
    compute,
    output,
    notes,
  });
}

/** The tables of all kinds, strict each: a key of another kind is an unknown key. */
function kindTable(parts: readonly ConfigPart[], usual: string) {
  const tables = parts.map(({ kind, summary, settings }) =>
    z.strictObject({ kind: z.literal(kind).describe(summary), ...settings.shape }),
  );
  const [first, ...others] = tables;
  if (first === undefined) throw new RangeError('a table needs at least one kind');
  return z.discriminatedUnion('kind', [first, ...others]).prefault({ kind: usual }) as unknown as z.ZodType<KindTable>;
}

function nameOf(parts: readonly { readonly name: string }[]): z.ZodType<string> {
  return z.enum(parts.map(({ name }) => name));
}

export type RunConfig = z.infer<ReturnType<typeof makeSchema>>;
export type ArmConfig = KindTable;
