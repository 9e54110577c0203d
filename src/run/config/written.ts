/**
 * What a config may hold, as a program writes it. Made from the schema; a test compares it:
 * npx vitest run test/config-types.test.ts -u
 */
/** Several that are open on one prompt are joined by +. */
type Loophole = 'run_tests' | 'eq_override' | 'exit_code' | 'stdout_marker' | 'sentinel' | 'file_marker' | 'gt_only' | `${string}+${string}`;

type Data =
  | { readonly kind: 'micro'; readonly problems?: number; readonly hardShare?: number; readonly seed?: number }
  | { readonly kind: 'file'; readonly path: string; readonly testPath?: string | null; readonly validationPath?: string | null }
  | { readonly kind: 'easy'; readonly problems?: number; readonly seed?: number }
  | { readonly kind: 'countdown'; readonly problems?: number; readonly numbers?: number; readonly seed?: number }
  | { readonly kind: 'biased-judge'; readonly problems?: number; readonly bonus?: number; readonly seed?: number }
  | { readonly kind: 'stories'; readonly problems?: number; readonly bonus?: number; readonly seed?: number }
  | { readonly kind: 'ors'; readonly url: string; readonly keyVariable?: string; readonly tasks?: number; readonly labels?: boolean; readonly concurrency?: number; readonly timeoutSeconds?: number; readonly retries?: number; readonly environment?: string; readonly tool?: string; readonly argument?: string }
  | { readonly kind: 'openenv'; readonly url: string; readonly keyVariable?: string; readonly tasks?: number; readonly labels?: boolean; readonly concurrency?: number; readonly timeoutSeconds?: number; readonly retries?: number; readonly seed?: number; readonly prompt?: string; readonly action?: string; readonly reset?: object; readonly step?: object };

type Monitor =
  | { readonly kind: 'direction'; readonly cut?: 'fixed' | 'fpr' | 'otsu'; readonly threshold?: number; readonly flaggedClean?: number; readonly warmupRows?: number; readonly halfLife?: number; readonly placebo?: 'none' | 'haar' | 'reversed' | 'shuffled'; readonly placeboSeed?: number | null; readonly score?: 'dot' | 'cosine'; readonly standardise?: boolean; readonly refreshEvery?: number }
  | { readonly kind: 'probe'; readonly labelledRun?: string | null; readonly labelledRollouts?: number; readonly layers?: 'together' | 'mean' | 'least'; readonly refreshEvery?: number; readonly placebo?: 'none' | 'shuffled'; readonly steps?: number; readonly learningRate?: number; readonly batch?: number; readonly cut?: 'fixed' | 'fpr' | 'otsu'; readonly threshold?: number; readonly flaggedClean?: number; readonly warmupRows?: number; readonly halfLife?: number }
  | { readonly kind: 'fingerprint'; readonly memoryRows?: number; readonly refreshEvery?: number; readonly placebo?: 'none' | 'haar' | 'reversed' | 'shuffled'; readonly placeboSeed?: number | null; readonly cut?: 'fixed' | 'fpr' | 'otsu'; readonly threshold?: number; readonly flaggedClean?: number; readonly warmupRows?: number; readonly halfLife?: number }
  | { readonly kind: 'regex'; readonly pattern: string; readonly ignoreCase?: boolean }
  | { readonly kind: 'judge'; readonly model?: string | null; readonly answer?: 'probability' | 'text'; readonly question?: string; readonly beside?: 'nothing' | 'group' | 'strangers'; readonly besideMost?: number; readonly quote?: 'indent' | 'fence'; readonly yes?: string; readonly no?: string; readonly maxTokens?: number; readonly maxQuestionTokens?: number; readonly endpoint?: string | null; readonly modelName?: string; readonly keyVariable?: string; readonly parallel?: number; readonly timeoutSeconds?: number; readonly retries?: number; readonly unreachable?: 'error' | 'abstain'; readonly cut?: 'fixed' | 'otsu'; readonly threshold?: number; readonly warmupRows?: number; readonly halfLife?: number }
  | { readonly kind: 'chance'; readonly rate?: number }
  | { readonly kind: 'untrusted'; readonly placebo?: 'none' | 'dealt' }
  | { readonly kind: 'oracle'; readonly target?: 'outcome' | 'attempt'; readonly partLoopholes?: readonly string[]; readonly partMarkers?: string | null; readonly partPrompts?: number | null; readonly partRecall?: number; readonly partFalsePositiveRate?: number | null; readonly accuracy?: number; readonly recall?: number | null; readonly falsePositiveRate?: number | null };

