/**
 * Builds an adapter of any family from the decoder's own weights, read back from the device one at a time. Singular vectors
 * of matrices whose smaller side is at most 600 come from a full SVD, those of larger ones from an iteration on the device.
 * What was computed is kept on disk, keyed by everything it depends on.
 */
import { nearestName, ShapeError, sha256, sha256Json, UserError, widenHalves } from '../base/index.ts';
import type { Scope, Tensor } from '../engine/index.ts';
import type { Decoder } from '../model/index.ts';
import type { Adapter } from './adapter.ts';
import { AntipastoAdapter } from './antipasto-adapter.ts';
import { type LeadingSvd, leadingSvd } from './basis.ts';
import { FactorCache } from './factor-cache.ts';
import { covarianceRidge, type Family, families, type InitialFactors, initialFactors, needsPairs } from './families.ts';
import { iterativeSvd } from './iterative-svd.ts';
import { LinearAdapter } from './linear-adapter.ts';
import type { PairDifferences } from './pair-inputs.ts';
import { defaultTargets, type TargetModule, targetModules } from './targets.ts';

export interface AdapterOptions {
  readonly family: Family;
  /** Of each of the two blocks. */
  readonly rank: number;
  readonly seed: number;
  readonly targets?: readonly string[];
  /** For the families that start from pairs. */
  readonly differences?: PairDifferences;
  /** Where singular vectors are kept between runs; without it they are computed every time. */
  readonly cacheDirectory?: string;
}

const largestFullSvd = 600;
/** Of the computation: a change of the algorithm must not meet old results. */
const factorsVersion = 1;

export async function createAdapter(scope: Scope, decoder: Decoder, options: AdapterOptions): Promise<Adapter> {
  const { family, rank, targets = defaultTargets } = options;
  parseFamily(family);
  if (!Number.isInteger(rank) || rank < 1) {
    throw new UserError({ call: 'create an adapter', expected: 'a rank of at least 1', found: `${rank}` });
  }
  const modules = targetModules(decoder.config, targets);
  const factors = new Map<string, InitialFactors>();
  for (const module of modules) factors.set(module.name, await moduleFactors(decoder, module, options));
  return assembleAdapter(scope, family, rank, modules, factors);
}

export function parseFamily(name: string): Family {
  const family = families.find((each) => each === name);
  if (family !== undefined) return family;
  const nearest = nearestName(name, families);
  throw new UserError({
    call: 'adapter family',
    expected: families.join(', '),
    found: name,
    ...(nearest === undefined ? {} : { fix: `Did you mean ${nearest}?` }),
  });
}

/** An adapter at its start. */
export function assembleAdapter(
  scope: Scope,
  family: Family,
  rank: number,
  modules: readonly TargetModule[],
  factors: ReadonlyMap<string, InitialFactors>,
): Adapter {
  const initial = ({ name }: TargetModule): InitialFactors => {
    const found = factors.get(name);
    if (found === undefined) throw new ShapeError({ call: 'adapter', expected: `factors of ${name}`, found: 'none' });
    return found;
  };
  if (family === 'antipasto') return new AntipastoAdapter(scope, rank, modules, initial);
  return new LinearAdapter(scope, family, rank, modules, initial);
}

async function moduleFactors(decoder: Decoder, module: TargetModule, options: AdapterOptions): Promise<InitialFactors> {
  const { family, rank, seed } = options;
  const { name, inputs, outputs } = module;
  const shape = { module: name, inputs, outputs, rank, seed };
  // Nothing of a Gaussian start depends on the weight: not even its hash is worth computing.
  if (family === 'lora') return initialFactors(family, { ...shape, weight: new Float32Array(), differences: null });
  const tensor = decoder.weight(`${name}.weight`);
  const weight = await readWeight(tensor);
  const differences = needsPairs(family) ? (options.differences?.get(name) ?? null) : null;
  const svd: LeadingSvd = (matrix, count) =>
    Math.min(matrix.rows, matrix.columns) <= largestFullSvd
      ? leadingSvd(matrix, count)
      : iterativeSvd(tensor.device, matrix, count);
  const compute = (): Promise<InitialFactors> => initialFactors(family, { ...shape, weight, differences }, svd);
  if (options.cacheDirectory === undefined) return compute();
  const key = sha256Json({
    version: factorsVersion,
    family,
    rank,
    ridge: covarianceRidge,
    weight: hashFloats(weight),
    differences: differences === null ? null : hashFloats(differences),
    shape: [outputs, inputs],
  });
  return new FactorCache(options.cacheDirectory).get(key, { outputs, inputs, rank }, compute);
}

function hashFloats(data: Float32Array): string {
  return sha256(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

async function readWeight(tensor: Tensor): Promise<Float32Array> {
  const data = await tensor.device.read(tensor);
  if (data instanceof Uint16Array) return widenHalves(data, tensor.dtype === 'bf16' ? 'bf16' : 'f16');
  return Float32Array.from(data);
}
