/**
 * The processes of an experiment that work at a time on this machine, and what each has of it: its cores, a GPU, and its part of that GPU's
 * memory. Processes take the GPUs in turn, the one with the most free memory first.
 */
import { spawnSync } from 'node:child_process';
import { coresEach, coresVariable, gpuMemoryVariable } from '../lab/index.ts';
import type { ExperimentPlan } from './experiment.ts';

export interface FreeGpu {
  /** As CUDA_VISIBLE_DEVICES names it, a number mostly. */
  readonly name: string;
  readonly freeMiB: number | null;
}

export interface Slot {
  readonly gpu: FreeGpu | null;
  /** What the process may take of the GPU's memory; null where it has the GPU for itself, or nobody tells what is free. */
  readonly memoryMiB: number | null;
  readonly environment: Readonly<Record<string, string>>;
}

const visibleVariable = 'CUDA_VISIBLE_DEVICES';

/** The GPUs that this process may use; none where nobody tells of any. */
export function findGpus(): FreeGpu[] {
  const query = ['--query-gpu=index,uuid,memory.free', '--format=csv,noheader,nounits'];
  const { status, stdout } = spawnSync('nvidia-smi', query, { encoding: 'utf8', timeout: 20_000 });
  const lines = status === 0 ? stdout.split('\n').filter((line) => /^\d+/.test(line.trim())) : [];
  const known = lines.map((line) => line.split(',').map((field) => field.trim()));
  const gpuOf = (name: string): FreeGpu => {
    const [, , free = ''] = known.find(([index, uuid = '']) => index === name || uuid.startsWith(name)) ?? [];
    return { name, freeMiB: /^\d+$/.test(free) ? Number(free) : null };
  };
  const given = process.env[visibleVariable]?.split(',').map((name) => name.trim());
  const names = given?.filter((name) => /^[\w/-]+$/.test(name) && name !== '-1') ?? known.map(([index]) => index);
  return names.map(gpuOf);
}

/** The part of a GPU's free memory that its processes share: the driver and the libraries need some too. */
export const sharedPart = 0.9;

/** `jobs`: how many processes may work at a time; null: one on each GPU, or one alone without any. */
export function planSlots(jobs: number | null, runs: number, gpus: readonly FreeGpu[]): Slot[] {
  const count = Math.max(1, Math.min(jobs ?? gpus.length, runs));
  const cores = { [coresVariable]: `${coresEach(count)}` };
  const order = [...gpus].sort((a, b) => (b.freeMiB ?? 0) - (a.freeMiB ?? 0));
  return Array.from({ length: count }, (_, slot) => {
    if (order.length === 0) return { gpu: null, memoryMiB: null, environment: cores };
    const place = slot % order.length;
    const gpu = order[place];
    const sharers = Math.ceil((count - place) / order.length);
    const memoryMiB = sharers === 1 || gpu.freeMiB === null ? null : Math.floor((sharedPart * gpu.freeMiB) / sharers);
    const limit: Record<string, string> = memoryMiB === null ? {} : { [gpuMemoryVariable]: `${memoryMiB}` };
    return { gpu, memoryMiB, environment: { ...cores, [visibleVariable]: gpu.name, ...limit } };
  });
}

export function gpusFor({ runs }: ExperimentPlan): FreeGpu[] {
  return runs.some(({ config }) => config.device.kind === 'cuda') ? findGpus() : [];
}

/** The GPUs that a plan is made for: those that are visible, or where runs need one and none is, one that is not here, without a name. */
export function plannedGpus(plan: ExperimentPlan): FreeGpu[] {
  const found = gpusFor(plan);
  const isNeeded = plan.runs.some(({ config }) => config.device.kind === 'cuda');
  return found.length === 0 && isNeeded ? [{ name: '', freeMiB: null }] : found;
}