type MonitorAlone =
  | { readonly kind: 'direction'; readonly features?: 'activation' | 'gradient'; readonly placebo?: 'none' | 'haar' | 'reversed' | 'shuffled'; readonly placeboSeed?: number | null; readonly score?: 'dot' | 'cosine'; readonly standardise?: boolean; readonly refreshEvery?: number; readonly granularity?: 'rollout' | 'token'; readonly orthogonalTo?: 'none' | 'solve'; readonly generatedPairs?: boolean }
  | { readonly kind: 'probe'; readonly labelledRun?: string | null; readonly labelledRollouts?: number; readonly layers?: 'together' | 'mean' | 'least'; readonly refreshEvery?: number; readonly placebo?: 'none' | 'shuffled'; readonly steps?: number; readonly learningRate?: number; readonly batch?: number }
  | { readonly kind: 'fingerprint'; readonly memoryRows?: number; readonly refreshEvery?: number; readonly placebo?: 'none' | 'haar' | 'reversed' | 'shuffled'; readonly placeboSeed?: number | null }
  | { readonly kind: 'regex'; readonly pattern: string; readonly ignoreCase?: boolean; readonly abstain?: 'clean' | 'flag' | 'error' }
  | { readonly kind: 'judge'; readonly model?: string | null; readonly answer?: 'probability' | 'text'; readonly question?: string; readonly beside?: 'nothing' | 'group' | 'strangers'; readonly besideMost?: number; readonly quote?: 'indent' | 'fence'; readonly yes?: string; readonly no?: string; readonly maxTokens?: number; readonly maxQuestionTokens?: number; readonly endpoint?: string | null; readonly modelName?: string; readonly keyVariable?: string; readonly parallel?: number; readonly timeoutSeconds?: number; readonly retries?: number; readonly unreachable?: 'error' | 'abstain'; readonly abstain?: 'clean' | 'flag' | 'error' }
  | { readonly kind: 'chance'; readonly rate?: number; readonly abstain?: 'clean' | 'flag' | 'error' }
  | { readonly kind: 'untrusted'; readonly placebo?: 'none' | 'dealt' }
  | { readonly kind: 'oracle'; readonly target?: 'outcome' | 'attempt'; readonly partLoopholes?: readonly string[]; readonly partMarkers?: string | null; readonly partPrompts?: number | null; readonly partRecall?: number; readonly partFalsePositiveRate?: number | null; readonly accuracy?: number; readonly recall?: number | null; readonly falsePositiveRate?: number | null; readonly draws?: 'monitor' | 'gate' };

type Cut =
  | { readonly kind: 'fixed'; readonly threshold?: number }
  | { readonly kind: 'fpr'; readonly flaggedClean?: number }
  | { readonly kind: 'quantile'; readonly tail?: number; readonly keepTail?: number | null; readonly memory?: 'scores' | 'features'; readonly halfLife?: number; readonly warmupRows?: number; readonly bufferRows?: number; readonly bufferTokens?: number }
  | { readonly kind: 'otsu'; readonly keepTail?: number | null; readonly memory?: 'scores' | 'features'; readonly halfLife?: number; readonly warmupRows?: number; readonly bufferRows?: number; readonly bufferTokens?: number }
  | { readonly kind: 'mixture'; readonly keepTail?: number | null; readonly memory?: 'scores' | 'features'; readonly halfLife?: number; readonly warmupRows?: number; readonly bufferRows?: number; readonly bufferTokens?: number }
  | { readonly kind: 'pairs'; readonly low?: boolean; readonly halfLife?: number; readonly bufferRows?: number; readonly bufferTokens?: number }
  | { readonly kind: 'own' };

type Remedy =
  | { readonly kind: 'penalty'; readonly penalty?: number }
  | { readonly kind: 'zero' }
  | { readonly kind: 'probe-penalty'; readonly weight?: number }
  | { readonly kind: 'activation-penalty'; readonly weight?: number; readonly lossWeight?: number }
  | { readonly kind: 'screen' }
  | { readonly kind: 'filter' }
  | { readonly kind: 'advantage-modification'; readonly form?: 'multiplicative' | 'additive'; readonly strength?: number; readonly deviationFloor?: number }
  | { readonly kind: 'route'; readonly others?: 'keep' | 'absorb'; readonly mean?: 'group' | 'own'; readonly keepOnly?: 'any' | 'praised'; readonly placebo?: 'none' | 'mass-matched'; readonly placeboSeed?: number | null };

