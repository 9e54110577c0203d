/**
 * An adapter start: how the frozen initial values A0 [2R, C] and B0 [O, 2R] of each module are made, and which
 * parametrisation learns from them. Rows [0, R) of A0 (columns of B0) are the deployed block, the rest the quarantine block.
 * A start is a value without state. It sees the weight, the contrastive pairs and a seed, never rollouts or labels.
 * `defineStart` makes one; whoever builds an adapter passes a list of starts, in which a config's family name is looked up.
 */

import { z } from 'zod';
import { explainForeign, type RandomStream, UserError } from '../../base/index.ts';
import { aFunction, expectShape, type PartShape, partName } from '../../base/parts/index.ts';
import { findNonFinite } from '../../model/index.ts';
import type { LeadingSvd } from '../basis.ts';

const parametrisations = ['linear', 'frozen-b', 'antipasto'] as const;

export interface StartInput {
  readonly module: string;
  /** W, row major [outputs, inputs]; empty for a start that does not need it. */
  readonly weight: Float32Array;
  readonly outputs: number;
  readonly inputs: number;
  /** R, the rank of each of the two blocks. */
  readonly rank: number;
  readonly seed: number;
  /** Paired input differences (hack − clean), row major [pairs, inputs]; null for a start that does not need them. */
  readonly differences: Float32Array | null;
}

/** The first `length` normal numbers of a stream, times `scale`; many of them are drawn beside one another. */
export type DrawNormals = (stream: RandomStream, length: number, scale: number) => Promise<Float32Array>;

export interface InitialFactors {
  readonly A0: Float32Array;
  readonly B0: Float32Array;
}

export interface AdapterStart<Name extends string = string> {
  /** The family name of configs and checkpoints. */
  readonly name: Name;
  /** One line for a list of starts. */
  readonly summary: string;
  /** Whether it reads the paired input differences. */
  readonly needsPairs: boolean;
  /** Whether it reads the weight. Factors that do not need it are never kept on disk: they cost nothing to compute. */
  readonly needsWeight: boolean;
  /**
   * linear: y = W x + [B A − B0 A0] x, A and B learn. frozen-b: the same with B = B0, only A learns. antipasto: A0 and B0 stay
   * frozen, gains and a rotation learn.
   */
  readonly parametrisation: (typeof parametrisations)[number];
  /**
   * Cache version: raise it when the computation changes. Factors are kept on disk only where it is given, which is right
   * where they follow from the weight, the differences, the rank and nothing else.
   */
  readonly cacheVersion?: number;
  factors(input: StartInput, svd: LeadingSvd, draw?: DrawNormals): InitialFactors | Promise<InitialFactors>;
}

export const startShape: PartShape = {
  word: 'adapter start',
  members: z.strictObject({
    name: partName,
    summary: z.string(),
    needsPairs: z.boolean(),
    needsWeight: z.boolean(),
    parametrisation: z.enum(parametrisations),
    cacheVersion: z.int().optional(),
    factors: aFunction,
  }),
  answers: {},
};

/** Checks the description of a start and returns the start. */
export function defineStart<const Name extends string>(start: AdapterStart<Name>): AdapterStart<Name> {
  expectShape(`adapter start ${start.name}`, startShape.members, start);
  return start;
}

/** The factors of one module, checked, so that a mistake of a start is reported here and not by a kernel. */
export async function computeFactors(
  start: AdapterStart,
  input: StartInput,
  svd: LeadingSvd,
  draw?: DrawNormals,
): Promise<InitialFactors> {
  const factors = await Promise.resolve()
    .then(() => start.factors(input, svd, draw))
    .catch((error: unknown) => {
      throw explainForeign(error, { call: `adapter start ${start.name}`, expected: 'no error from factors()' });
    });
  const { outputs, inputs, rank } = input;
  const shapes = { A0: [2 * rank, inputs], B0: [outputs, 2 * rank] } as const;
  for (const [name, [rows, columns]] of Object.entries(shapes)) {
    const data: unknown = factors[name as 'A0' | 'B0'];
    const call = `${start.name} adapter of ${input.module}, factor ${name}`;
    if (!(data instanceof Float32Array) || data.length !== rows * columns) {
      const found = data instanceof Float32Array ? `${data.length} numbers` : typeof data;
      throw new UserError({ call, expected: `a Float32Array [${rows}, ${columns}]`, found });
    }
    const bad = findNonFinite(data, 'F32');
    if (bad >= 0) throw new UserError({ call, expected: 'finite numbers', found: `${data[bad]} at element ${bad}` });
  }
  return factors;
}
