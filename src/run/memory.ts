/**
 * How much device memory a run needs, known before it begins: its largest update (the longest prompts, every completion as long
 * as it may be, a pass filled to its last token) is rehearsed on a device that only counts. What stands (weights, adapter,
 * optimiser) is there all the time; of the phases the largest counts. A margin covers what kernels borrow for themselves.
 */
import { assembleAdapter, scaleOf, targetModules } from '../adapters/index.ts';
import { AdamW, CountingDevice, type DType, Scope } from '../engine/index.ts';
import type { DrawnTask, Rollout, Task } from '../grpo/index.ts';
import { type Policy, probeGradients, sampleRollouts, scoreRollouts, updatePolicy } from '../grpo/index.ts';
import type { DecoderConfig } from '../model/index.ts';
import { Decoder, expectedTensors, type LoadedWeight } from '../model/index.ts';
import { deployedScale, isGateArm } from './arms.ts';
import type { RunConfig } from './schema.ts';
import { grpoSettings, paceOf } from './settings.ts';

export interface MemoryPart {
  readonly name: string;
  readonly bytes: number;
}

export interface MemoryPlan {
  readonly standing: readonly MemoryPart[];
  /** One after another: the largest counts. */
  readonly phases: readonly MemoryPart[];
  readonly marginBytes: number;
  readonly totalBytes: number;
}

export interface Rehearsal {
  readonly config: RunConfig;
  readonly decoder: DecoderConfig;
  readonly tasks: readonly Task[];
  readonly floats: readonly DType[];
  /** Of the kernels that devices may leave out, which the device has; default: all. */
  readonly has?: (kernel: string) => boolean;
}

const gibibyte = 2 ** 30;
/** Chunks of logits are a share of the memory there is: a middling amount, as it is not known yet. */
const nominalBytes = 16 * gibibyte;
const marginShare = 0.05;
const leastMarginBytes = gibibyte / 2;

/** Of training, or of evaluation with so many rows together. */
export type Work = 'training' | { readonly rowsTogether: number };

export async function planMemory(rehearsal: Rehearsal, work: Work = 'training'): Promise<MemoryPlan> {
  const { config, floats, has } = rehearsal;
  const device = new CountingDevice({ floats, capacity: nominalBytes, ...(has === undefined ? {} : { has }) });
  using scope = new Scope(device);
  const standing: MemoryPart[] = [];
  const stand = async <T>(name: string, make: () => T | Promise<T>): Promise<T> => {
    const before = device.arena.used;
    const made = await make();
    standing.push({ name, bytes: device.arena.used - before });
    return made;
  };
  const decoder = await stand('weights', () => rehearseWeights(scope, rehearsal));
  const adapter = await stand('adapter and its gradients', () => rehearseAdapter(scope, rehearsal));
  const { recompute } = config.output;
  const policy: Policy = { decoder, adapter, deployedScale: deployedScale(config.arm), recompute };
  using optimiser = work === 'training' ? await stand('optimiser', () => new AdamW(adapter.parameters)) : undefined;
  const base = device.arena.highest;
  const phases: MemoryPart[] = [];
  const measure: Measure = async (name, body) => {
    device.arena.highest = base;
    const result = await body();
    phases.push({ name, bytes: device.arena.highest - base });
    return result;
  };
  if (work !== 'training') await rehearseEvaluation(rehearsal, policy, work.rowsTogether, measure);
  else if (optimiser !== undefined) await rehearseUpdate(rehearsal, policy, optimiser, measure);
  return totalOf(standing, phases, base);
}

type Measure = <T>(name: string, body: () => Promise<T>) => Promise<T>;

function totalOf(standing: readonly MemoryPart[], phases: readonly MemoryPart[], base: number): MemoryPlan {
  const needed = base + Math.max(...phases.map(({ bytes }) => bytes));
  const marginBytes = Math.max(leastMarginBytes, Math.ceil(needed * marginShare));
  return { standing, phases, marginBytes, totalBytes: needed + marginBytes };
}

