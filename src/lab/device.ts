/**
 * The devices that a run or a command can use. If the one that was asked for does not work, the command fails; no other takes its place.
 * On a GPU a run reserves as much memory as a rehearsal of it needed. One that does not fit into the budget (device.arenaMiB, or what is
 * free) is refused before anything is loaded, and the error says what to lower.
 */
import { existsSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { findStart } from '../adapters/index.ts';
import { DeviceError, nearestName, UserError } from '../base/index.ts';
import type { Device } from '../engine/index.ts';
import { isShown, readPool } from '../env/index.ts';
import { rowsTogether } from '../evaluate/index.ts';
import type { DemonstrationPool, Task } from '../grpo/index.ts';
import { countParameters, type DecoderConfig, type ModelText } from '../model/index.ts';
import { type Launched, launchedRanks } from '../parallel/index.ts';
import type { RunConfig } from '../run/index.ts';
import { partsOf } from './config.ts';
import { beganApart } from './manifest.ts';
import type { Budget, MemoryPlan, Rehearsal, Work } from './memory/plan.ts';
import { assertFits, planMemory, renderPlan } from './memory/plan.ts';
import type { Lab } from './open.ts';
import type { Resources } from './open-parts.ts';
import { armOf } from './parts.ts';
import { tasksOf } from './problems.ts';

/** The table `device` of a config, or some of its keys, and the number of the GPU; null or absent: as the device does by default. */
export type DeviceOptions = Partial<Omit<RunConfig['device'], 'kind'>> & {
  readonly ordinal?: number;
  readonly lanes?: boolean;
};

/** Largest hidden size of the models whose runs compute together on a GPU. Larger ones fill it alone, by kernels that join layers. */
const widestLanes = 768;

export const coresVariable = 'GQ_CORES';

function countVariable(name: string, expected: string): number | null {
  const text = process.env[name];
  if (text === undefined || text === '') return null;
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 1) return count;
  throw new UserError({ call: name, expected, found: text });
}

/** The cores that this process may use where an experiment runs several side by side (GQ_CORES); null: there is no limit. */
export function coresLimit(): number | null {
  return countVariable(coresVariable, 'a whole number of at least 1');
}

export function coresEach(processes: number): number {
  return Math.max(1, Math.floor((coresLimit() ?? availableParallelism()) / processes));
}

/** The memory of its GPU that this process may take, in MiB, where several processes share one. */
export const gpuMemoryVariable = 'GQ_GPU_MIB';

/** The memory of a device in MiB: what the config says, or else, on a GPU, what this process was given; null: as the device does by default. */
export function arenaOf(kind: string, named: number | null): number | null {
  return named ?? (kind === 'cuda' ? countVariable(gpuMemoryVariable, 'a whole number of MiB, at least 1') : null);
}

/** Bytes of a weight on the wasm device while it is trained: its own, and copies of it that products read. */
const wasmWeightBytes = 12;
/** WebAssembly counts addresses in 32 bits. Memory is taken as it is used, so what is not needed costs nothing. */
const mostWasmMiB = 4096;

/** The memory of a run's device in MiB; null: as the device does by default, which on wasm, 1 GiB, is for models that take at most half of it. */
function roomOf(
  { kind, arenaMiB }: Pick<RunConfig['device'], 'kind' | 'arenaMiB'>,
  decoder: DecoderConfig,
): number | null {
  if (kind !== 'wasm' || arenaMiB !== null) return arenaMiB;
  return countParameters(decoder) * wasmWeightBytes > 2 ** 29 ? mostWasmMiB : null;
}

const bytesOf = (mebibytes: number | null | undefined): number | undefined =>
  mebibytes === null || mebibytes === undefined ? undefined : mebibytes * 2 ** 20;

interface OpenOptions extends Omit<DeviceOptions, 'arenaMiB' | 'libraries'> {
  readonly arenaBytes: number | undefined;
  readonly libraries: string | undefined;
}

