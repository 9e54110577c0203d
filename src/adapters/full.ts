/** An adapter whose export is the policy with its quarantine at a scale (1: as trained); everything else is that of the given adapter. */
import type { Adapter } from './adapter.ts';
import { steerAdapter } from './steer.ts';

export function exportAtScale(adapter: Adapter, scale: number): Adapter {
  return {
    ...steerAdapter(adapter, (project) => project),
    deployedChange: async (module) => {
      const { rank, down, up } = await adapter.fullChange(module);
      const width = up.length / rank;
      // The second half of the learned values is the quarantine's, and so is that of the initial values after them.
      const isQuarantine = (i: number): boolean => Math.floor(i / width) % (2 * adapter.rank) >= adapter.rank;
      return { rank, down, up: up.map((value, i) => (isQuarantine(i) ? scale * value : value)) };
    },
  };
}