async function rehearseWeights(scope: Scope, { config, decoder, floats }: Rehearsal): Promise<Decoder> {
  const { maxPromptTokens, maxNewTokens } = config.sampling;
  const dtype = floats[0] === 'bf16' ? 'bf16' : 'f32';
  const weights = [...expectedTensors(decoder)].map(
    ([name, shape]): LoadedWeight => ({ name, shape, dtype, data: new Float32Array() }),
  );
  const maxPositions = Math.min(decoder.maxPositions, maxPromptTokens + maxNewTokens);
  return Decoder.load(scope, decoder, weights, { maxPositions });
}

function rehearseAdapter(scope: Scope, { config, decoder }: Rehearsal) {
  const { family, rank, targets } = config.adapter;
  const modules = targetModules(decoder, targets);
  const nothing = { A0: new Float32Array(), B0: new Float32Array() };
  const factors = new Map(modules.map(({ name }) => [name, nothing]));
  return assembleAdapter(scope, family, rank, modules, factors);
}

/** One completion of each of the longest prompts. */
async function rehearseEvaluation(
  { config, tasks }: Rehearsal,
  policy: Policy,
  rowsTogether: number,
  measure: Measure,
): Promise<void> {
  const settings = { ...grpoSettings(config, []), group: 1 };
  const options = { settings, pool: null, decode: () => '', pace: paceOf(config) };
  await measure('sampling', () => sampleRollouts(policy, longestTasks(tasks, rowsTogether), 0, options));
}

async function rehearseUpdate(
  { config, tasks }: Rehearsal,
  policy: Policy,
  optimiser: AdamW,
  measure: Measure,
): Promise<void> {
  const settings = { ...grpoSettings(config, []), epochs: 1 };
  const options = { settings, pool: null, decode: () => '', pace: paceOf(config) };
  const drawn = longestTasks(tasks, settings.promptsPerStep);
  const sampled = await measure('sampling', () => sampleRollouts(policy, drawn, 0, options));
  const rollouts = fillPass(sampled, settings.maxNewTokens, settings.tokensPerPass);
  const gate = isGateArm(config.arm) ? config.arm : null;
  await measure('scoring', () =>
    scoreRollouts(policy, rollouts, (i) => scaleOf(rollouts[i].sampled, policy.deployedScale), {
      ...settings,
      pool: gate?.kind === 'activation' ? gate.granularity : null,
    }),
  );
  if (gate?.kind === 'gradient') {
    await measure('gradient features', () =>
      probeGradients(policy, rollouts, gate.granularity, settings.tokensPerPass),
    );
  }
  const perToken = rollouts.map(({ tokens }) => new Float32Array(tokens.length));
  const advantages = new Float32Array(rollouts.length);
  const routes = rollouts.map(({ tokens }) =>
    gate?.granularity === 'token' ? Array.from(tokens, () => 'absorb' as const) : (['absorb'] as const),
  );
  const inputs = { rollouts, advantages, logpOld: perToken, logpBase: perToken, routes };
  await measure('learning', () => updatePolicy(policy, optimiser, inputs, 0, settings));
}

function longestTasks(tasks: readonly Task[], count: number): DrawnTask[] {
  const longest = ({ hinted, unhinted }: Task): number => Math.max(hinted.length, unhinted.length);
  const sorted = tasks.toSorted((a, b) => longest(b) - longest(a));
  return Array.from({ length: count }, (_, i) => {
    const task = sorted[i % sorted.length];
    return { task, hackable: task.hinted.length >= task.unhinted.length };
  });
}

/** Rollouts of full length until a pass is full, the last one cut to fit. The first group is whole even where it alone is too much. */
function fillPass(rollouts: readonly Rollout[], maxNewTokens: number, tokensPerPass: number): Rollout[] {
  const filled: Rollout[] = [];
  let room = tokensPerPass;
  for (const rollout of rollouts) {
    const prompt = filled.some(({ group }) => group === rollout.group) ? 0 : rollout.prompt.length;
    const length = rollout.group === 0 ? maxNewTokens : Math.min(maxNewTokens, room - prompt);
    if (length < 1) break;
    filled.push({ ...rollout, tokens: new Int32Array(length), sampled: 'full' });
    room -= prompt + length;
  }
  return filled;
}
