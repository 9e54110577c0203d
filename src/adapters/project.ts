/** How a decoder applies its linear layers with an adapter: those that share an input together, those without an adapter plainly. */
import { adaptedLinears, type BlockCoefficients, type SplitAdapter, type Tape } from '../engine/index.ts';
import { type Project, plainProject } from '../model/index.ts';
import type { AdapterPass } from './adapter.ts';

export function projectAdapted(
  coefficients: BlockCoefficients,
  probe: AdapterPass['probe'],
  adapterOf: (tape: Tape, module: string) => SplitAdapter | undefined,
): Project {
  return (tape, x, layers, onto) => {
    const adapted = layers.flatMap((layer) => {
      const adapter = adapterOf(tape, layer.module);
      if (adapter === undefined) return [];
      const look = probe?.(layer.module);
      return [{ ...layer, adapter, ...(look === undefined ? {} : { probe: look }) }];
    });
    if (adapted.length === layers.length) return adaptedLinears(tape, x, adapted, coefficients, onto);
    return layers.flatMap((layer) => {
      const own = adapted.find(({ module }) => module === layer.module);
      if (own === undefined) return plainProject(tape, x, [layer], onto);
      return adaptedLinears(tape, x, [own], coefficients, onto);
    });
  };
}