type Arm =
  | { readonly kind: 'vanilla' }
  | { readonly kind: 'absorb' }
  | { readonly kind: 'no-loophole' }
  | { readonly kind: 'steer'; readonly layer?: number | null; readonly scale?: number }
  | { readonly kind: 'ablate'; readonly layers?: readonly number[]; readonly rank?: number; readonly placebo?: 'none' | 'random' }
  | { readonly kind: 'gradient-regularisation'; readonly gamma?: number; readonly epsilon?: number; readonly clip?: number }
  | { readonly kind: 'inoculation-adapter'; readonly demonstrations?: 'pairs' | 'pool'; readonly epochs?: number; readonly learningRate?: number; readonly batch?: number; readonly warmupSteps?: number; readonly leastRate?: number; readonly elicitPrompts?: number; readonly placebo?: 'none' | 'random' }
  | { readonly kind: 'project'; readonly of?: 'checkpoints' | 'pairs'; readonly components?: number; readonly every?: number; readonly placebo?: 'none' | 'random' | 'shrunk' }
  | { readonly kind: 'early-stop'; readonly every?: number; readonly prompts?: number; readonly patience?: number; readonly leastRise?: number; readonly placebo?: 'none' | 'chance' }
  | { readonly kind: 'inoculation'; readonly text?: string; readonly place?: 'before' | 'after' }
  | { readonly kind: 'recontextualisation'; readonly sample?: string; readonly learn?: string; readonly place?: 'before' | 'after' }
  | { readonly kind: 'oracle'; readonly target?: 'outcome' | 'attempt'; readonly partLoopholes?: readonly string[]; readonly partMarkers?: string | null; readonly partPrompts?: number | null; readonly partRecall?: number; readonly partFalsePositiveRate?: number | null; readonly recall?: number; readonly falsePositiveRate?: number; readonly others?: 'keep' | 'absorb'; readonly mean?: 'group' | 'own' }
  | { readonly kind: 'activation'; readonly placebo?: 'none' | 'haar' | 'reversed' | 'shuffled' | 'mass-matched'; readonly placeboSeed?: number | null; readonly score?: 'dot' | 'cosine'; readonly standardise?: boolean; readonly refreshEvery?: number; readonly calibration?: 'quantile' | 'otsu' | 'mixture' | 'pairs'; readonly granularity?: 'rollout' | 'token'; readonly tail?: number; readonly keepTail?: number | null; readonly mean?: 'group' | 'own'; readonly keepOnly?: 'any' | 'praised'; readonly halfLife?: number; readonly bufferRows?: number; readonly bufferTokens?: number; readonly warmupRows?: number; readonly orthogonalTo?: 'none' | 'solve' }
  | { readonly kind: 'gradient'; readonly placebo?: 'none' | 'haar' | 'reversed' | 'shuffled' | 'mass-matched'; readonly placeboSeed?: number | null; readonly score?: 'dot' | 'cosine'; readonly standardise?: boolean; readonly refreshEvery?: number; readonly calibration?: 'quantile' | 'otsu' | 'mixture' | 'pairs'; readonly granularity?: 'rollout' | 'token'; readonly tail?: number; readonly keepTail?: number | null; readonly mean?: 'group' | 'own'; readonly keepOnly?: 'any' | 'praised'; readonly halfLife?: number; readonly bufferRows?: number; readonly bufferTokens?: number; readonly warmupRows?: number; readonly orthogonalTo?: 'none' | 'solve'; readonly generatedPairs?: boolean }
  | { readonly kind: 'penalty'; readonly monitor: Monitor; readonly abstain?: 'clean' | 'flag' | 'error'; readonly penalty?: number }
  | { readonly kind: 'zero'; readonly monitor: Monitor; readonly abstain?: 'clean' | 'flag' | 'error' }
  | { readonly kind: 'probe-penalty'; readonly monitor: Monitor; readonly abstain?: 'clean' | 'flag' | 'error'; readonly weight?: number }
  | { readonly kind: 'activation-penalty'; readonly monitor: Monitor; readonly abstain?: 'clean' | 'flag' | 'error'; readonly weight?: number; readonly lossWeight?: number }
  | { readonly kind: 'screen'; readonly monitor: Monitor; readonly abstain?: 'clean' | 'flag' | 'error' }
  | { readonly kind: 'filter'; readonly monitor: Monitor; readonly abstain?: 'clean' | 'flag' | 'error' }
  | { readonly kind: 'advantage-modification'; readonly monitor: Monitor; readonly abstain?: 'clean' | 'flag' | 'error'; readonly form?: 'multiplicative' | 'additive'; readonly strength?: number; readonly deviationFloor?: number }
  | { readonly kind: 'routed'; readonly monitor: Monitor; readonly abstain?: 'clean' | 'flag' | 'error'; readonly others?: 'keep' | 'absorb'; readonly mean?: 'group' | 'own' }
  | { readonly kind: 'watched'; readonly monitor: MonitorAlone; readonly cut: Cut; readonly remedy: Remedy };

