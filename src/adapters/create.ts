/**
 * Builds an adapter from a start and the decoder's own weights, read back from the device one at a time. Singular vectors
 * of matrices whose smaller side is at most 600 come from a full SVD, those of larger ones from an iteration on the device.
 * What was computed is kept on disk, keyed by everything it depends on.
 */
import { availableParallelism } from 'node:os';
import { setImmediate as pause } from 'node:timers/promises';
import { mapPool, ShapeError, UserError, widenHalves } from '../base/index.ts';
import { NormalThreads, sha256, sha256Json } from '../base/node/index.ts';
import type { Device, HostArray, Scope, Tensor } from '../engine/index.ts';
import type { Decoder } from '../model/index.ts';
import type { Adapter } from './adapter.ts';
import { AntipastoAdapter } from './antipasto-adapter.ts';
import { fullSvd, type LeadingSvd } from './basis.ts';
import { FactorCache } from './factor-cache.ts';
import { iterativeSvd } from './iterative-svd.ts';
import { LinearAdapter } from './linear-adapter.ts';
import type { PairDifferences } from './pair-inputs.ts';
import { builtinStarts, findStart } from './starts/registry.ts';
import { type AdapterStart, computeFactors, type DrawNormals, type InitialFactors } from './starts/start.ts';
import { defaultTargets, type TargetModule, targetModules } from './targets.ts';

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
  /** Most threads that draw random numbers; default: one for each core. */
  readonly threads?: number;
}

const largestFullSvd = 600;
/** Raised with every change of the iteration. */
const iterationVersion = 2;

export async function createAdapter(scope: Scope, decoder: Decoder, options: AdapterOptions): Promise<Adapter> {
  const { family, rank, targets = defaultTargets, starts = builtinStarts } = options;
  const start = findStart(family, starts);
  if (!Number.isInteger(rank) || rank < 1) {
    throw new UserError({ call: 'create an adapter', expected: 'a rank of at least 1', found: `${rank}` });
  }
  const modules = targetModules(decoder.config, targets);
  await using threads = new NormalThreads(options.threads ?? availableParallelism());
  const draw: DrawNormals = (...asked) => threads.draw(...asked);
  let done = 0;
  const make = async (module: TargetModule): Promise<readonly [string, InitialFactors]> => {
    // Signals of the process are delivered between tasks.
    if (start.needsWeight) await pause();
    const made = await moduleFactors(start, decoder, module, options, draw);
    done += 1;
    await options.progress?.(done, modules.length);
    return [module.name, made];
  };
  // A start that reads weights computes on the device, one after the other; the others only wait for their random numbers.
  const together = start.needsWeight ? 1 : modules.length;
  const factors = new Map(await mapPool(modules, together, make, options.signal));
  return assembleAdapter(scope, start, rank, modules, factors);
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

async function moduleFactors(
  start: AdapterStart,
  decoder: Decoder,
  module: TargetModule,
  { rank, seed, differences: pairs, cacheDirectory, tell = () => undefined, signal }: AdapterOptions,
  draw: DrawNormals,
): Promise<InitialFactors> {
  const { name, inputs, outputs } = module;
  const tensor = decoder.weight(`${name}.weight`);
  const stored = start.needsWeight ? await tensor.device.read(tensor) : new Float32Array();
  const differences = start.needsPairs ? (pairs?.get(name) ?? null) : null;
  const compute = (): Promise<InitialFactors> => {
    const weight = toFloats(stored, tensor);
    return computeFactors(
      start,
      { module: name, inputs, outputs, rank, seed, weight, differences },
      svdOn(tensor.device),
      draw,
    );
  };
  if (cacheDirectory === undefined || start.cacheVersion === undefined || !start.needsWeight) return compute();
  const key = sha256Json({
    start: start.name,
    // Two authors may have given the same name and version to different code.
    code: sha256(start.factors.toString()),
    version: start.cacheVersion,
    svd:
      Math.min(outputs, inputs) <= largestFullSvd ? 'full' : `${iterationVersion} ${describeArithmetic(tensor.device)}`,
    rank,
    weight: [tensor.dtype, hashNumbers(stored)],
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
