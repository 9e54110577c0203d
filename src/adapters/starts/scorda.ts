/**
 * scorda: the unit mean paired difference u (and W u, unit) is the first quarantine direction; every other direction, from
 * the CorDA basis, is made orthogonal to it. scorda-reversed puts u in the deployed block: a control, in which the effect
 * must reverse.
 */
import { Matrix } from 'ml-matrix';
import { type Basis, type SignedDirection, signedDirection } from '../basis.ts';
import { contrastiveBasis, interleave } from './from-basis.ts';
import { type AdapterStart, defineStart } from './start.ts';

/** `place`: the rank of the signed direction, 0 the first of the deployed block, 1 the first of the quarantine. */
function signedStart<const Name extends string>(name: Name, summary: string, place: 0 | 1): AdapterStart<Name> {
  return defineStart({
    name,
    summary,
    needsPairs: true,
    needsWeight: true,
    parametrisation: 'linear',
    cacheVersion: 1,
    factors: async (input, svd) => {
      const { weight, differences, basis } = await contrastiveBasis(name, input, svd);
      return interleave(withSeed(basis, signedDirection(weight, differences), place), input.rank, 0.5);
    },
  });
}

export const scorda = signedStart('scorda', 'corda with the mean difference as first quarantine direction', 1);
export const scordaReversed = signedStart('scorda-reversed', 'the control of scorda: its seed is deployed', 0);

function withSeed({ U, S, V }: Basis, seed: SignedDirection, place: 0 | 1): Basis {
  const inputs = orthogonalTo(V, seed.input);
  const outputs = orthogonalTo(U.transpose(), seed.output);
  const rest = [...S.keys()].slice(0, -1);
  const pick = (rows: Matrix, direction: number[]): Matrix => {
    const chosen = rest.map((i) => rows.getRow(i));
    chosen.splice(place, 0, direction);
    return new Matrix(chosen);
  };
  const sizes = rest.map((i) => S[i]);
  sizes.splice(place, 0, S[0]);
  return { U: pick(outputs, seed.output).transpose(), S: sizes, V: pick(inputs, seed.input) };
}

/** Every row less its part along the unit vector. */
function orthogonalTo(rows: Matrix, direction: readonly number[]): Matrix {
  const along = rows.mmul(Matrix.columnVector([...direction]));
  return Matrix.sub(rows, along.mmul(Matrix.rowVector([...direction])));
}