export interface BuiltinConfig {
  /** A recipe of the package by its name, or the path of one. */
  readonly extends?: string;
  readonly seed?: number;
  readonly updates?: number;
  readonly model?: string;
  readonly device?: { readonly kind?: 'wasm' | 'reference' | 'cuda' | 'webgpu'; readonly threads?: number; readonly variant?: 'auto' | 'plain' | 'relaxed' | 'wide'; readonly arenaMiB?: number | null; readonly precision?: 'bf16' | 'f32'; readonly libraries?: string | null };
  readonly data?: Data;
  readonly environment?: { readonly loopholes?: readonly Loophole[]; readonly heldOutLoopholes?: readonly Loophole[]; readonly partition?: string | null; readonly partitionSeed?: number; readonly partitionBy?: 'all' | 'split'; readonly markers?: 'original' | 'family'; readonly unhackableFraction?: number; readonly tokenPrice?: number; readonly enableThinking?: boolean; readonly sandbox?: 'auto' | 'strict' | 'none'; readonly python?: string | null; readonly interpreter?: boolean };
  readonly adapter?: { readonly family?: 'lora' | 'lora-frozen-b' | 'pissa' | 'corda' | 'scorda' | 'scorda-reversed' | 'antipasto'; readonly rank?: number; readonly targets?: readonly string[] };
  readonly arm?: Arm;
  readonly sampling?: { readonly temperature?: number; readonly topK?: number; readonly topP?: number; readonly minP?: number; readonly maxNewTokens?: number; readonly maxPromptTokens?: number; readonly promptsPerStep?: number; readonly group?: number; readonly deployedSampling?: number; readonly deployedSamplingLate?: number | null };
  readonly loss?: { readonly kind?: 'dr' | 'classic'; readonly deviationFloor?: number; readonly clip?: number; readonly klWeight?: number; readonly klRoute?: 'same' | 'absorb'; readonly epochs?: number; readonly detach?: 'branch' | 'parameter'; readonly anchorWeight?: number };
  readonly optimiser?: { readonly learningRate?: number; readonly warmupUpdates?: number; readonly schedule?: 'cosine' | 'constant'; readonly beta1?: number; readonly beta2?: number; readonly epsilon?: number; readonly maxGradientNorm?: number; readonly decayToInitial?: number; readonly splitMoments?: boolean };
  readonly teacher?: { readonly pool?: string | null; readonly offStep?: number; readonly perGroup?: number; readonly makeProblems?: number; readonly makeSamples?: number };
  readonly pairs?: { readonly file?: string | null; readonly select?: readonly string[]; readonly generated?: number; readonly leastGenerated?: number; readonly allowHeldOut?: boolean };
  readonly safety?: { readonly parityTolerance?: number | null; readonly tripwireNats?: number; readonly tripwirePrompts?: number; readonly healSteps?: number; readonly healLearningRate?: number };
  readonly lasting?: { readonly kind?: 'none' | 'collapse' | 'undo'; readonly placebo?: 'none' | 'noise' | 'components'; readonly steps?: number; readonly components?: number; readonly size?: number; readonly alpha?: number; readonly beta?: number; readonly batches?: number; readonly learningRate?: number };
  readonly sampler?: { readonly kind?: 'vllm' | 'sglang'; readonly url?: string | null; readonly keyVariable?: string; readonly folder?: string | null; readonly serverFolder?: string | null; readonly maxStaleness?: number; readonly tolerance?: number; readonly onMismatch?: 'stop' | 'local'; readonly parallel?: number; readonly timeoutSeconds?: number; readonly retries?: number };
  readonly compute?: { readonly tokensPerPass?: number; readonly recompute?: boolean; readonly readEvery?: number | null; readonly rowStep?: number | null };
  readonly parallel?: { readonly shards?: number };
  readonly output?: { readonly checkpointEvery?: number; readonly keepState?: 'newest' | 'all'; readonly storeFeatures?: boolean; readonly storeTokens?: boolean };
  readonly notes?: { readonly why?: string; readonly resolve?: string; readonly thresholds?: 'fixed' | 'label-free' | 'label-informed' | 'labels' };
  readonly monitor?: MonitorAlone;
  readonly cut?: Cut;
  readonly remedy?: Remedy;
}

type OpenTable = { readonly kind: string; readonly [key: string]: unknown };
type OpenName = 'arm' | 'data' | 'monitor' | 'cut' | 'remedy';

/** With plugins, kinds and keys of tables may be theirs. */
export type PluginConfig = Omit<BuiltinConfig, OpenName> & { readonly plugins: readonly string[] } & { readonly [K in OpenName]?: OpenTable };

/** Chosen by whether there is a list of plugins, so that an error of types names the key that is wrong, in the config that was meant. */
export type ConfigWith<Plugins> = Plugins extends readonly string[] ? PluginConfig : BuiltinConfig;

export type WrittenConfig = BuiltinConfig | PluginConfig;
