/**
 * Opens the device of a run. On a GPU it reserves as much memory as a rehearsal of the run needed. A run that does not fit into the
 * budget (device.arenaMiB, or what is free) is refused before anything is loaded, and the error says what to lower.
 */
import { totalmem } from 'node:os';
import { findStart } from '../adapters/index.ts';
import type { Device } from '../engine/index.ts';
import type { Task } from '../grpo/index.ts';
import type { DecoderConfig } from '../model/index.ts';
import { type Launched, launchedRanks } from '../parallel/index.ts';
import {
  assertFits,
  type Budget,
  planMemory,
  type Rehearsal,
  type RunConfig,
  renderPlan,
  type Work,
} from '../run/index.ts';
import { partsOf } from './config.ts';
import { type DeviceOptions, openDevice } from './devices.ts';
import type { Resources } from './open-parts.ts';
import { armOf } from './parts.ts';

export function deviceOptions({ device }: RunConfig): DeviceOptions {
  const { threads, variant, precision, arenaMiB, libraries } = device;
  return {
    ...{ threads, variant, precision },
    ...(arenaMiB === null ? {} : { arenaMiB }),
    ...(libraries === null ? {} : { libraries }),
  };
}

/**
 * Starts the GPU of a run, where it has one, while its inputs are read; resolves when that is done. The ranks of a machine start theirs
 * when they open it, since which one it is depends on how many there are.
 */
export async function warmDevice(config: RunConfig, resources: Resources): Promise<void> {
  if (config.device.kind !== 'cuda' || launchedRanks() !== null) return;
  const { libraries } = config.device;
  const { warmGpu } = await import('../engine/cuda/index.ts');
  const warming = warmGpu(libraries === null ? {} : { libraries });
  resources.use({ [Symbol.asyncDispose]: async () => (await warming)?.[Symbol.dispose]() });
  await warming;
}

export interface PlannedWork {
  readonly decoder: DecoderConfig;
  /** The tasks whose prompts the device will see; called only if memory is planned. */
  readonly tasks: () => Promise<readonly Task[]>;
  readonly work: Work;
  /** The models that the arm opens, and the texts of its own; none where the arm is not opened. */
  readonly models?: Rehearsal['models'];
  /** Is given the plan as text, if there is one. */
  readonly show: (plan: string) => void | Promise<void>;
}

export async function openRunDevice(config: RunConfig, planned: PlannedWork): Promise<Device> {
  const { kind, precision } = config.device;
  const options = deviceOptions(config);
  if (kind !== 'cuda') return openDevice(kind, options);
  const { decoder, work, show, models = new Map() } = planned;
  const tasks = await planned.tasks();
  if (tasks.length === 0) return openDevice(kind, options);
  const place = await findGpu(options);
  if (place === null) return openDevice(kind, options);
  const { budget, ordinal } = place;
  const floats = precision === 'bf16' ? (['bf16', 'f32'] as const) : (['f32', 'bf16'] as const);
  const parts = await partsOf(config);
  const [arm, start] = [armOf(config, parts), findStart(config.adapter.family, parts.starts)];
  const plan = await planMemory({ config, arm, start, decoder, models, tasks, floats }, work);
  assertFits(plan, budget, config);
  await show(renderPlan(plan, budget));
  return openDevice(kind, { ...options, ordinal, arenaMiB: Math.ceil(plan.totalBytes / 2 ** 20) });
}

/** The memory that a device can take; null if no GPU answers, in which case opening the device will say why. */
export async function deviceBudget(
  kind: string,
  options: Pick<DeviceOptions, 'arenaMiB' | 'libraries'> = {},
): Promise<Budget | null> {
  if (options.arenaMiB !== undefined) return { bytes: options.arenaMiB * 2 ** 20, source: 'in device.arenaMiB' };
  if (kind !== 'cuda') return processorBudget(kind);
  return (await findGpu(options))?.budget ?? null;
}

interface GpuPlace {
  readonly ordinal: number;
  readonly budget: Budget;
}

/** The GPU of this process and its budget of memory; null if no GPU answers, in which case opening the device will say why. */
async function findGpu({
  arenaMiB,
  libraries,
}: Pick<DeviceOptions, 'arenaMiB' | 'libraries'>): Promise<GpuPlace | null> {
  const { inspectCuda } = await import('../engine/cuda/index.ts');
  const { gpus } = await inspectCuda(libraries === undefined ? {} : { libraries });
  const { ordinal, sharedBy } = gpuOfRank(gpus.length, launchedRanks());
  const own = arenaMiB === undefined ? null : { bytes: arenaMiB * 2 ** 20, source: 'in device.arenaMiB' };
  if (own !== null) return { ordinal, budget: own };
  const gpu = gpus[ordinal];
  if (gpu === undefined) return null;
  const source = `free on ${gpu.name}${sharedBy === 1 ? '' : ` for each of ${sharedBy} ranks`}`;
  return { ordinal, budget: { bytes: Math.floor(gpu.freeBytes / sharedBy), source } };
}

/** Ranks of a machine take its GPUs in turn; where there are fewer GPUs than ranks, several share one, which serves to test. */
export function gpuOfRank(
  gpus: number,
  launched: Pick<Launched, 'localRank' | 'localSize'> | null,
): { readonly ordinal: number; readonly sharedBy: number } {
  if (launched === null || gpus === 0) return { ordinal: 0, sharedBy: 1 };
  const { localRank, localSize } = launched;
  const ordinal = localRank % gpus;
  return { ordinal, sharedBy: Math.ceil((localSize - ordinal) / gpus) };
}

/** WebAssembly counts addresses in 32 bits, and its device keeps the last page. */
const wasmBytes = 2 ** 32 - 2 ** 16;

function processorBudget(kind: string): Budget {
  const constrained = process.constrainedMemory();
  const machine = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  if (kind === 'wasm' && wasmBytes < machine) return { bytes: wasmBytes, source: 'that WebAssembly can address' };
  return { bytes: machine, source: 'of this machine' };
}
