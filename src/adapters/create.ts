/**
 * Builds an adapter from a start and the decoder's own weights, read back from the device one at a time. Singular vectors
 * of matrices whose smaller side is at most 600 come from a full SVD, those of larger ones from an iteration on the device.
 * What was computed is kept on disk, keyed by everything it depends on.
 */
import { mapPool, ShapeError, UserError, widenHalves } from '../base/index.ts';
import { availableParallelism, NormalThreads, nextTask, sha256, sha256Json } from '../base/node/index.ts';
import type { Device, HostArray, Scope, Tensor } from '../engine/index.ts';
import type { Decoder, DecoderConfig } from '../model/index.ts';
import { type Adapter, defaultTargets } from './adapter.ts';
import { AntipastoAdapter } from './antipasto-adapter.ts';
import { fullSvd, type LeadingSvd } from './basis.ts';
import { FactorCache } from './factor-cache.ts';
import { iterativeSvd } from './iterative-svd.ts';
import { LinearAdapter } from './linear-adapter.ts';
import type { PairDifferences } from './pair-inputs.ts';
import { builtinStarts, findStart } from './starts/registry.ts';
import { type AdapterStart, computeFactors, type DrawNormals, type InitialFactors } from './starts/start.ts';
import { type TargetModule, targetModules } from './targets.ts';

export interface AdapterOptions {
  /** The name of a start. */
  readonly family: string;
  /** Rank of each of the two blocks. */
  readonly rank: number;
  readonly seed: number;
  readonly targets?: readonly string[];
  /** Starts among which the family is looked up; default: the built-in ones. */
  readonly starts?: readonly AdapterStart[];
  /** Paired input differences, for the starts that need them. */
  readonly differences?: PairDifferences;
  /** Folder in which singular vectors are kept between runs; without it they are computed every time. */
  readonly cacheDirectory?: string;
  /** Is given one sentence for each kept file that is damaged; it is computed again. */
  readonly tell?: (message: string) => void;
  /** Is told how many modules of how many have their factors. */
  readonly progress?: (done: number, modules: number) => void | Promise<void>;
  /** Ends the computation between two modules, with its reason. */
  readonly signal?: AbortSignal;
  /** The factors, where `drawFactors` has made them already. */
  readonly factors?: ReadonlyMap<string, InitialFactors>;
  /** Most threads that draw random numbers; default: one for each core. */
  readonly threads?: number;
}

const largestFullSvd = 600;
/** Raised with every change of the iteration. */
const iterationVersion = 2;

export async function createAdapter(scope: Scope, decoder: Decoder, options: AdapterOptions): Promise<Adapter> {
  const { start, modules } = describeAdapter(decoder.config, options);
  const factors = options.factors ?? (await makeFactors(start, modules, scope.device, decoder, options));
  return assembleAdapter(scope, start, options.rank, modules, factors);
}

/** The factors of a start that depends on nothing but its seed: they can be drawn while weights are loaded. Null for another start. */
export async function drawFactors(
  device: Device,
  config: DecoderConfig,
  options: AdapterOptions,
): Promise<ReadonlyMap<string, InitialFactors> | null> {
  const { start, modules } = describeAdapter(config, options);
  return start.needsWeight || start.needsPairs ? null : makeFactors(start, modules, device, null, options);
}

function describeAdapter(
  config: DecoderConfig,
  { family, rank, targets = defaultTargets, starts = builtinStarts }: AdapterOptions,
): { readonly start: AdapterStart; readonly modules: readonly TargetModule[] } {
  const start = findStart(family, starts);
  if (!Number.isInteger(rank) || rank < 1) {
    throw new UserError({ call: 'create an adapter', expected: 'a rank of at least 1', found: `${rank}` });
  }
  return { start, modules: targetModules(config, targets) };
}

