/** An adapter whose passes go through `steer`; everything else is that of the given adapter. */
import type { Project } from '../model/index.ts';
import type { Adapter } from './adapter.ts';

export function steerAdapter(adapter: Adapter, steer: (project: Project) => Project): Adapter {
  return {
    family: adapter.family,
    rank: adapter.rank,
    modules: adapter.modules,
    parameters: adapter.parameters,
    blockGradients: (block) => adapter.blockGradients(block),
    blockValues: (block) => adapter.blockValues(block),
    blockStarts: (block) => adapter.blockStarts(block),
    project: (pass) => steer(adapter.project(pass)),
    hold: () => adapter.hold(),
    deployedChange: (module) => adapter.deployedChange(module),
    fullChange: (module) => adapter.fullChange(module),
    tensors: (part) => adapter.tensors(part),
    load: (tensors) => adapter.load(tensors),
  };
}
