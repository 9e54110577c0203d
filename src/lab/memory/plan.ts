/**
 * How much device memory a run needs, known before it begins: its largest update (the longest prompts, every completion as long
 * as it may be, a pass filled to its last token) is rehearsed on a device that only counts. Weights, adapter and optimiser are in
 * memory all the time; phases follow one another, so only the largest counts. A margin covers what kernels use for themselves.
 */
import { type AdapterStart, assembleAdapter, deployedScaleOf, targetModules } from '../../adapters/index.ts';
import { UserError } from '../../base/index.ts';
import { AdamW, CountingDevice, type DType, Scope } from '../../engine/index.ts';
import type { ArmDefinition, DemonstrationPool, FrozenModel, Policy, Task } from '../../grpo/index.ts';
import { hasLasting } from '../../grpo/lasting-table.ts';
import { Decoder, type DecoderConfig, expectedTensors, type LoadedWeight, type ModelText } from '../../model/index.ts';
import type { RunConfig } from '../../run/index.ts';
import { longestCompletions, rehearseEvaluation, rehearseUpdate } from './rehearsal.ts';

export interface MemoryPart {
  readonly name: string;
  readonly bytes: number;
}

/** Phases follow one another, so only the largest counts. */
export type MemoryPlan = Readonly<Awaited<ReturnType<typeof planMemory>>>;

export interface Rehearsal {
  readonly config: RunConfig;
  readonly arm: ArmDefinition;
  readonly start: AdapterStart;
  readonly decoder: DecoderConfig;
  /** The models that the arm opens beside the policy, by name; of `base` only the text counts. */
  readonly models?: ReadonlyMap<string, { readonly decoder: DecoderConfig; readonly text: ModelText }>;
  readonly tasks: readonly Task[];
  /** Demonstrations, which may be longer than a completion; default: none. */
  readonly pool?: DemonstrationPool | null | undefined;
  readonly floats: readonly DType[];
  /** Whether the device has an optional kernel; default: it has them all. */
  readonly has?: (kernel: string) => boolean;
}

const gibibyte = 2 ** 30;
/** Assumed size of the device's memory, which sets the size of chunks of logits; the real size is not known yet. */
const nominalBytes = 16 * gibibyte;
const marginShare = 0.05;
const leastMarginBytes = gibibyte / 2;

export type Work = 'training' | { readonly rowsTogether: number };

export async function planMemory(rehearsal: Rehearsal, work: Work = 'training') {
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
  const longest = config.sampling.maxPromptTokens + Math.max(...longestCompletions(config, rehearsal.pool));
  const decoder = await stand('weights', () => rehearseWeights(scope, rehearsal.decoder, longest, floats));
  const adapter = await stand('adapter and its gradients', () => rehearseAdapter(scope, rehearsal));
  const { recompute } = config.compute;
  const policy: Policy = {
    decoder,
    adapter,
    deployedScale: deployedScaleOf(rehearsal.arm.quarantine(config.arm)),
    recompute,
  };
  using optimiser = work === 'training' ? await stand('optimiser', () => new AdamW(adapter.parameters)) : undefined;
  let base = device.arena.highest;
  // The arm is opened before the first phase begins: what it loads is in memory all the time.
  const openModel = async (name: string, longest: number): Promise<FrozenModel> => {
    const opened = await stand('models of the arm', () => rehearseModel(scope, rehearsal, decoder, name, longest));
    base = device.arena.highest;
    return opened;
  };
  const most = new Map<string, number>();
  const begin = (): void => {
    device.arena.highest = base;
  };
  const end = (name: string): void => {
    most.set(name, Math.max(most.get(name) ?? 0, device.arena.highest - base));
  };
  if (work !== 'training') await rehearseEvaluation(rehearsal, policy, work.rowsTogether, { begin, end });
  else if (optimiser !== undefined) await rehearseUpdate(rehearsal, policy, optimiser, { begin, end }, openModel);
  const learning = most.get('learning');
  // Healing is a smaller pass than learning, but has moments of its own.
  if (learning !== undefined && (config.safety.healSteps > 0 || hasLasting(config))) {
    const moments = standing.find(({ name }) => name === 'optimiser')?.bytes ?? 0;
    most.set('healing', learning + moments);
  }
  const phases = Array.from(most, ([name, bytes]) => ({ name, bytes })).filter(({ bytes }) => bytes > 0);
  const needed = base + Math.max(...phases.map(({ bytes }) => bytes));
  const marginBytes = Math.max(leastMarginBytes, Math.ceil(needed * marginShare));
  const parts: Readonly<Record<'standing' | 'phases', readonly MemoryPart[]>> = { standing, phases };
  return { ...parts, marginBytes, totalBytes: needed + marginBytes };
}