const openers = {
  reference: async ({ arenaBytes }: OpenOptions): Promise<Device> =>
    (await import('../engine/reference/index.ts')).createReferenceDevice({ arenaBytes }),
  wasm: async ({ threads: asked = 0, variant, arenaBytes }: OpenOptions): Promise<Device> => {
    const threads = asked === 0 ? (coresLimit() ?? undefined) : asked;
    return (await import('../engine/wasm/index.ts')).createWasmDevice({ variant, threads, arenaBytes });
  },
  cuda: async ({ arenaBytes: memoryBytes, precision, libraries, ordinal, lanes }: OpenOptions): Promise<Device> => {
    const { createCudaDevice } = await import('../engine/cuda/index.ts');
    return createCudaDevice({ precision, libraries, ordinal, memoryBytes, lanes });
  },
  webgpu: async ({ arenaBytes }: OpenOptions): Promise<Device> =>
    (await import('../engine/webgpu/index.ts')).createWebgpuDevice({ arenaBytes }),
};

type DeviceKind = keyof typeof openers;
const deviceNames = Object.keys(openers) as DeviceKind[];

export function findDevice(name: string): DeviceKind {
  const kind = deviceNames.find((each) => each === name);
  if (kind !== undefined) return kind;
  const nearest = nearestName(name, deviceNames);
  throw new UserError({
    call: '--device',
    expected: deviceNames.join(' or '),
    found: name,
    ...(nearest === undefined ? {} : { fix: `Did you mean ${nearest}?` }),
  });
}

export function withDevice(config: RunConfig, name: string | undefined): RunConfig {
  return name === undefined ? config : { ...config, device: { ...config.device, kind: findDevice(name) } };
}

/** If the machine lacks what a device needs, the user gets a message without a stack. */
export async function openDevice(
  name: string,
  options: DeviceOptions = {},
  arenaMiB = options.arenaMiB ?? null,
): Promise<Device> {
  const open = openers[findDevice(name)];
  const { threads, variant, precision, ordinal, lanes, libraries } = options;
  const room = { arenaBytes: bytesOf(arenaOf(name, arenaMiB)), libraries: libraries ?? undefined };
  try {
    return await open({ threads, variant, precision, ordinal, lanes, ...room });
  } catch (error) {
    if (error instanceof DeviceError) {
      const fix = 'Change device.threads or device.arenaMiB in the config, or use another device.';
      throw new UserError({ fix, ...error.complaint }, { cause: error });
    }
    if (!(error instanceof RangeError)) throw error;
    const expected = 'as much memory as device.arenaMiB asks for';
    const complaint = { call: 'device', expected, found: error.message, fix: 'Lower device.arenaMiB.' };
    throw new UserError(complaint, { cause: error });
  }
}

/**
 * Starts the GPU of a run, where it has one, while its inputs are read; resolves when that is done. The ranks of a machine start theirs
 * when they open it, since which one it is depends on how many there are.
 */
async function warmDevice({ device }: RunConfig, resources: Resources): Promise<void> {
  if (device.kind !== 'cuda' || launchedRanks() !== null) return;
  const { warmGpu } = await import('../engine/cuda/index.ts');
  const warming = warmGpu({ libraries: device.libraries ?? undefined });
  resources.use({ [Symbol.asyncDispose]: async () => (await warming)?.[Symbol.dispose]() });
  await warming;
}

export async function openLabDevice(lab: Lab): Promise<Device> {
  const { config, options } = lab;
  const { work, longerBy = 0, batch = rowsTogether } = options;
  if (work === 'unplanned') {
    const lanes = await computesTogether(lab);
    const arenaMiB = roomOf(config.device, (await lab.model).folder.config);
    const device = lab.use(await openDevice(config.device.kind, { ...config.device, lanes }, arenaMiB));
    expectRoom(device, options.neededMiB ?? 0);
    return device;
  }
  const warming = work === 'training' ? warmDevice(config, lab) : null;
  const [{ folder }] = await Promise.all([lab.model, lab.unchanged, warming]);
  const decoder = folder.config;
  const lanes = await computesTogether(lab);
  if (work === 'evaluation') {
    const tasks = async (): Promise<Task[]> => {
      const everything = await tasksOf(lab, Object.values((await lab.problems).splits).flat(), 'open');
      // Memory is planned by lengths alone.
      return everything.map((task) => ({ ...task, hinted: new Int32Array(task.hinted.length + longerBy) }));
    };
    return lab.use(
      await openRunDevice(config, { decoder, lanes, tasks, work: { rowsTogether: batch }, show: () => undefined }),
    );
  }
  const show = (message: string) => lab.warn({ kind: 'info', name: 'memory-plan', message });
  return lab.use(await openRunDevice(config, { ...(await trainingWork(lab)), lanes, show }));
}

