/**
 * What is left of an experiment will cost: hours, disk, memory. Checkpoints and the memory of a GPU follow from the configs; the rest is known from earlier runs
 * of the same shape on this machine, or unknown.
 */
import { existsSync, statfsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { UserError } from '../base/index.ts';
import { bytesIn } from '../base/node/index.ts';
import { EvaluationStore, lastCheckpoint, statesOf } from '../evaluate/index.ts';
import {
  armOf,
  computesTogether,
  keepSandboxes,
  type Lab,
  openLab,
  partsOf,
  planCheckpoints,
  planLabMemory,
  roomAdvice,
} from '../lab/index.ts';
import { beganApart } from '../lab/manifest.ts';
import { sharedKey } from '../lab/pack.ts';
import { relearnFolders } from '../measure/index.ts';
import { attackConfig } from '../measure/relearn/attack.ts';
import { type DiskPlan, isRun, type RunConfig, RunDirectory, trainedStatus } from '../run/index.ts';
import type { ExperimentPlan, PlannedRun, Tell } from './experiment.ts';
import { type RunRate, readRate } from './rates.ts';
import { evaluationsLeft, evaluationsOf, runsLeft } from './run.ts';
import { type Slot, sharedPart } from './slots.ts';

export type Forecast = Awaited<ReturnType<typeof forecastExperiment>>;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** What runs took on another machine, one at a time, for those that were not measured here. */
export interface AssumedRate {
  readonly updateSeconds: number;
  /** Seconds that an update of runs with these settings takes beside: of `arm.kind=gradient`, or of several with a space between. */
  readonly more?: Readonly<Record<string, number>>;
  readonly evaluationSeconds: number;
}

/** What an update of such a run is assumed to take. */
export function assumedUpdateSeconds({ updateSeconds, more = {} }: AssumedRate, config: RunConfig): number {
  const has = (setting: string): boolean => {
    const [key, value] = setting.split('=');
    return `${key.split('.').reduce<unknown>((table, name) => Object(table)[name], config)}` === value;
  };
  const added = Object.entries(more).filter(([settings]) => settings.split(' ').every(has));
  return updateSeconds + sum(added.map(([, seconds]) => seconds));
}

/** Arms differ in cost, seeds do not: the first run of each stands for all. */
function shapesOf(runs: readonly PlannedRun[]): readonly PlannedRun[] {
  return runs.filter(({ arm }, index) => runs.findIndex((run) => run.arm === arm) === index);
}

/** What the ledgers will take is null where no run of some shape was measured. */
export async function forecastDisk(plan: ExperimentPlan, directory: string, atATime: number, pack: number) {
  const left = await runsLeft(plan, directory);
  const runs = left.map((index) => plan.runs[index]);
  const lasting = new Map<string, number>();
  let states = 0;
  for (const { arm, config } of shapesOf(runs)) {
    const own = await planCheckpoints(config);
    const attack = attackOf(plan, arm, config);
    const attacked = attack === null ? 0 : own.deployedBytes + lastingBytes(await planCheckpoints(attack), attack);
    lasting.set(arm, lastingBytes(own, config) + attacked);
    states = Math.max(states, own.stateBytes);
  }
  const checkpoints = runs.map(({ arm, folder }) => {
    const there = bytesIn(join(directory, folder));
    return Math.max(0, (lasting.get(arm) ?? 0) - there);
  });
  const ledgers = runs.map(({ config }) => {
    const rate = readRate(config, pack);
    return rate === null ? null : rate.ledgerBytesPerUpdate * config.updates + rate.evaluationBytes;
  });
  return {
    checkpointBytes: sum(checkpoints) + Math.min(atATime, runs.length) * states,
    ledgerBytes: ledgers.every((bytes) => bytes !== null) ? sum(ledgers) : null,
    freeBytes: freeOn(directory),
  };
}

function attackOf({ experiment: { relearn } }: ExperimentPlan, arm: string, config: RunConfig): RunConfig | null {
  return relearn?.arms.includes(arm) ? attackConfig(config, relearn.updates) : null;
}

/** What the checkpoints of a finished run take: the state before the newest is gone by then. */
function lastingBytes(plan: DiskPlan, { output }: RunConfig): number {
  return plan.mostBytes - (output.keepState === 'all' || plan.checkpoints < 2 ? 0 : plan.stateBytes);
}

function freeOn(path: string): number {
  const folder = resolve(path);
  if (!existsSync(folder)) return freeOn(dirname(folder));
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

export const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(bytes < 1e8 ? 3 : 1)} GB`;

const neededBytes = ({ checkpointBytes, ledgerBytes }: Forecast['disk']): number =>
  checkpointBytes + (ledgerBytes ?? 0);

/** `spared`: what `sparerSettings` says. */
export function expectDiskRoom(directory: string, disk: Forecast['disk'], spared: readonly string[]): void {
  const [needed, { freeBytes }] = [neededBytes(disk), disk];
  if (needed <= freeBytes) return;
  throw new UserError({
    call: `experiment in ${directory}`,
    expected: `${gigabytes(needed)} of room on its disk for what is left of it`,
    found: `${gigabytes(freeBytes)} free`,
    fix: `Make room, choose another --out, or keep less: ${[...spared, 'fewer seeds or arms'].join(', ')}.`,
  });
}

/** How many of these experiments, which are done one after another, one disk holds; null: all. */
export function howManyFit(all: readonly Forecast[]): number | null {
  let needed = 0;
  const first = all.findIndex(({ disk }) => {
    needed += neededBytes(disk);
    return needed > disk.freeBytes;
  });
  return first === -1 ? null : first;
}

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));

/** Settings with which these experiments keep less and their curves keep every point; none once a run has begun, whose config stays. */
export function sparerSettings(
  works: readonly { readonly plan: ExperimentPlan; readonly directory: string }[],
): string[] {
  const runs = works.flatMap(({ plan, directory }) =>
    plan.runs.map((run) => ({ ...run, path: join(directory, run.folder) })),
  );
  if (runs.some(({ path }) => isRun(path))) return [];
  const curves = works.flatMap(({ plan }) => plan.experiment.evaluation.curveEvery || []);
  const every =
    curves.length > 0 ? curves.reduce(commonDivisor) : Math.max(...runs.map(({ config }) => config.updates));
  const outputs = runs.map(({ config }) => config.output);
  return [
    ...(outputs.some(({ checkpointEvery }) => checkpointEvery < every)
      ? [`--set output.checkpointEvery=${every}`]
      : []),
    ...(outputs.some(({ keepState }) => keepState === 'all') ? ['--set output.keepState=newest'] : []),
  ];
}

/** Seconds and memory are null where no run of some arm's shape was measured here; the least seconds are those of the arms that were. */
export async function forecastExperiment(
  plan: ExperimentPlan,
  directory: string,
  options: {
    readonly slots: readonly Slot[];
    readonly pack: number;
    readonly assumed?: AssumedRate | undefined;
    readonly tell?: Tell | undefined;
  },
) {
  const { slots, pack, assumed, tell } = options;
  const left = (await runsLeft(plan, directory)).map((index) => plan.runs[index]);
  const atATime = Math.max(1, Math.min(slots.length * pack, left.length));
  const rates = new Map(shapesOf(left).map(({ arm, config }) => [arm, readRate(config, pack)]));
  const known = [...rates.values()].filter((rate) => rate !== null);
  const otherwise = assumed === undefined ? null : { ...assumed, atATime: Math.min(slots.length, left.length) };
  const works = await Promise.all(left.map((run) => workLeft(run, plan, directory)));
  const seconds = left.map((run, i) => secondsOf(run, rates.get(run.arm) ?? otherwise, works[i]));
  const unmeasured = [...rates].filter(([, rate]) => rate === null).map(([arm]) => arm);
  return {
    ...{ left, atATime, unmeasured, rates: known },
    updates: sum(works.map(({ updates }) => updates)),
    evaluations: sum(works.map(({ evaluations }) => evaluations)),
    seconds: unmeasured.length === 0 || assumed !== undefined ? sum(seconds) : null,
    leastSeconds: sum(seconds),
    disk: await forecastDisk(plan, directory, atATime, pack),
    gpus: await forecastGpus(left, slots, pack, tell),
    hostBytes: known.length === 0 ? null : slots.length * Math.max(...known.map(({ processBytes }) => processBytes)),
    hostFreeBytes: process.availableMemory(),
  };
}

/** What experiments that are done one after another will cost together, on one disk. */
export function joinForecasts(all: readonly Forecast[]): Forecast {
  const most = (values: readonly number[]): number => Math.max(0, ...values);
  const total = (values: readonly (number | null)[]): number | null =>
    values.every((value) => value !== null) ? sum(values) : null;
  const names = [...new Set(all.flatMap(({ gpus }) => gpus.map(({ name }) => name)))];
  const hosts = all.flatMap(({ hostBytes }) => hostBytes ?? []);
  return {
    left: all.flatMap(({ left }) => left),
    atATime: most(all.map(({ atATime }) => atATime)),
    seconds: total(all.map(({ seconds }) => seconds)),
    leastSeconds: sum(all.map(({ leastSeconds }) => leastSeconds)),
    updates: sum(all.map(({ updates }) => updates)),
    evaluations: sum(all.map(({ evaluations }) => evaluations)),
    unmeasured: [...new Set(all.flatMap(({ unmeasured }) => unmeasured))],
    rates: all.flatMap(({ rates }) => rates),
    disk: {
      checkpointBytes: sum(all.map(({ disk }) => disk.checkpointBytes)),
      ledgerBytes: total(all.map(({ disk }) => disk.ledgerBytes)),
      freeBytes: all[0].disk.freeBytes,
    },
    gpus: names.map((name) => {
      const same = all.flatMap(({ gpus }) => gpus.filter((gpu) => gpu.name === name));
      return { ...same[0], neededBytes: most(same.map(({ neededBytes }) => neededBytes)) };
    }),
    hostBytes: hosts.length === 0 ? null : most(hosts),
    hostFreeBytes: all[0].hostFreeBytes,
  };
}

type WorkLeft = Readonly<Record<'updates' | 'attackUpdates' | 'evaluations', number>>;

/** What is left of a run: updates after its newest checkpoint, those of its attack, and evaluations that are not stored. Another run in its folder counts for nothing. */
async function workLeft(run: PlannedRun, plan: ExperimentPlan, directory: string): Promise<WorkLeft> {
  const { arm, config, configHash } = run;
  const path = join(directory, run.folder);
  const attackUpdates = attackOf(plan, arm, config)?.updates ?? 0;
  const hasQuarantine = armOf(config, await partsOf(config)).quarantine(config.arm);
  const every = config.output.checkpointEvery;
  const checkpoints = Array.from({ length: Math.ceil(config.updates / every) }, (_, i) =>
    Math.min(config.updates, (i + 1) * every),
  );
  const planned = evaluationsOf(statesOf({ hasQuarantine }), checkpoints, plan.experiment.evaluation);
  const isBegun = isRun(path) && RunDirectory.open(path).readManifest().identity.config === configHash;
  if (!isBegun) return { updates: config.updates, attackUpdates, evaluations: planned.length };
  const store = new EvaluationStore(path);
  const isTrained = (await trainedStatus(path)) !== null;
  const names = isTrained
    ? evaluationsLeft(path, plan.experiment.evaluation)
    : planned.filter((name) => !store.has(name));
  return {
    updates: isTrained ? 0 : config.updates - savedUpdates(path),
    attackUpdates: Math.max(0, attackUpdates - savedUpdates(relearnFolders(resolve(path)).attack)),
    evaluations: names.length,
  };
}

const savedUpdates = (path: string): number => (isRun(path) ? lastCheckpoint(RunDirectory.open(path)) : 0);

/** The share of a run in the time of all: as many as were measured side by side take it together. */
function secondsOf(
  { config }: PlannedRun,
  rate: (AssumedRate & Pick<RunRate, 'atATime'>) | null,
  { updates, attackUpdates, evaluations }: WorkLeft,
): number {
  if (rate === null) return 0;
  const trained = (updates + attackUpdates) * assumedUpdateSeconds(rate, config);
  return (trained + evaluations * rate.evaluationSeconds) / rate.atATime;
}

type ArmMemory = { readonly weights: number; readonly rest: number };
/** Rehearsals by the list of runs that they are of: they take seconds, and are asked for more than once. */
const rehearsals = new WeakMap<readonly PlannedRun[], Promise<readonly ArmMemory[]>>();

/** The memory of a run of every arm on a GPU, by a rehearsal of its largest update: weights, which the runs of a pack share, and the rest. */
function gpuMemory(runs: readonly PlannedRun[], tell?: Tell): Promise<readonly ArmMemory[]> {
  const known = rehearsals.get(runs) ?? rehearseArms(runs, tell);
  rehearsals.set(runs, known);
  return known;
}

async function rehearseArms(runs: readonly PlannedRun[], tell?: Tell): Promise<readonly ArmMemory[]> {
  await using _sandboxes = keepSandboxes();
  const labs = new Map<string, Lab>();
  const arms: ArmMemory[] = [];
  const shapes = shapesOf(runs);
  try {
    for (const { arm, config } of shapes) {
      tell?.(`rehearses the memory of ${arm}, arm ${arms.length + 1} of ${shapes.length}`);
      const key = sharedKey(config);
      const shared = labs.get(key) ?? (await openLab({ config }, { work: 'unplanned' }));
      labs.set(key, shared);
      const given = { model: shared.model, judge: shared.judge, problems: shared.problems };
      await using lab = await openLab({ config }, { given });
      const { standing, totalBytes } = await planLabMemory(lab);
      const weights = standing.find(({ name }) => name === 'weights')?.bytes ?? 0;
      arms.push({ weights, rest: totalBytes - weights });
    }
  } finally {
    for (const lab of labs.values()) await lab[Symbol.asyncDispose]();
  }
  return arms;
}

/** Whether all runs compute together on a GPU, where packs are much faster than runs alone; none of them may have begun alone. */
export async function runsTogether(runs: readonly PlannedRun[], directory: string): Promise<boolean> {
  if (!runs.every(({ config }) => config.device.kind === 'cuda')) return false;
  const begun = runs.filter(({ folder }) => isRun(join(directory, folder)));
  if (begun.some(({ folder }) => beganApart(RunDirectory.open(join(directory, folder)).readManifest()))) return false;
  for (const { config } of shapesOf(runs)) {
    await using lab = await openLab({ config });
    if (!(await computesTogether(lab))) return false;
  }
  return true;
}

/** What a process may take of the memory of its GPU; null where nobody tells what is free. */
function roomOf({ gpu, memoryMiB }: Slot): number | null {
  if (memoryMiB !== null) return memoryMiB;
  return gpu?.freeMiB === null || gpu === null ? null : Math.floor(sharedPart * gpu.freeMiB);
}

/** The most runs of a pack that each process has room for on its GPU, at least 1; null where nobody tells what is free. */
export async function packThatFits(runs: readonly PlannedRun[], slots: readonly Slot[]): Promise<number | null> {
  const rooms = slots.map(roomOf);
  if (!rooms.every((room) => room !== null)) return null;
  const room = 2 ** 20 * Math.min(...rooms);
  const arms = await gpuMemory(runs);
  return Math.max(1, Math.min(...arms.map(({ weights, rest }) => Math.floor((room - weights) / rest))));
}

/** The memory in MiB that a pack needs of its GPU, null without one; refuses packs for which too little is free now. */
export async function expectGpuRoom(
  runs: readonly PlannedRun[],
  slots: readonly Slot[],
  pack: number,
): Promise<number | null> {
  if (pack === 1 || slots.every(({ gpu }) => gpu === null)) return null;
  const neededMiB = Math.ceil(packBytes(await gpuMemory(runs), pack) / 2 ** 20);
  for (const slot of slots) {
    const room = roomOf(slot);
    if (room === null || room >= neededMiB) continue;
    throw new UserError({
      call: `GPU ${slot.gpu?.name}`,
      expected: `${neededMiB} MiB for a pack of ${pack} runs`,
      found: `${room} MiB that each process may take of the ${slot.gpu?.freeMiB} MiB that are free`,
      fix: roomAdvice,
    });
  }
  return neededMiB;
}

const packBytes = (arms: readonly ArmMemory[], pack: number): number =>
  Math.max(0, ...arms.map(({ weights, rest }) => weights + pack * rest));

/** Needed at most: the runs of a pack share the base and more. */
async function forecastGpus(left: readonly PlannedRun[], slots: readonly Slot[], pack: number, tell?: Tell) {
  if (slots.every(({ gpu }) => gpu === null)) return [];
  const arms = await gpuMemory(left, tell);
  const most = packBytes(arms, pack);
  const names = [...new Set(slots.map(({ gpu }) => gpu?.name ?? ''))];
  return names.map((name) => {
    const sharing = slots.filter(({ gpu }) => gpu?.name === name);
    const free = sharing[0].gpu?.freeMiB ?? null;
    return { name, freeBytes: free === null ? null : free * 2 ** 20, neededBytes: sharing.length * most };
  });
}
