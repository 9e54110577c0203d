/** How a decoder applies its linear layers with an adapter: those that share an input together, those without an adapter plainly. */
import {
  adaptedLinears,
  type BlockCoefficients,
  type JointBlocks,
  type SplitAdapter,
  type Tape,
} from '../engine/index.ts';
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

/** The same project, which also tells its adapters, so that layers and lanes can be joined. Adapters must be there before a pass. */
export function tellBlocks(
  project: Project,
  { coefficients, probe }: AdapterPass,
  kind: string,
  adapterOf: (module: string) => SplitAdapter | undefined,
): Project {
  const blocksOf = (modules: readonly string[]): JointBlocks | null | undefined => {
    const adapters = modules.map(adapterOf).filter((adapter) => adapter !== undefined);
    if (adapters.length === 0) return null;
    return adapters.length === modules.length ? { adapters, coefficients: coefficients.forward } : undefined;
  };
  const adapted = {
    kind,
    coefficients,
    adapterOf: (module: string) => {
      const adapter = adapterOf(module);
      return adapter === undefined ? undefined : { adapter, ...(probe === undefined ? {} : { probe: probe(module) }) };
    },
  };
  return Object.assign<Project, Pick<Project, 'blocksOf' | 'adapted'>>(
    project,
    probe === undefined ? { blocksOf, adapted } : { adapted },
  );
}