export const roomAdvice =
  'Other programs, or an experiment that was begun meanwhile, have the rest: call it again when they are done, which plans with what is free ' +
  'then, lower --pack or --jobs, or name other GPUs in CUDA_VISIBLE_DEVICES.';

/** The part of a plan that must be there: a context of the driver's own takes some between the plan and the opening, which the plan's margin covers. */
const neededPart = 0.9;

/** Memory is planned when an experiment begins and taken when its device is opened: what others took between is missing here, not in the middle of a run. */
function expectRoom({ name, arena }: Device, neededMiB: number): void {
  const foundMiB = Math.floor(arena.capacity / 2 ** 20);
  if (foundMiB >= neededPart * neededMiB) return;
  throw new UserError({
    call: `memory of ${name}`,
    expected: `${neededMiB} MiB, as planned when the experiment began`,
    found: `${foundMiB} MiB that are left to it now`,
    fix: roomAdvice,
  });
}

/**
 * Whether runs of this config compute together, which is so for a run alone too: it leaves the same bytes. A run that was begun goes on as it
 * began.
 */
export async function computesTogether(lab: Lab): Promise<boolean> {
  const { config, run, options } = lab;
  if (config.device.kind !== 'cuda' || options.apart || !isNarrow((await lab.model).folder.config)) return false;
  const begun = lab.manifest ?? (run?.hasManifest() ? run.readManifest() : null);
  return begun === null || !beganApart(begun);
}

const laneKernels: ReadonlySet<string> = new Set(['laneProducts', 'sumSquaresOf', 'segmentSquares', 'adamwOf']);
/** Kernels that a device on which runs compute together does not have. */
const libraryKernels: ReadonlySet<string> = new Set([
  ...['products', 'blockProduct', 'adaptedProducts'],
  ...['jointFits', 'jointProducts', 'jointNorm', 'jointSwiglu', 'jointTurn'],
]);

const isNarrow = ({ hiddenSize }: DecoderConfig): boolean => hiddenSize <= widestLanes;

async function trainingWork(lab: Lab): Promise<Omit<PlannedWork, 'show' | 'lanes'>> {
  const { folder, text } = await lab.model;
  const opened = [...(await lab.armModels), ['base', { folder, text }] as const];
  const models = new Map(opened.map(([name, each]) => [name, { decoder: each.folder.config, text: each.text }]));
  const demonstrations = () => demonstrationsOf(lab, text);
  return { decoder: folder.config, tasks: () => lab.tasks, work: 'training', models, demonstrations };
}

/** What the run may show of its pool, labels taken at their word; null: there is none, or it is yet to be made, of answers that end as rollouts do. */
export async function demonstrationsOf(
  { pool, tasks, parts: { loopholes }, config: { environment } }: Lab,
  text: ModelText,
): Promise<DemonstrationPool | null> {
  if (pool === null || !existsSync(pool)) return null;
  const own = new Map((await tasks).map((task) => [task.problem.id, task]));
  const shown = (await readPool(pool, loopholes)).filter(
    (entry) => own.has(entry.problem) && isShown(entry, own.get(entry.problem), environment.heldOutLoopholes),
  );
  const [hacks, solves] = (['hack', 'solve'] as const).map((wanted) => {
    const byProblem = new Map<string, Int32Array[]>();
    for (const { problem, completion } of shown.filter(({ label }) => label === wanted)) {
      byProblem.set(problem, [...(byProblem.get(problem) ?? []), tokensOf(text, completion)]);
    }
    return byProblem;
  });
  return { hacks, solves };
}