/** `decoder` may be null for a start that reads no weights. */
async function makeFactors(
  start: AdapterStart,
  modules: readonly TargetModule[],
  device: Device,
  decoder: Decoder | null,
  options: AdapterOptions,
): Promise<ReadonlyMap<string, InitialFactors>> {
  const most = options.threads ?? availableParallelism();
  await using threads = new NormalThreads(most);
  const tools: StartTools = { svd: svdOn(device), draw: (...asked) => threads.draw(...asked) };
  let done = 0;
  const make = async (module: TargetModule): Promise<readonly [string, InitialFactors]> => {
    // Signals of the process are delivered between tasks.
    if (start.needsWeight) await nextTask();
    const weight = start.needsWeight ? (decoder?.weight(`${module.name}.weight`) ?? null) : null;
    const made = await moduleFactors(start, weight, module, options, tools);
    done += 1;
    await options.progress?.(done, modules.length);
    return [module.name, made];
  };
  // A start that reads weights computes on the device, one after the other; of the others enough are begun to keep the threads busy.
  const together = start.needsWeight ? 1 : most;
  return new Map(await mapPool(modules, together, make, options.signal));
}

/** An adapter at its start. */
export function assembleAdapter(
  scope: Scope,
  start: AdapterStart,
  rank: number,
  modules: readonly TargetModule[],
  factors: ReadonlyMap<string, InitialFactors>,
): Adapter {
  const initial = ({ name }: TargetModule): InitialFactors => {
    const found = factors.get(name);
    if (found === undefined) throw new ShapeError({ call: 'adapter', expected: `factors of ${name}`, found: 'none' });
    return found;
  };
  if (start.parametrisation === 'antipasto') return new AntipastoAdapter(scope, start.name, rank, modules, initial);
  return new LinearAdapter(scope, start.name, rank, modules, initial, start.parametrisation);
}

interface StartTools {
  readonly svd: LeadingSvd;
  readonly draw: DrawNormals;
}

/** `weight` is null for a start that reads none. */
async function moduleFactors(
  start: AdapterStart,
  weight: Tensor | null,
  module: TargetModule,
  { rank, seed, differences: pairs, cacheDirectory, tell = () => undefined, signal }: AdapterOptions,
  { svd, draw }: StartTools,
): Promise<InitialFactors> {
  const { name, inputs, outputs } = module;
  const differences = start.needsPairs ? (pairs?.get(name) ?? null) : null;
  const given = { module: name, inputs, outputs, rank, seed, differences };
  if (weight === null) return computeFactors(start, { ...given, weight: new Float32Array() }, svd, draw);
  const stored = await weight.device.read(weight);
  const compute = (): Promise<InitialFactors> =>
    computeFactors(start, { ...given, weight: toFloats(stored, weight) }, svd, draw);
  if (cacheDirectory === undefined || start.cacheVersion === undefined) return compute();
  const key = sha256Json({
    start: start.name,
    // Two authors may have given the same name and version to different code.
    code: sha256(start.factors.toString()),
    version: start.cacheVersion,
    svd:
      Math.min(outputs, inputs) <= largestFullSvd ? 'full' : `${iterationVersion} ${describeArithmetic(weight.device)}`,
    rank,
    weight: [weight.dtype, hashNumbers(stored)],
    differences: differences === null ? null : hashNumbers(differences),
    shape: [outputs, inputs],
  });
  return new FactorCache(cacheDirectory, tell).get(key, { outputs, inputs, rank }, compute, signal);
}

function svdOn(device: Device): LeadingSvd {
  return (source, count) =>
    Math.min(source.rows, source.columns) <= largestFullSvd
      ? fullSvd(source, count)
      : iterativeSvd(device, source, count);
}

/** The device, its kernel variant and its GPU: the last bits of an iteration depend on them. */
function describeArithmetic(device: Device): string {
  const { name, variant, facts } = device as Device & { variant?: string; facts?: { name: string } };
  return [name, variant, facts?.name].filter((part) => part !== undefined).join(' ');
}

function hashNumbers(data: HostArray): string {
  return sha256(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

function toFloats(data: HostArray, { dtype }: Tensor): Float32Array {
  if (data instanceof Uint16Array) return widenHalves(data, dtype === 'bf16' ? 'bf16' : 'f16');
  return data instanceof Float32Array ? data : Float32Array.from(data);
}