async function rehearseWeights(
  scope: Scope,
  decoder: DecoderConfig,
  longest: number,
  floats: readonly DType[],
): Promise<Decoder> {
  const dtype = floats[0] === 'bf16' ? 'bf16' : 'f32';
  const weights = [...expectedTensors(decoder)].map(
    ([name, shape]): LoadedWeight => ({ name, shape, dtype, data: new Float32Array() }),
  );
  return Decoder.load(scope, decoder, weights, { maxPositions: Math.min(decoder.maxPositions, longest) });
}

async function rehearseModel(
  scope: Scope,
  { models, floats, decoder: config }: Rehearsal,
  decoder: Decoder,
  name: string,
  longest: number,
): Promise<FrozenModel> {
  const known = models?.get(name);
  if (known === undefined) throw new RangeError(`the arm did not say that it opens the model ${name}`);
  const { text } = known;
  if (name !== 'base') return { text, decoder: await rehearseWeights(scope, known.decoder, longest, floats) };
  return { text, decoder: decoder.withPositions(scope, Math.min(config.maxPositions, longest)) };
}

function rehearseAdapter(scope: Scope, { config, decoder, start }: Rehearsal) {
  const { rank, targets } = config.adapter;
  const modules = targetModules(decoder, targets);
  const nothing = { A0: new Float32Array(), B0: new Float32Array() };
  const factors = new Map(modules.map(({ name }) => [name, nothing]));
  return assembleAdapter(scope, start, rank, modules, factors);
}

function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}

export interface Budget {
  readonly bytes: number;
  /** Where the budget comes from, such as `in device.arenaMiB` or `free on NVIDIA H200`. */
  readonly source: string;
}

export function renderPlan({ standing, phases, marginBytes, totalBytes }: MemoryPlan, budget: Budget): string {
  const largest = largestPhase(phases);
  const rows: [string, number, string][] = [
    ...standing.map(({ name, bytes }): [string, number, string] => [name, bytes, '']),
    ...phases.map((part): [string, number, string] => [
      part.name,
      part.bytes,
      part === largest ? 'the largest phase, which counts' : 'not at the same time',
    ]),
    ['margin', marginBytes, ''],
    ['planned', totalBytes, ''],
    ['left', budget.bytes - totalBytes, `of ${gibibytes(budget.bytes)} ${budget.source}`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, bytes, note]) =>
    `  ${name.padEnd(width)} ${gibibytes(bytes).padStart(11)}  ${note}`.trimEnd(),
  );
  return `memory of the device\n${lines.join('\n')}`;
}

export function assertFits(plan: MemoryPlan, budget: Budget, config: RunConfig): void {
  if (plan.totalBytes <= budget.bytes) return;
  const { standing, phases, totalBytes, marginBytes } = plan;
  const parts = [...standing, largestPhase(phases), { name: 'margin', bytes: marginBytes }];
  throw new UserError({
    call: 'memory of the device',
    expected: `a run that fits into ${gibibytes(budget.bytes)} (${budget.source})`,
    found: `one that needs ${gibibytes(totalBytes)}: ${parts.map(({ name, bytes }) => `${name} ${gibibytes(bytes)}`).join(', ')}`,
    fix: adviceFor(plan, budget, config),
  });
}

function largestPhase(phases: readonly MemoryPart[]): MemoryPart {
  return phases.reduce((most, part) => (part.bytes > most.bytes ? part : most));
}

function adviceFor({ standing, phases, marginBytes }: MemoryPlan, budget: Budget, config: RunConfig): string {
  const room = budget.bytes - marginBytes - standing.reduce((sum, { bytes }) => sum + bytes, 0);
  if (room <= 0) {
    return 'The weights, the adapter and the optimiser alone need more than that: use a smaller model, lower adapter.rank, or use a GPU with more memory.';
  }
  const { compute, sampling } = config;
  const tooLarge = phases.filter(({ bytes }) => bytes > room);
  const advice = tooLarge.map(({ name, bytes }) => {
    const share = room / bytes;
    if (name === 'sampling') {
      const rows = Math.floor(sampling.promptsPerStep * share);
      return `lower sampling.promptsPerStep to about ${Math.max(1, rows)} (now ${sampling.promptsPerStep}), or sampling.group or sampling.maxNewTokens`;
    }
    const tokens = Math.max(1, Math.floor((compute.tokensPerPass * share) / 256)) * 256;
    const again = compute.recompute || name === 'scoring' ? '' : ', or set compute.recompute = true';
    return `for ${name} lower compute.tokensPerPass to about ${tokens} (now ${compute.tokensPerPass})${again}`;
  });
  const sentence = `${advice.join('; ')}.`;
  return `${sentence[0].toUpperCase()}${sentence.slice(1)}`;
}