/** An entry that has no tokens is left out of the pool, or ends the run that opens it. */
function tokensOf(text: ModelText, completion: string): Int32Array {
  try {
    return text.completion(completion);
  } catch (error) {
    if (error instanceof UserError) return new Int32Array();
    throw error;
  }
}

export async function planLabMemory(lab: Lab): Promise<MemoryPlan> {
  return rehearse(lab.config, { ...(await trainingWork(lab)), lanes: await computesTogether(lab) }, await lab.tasks);
}

interface PlannedWork {
  readonly decoder: DecoderConfig;
  readonly lanes?: boolean;
  readonly tasks: () => Promise<readonly Task[]>;
  readonly work: Work;
  /** The models that the arm opens, and the texts of its own; none where the arm is not opened. */
  readonly models?: Rehearsal['models'];
  readonly demonstrations?: () => Promise<DemonstrationPool | null>;
  readonly show: (plan: string) => void | Promise<void>;
}

export async function openRunDevice(config: RunConfig, planned: PlannedWork): Promise<Device> {
  const { kind } = config.device;
  if (kind !== 'cuda') return openDevice(kind, config.device, roomOf(config.device, planned.decoder));
  const tasks = await planned.tasks();
  const place = tasks.length === 0 ? null : await findGpu(config.device);
  const { lanes = isNarrow(planned.decoder) } = planned;
  if (place === null) return openDevice(kind, { ...config.device, lanes });
  const { budget, ordinal } = place;
  const plan = await rehearse(config, { ...planned, lanes }, tasks);
  assertFits(plan, budget, config);
  await planned.show(renderPlan(plan, budget));
  return openDevice(kind, { ...config.device, lanes, ordinal, arenaMiB: Math.ceil(plan.totalBytes / 2 ** 20) });
}

async function rehearse(
  config: RunConfig,
  { decoder, lanes, work, demonstrations, models = new Map() }: Omit<PlannedWork, 'show'>,
  tasks: readonly Task[],
): Promise<MemoryPlan> {
  const floats = config.device.precision === 'bf16' ? (['bf16', 'f32'] as const) : (['f32', 'bf16'] as const);
  const parts = await partsOf(config);
  const [arm, start] = [armOf(config, parts), findStart(config.adapter.family, parts.starts)];
  const has = (kernel: string): boolean => (lanes ? !libraryKernels.has(kernel) : !laneKernels.has(kernel));
  const pool = await demonstrations?.();
  return planMemory({ config, arm, start, decoder, models, tasks, pool, floats, has }, work);
}

/** The memory that a device can take by default; null if no GPU answers, in which case opening the device will say why. */
export async function deviceBudget(kind: string): Promise<Budget | null> {
  return kind === 'cuda' ? ((await findGpu({}))?.budget ?? null) : processorBudget(kind);
}

async function findGpu({
  arenaMiB = null,
  libraries,
}: DeviceOptions): Promise<{ readonly ordinal: number; readonly budget: Budget } | null> {
  const { inspectCuda } = await import('../engine/cuda/index.ts');
  const { gpus } = await inspectCuda({ libraries: libraries ?? undefined });
  const { ordinal, sharedBy } = gpuOfRank(gpus.length, launchedRanks());
  const bytes = bytesOf(arenaOf('cuda', arenaMiB));
  const named = arenaMiB === null ? `of ${gpuMemoryVariable}` : 'in device.arenaMiB';
  if (bytes !== undefined) return { ordinal, budget: { bytes, source: named } };
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

/** The device keeps the last page. */
const wasmBytes = mostWasmMiB * 2 ** 20 - 2 ** 16;

function processorBudget(kind: string): Budget {
  const constrained = process.constrainedMemory();
  const machine = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  if (kind === 'wasm' && wasmBytes < machine) return { bytes: wasmBytes, source: 'that WebAssembly can address' };
  return { bytes: machine, source: 'of this machine' };
}
