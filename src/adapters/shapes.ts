/**
 * The tensors of a module's adapter, by the suffix of their names: those that learning changes, and the frozen initial values that
 * they are measured from. A checkpoint stores the former, a run the latter once.
 */
import type { AdapterStart } from './starts/start.ts';
import type { TargetModule } from './targets.ts';

export type AdapterPart = 'learned' | 'initial';

type Shapes = Readonly<Record<string, readonly number[]>>;

export function adapterShapes(
  parametrisation: AdapterStart['parametrisation'],
  rank: number,
  { inputs, outputs }: Pick<TargetModule, 'inputs' | 'outputs'>,
): Readonly<Record<AdapterPart, Shapes>> {
  const both = 2 * rank;
  if (parametrisation === 'antipasto') {
    return {
      learned: { gain: [both], rotation: [rank, rank] },
      initial: { down: [both, inputs], up: [both, outputs] },
    };
  }
  return {
    learned: { A: [both, inputs], ...(parametrisation === 'frozen-b' ? {} : { B: [outputs, both] }) },
    initial: { A0: [both, inputs], B0: [outputs, both] },
  };
}

/** How many numbers a part of the adapters of these modules has. */
export function countNumbers(
  part: AdapterPart,
  parametrisation: AdapterStart['parametrisation'],
  rank: number,
  modules: readonly Pick<TargetModule, 'inputs' | 'outputs'>[],
): number {
  const sizes = modules.flatMap((module) =>
    Object.values(adapterShapes(parametrisation, rank, module)[part]).map((shape) => shape.reduce((a, b) => a * b, 1)),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
